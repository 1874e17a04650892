"""Schedules of the rate: t -> eta_t for t = 0, 1, 2, ...

A schedule is a callable from a step number to a rate.  The objects in this file also give the rates
of a whole chunk at once (``rates``), which avoids a call of Python for each step; a plain callable
is called once per step.

If an object has no ``eta0``, the model sets the scale of the rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lazynet.parameters import (
    Kind,
    Number,
    ParameterObject,
    Positive,
    check_array,
    did_you_mean,
    refuse_class,
)


@runtime_checkable
class Schedule(Protocol):
    """The methods that training calls on a schedule; ``OfSteps`` says what they return."""

    def __call__(self, t: int) -> float: ...

    def rates(self, start: int, stop: int) -> NDArray[np.float64]: ...


#: The rule or the schedule that the model chooses.
AUTO = "auto"


class OfSteps:
    """A schedule that gives the rates of many steps at once."""

    def __call__(self, t: int) -> float:
        """The rate of step ``t``."""
        return float(self.rates(t, t + 1)[0])

    def rates(self, start: int, stop: int) -> NDArray[np.float64]:
        """The rates of the steps from ``start`` to ``stop``."""
        raise NotImplementedError


class Formula(OfSteps, ParameterObject):
    """A schedule given by one formula over arrays of step numbers."""

    #: the name of the parameter that the model sets if it is None
    _from_model: ClassVar[str] = "eta0"

    def _of_model(self, eta0: float, l2: float) -> float:
        return eta0

    def completed(self, eta0: float, l2: float) -> Self:
        """The schedule in a model whose rates have the scale ``eta0`` and whose penalty has ``l2``.

        >>> Power().completed(0.5, 0.0), Pegasos().completed(0.5, 0.1)
        (Power(eta0=0.5), Pegasos(l2=0.1))
        """
        name = self._from_model
        if getattr(self, name) is not None:
            return self.settled()
        return replace(self, **{name: self._of_model(eta0, l2)}).settled()

    def rates(self, start: int, stop: int) -> NDArray[np.float64]:
        settled = self.settled()
        scale = getattr(settled, self._from_model)
        if scale is None:
            raise ValueError(
                f"{type(self).__name__} has no {self._from_model} and is used without a model: "
                f"write {type(self).__name__}({self._from_model}=...)"
            )
        # A rate that is too large becomes infinite, and ``checked_rates`` refuses it.
        with np.errstate(over="ignore", divide="ignore"):
            return np.asarray(settled._formula(scale, np.arange(start, stop, dtype=np.float64)))

    def _formula(self, scale: float, t: NDArray[np.float64]) -> Any:
        """The rates of the steps ``t``; ``scale`` is eta0, or the l2 of Pegasos."""
        raise NotImplementedError


@dataclass(repr=False)
class Scaled(Formula):
    """A formula with the factor ``eta0``."""

    eta0: Positive | None = None


@dataclass(repr=False)
class Constant(Scaled):
    """eta_t = eta0.

    >>> Constant(0.1).rates(0, 3).tolist()
    [0.1, 0.1, 0.1]
    """

    name: ClassVar[str] = "constant"

    def _formula(self, scale: float, t: NDArray[np.float64]) -> Any:
        return np.full(len(t), scale)


@dataclass(repr=False)
class InverseTime(Scaled):
    """eta_t = eta0 / (1 + t).

    >>> InverseTime(1.0).rates(0, 4).round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    """

    name: ClassVar[str] = "inverse_time"

    def _formula(self, scale: float, t: NDArray[np.float64]) -> Any:
        return scale / (1.0 + t)


@dataclass(repr=False)
class InverseSqrt(Scaled):
    """eta_t = eta0 / sqrt(1 + t).

    >>> InverseSqrt(1.0).rates(0, 4).round(2).tolist()
    [1.0, 0.71, 0.58, 0.5]
    """

    name: ClassVar[str] = "inverse_sqrt"

    def _formula(self, scale: float, t: NDArray[np.float64]) -> Any:
        return scale / np.sqrt(1.0 + t)


@dataclass(repr=False)
class Power(Scaled):
    """eta_t = eta0 / (1 + t)^power_t.

    >>> Power(1.0, power_t=2.0).rates(0, 4).round(2).tolist()
    [1.0, 0.25, 0.11, 0.06]
    """

    name: ClassVar[str] = "power"
    power_t: Annotated[float, Number()] = 0.25

    def _formula(self, scale: float, t: NDArray[np.float64]) -> Any:
        return scale / (1.0 + t) ** self.power_t


@dataclass(repr=False)
class Pegasos(Formula):
    """eta_t = 1 / (l2 (t0 + t)), by default with the l2 of the model.

    Shalev-Shwartz et al. 2007 have t0 = 1.  Its first step sets every weight to 0, and the rule SGD
    refuses such a step.

    >>> Pegasos(l2=0.5).rates(0, 4).round(2).tolist()
    [1.0, 0.67, 0.5, 0.4]
    """

    name: ClassVar[str] = "pegasos"
    _from_model: ClassVar[str] = "l2"
    l2: Positive | None = None
    t0: Annotated[float | None, Number(above=0)] = 2.0

    def _of_model(self, eta0: float, l2: float) -> float:
        if not l2 > 0:
            raise ValueError(
                f"schedule={self.name!r} is 1 / (l2 (t0 + t)) and needs l2 > 0, got l2={l2!r}"
            )
        return l2

    def _formula(self, scale: float, t: NDArray[np.float64]) -> Any:
        return 1.0 / (scale * ((scale**-0.75 if self.t0 is None else self.t0) + t))


@dataclass(repr=False)
class Optimal(Pegasos):
    """eta_t = 1 / (l2 (t0 + t)), by default with the l2 of the model and t0 = l2^(-3/4).

    This is "optimal" of scikit-learn's SGDClassifier, whose alpha is l2 (Bottou 2012).

    >>> Optimal(l2=1e-4).rates(0, 2).round(3).tolist()
    [10.0, 9.99]
    """

    name: ClassVar[str] = "optimal"
    t0: Positive | None = None


@dataclass(repr=False)
class FromData(OfSteps, ParameterObject):
    """Automatic learning rates: the clock computes them from the rows.

    The rate falls with the sum of the squared slopes of the loss, as in AdaGrad with one rate for
    all weights, and is divided by the mean squared norm of the rows so far.  So if X is multiplied
    by a number, the weights are divided by this number, and no prediction changes.  A regressor
    also lowers its rates if the slopes no longer fall.  ``lazynet.reference.from_data`` has the
    formulas.

    ``factor`` multiplies the rates.  For FoBoS and SGD with the storage "clock".

    >>> from lazynet import FoBoS, Stepper
    >>> stepper = Stepper(1, loss="squared_error", rule=FoBoS(FromData()))
    >>> [round(stepper.step([0], [1.0], target=1.0), 3) for _ in range(3)]
    [0.0, 0.842, 0.975]
    """

    name: ClassVar[str] = "from_data"
    factor: Positive = 1.0

    def rates(self, start: int, stop: int) -> NDArray[np.float64]:
        """Raises ValueError: the rates depend on the rows.

        >>> FromData().rates(0, 2)
        Traceback (most recent call last):
        ValueError: schedule=FromData() computes its rates from the rows and cannot give them before
        """
        raise ValueError(
            "schedule=FromData() computes its rates from the rows and cannot give them before"
        )


@dataclass(frozen=True, eq=False)
class FromArray(OfSteps):
    """An array with one rate per step; a step beyond the last rate is an error.

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
        if stop > len(self._array):
            raise ValueError(
                f"schedule has {len(self._array)} rates, but step {max(start, len(self._array))} "
                f"needs a rate: give one rate per step (steps are counted over all epochs)"
            )
        return self._array[start:stop]


@dataclass(frozen=True)
class FromCallable(OfSteps):
    """A plain function of the step number, called once per step.

    >>> FromCallable(lambda t: 1 / (1 + t)).rates(0, 2).tolist()
    [1.0, 0.5]
    """

    function: Callable[[int], float]

    def rates(self, start: int, stop: int) -> NDArray[np.float64]:
        values = _as_rates([self.function(t) for t in range(start, stop)])
        if values.ndim != 1:
            raise TypeError("schedule must give one number per step")
        _check_rates(values, start)
        return values


def _as_rates(values: Any) -> NDArray[np.float64]:
    """``values`` as an array of floats; an error names ``schedule``."""
    return check_array("schedule", "must give one real number per step", values)


def _check_rates(values: NDArray[np.float64], start: int) -> None:
    # NaN fails both comparisons.
    if not (values.min(initial=0.0) >= 0 and values.max(initial=0.0) < np.inf):
        bad = ~(np.isfinite(values) & (values >= 0))
        first_bad = int(np.argmax(bad))
        raise ValueError(
            f"schedule must give finite rates that are not negative, "
            f"got {values[first_bad]} at step {start + first_bad}"
        )


#: The schedules that have a name.
SCHEDULES: dict[str, type[Formula] | type[FromData]] = {
    kind.name: kind
    for kind in (Constant, InverseTime, InverseSqrt, Power, Pegasos, Optimal, FromData)
}


def check_schedule(name: str, schedule: Any) -> Any:
    """The schedule that a name, an array, a callable or an object gives; "auto" stays a name.

    >>> check_schedule("schedule", "power"), check_schedule("schedule", [0.5, 0.25])(1)
    (Power(), 0.25)
    """
    accepted = f"one of {[AUTO, *SCHEDULES]}, an array of rates, or a callable of the step number"
    if isinstance(schedule, str):
        if schedule == AUTO:
            return AUTO
        if schedule in SCHEDULES:
            return SCHEDULES[schedule]().settled()
        meant = did_you_mean(schedule, SCHEDULES)
        raise ValueError(f"{name} must be {accepted}, got {schedule!r}{meant}")
    if isinstance(schedule, (Formula, FromData)):
        return schedule.settled()
    refuse_class(name, schedule, "...")
    if isinstance(schedule, Schedule):
        return schedule
    if callable(schedule):
        return FromCallable(schedule)
    if isinstance(schedule, (Sequence, np.ndarray)):
        return FromArray(schedule)
    raise TypeError(f"{name} must be {accepted}, got {type(schedule).__name__}")


#: The type of the parameter ``schedule``.
ScheduleLike = Annotated[
    str | Schedule | Callable[[int], float] | Sequence[float] | NDArray[np.floating],
    Kind(check_schedule, objects=tuple(SCHEDULES.values())),
]


def needs_scale(schedule: Any) -> bool:
    """Whether ``schedule`` leaves the scale of its rates to the model."""
    return isinstance(schedule, Scaled) and schedule.eta0 is None


def checked_rates(schedule: Schedule, start: int, stop: int) -> NDArray[np.float64]:
    """The checked rates of the steps from ``start`` to ``stop``."""
    rates = np.ascontiguousarray(_as_rates(schedule.rates(start, stop)))
    if rates.shape != (stop - start,):
        raise ValueError(
            f"schedule.rates({start}, {stop}) must give {stop - start} rates, got {rates.shape}"
        )
    _check_rates(rates, start)
    return rates
