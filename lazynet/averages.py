"""Averages of the iterates: omega_i >= 0 is the weight of iterate i = 1, 2, ..., after step i."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from lazynet.parameters import (
    Integer,
    Kind,
    ParameterObject,
    check_array,
    check_integer,
    refuse_class,
    shown,
)


class Average(Protocol):
    """The weights of the iterates in an average."""

    def counts(self, start: int, stop: int) -> NDArray[np.float64]:
        """omega of the iterates after the steps ``start``, ..., ``stop - 1``."""
        ...


@dataclass(repr=False)
class FromStep(ParameterObject):
    """The plain mean of the iterates from number ``first`` on; by default of all iterates.

    >>> FromStep(3).counts(0, 5)
    array([0., 0., 1., 1., 1.])
    """

    first: Annotated[int, Integer(least=0)] = 1

    def counts(self, start: int, stop: int) -> NDArray[np.float64]:
        """omega of the iterates after the steps ``start``, ..., ``stop - 1``."""
        first = self.settled().first
        return np.asarray(np.arange(start + 1, stop + 1) >= first, dtype=np.float64)


@dataclass(repr=False)
class Suffix(ParameterObject):
    """The plain mean of the iterates in the last half of the run, whose length must be known.

    >>> Suffix().completed(n_steps=1000)
    FromStep(first=501)
    """

    name: ClassVar[str] = "suffix"

    def completed(self, n_steps: int | None) -> FromStep:
        """The average of a run of ``n_steps`` steps."""
        if n_steps is None:
            raise ValueError(
                "average='suffix' needs the number of steps before the first step: set tol=None, "
                "so that fit runs all max_iter epochs; if the number is not known, "
                "average='polynomial' gives old iterates little weight, and average=FromStep(k) "
                "begins at step k"
            )
        return FromStep(n_steps // 2 + 1).settled()


@dataclass(repr=False)
class PolynomialDecay(ParameterObject):
    """Polynomial-decay averaging, Shamir & Zhang (2013): old iterates count little.

    The recursion avg <- (1 - c) avg + c w with c = (degree + 1) / (i + degree) gives the mean in
    which iterate i has the weight omega_i = i (i + 1) ... (i + degree - 1).  The first weight is
    degree!, a finite number up to degree 170.  In a long run the last weight is finite only for
    smaller degrees.

    >>> PolynomialDecay(1).counts(0, 4)
    array([1., 2., 3., 4.])
    >>> PolynomialDecay(3).counts(0, 3)
    array([ 6., 24., 60.])
    """

    name: ClassVar[str] = "polynomial"
    degree: Annotated[int, Integer(least=0, most=170)] = 3

    def counts(self, start: int, stop: int) -> NDArray[np.float64]:
        """omega of the iterates after the steps ``start``, ..., ``stop - 1``."""
        degree = self.settled().degree
        i = np.arange(start + 1, stop + 1, dtype=np.float64)
        counts = np.ones(stop - start)
        with np.errstate(over="ignore"):  # ``checked_counts`` refuses infinite counts
            for k in range(degree):
                counts *= i + k
        return counts


_BY_NAME: dict[str, type[ParameterObject]] = {kind.name: kind for kind in (Suffix, PolynomialDecay)}


def check_average(name: str, average: Any) -> Average | Suffix | None:
    """The average for a value of the parameter; None for no average.

    >>> check_average("average", False), check_average("average", np.int8(3))
    (None, FromStep(first=3))
    """
    if average is None or isinstance(average, (bool, np.bool_)):
        return FromStep().settled() if average else None
    if isinstance(average, (FromStep, Suffix, PolynomialDecay)):
        return average.settled()
    if isinstance(average, str):
        if average in _BY_NAME:
            return _BY_NAME[average]().settled()
    elif hasattr(average, "__index__") and np.ndim(average) == 0:
        first = check_integer(name, average, 0)
        return FromStep(first).settled() if first else None
    elif hasattr(average, "counts") or isinstance(average, type):
        refuse_class(name, average, "...")
        return average
    raise ValueError(
        f"{name} must be False, True, the step to average from, one of {list(_BY_NAME)}, or an "
        f"object such as FromStep(k) or PolynomialDecay(degree), got {shown(average)}"
    )


#: The type of the parameter ``average``.
AverageLike = Annotated[
    bool | int | str | Average | Suffix,
    Kind(check_average, objects=(FromStep, Suffix, PolynomialDecay)),
]


def known_average(average: Average | Suffix, n_steps: int | None) -> Average:
    """The average of a run of ``n_steps`` steps; None: the number is not known."""
    if isinstance(average, Suffix):
        return average.completed(n_steps)
    if isinstance(average, PolynomialDecay) and n_steps:
        # omega is largest at the last step: refuse an infinite omega before the run begins.
        checked_counts(average, n_steps - 1, n_steps)
    return average


def checked_counts(average: Average, start: int, stop: int) -> NDArray[np.float64]:
    """``average.counts`` as an array for the kernels; refuses negative and infinite counts."""
    requirement = f"must give {stop - start} real numbers"
    answer = average.counts(start, stop)
    counts = np.ascontiguousarray(
        check_array(f"average.counts({start}, {stop})", requirement, answer)
    )
    if counts.shape != (stop - start,):
        raise ValueError(
            f"average.counts({start}, {stop}) must give {stop - start} numbers, "
            f"got shape {counts.shape}"
        )
    if not (np.isfinite(counts).all() and counts.min(initial=0.0) >= 0.0):
        raise ValueError(f"average.counts({start}, {stop}) must be finite and not negative")
    return counts
