"""Averages of all iterates: by summing them, and lazily on the clock.

The average weighs iterate i = 1, 2, ..., the weights after step i, by omega_i >= 0.  All ones give
the plain average, zeros before step k the average from step k on, and the rising products of
``lazynet.PolynomialDecay`` the averages of Shamir & Zhang.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any

from lazynet.reference.dense import DenseReference
from lazynet.reference.lazy import PlainClock

Omega = Callable[[int], Any]


def every_iterate(i: int) -> int:
    """omega_i = 1: the plain average.

    >>> every_iterate(1), every_iterate(100)
    (1, 1)
    """
    return 1


class DenseAverage(DenseReference):
    """Sums up every weight after every step.

    >>> twin = DenseAverage(1, loss="squared_error", schedule=lambda t: 0.25, fit_intercept=True)
    >>> for target in (4.0, 4.0):
    ...     _ = twin.step([0], [1.0], target)
    >>> twin.weights, twin.averages  # 1 and 1.5
    ([1.5], [1.25])
    >>> twin.intercept, twin.average_intercept
    (1.5, 1.25)
    >>> twin.predict([0], [1.0])  # by the last weights
    3.0
    """

    def __init__(self, n_features: int, *, omega: Omega = every_iterate, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.omega = omega
        zero = options.get("zero", 0.0)
        self.sums, self.intercept_sum, self.total = [zero] * n_features, zero, zero

    def step(
        self, indices: Iterable[int], values: Iterable[Any], target: Any, weight: Any = 1
    ) -> Any:
        """Learn from one example and count the iterate; returns the prediction made before."""
        p = super().step(indices, values, target, weight)
        omega = self.omega(self.t)
        self.sums = [s + omega * w for s, w in zip(self.sums, self.weights, strict=True)]
        self.intercept_sum += omega * self.intercept
        self.total += omega
        return p

    @property
    def averages(self) -> list[Any]:
        """The weighted mean of every weight; the weights themselves while nothing has counted."""
        if not self.total:
            return list(self.weights)
        return [s / self.total for s in self.sums]

    @property
    def average_intercept(self) -> Any:
        """The weighted mean of the intercept, likewise."""
        return self.intercept_sum / self.total if self.total else self.intercept


class PlainAverage(PlainClock):
    """The same at the cost of the nonzeros, exact also where l1 makes weights vanish.

    While nothing touches it, a weight is sgn(z) [ |z| - shift ]+ scale with a fixed z: a curve that
    meets zero at most once, because the shift only rises.  With the prefix sums

        S0(n) = sum_{i <= n} omega_i scale_i        S1(n) = sum_{i <= n} omega_i scale_i shift_i

    its sum over the iterates is z S0 - sgn(z) S1, less what belongs to the time before z was
    stored, up to the last iterate whose shift is below |z|.  What belongs to the time before is
    kept in one number per weight: a change of z by dz and of its sign by ds, made when n iterates
    had counted, adds S0(n) dz - S1(n) ds to it.  A weight that has vanished was last alive at an
    iterate that a search in the shifts finds; the change to zero is entered for then.

    >>> lazy = PlainAverage(1, loss="squared_error", schedule=lambda t: 0.25, fit_intercept=True)
    >>> for target in (4.0, 4.0):
    ...     _ = lazy.step([0], [1.0], target)
    >>> lazy.weights, lazy.averages, lazy.average_intercept
    ([1.5], [1.25], 1.25)
    >>> lazy.store(0, 5.0)  # from now on: what has been summed stays
    >>> lazy.load(0), lazy.sum_of(0)
    (5.0, 2.5)
    >>> lazy.advance(0.5, 0.0)  # another shrink, which nobody counts
    >>> lazy.load(0), lazy.sum_of(0)
    (2.5, 2.5)
    """

    def __init__(self, n_features: int, *, omega: Omega = every_iterate, **options: Any) -> None:
        self.omega = omega
        self.before = [options.get("zero", 0.0)] * n_features
        self.intercept_sum, self.total = options.get("zero", 0.0), options.get("zero", 0.0)
        super().__init__(n_features, **options)

    def reset(self) -> None:
        """Set the clock anew, and let its past begin.

        >>> lazy = PlainAverage(1, loss="squared_error")
        >>> _ = lazy.step([0], [1.0], 4.0)
        >>> lazy.shifts, lazy.S0  # of one iterate, at the scale 1
        ([0.0], [0.0, 1.0])
        >>> lazy.reset()
        >>> lazy.shifts, lazy.S0
        ([], [0.0])
        """
        super().reset()
        # Of the iterates that have counted since the clock was set: their shifts, S0 and S1.
        self.shifts: list[Any] = []
        self.S0, self.S1 = [self.zero], [self.zero]

    def step(
        self, indices: Iterable[int], values: Iterable[Any], target: Any, weight: Any = 1
    ) -> Any:
        """Learn from one example and count the iterate; returns the prediction made before."""
        p = super().step(indices, values, target, weight)
        omega = self.omega(self.t)
        self.shifts.append(self.shift)
        self.S0.append(self.S0[-1] + omega * self.scale)
        self.S1.append(self.S1[-1] + omega * self.scale * self.shift)
        self.intercept_sum += omega * self.intercept
        self.total += omega
        return p

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now; what it has been so far stays in the sum."""
        alive = self._alive(j)
        if alive < len(self.shifts):
            self._enter(j, alive, self.zero)
        old = self.stored[j]
        super().store(j, w)
        new, self.stored[j] = self.stored[j], old
        self._enter(j, len(self.shifts), new)

    def _alive(self, j: int) -> int:
        """How many of the iterates that counted have a weight j that is not zero."""
        return bisect_left(self.shifts, abs(self.stored[j]))

    def _enter(self, j: int, n: int, z: Any) -> None:
        """Weight j is stored as z from iterate n on."""
        old = self.stored[j]
        self.before[j] += self.S0[n] * (z - old) - self.S1[n] * (_sign(z) - _sign(old))
        self.stored[j] = z

    def sum_of(self, j: int) -> Any:
        """The weighted sum of weight j over all iterates that have counted."""
        z, n = self.stored[j], self._alive(j)
        return self.S0[n] * z - self.S1[n] * _sign(z) - self.before[j]

    def advance(self, a: Any, b: Any) -> None:
        """Let one shrink pass over every weight."""
        if a <= 0:  # every weight is wiped, and the clock set anew
            self._fold()
        super().advance(a, b)

    def rebase(self) -> None:
        """Bring every weight current and set the clock anew; sums and weights stay what they are.

        >>> lazy = PlainAverage(1, loss="squared_error", l1=1.0)
        >>> _ = lazy.step([0], [1.0], 4.0)
        >>> lazy.shift, lazy.weights, lazy.averages
        (1.0, [3.0], [3.0])
        >>> lazy.rebase()
        >>> lazy.shift, lazy.weights, lazy.averages
        (0.0, [3.0], [3.0])
        """
        self._fold()
        super().rebase()

    def _fold(self) -> None:
        """Turn what has been summed into the state before the first iterate that counts next."""
        self.before = [-self.sum_of(j) for j in range(self.n_features)]

    @property
    def averages(self) -> list[Any]:
        """The weighted mean of every weight; the weights themselves while nothing has counted."""
        if not self.total:
            return self.weights
        return [self.sum_of(j) / self.total for j in range(self.n_features)]

    @property
    def average_intercept(self) -> Any:
        """The weighted mean of the intercept, likewise."""
        return self.intercept_sum / self.total if self.total else self.intercept


def _sign(v: Any) -> int:
    return 1 if v > 0 else -1 if v < 0 else 0
