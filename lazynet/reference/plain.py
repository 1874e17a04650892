"""The step that the lazy forms of the affine family share.

A form says how it stores a weight (``load``, ``store``) and how one shrink passes over every weight
(``advance``).  Over exact fractions every form equals ``DenseReference`` to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lazynet.reference.learner import Learner
from lazynet.reference.shrink import MAPS


class PlainLazy(Learner):
    """A lazy learner: a step visits only the features of its example.

    Here the subclass is ``PlainClock``:

    >>> from lazynet.reference import PlainClock
    >>> lazy = PlainClock(1, loss="squared_error", rule="sgd", l1=0.5)
    >>> lazy.store(0, 2.0)
    >>> lazy.advance(0.5, 0.25)  # |w| <- 0.5 |w| - 0.25
    >>> lazy.load(0), lazy.weights
    (0.75, [0.75])
    >>> lazy.step([0], [1.0], target=1.75), lazy.weights  # 0.75 + 1, then the shrink takes 0.5
    (0.75, [1.25])
    """

    def __init__(
        self,
        n_features: int,
        *,
        rule: str = "fobos",
        step_order: str = "gradient_first",
        schedule: Callable[[int], Any] = lambda t: 1,
        **options: Any,
    ) -> None:
        super().__init__(n_features, **options)
        self.map = MAPS[rule]
        self.step_order, self.schedule = step_order, schedule
        self.intercept = self.zero

    def load(self, j: int) -> Any:
        """Weight j as of now."""
        raise NotImplementedError

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        raise NotImplementedError

    def advance(self, a: Any, b: Any) -> None:
        """Let one shrink |w| <- [ a |w| - b ]+ pass over every weight."""
        raise NotImplementedError

    @property
    def weights(self) -> list[Any]:
        """All weights as of now."""
        return [self.load(j) for j in range(self.n_features)]

    def step(
        self, indices: Iterable[int], values: Iterable[Any], target: Any, weight: Any = 1
    ) -> Any:
        """Learn from one example; return the prediction before."""
        example = list(zip(indices, values, strict=True))
        eta = self.schedule(self.t)
        a, b = self.map(eta, self.l1, self.l2)
        p = sum((self.load(j) * x for j, x in example), self.intercept)
        g = weight * self.slope(p, target, self.epsilon)
        if self.step_order == "shrink_first":
            self.advance(a, b)
        for j, x in example:
            self.store(j, self.load(j) - eta * g * x)
        if self.step_order == "gradient_first":
            self.advance(a, b)
        if self.fit_intercept:
            self.intercept -= eta * g
        self.t += 1
        return p
