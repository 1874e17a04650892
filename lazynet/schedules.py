"""Schedules of the rate: t -> eta_t for t = 0, 1, 2, ...

A schedule is anything that can be called with a step number and gives a rate.  The objects here
also give whole chunks of rates at once (``rates``), which keeps Python out of the loop; a plain
callable is asked once per step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lazynet.params import POSITIVE, Number, SettledFields, Special, check_array, table


@runtime_checkable
class Schedule(Protocol):
    """What the trainer asks of a schedule."""

    def __call__(self, t: int) -> float:
        """The rate of step ``t``."""
        ...

    def rates(self, start: int, stop: int) -> NDArray[np.float64]:
        """The rates of the steps from ``start`` to ``stop``."""
        ...


#: What the estimators accept as ``schedule``.
ScheduleLike = str | Schedule | Callable[[int], float] | Sequence[float] | NDArray[np.floating]


class _Formula(SettledFields):
    """A schedule given by one formula over arrays of step numbers."""

    def rates(self, start: int, stop: int) -> NDArray[np.float64]:
        """The rates of the steps from ``start`` to ``stop``."""
        # A divisor that is too large makes a rate of 0, which is allowed; a rate that is too large
        # becomes infinite, which whoever asked refuses by name.
        with np.errstate(over="ignore", divide="ignore"):
            return self._formula(np.arange(start, stop, dtype=np.float64))

    def __call__(self, t: int) -> float:
        return float(self.rates(t, t + 1)[0])

    def _formula(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError


@dataclass(frozen=True)
class Constant(_Formula):
    """eta_t = eta0.

    >>> Constant(0.1).rates(0, 3).tolist()
    [0.1, 0.1, 0.1]
    """

    _kinds = table(eta0=POSITIVE)
    eta0: float = 0.1

    def _formula(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.full(len(t), self.eta0)


@dataclass(frozen=True)
class InverseTime(_Formula):
    """eta_t = eta0 / (1 + t).

    >>> InverseTime(1.0).rates(0, 4).round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    """

    _kinds = table(eta0=POSITIVE)
    eta0: float = 1.0

    def _formula(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.eta0 / (1.0 + t)


@dataclass(frozen=True)
class InverseSqrt(_Formula):
    """eta_t = eta0 / sqrt(1 + t).

    >>> InverseSqrt(1.0)(3)
    0.5
    >>> InverseSqrt(1.0).rates(0, 4).round(2).tolist()
    [1.0, 0.71, 0.58, 0.5]
    """

    _kinds = table(eta0=POSITIVE)
    eta0: float = 0.5

    def _formula(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.eta0 / np.sqrt(1.0 + t)


@dataclass(frozen=True)
class Power(_Formula):
    """eta_t = eta0 / (1 + t)^power_t.

    >>> Power(1.0, power_t=2.0).rates(0, 4).round(2).tolist()
    [1.0, 0.25, 0.11, 0.06]
    """

    _kinds = table(eta0=POSITIVE, power_t=Number())
    eta0: float = 0.5
    power_t: float = 0.25

    def _formula(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.eta0 / (1.0 + t) ** self.power_t


@dataclass(frozen=True)
class Pegasos(_Formula):
    """eta_t = 1 / (strength (t0 + t)), strength being the l2 of the penalty.

    Shalev-Shwartz et al. 2007 have t0 = 1, whose first step is eta*l2 = 1: it wipes every weight,
    which rule="sgd" refuses.  Hence t0 = 2 here unless asked otherwise.

    >>> Pegasos(strength=0.5).rates(0, 4).round(2).tolist()
    [1.0, 0.67, 0.5, 0.4]
    """

    _kinds = table(strength=POSITIVE, t0=POSITIVE)
    strength: float
    t0: float = 2.0

    def _formula(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / (self.strength * (self.t0 + t))


@dataclass(frozen=True, eq=False)
class FromArray:
    """The rates as listed; a step beyond the last is an error.

    >>> schedule = FromArray([0.5, 0.25])
    >>> schedule(1), schedule.rates(0, 2).tolist()
    (0.25, [0.5, 0.25])
    """

    values: ArrayLike
    _array: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        array = _as_rates(self.values).copy()
        if array.ndim != 1:
            raise ValueError(f"schedule as an array must have one dimension, got {array.ndim}")
        _check_rates(array, 0)
        array.flags.writeable = False
        object.__setattr__(self, "_array", array)

    def rates(self, start: int, stop: int) -> NDArray[np.float64]:
        """The rates of the steps from ``start`` to ``stop``."""
        if stop > len(self._array):
            missing = max(start, len(self._array))
            raise ValueError(
                f"schedule has {len(self._array)} rates, but step {missing} was asked for; "
                f"give one rate per step (steps are counted over all epochs)"
            )
        return self._array[start:stop]

    def __call__(self, t: int) -> float:
        return float(self.rates(t, t + 1)[0])


@dataclass(frozen=True)
class FromCallable:
    """A plain function of the step number, asked once per step.

    >>> FromCallable(lambda t: 1 / (1 + t)).rates(0, 2).tolist()
    [1.0, 0.5]
    """

    function: Callable[[int], float]

    def rates(self, start: int, stop: int) -> NDArray[np.float64]:
        """The rates of the steps from ``start`` to ``stop``."""
        values = _as_rates([self.function(t) for t in range(start, stop)])
        if values.ndim != 1:
            raise TypeError("schedule must give one number per step")
        _check_rates(values, start)
        return values

    def __call__(self, t: int) -> float:
        return float(self.rates(t, t + 1)[0])


def _as_rates(values: Any) -> NDArray[np.float64]:
    """An array of floats, or an error that names the argument."""
    return check_array("schedule", "must give one real number per step", values)


def _check_rates(values: NDArray[np.float64], start: int) -> None:
    # NaN fails both comparisons.
    if not (values.min(initial=0.0) >= 0 and values.max(initial=0.0) < np.inf):
        bad = ~(np.isfinite(values) & (values >= 0))
        where = int(np.argmax(bad))
        raise ValueError(
            f"schedule must give finite rates that are not negative, "
            f"got {values[where]} at step {start + where}"
        )


#: The schedules that have a name.
SCHEDULES = ("constant", "inverse_time", "inverse_sqrt", "power", "pegasos")


def make_schedule(
    schedule: ScheduleLike, eta0: float = 0.5, power_t: float = 0.25, l2: float = 0.0
) -> Schedule:
    """A schedule from its name, an array, a callable, or a schedule itself.

    >>> make_schedule("inverse_time", eta0=2.0)
    InverseTime(eta0=2.0)
    """
    found = check_schedule("schedule", schedule)
    if not isinstance(found, str):
        return found
    eta0 = POSITIVE.settled("eta0", eta0)
    if found == "constant":
        return Constant(eta0)
    if found == "inverse_time":
        return InverseTime(eta0)
    if found == "inverse_sqrt":
        return InverseSqrt(eta0)
    if found == "power":
        return Power(eta0, power_t)
    if not l2 > 0:
        raise ValueError(f"schedule='pegasos' is 1 / (l2 (t0 + t)) and needs l2 > 0, got l2={l2!r}")
    return Pegasos(l2)


def check_schedule(name: str, schedule: Any) -> str | Schedule:
    """A name as it is, and anything else that gives rates as a schedule; refuses the rest.

    >>> check_schedule("schedule", "power"), check_schedule("schedule", [0.5, 0.25])(1)
    ('power', 0.25)
    """
    if isinstance(schedule, str):
        if schedule in SCHEDULES:
            return str(schedule)
        raise ValueError(
            f"{name} must be one of {list(SCHEDULES)}, an array of rates, or a callable of the "
            f"step number, got {schedule!r}"
        )
    if isinstance(schedule, type):
        raise TypeError(
            f"{name} must be an object, got the class {schedule.__name__}: "
            f"write {schedule.__name__}(...)"
        )
    if isinstance(schedule, Schedule):
        return schedule
    if callable(schedule):
        return FromCallable(schedule)
    if isinstance(schedule, (Sequence, np.ndarray)):
        return FromArray(schedule)
    raise TypeError(
        f"{name} must be a name, an array of rates, or a callable of the step number, "
        f"got {type(schedule).__name__}"
    )


#: The kind of ``schedule``.
SCHEDULE = Special(check=check_schedule)


def checked_rates(schedule: Schedule, start: int, stop: int) -> NDArray[np.float64]:
    """The rates of the steps from ``start`` to ``stop``, refused unless they can be used."""
    rates = np.ascontiguousarray(_as_rates(schedule.rates(start, stop)))
    if rates.shape != (stop - start,):
        raise ValueError(
            f"schedule.rates({start}, {stop}) must give {stop - start} rates, got {rates.shape}"
        )
    _check_rates(rates, start)
    return rates
