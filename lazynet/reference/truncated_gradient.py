"""Truncated gradient, Langford, Li & Zhang (2009): gravity every K steps, up to a threshold.

The paper's K is ``period``, its g is ``l1``, its theta is ``threshold``.
"""

from __future__ import annotations

import math
from typing import Any

from lazynet.reference.affine import DenseReference, sgd_shrink


def truncate(v: Any, alpha: Any, theta: Any) -> Any:
    """The paper's T1: sgn(v) [ |v| - alpha ]+ if |v| <= theta, else v.

    >>> truncate(0.5, 0.25, 1.0), truncate(-0.5, 0.75, 1.0), truncate(2.0, 0.25, 1.0)
    (0.25, -0.0, 2.0)
    """
    return v if abs(v) > theta else sgd_shrink(v, 1, alpha, 0)


class DenseTruncatedGradient(DenseReference):
    """w <- w - eta_t grad; after every ``period`` steps w <- T1(w, eta_t period l1, threshold).

    With a finite threshold l2 must be 0.  Without a threshold the rule belongs to the affine
    family: the shrink of step t is that of SGD, sgn(w) [ (1 - eta_t l2) |w| - eta_t g_t ]+, where
    g_t = period l1 at every ``period``-th step and g_t = 0 at the others.

    >>> dense = DenseTruncatedGradient(1, loss="squared_error", l1=0.5, period=2,
    ...                               schedule=lambda t: 0.5)
    >>> for _ in range(2):
    ...     _ = dense.step([0], [1.0], 4.0)
    >>> dense.weights, dense.predict([0], [2.0])  # 2, then 3 less 0.5 * 2 * 0.5
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
