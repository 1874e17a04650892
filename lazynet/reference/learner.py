"""What the learners share: their options, and the mean gradient of a batch.

A step on a batch of n examples makes all predictions with the weights before the step.  Its
gradient is the mean of the gradients of the examples, sum_i s_i l'(p_i, y_i) x_i / n, where s_i is
the importance of example i.  There is one shrink, and t counts the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazynet.reference.losses import LOSSES

#: The indices, values, target and importance of an example.
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
        return self.step_batch([(indices, values, target, weight)])[0]

    def step_batch(self, batch: Sequence[Example]) -> list[Any]:
        """Learn from the examples of a batch by one step; return the predictions before.

        >>> from lazynet.reference import DenseReference
        >>> twin = DenseReference(1, loss="squared_error", schedule=lambda t: 0.5)
        >>> twin.step_batch([([0], [1.0], 4.0, 1.0), ([0], [1.0], 8.0, 1.0)])
        [0.0, 0.0]
        >>> twin.weights, twin.t  # the gradients are -4 and -8
        ([3.0], 1)
        """
        raise NotImplementedError


def mean_gradient(
    batch: Sequence[Example], predictions: Sequence[Any], slope: Callable[..., Any], epsilon: Any
) -> tuple[dict[int, Any], Any]:
    """The mean of s l'(p, y) x in every column that an example names, and the mean of s l'(p, y).

    >>> batch = [([0, 2], [1.0, 4.0], 1.5, 1.0), ([2], [2.0], 0.0, 3.0)]
    >>> mean_gradient(batch, [2.0, 1.0], lambda p, y, epsilon: p - y, 0.0)
    ({0: 0.25, 2: 4.0}, 1.75)
    """
    sums: dict[int, Any] = {}
    total: Any = 0
    for (indices, values, target, weight), p in zip(batch, predictions, strict=True):
        g = weight * slope(p, target, epsilon)
        total += g
        for j, x in zip(indices, values, strict=True):
            sums[j] = sums.get(j, 0) + g * x
    n = len(batch)
    if n == 1:  # without a division whole numbers stay whole
        return sums, total
    return {j: sum_of_j / n for j, sum_of_j in sums.items()}, total / n
