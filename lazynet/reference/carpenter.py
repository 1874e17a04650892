"""Carpenter's lazy sparse SGD (2008), INEXACT for l2 > 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from lazynet.reference.learner import Learner
from lazynet.reference.storage import PlainLazy


class PlainCarpenter(PlainLazy):
    """INEXACT: one linear step |w| <- [ |w| - gap eta (l1 + l2 |w|) ]+ for ``gap`` missed shrinks.

    eta is the rate of the step before the read, even if the missed steps had other rates:
    Carpenter's rate is constant within an epoch.  All weights are brought current every ``period``
    steps (None: never) and by ``catch_up``, as at the end of an epoch.  The scheme is exact if
    l2 = 0 and the rate is constant, or if ``period=1``.

    >>> lazy = PlainCarpenter(1, loss="squared_error", l1=0.25, schedule=lambda t: 1.0)
    >>> for _ in range(2):
    ...     _ = lazy.step([0], [1.0], 4.0)
    >>> lazy.weights
    [3.75]
    >>> lazy.catch_up()
    >>> lazy.psi  # weight 0 is stored as of step 2
    [2]
    """

    state: ClassVar[tuple[str, ...]] = ("t", "w", "psi", "intercept")

    def __init__(self, n_features: int, *, period: int | None = None, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.period = period
        self.w, self.psi = [self.zero] * n_features, [0] * n_features

    def load(self, j: int) -> Any:
        """Weight j as of now, with the rate of the step before."""
        w, gap = self.w[j], self.t - self.psi[j]
        if not gap:
            return w
        eta = self.schedule(self.t - 1)
        magnitude = abs(w) - gap * eta * (self.l1 + self.l2 * abs(w))
        if magnitude <= 0:
            return self.zero
        return magnitude if w > 0 else -magnitude

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        self.w[j], self.psi[j] = w, self.t

    def advance(self, a: Any, b: Any) -> None:
        """Do nothing: the missed shrinks follow from the count of the steps."""

    def catch_up(self) -> None:
        """Bring every weight current; no weight changes."""
        self.w, self.psi = self.weights, [self.t] * self.n_features

    def continue_from(self, other: Learner) -> None:
        """Start from the weights of another one, which brings all of them current."""
        assert isinstance(other, PlainCarpenter)
        other.catch_up()
        super().continue_from(other)

    def step(
        self, indices: Sequence[int], values: Sequence[Any], target: Any, importance: Any = 1
    ) -> Any:
        """Learn from one example; return the prediction before."""
        p = super().step(indices, values, target, importance)
        if self.period and self.t % self.period == 0:
            self.catch_up()
        return p
