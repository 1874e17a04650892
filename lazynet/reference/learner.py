"""What the learners share: their options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynet.reference.losses import LOSSES

# The indices, values, target and importance of an example.
Example = tuple[Sequence[int], Sequence[Any], Any, Any]


class Learner:
    """A linear model w.x + b at zero weights; a subclass has the step of an algorithm.

    ``fit_intercept`` trains b, which no penalty shrinks; else b stays 0.  ``zero`` is 0 in the type
    of the weights, such as ``Fraction(0)``.

    >>> from lazynet.reference import DenseReference
    >>> twin = DenseReference(2, loss="squared_error", l1=0.5)
    >>> twin.step([0], [1.0], target=4.0, weight=0.5), twin.weights, twin.intercept, twin.t
    (0.0, [1.5, 0.0], 0.0, 1)
    """

    weights: Any
    intercept: Any

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        l1: Any = 0,
        l2: Any = 0,
        fit_intercept: bool = False,
        epsilon: Any = 0.1,
        zero: Any = 0.0,
    ) -> None:
        self.n_features = n_features
        self.slope = LOSSES[loss][1]
        self.l1, self.l2 = l1, l2
        self.fit_intercept, self.epsilon, self.zero = fit_intercept, epsilon, zero
        self.t = 0

    def step(
        self, indices: Sequence[int], values: Sequence[Any], target: Any, weight: Any = 1
    ) -> Any:
        """Learn from one example of importance ``weight``; return the prediction before."""
        raise NotImplementedError
