"""Carpenter's lazy sparse SGD (2008), INEXACT for l2 > 0.

One linear step replaces all the shrinks that a weight has missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lazynet.reference.losses import LOSSES


class PlainCarpenter:
    """INEXACT: |w| <- [ |w| - gap eta (l1 + l2 |w|) ]+ for a gap of ``gap`` missed steps.

    eta is the rate of the step before the read, also where the missed steps had other rates:
    Carpenter's rate is constant within an epoch.  All weights are brought current every ``period``
    steps (None: never) and whenever ``catch_up`` is called, as at the end of an epoch.  The scheme
    is exact where l2 = 0 and the rate is constant, and where ``period=1``.

    >>> lazy = PlainCarpenter(1, loss="squared_error", l1=0.25, schedule=lambda t: 1.0)
    >>> for _ in range(2):
    ...     _ = lazy.step([0], [1.0], 4.0)
    >>> lazy.weights, lazy.weight(0)
    ([3.75], 3.75)
    >>> lazy.catch_up()
    >>> lazy.seen  # weight 0 is stored as of step 2
    [2]
    """

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        l1: Any = 0,
        l2: Any = 0,
        period: int | None = None,
        schedule: Callable[[int], Any] = lambda t: 1,
        fit_intercept: bool = False,
        epsilon: Any = 0.1,
        zero: Any = 0.0,
    ) -> None:
        self.slope = LOSSES[loss][1]
        self.l1, self.l2, self.schedule, self.period = l1, l2, schedule, period
        self.fit_intercept, self.epsilon, self.zero = fit_intercept, epsilon, zero
        self.w, self.seen = [zero] * n_features, [0] * n_features
        self.intercept = zero
        self.t = 0

    def weight(self, j: int) -> Any:
        """Weight j as of now, with the rate of the step before; no other weight is visited."""
        w, gap = self.w[j], self.t - self.seen[j]
        if not gap:
            return w
        eta = self.schedule(self.t - 1)
        magnitude = abs(w) - gap * eta * (self.l1 + self.l2 * abs(w))
        if magnitude <= 0:
            return self.zero
        return magnitude if w > 0 else -magnitude

    @property
    def weights(self) -> list[Any]:
        """All weights as of now."""
        return [self.weight(j) for j in range(len(self.w))]

    def catch_up(self) -> None:
        """Bring every weight current; no weight changes."""
        self.w, self.seen = self.weights, [self.t] * len(self.w)

    def step(
        self, indices: Iterable[int], values: Iterable[Any], target: Any, weight: Any = 1
    ) -> Any:
        """Learn from one example; return the prediction made before learning."""
        example = list(zip(indices, values, strict=True))
        for j, _ in example:
            self.w[j], self.seen[j] = self.weight(j), self.t
        p = self.intercept
        for j, x in example:
            p += self.w[j] * x
        eta = self.schedule(self.t)
        g = weight * self.slope(p, target, self.epsilon)
        for j, x in example:
            self.w[j] -= eta * g * x
        if self.fit_intercept:
            self.intercept -= eta * g
        self.t += 1
        if self.period and self.t % self.period == 0:
            self.catch_up()
        return p
