"""Truncated gradient, Langford, Li & Zhang (2009): gravity every K steps, up to a threshold.

The paper's K is ``period``, its g is ``l1``, its theta is ``threshold``.
"""

from __future__ import annotations

import math
from typing import Any

from lazynet.reference.dense import DenseReference
from lazynet.reference.plain import PlainLazy
from lazynet.reference.shrink import sgd_shrink


def truncate(v: Any, alpha: Any, theta: Any) -> Any:
    """The paper's T1: sgn(v) [ |v| - alpha ]+ where |v| <= theta, and v itself beyond.

    >>> truncate(0.5, 0.25, 1.0), truncate(-0.5, 0.75, 1.0), truncate(2.0, 0.25, 1.0)
    (0.25, -0.0, 2.0)
    """
    return v if abs(v) > theta else sgd_shrink(v, 1, alpha, 0)


class DenseTruncatedGradient(DenseReference):
    """w <- w - eta_t grad; after every ``period`` steps w <- T1(w, eta_t period l1, threshold).

    With a finite threshold l2 must be 0.  Without a threshold the rule belongs to the affine
    family: the shrink of step t is that of SGD, sgn(w) [ (1 - eta_t l2) |w| - eta_t g_t ]+, where
    g_t = period l1 at every ``period``-th step and g_t = 0 at the others.

    >>> twin = DenseTruncatedGradient(1, loss="squared_error", l1=0.5, period=2,
    ...                               schedule=lambda t: 0.5)
    >>> for _ in range(2):
    ...     _ = twin.step([0], [1.0], 4.0)
    >>> twin.weights, twin.predict([0], [2.0])  # 2, then 3 less 0.5 * 2 * 0.5
    ([2.5], 5.0)
    """

    def __init__(
        self, n_features: int, *, period: int = 1, threshold: Any = math.inf, **options: Any
    ) -> None:
        super().__init__(n_features, **options)
        if self.l2 and threshold < math.inf:
            raise ValueError(f"l2 must be 0 with a finite threshold, got l2={self.l2}")
        self.period, self.threshold = period, threshold

    def _shrink_all(self, eta: Any) -> None:
        due = (self.t + 1) % self.period == 0
        gravity = self.period * self.l1 if due else 0
        if self.threshold == math.inf:
            self.weights = [sgd_shrink(w, eta, gravity, self.l2) for w in self.weights]
        elif due:
            self.weights = [truncate(w, eta * gravity, self.threshold) for w in self.weights]


class PlainTruncatedGradient(PlainLazy):
    """The truncated gradient without l2, where a step visits only the features of its example.

    G is the sum of all alpha = eta_t period l1 so far, and a weight remembers the G of the time
    when it was stored.  A weight within the threshold has had every truncation since then, because
    no truncation lifts it beyond the threshold.  A weight beyond the threshold has had none,
    because only a gradient brings it back.

    >>> lazy = PlainTruncatedGradient(2, loss="squared_error", l1=0.5, threshold=1.0)
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
        self, n_features: int, *, period: int = 1, threshold: Any = math.inf, **options: Any
    ) -> None:
        super().__init__(n_features, **options)
        if self.l2:
            raise ValueError(f"l2 must be 0: a stamp can carry no l2 penalty, got l2={self.l2}")
        self.period, self.threshold = period, threshold
        self.map = self._truncation
        self.w, self.stamp = [self.zero] * n_features, [self.zero] * n_features
        self.G = self.zero

    def _truncation(self, eta: Any, l1: Any, _l2: Any) -> tuple[Any, Any]:
        """1 and the alpha of this step, which is 0 unless a truncation is due."""
        due = (self.t + 1) % self.period == 0
        return 1, eta * self.period * l1 if due else 0

    def load(self, j: int) -> Any:
        """Weight j as of now: truncated by as much as G has grown since the weight was stored."""
        return truncate(self.w[j], self.G - self.stamp[j], self.threshold)

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        self.w[j], self.stamp[j] = w, self.G

    def advance(self, a: Any, b: Any) -> None:
        """Let one truncation with alpha = b pass over every weight; a must be 1."""
        self.G += b
