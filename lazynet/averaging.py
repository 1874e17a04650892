"""Which iterates an average counts, and how much: omega_i for i = 1, 2, ..., after step i."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lazynet.params import Integer, SettledFields, Special, check_array, check_integer, shown, table

#: What the estimators take for ``average``, the numbers aside.
NAMES = ("polynomial", "suffix")


class Averaging(Protocol):
    """How much the iterates after the steps ``start``, ..., ``stop - 1`` count."""

    def counts(self, start: int, stop: int) -> NDArray[np.float64]:
        """omega of each, finite and not negative."""
        ...


@dataclass(frozen=True)
class FromStep(SettledFields):
    """The mean of the iterates from the ``first`` on, all of them by default.

    >>> FromStep(3).counts(0, 5)
    array([0., 0., 1., 1., 1.])
    """

    _kinds = table(first=Integer(least=0))
    first: int = 1

    def counts(self, start: int, stop: int) -> NDArray[np.float64]:
        """omega of the iterates after the steps ``start``, ..., ``stop - 1``."""
        return np.asarray(np.arange(start + 1, stop + 1) >= self.first, dtype=np.float64)


@dataclass(frozen=True)
class PolynomialDecay(SettledFields):
    """Polynomial-decay averaging, Shamir & Zhang (2013): what is long past counts little.

    Their recursion, avg <- (1 - c) avg + c w with c = (degree + 1) / (i + degree), is the mean
    in which iterate i counts i (i + 1) ... (i + degree - 1).  The first counts degree!, which is
    a finite number up to degree 170; over a long run only smaller degrees keep the last one finite.

    >>> PolynomialDecay(1).counts(0, 4)
    array([1., 2., 3., 4.])
    >>> PolynomialDecay(3).counts(0, 3)
    array([ 6., 24., 60.])
    """

    _kinds = table(degree=Integer(least=0, most=170))
    degree: int = 3

    def counts(self, start: int, stop: int) -> NDArray[np.float64]:
        """omega of the iterates after the steps ``start``, ..., ``stop - 1``."""
        i = np.arange(start + 1, stop + 1, dtype=np.float64)
        counts = np.ones(stop - start)
        with np.errstate(over="ignore"):  # refused as infinite, by whoever asked
            for k in range(self.degree):
                counts *= i + k
        return counts


AverageLike = bool | int | str | Averaging


def make_averaging(average: AverageLike, n_steps: int | None) -> Averaging | None:
    """What ``average`` stands for; ``n_steps`` is the length of the run, where it is known.

    >>> make_averaging(True, None), make_averaging("suffix", 1000)
    (FromStep(first=1), FromStep(first=501))
    """
    average = check_average("average", average)
    if average == "suffix":
        if n_steps is None:
            raise ValueError(
                "average='suffix' needs to know the last step from the beginning: set "
                "tol=None, so that fit runs all max_iter epochs; where the last step is not "
                "known, average='polynomial' forgets what is long past, and average=k begins "
                "at step k"
            )
        return FromStep(n_steps // 2 + 1)
    if isinstance(average, int):
        return FromStep(int(average)) if average else None
    averaging = PolynomialDecay() if isinstance(average, str) else average
    if isinstance(averaging, PolynomialDecay) and n_steps:
        # The last step counts most: what is not finite there is refused before the run begins.
        checked_counts(averaging, n_steps - 1, n_steps)
    return averaging


def check_average(name: str, average: Any) -> AverageLike:
    """One of the names, an int or bool, or an object that gives counts; refuses the rest.

    >>> check_average("average", np.int8(3)), check_average("average", np.bool_(False))
    (3, False)
    """
    if isinstance(average, (bool, np.bool_)):
        return bool(average)
    if isinstance(average, str):
        if average in NAMES:
            return str(average)
    elif hasattr(average, "__index__") and np.ndim(average) == 0:
        return check_integer(name, average, 0)
    elif hasattr(average, "counts") and not isinstance(average, type):
        return average
    raise ValueError(
        f"{name} must be False, True, the step to average from, one of {list(NAMES)}, or an "
        f"object of lazynet.averaging, got {shown(average)}"
    )


#: The kind of ``average``.
AVERAGE = Special(check=check_average)


def checked_counts(averaging: Averaging, start: int, stop: int) -> NDArray[np.float64]:
    """``averaging.counts`` as the kernels take it; refuses what is no weighing."""
    what = f"must give {stop - start} real numbers"
    given = averaging.counts(start, stop)
    counts = np.ascontiguousarray(check_array(f"average.counts({start}, {stop})", what, given))
    if counts.shape != (stop - start,):
        raise ValueError(
            f"average.counts({start}, {stop}) must give {stop - start} numbers, "
            f"got shape {counts.shape}"
        )
    if not (np.isfinite(counts).all() and counts.min(initial=0.0) >= 0.0):
        raise ValueError(f"average.counts({start}, {stop}) must be finite and not negative")
    return counts
