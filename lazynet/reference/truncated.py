"""Truncated gradient, Langford, Li & Zhang (2009): gravity every K steps, up to a threshold.

Every weight at every step, and lazily with one stamp per weight.
"""

from __future__ import annotations

import math
from typing import Any

from lazynet.reference.dense import DenseReference
from lazynet.reference.lazy import PlainLazy


def truncate(v: Any, alpha: Any, theta: Any) -> Any:
    """T1: towards zero by alpha, where |v| <= theta; beyond it unchanged.

    >>> truncate(0.5, 0.25, 1.0), truncate(-0.5, 0.75, 1.0), truncate(2.0, 0.25, 1.0)
    (0.25, -0.0, 2.0)
    """
    if abs(v) > theta:
        return v
    magnitude = abs(v) - alpha
    if magnitude <= 0:
        return v * 0
    return magnitude if v > 0 else -magnitude


class DenseTruncated(DenseReference):
    """w <- w - eta_t grad; after every ``period`` steps w <- T1(w, eta_t period gravity, theta).

    >>> twin = DenseTruncated(1, loss="squared_error", gravity=0.5, period=2,
    ...                       schedule=lambda t: 0.5)
    >>> for _ in range(2):
    ...     _ = twin.step([0], [1.0], 4.0)
    >>> twin.weights, twin.predict([0], [2.0])  # 2, then 3 less 0.5 * 2 * 0.5
    ([2.5], 5.0)
    """

    def __init__(
        self,
        n_features: int,
        *,
        gravity: Any = 0,
        period: int = 1,
        threshold: Any = math.inf,
        **options: Any,
    ) -> None:
        super().__init__(n_features, **options)
        self.gravity, self.period, self.threshold = gravity, period, threshold

    def _shrink_all(self, eta: Any) -> None:
        if (self.t + 1) % self.period == 0:
            alpha = eta * self.period * self.gravity
            self.weights = [truncate(w, alpha, self.threshold) for w in self.weights]


class PlainTruncated(PlainLazy):
    """The same at the cost of the nonzeros.

    G is the sum of all alphas so far, and a weight remembers G as of when it was stored.  One
    within the threshold has had every truncation since, for none of them lifts it; one beyond has
    had none, for nothing but a gradient brings it back.

    >>> lazy = PlainTruncated(2, loss="squared_error", gravity=0.5, threshold=1.0)
    >>> for j, target in ((0, 1.0), (1, 4.0)):
    ...     _ = lazy.step([j], [1.0], target)
    >>> lazy.weights  # 1 less 0.5 less 0.5, and 4, which is beyond the threshold
    [0.0, 4.0]
    >>> lazy.store(1, 0.75)
    >>> lazy.advance(1, 0.25)
    >>> lazy.load(1)
    0.5
    """

    def __init__(
        self,
        n_features: int,
        *,
        gravity: Any = 0,
        period: int = 1,
        threshold: Any = math.inf,
        **options: Any,
    ) -> None:
        super().__init__(n_features, **options)
        self.gravity, self.period, self.threshold = gravity, period, threshold
        self.map = self._alpha
        self.w, self.stamp = [self.zero] * n_features, [self.zero] * n_features
        self.G = self.zero

    def _alpha(self, eta: Any, _l1: Any, _l2: Any) -> tuple[Any, Any]:
        due = (self.t + 1) % self.period == 0
        return 1, eta * self.period * self.gravity if due else 0

    def load(self, j: int) -> Any:
        """Weight j as of now: truncated by what G has grown since it was stored."""
        return truncate(self.w[j], self.G - self.stamp[j], self.threshold)

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        self.w[j], self.stamp[j] = w, self.G

    def advance(self, a: Any, b: Any) -> None:
        """Let one truncation by b pass over every weight."""
        self.G += b
