"""Averages of all iterates: as a sum, and lazily on the clock.

Iterate i = 1, 2, ... is the weights after step i; omega_i >= 0 is the weight of iterate i in the
average.  With omega_i = 1 for every i the average is the plain mean.  With 0 for i < k and 1 from k
on it is the mean from step k on.  The omega of ``lazynet.PolynomialDecay`` gives the averages of
Shamir & Zhang (2013).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from lazynet.reference.affine import DenseReference
from lazynet.reference.storage import PlainClock

Omega = Callable[[int], Any]


class DenseAverage(DenseReference):
    """``DenseReference`` that adds every weight, times omega_i, to a sum after every step.

    >>> dense = DenseAverage(1, loss="squared_error", schedule=lambda t: 0.25, fit_intercept=True)
    >>> for target in (4.0, 4.0):
    ...     _ = dense.step([0], [1.0], target)
    >>> dense.weights, dense.averages  # 1 and 1.5
    ([1.5], [1.25])
    >>> dense.intercept, dense.average_intercept
    (1.5, 1.25)
    >>> dense.predict([0], [1.0])  # the last weights predict, not the averages
    3.0
    """

    def __init__(self, n_features: int, *, omega: Omega = lambda i: 1, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.omega = omega
        self.sums = [self.zero] * n_features
        self.intercept_sum = self.total = self.zero

    def step(
        self, indices: Sequence[int], values: Sequence[Any], target: Any, importance: Any = 1
    ) -> Any:
        """Learn from one example and count the iterate; return the prediction before."""
        prediction = super().step(indices, values, target, importance)
        omega = self.omega(self.t)
        self.sums = [s + omega * w for s, w in zip(self.sums, self.weights, strict=True)]
        self.intercept_sum += omega * self.intercept
        self.total += omega
        return prediction

    @property
    def averages(self) -> list[Any]:
        """The weighted mean of every weight; the weights themselves before any iterate counts."""
        return [s / self.total for s in self.sums] if self.total else list(self.weights)

    @property
    def average_intercept(self) -> Any:
        """The weighted mean of the intercept; the intercept itself before any iterate counts."""
        return self.intercept_sum / self.total if self.total else self.intercept


class PlainAverage(PlainClock):
    """Averages on the clock, exact even if l1 sets weights to 0.

    While no example touches a weight, the weight is sgn(z) [ |z| - shift ]+ scale with a fixed z: a
    curve that meets zero at most once, because the shift only rises.  With the prefix sums

        S0(n) = sum_{i <= n} omega_i scale_i        S1(n) = sum_{i <= n} omega_i scale_i shift_i

    the sum of the weight over the iterates is z S0(n) - sgn(z) S1(n) - before.  Here n is the last
    iterate whose shift is below |z|, and ``before``, one number per weight, is the part for the
    time before z was stored.  A change of z by dz and of its sign by ds after n iterates adds
    S0(n) dz - S1(n) ds to ``before``.  If the weight has become 0, a bisection in the shifts finds
    the last iterate at which it was not 0, and the change of z to 0 is entered at this iterate.

    >>> lazy = PlainAverage(1, loss="squared_error", l1=1.0, fit_intercept=True)
    >>> _ = lazy.step([0], [1.0], 4.0)
    >>> lazy.weights, lazy.averages, lazy.average_intercept
    ([3.0], [3.0], 4.0)
    >>> lazy.shifts, lazy.S0  # one iterate, at shift 1 and scale 1
    ([1.0], [0.0, 1.0])
    >>> lazy.store(0, 5.0)  # the sum so far stays
    >>> lazy.advance(0.5, 0.0)  # a shrink outside of a step: no iterate counts
    >>> lazy.load(0), lazy.sum_of(0)
    (2.5, 3.0)
    >>> lazy.rebase()
    >>> lazy.shift, lazy.weights, lazy.averages
    (0.0, [2.5], [3.0])
    >>> lazy.reset()
    >>> lazy.shifts, lazy.S0
    ([], [0.0])
    """

    def __init__(self, n_features: int, *, omega: Omega = lambda i: 1, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.omega = omega
        self.before = [self.zero] * n_features
        self.intercept_sum = self.total = self.zero

    def reset(self) -> None:
        """Reset the clock, and the shifts, S0 and S1 of the iterates that have counted since."""
        super().reset()
        self.shifts: list[Any] = []
        self.S0, self.S1 = [self.zero], [self.zero]

    def step(
        self, indices: Sequence[int], values: Sequence[Any], target: Any, importance: Any = 1
    ) -> Any:
        """Learn from one example and count the iterate; return the prediction before."""
        p = super().step(indices, values, target, importance)
        omega = self.omega(self.t)
        self.shifts.append(self.shift)
        self.S0.append(self.S0[-1] + omega * self.scale)
        self.S1.append(self.S1[-1] + omega * self.scale * self.shift)
        self.intercept_sum += omega * self.intercept
        self.total += omega
        return p

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now; the sum of weight j over past iterates stays."""
        alive = self._alive(j)
        if alive < len(self.shifts):
            self._enter(j, alive, self.zero)
        old = self.stored[j]
        super().store(j, w)
        new, self.stored[j] = self.stored[j], old
        self._enter(j, len(self.shifts), new)

    def _alive(self, j: int) -> int:
        """The number of iterates since the reset whose shift is below |z|: weight j was alive."""
        return bisect_left(self.shifts, abs(self.stored[j]))

    def _enter(self, j: int, n: int, z: Any) -> None:
        """Store weight j as z from iterate n on."""
        old = self.stored[j]
        self.before[j] += self.S0[n] * (z - old) - self.S1[n] * (_sign(z) - _sign(old))
        self.stored[j] = z

    def sum_of(self, j: int) -> Any:
        """The weighted sum of weight j over all iterates that have counted."""
        z, n = self.stored[j], self._alive(j)
        return self.S0[n] * z - self.S1[n] * _sign(z) - self.before[j]

    def advance(self, a: Any, b: Any) -> None:
        """Let one shrink |w| <- [ a |w| - b ]+ pass over every weight."""
        if a <= 0:  # every weight becomes 0, and the clock is reset
            self._fold()
        super().advance(a, b)

    def rebase(self) -> None:
        """Bring every weight current and reset the clock; no weight and no sum changes."""
        self._fold()
        super().rebase()

    def _fold(self) -> None:
        """Move every sum into ``before``, because a reset empties the prefix sums."""
        self.before = [-self.sum_of(j) for j in range(self.n_features)]

    @property
    def averages(self) -> list[Any]:
        """The weighted mean of every weight; the weights themselves before any iterate counts."""
        if not self.total:
            return self.weights
        return [self.sum_of(j) / self.total for j in range(self.n_features)]

    @property
    def average_intercept(self) -> Any:
        """The weighted mean of the intercept; the intercept itself before any iterate counts."""
        return self.intercept_sum / self.total if self.total else self.intercept


def _sign(v: Any) -> int:
    return (v > 0) - (v < 0)
