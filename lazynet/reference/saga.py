"""SAGA with an elastic net, Defazio, Bach & Lacoste-Julien (2014)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from lazynet.reference.affine import fobos_shrink
from lazynet.reference.learner import Learner


class DenseSAGA(Learner):
    """A step on row i of n, with g the slope of its loss and x its values, is

        w <- prox( w - alpha ((g - g_i) x + m) )      m <- m + (g - g_i) x / n      g_i <- g

    where g_i is the slope of the last visit to the row, 0 before the first, and m the mean of
    g_i x_i over all n rows.  prox(v) minimises (w - v)^2 / 2 + alpha (l1 |w| + l2 w^2 / 2).  The
    intercept is a weight whose value is 1 in every row, without a penalty.

    >>> dense = DenseSAGA(1, n_rows=2, loss="squared_error", l1=1.0, l2=2.0, alpha=0.5)
    >>> dense.step([0], [1.0], 4.0, row=0), dense.weights  # (0.5 * 4 - 0.5) / (1 + 0.5 * 2)
    (0.0, [0.75])
    >>> dense.step([], [], 1.0, row=1), dense.weights  # the mean is -2: (0.75 + 0.5 * 2 - 0.5) / 2
    (0.0, [0.625])
    >>> dense.slopes, dense.means
    ([-4.0, -1.0], [-2.0])
    """

    state: ClassVar[tuple[str, ...]] = (
        *("t", "weights", "intercept", "slopes", "means", "intercept_mean"),
    )

    def __init__(
        self, n_features: int, *, n_rows: int = 1, alpha: Any = 0.1, **options: Any
    ) -> None:
        super().__init__(n_features, **options)
        self.alpha = alpha
        self.weights, self.intercept = [self.zero] * n_features, self.zero
        self.slopes = [self.zero] * n_rows
        self.means, self.intercept_mean = [self.zero] * n_features, self.zero

    def step(
        self,
        indices: Iterable[int],
        values: Iterable[Any],
        target: Any,
        importance: Any = 1.0,
        row: int = 0,
    ) -> Any:
        """Learn from the example in row ``row``; return the prediction before."""
        n = len(self.slopes)
        x = [self.zero] * self.n_features
        p = self.intercept
        for j, value in zip(indices, values, strict=True):
            x[j] = value
            p += self.weights[j] * value
        g = importance * self.slope(p, target, self.epsilon)
        change = g - self.slopes[row]
        for j, w in enumerate(self.weights):
            moved = w - self.alpha * (change * x[j] + self.means[j])
            self.weights[j] = fobos_shrink(moved, self.alpha, self.l1, self.l2)
            self.means[j] += change * x[j] / n
        if self.fit_intercept:
            self.intercept -= self.alpha * (change + self.intercept_mean)
            self.intercept_mean += change / n
        self.slopes[row] = g
        self.t += 1
        return p
