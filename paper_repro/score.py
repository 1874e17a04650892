"""The one scorer: spreads, ratios, equality of weights, and numbers as text."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Two numbers that agree to four significant figures have a relative difference below this.
FOUR_FIGURES = 5e-5
#: Weights that should be the same may differ by this part of the largest weight.
SAME = 1e-10


@dataclass(frozen=True)
class Spread:
    """A median and the range around it.

    The range of n independent repeats of the same distribution, whatever it is, covers the true
    median with probability 1 - 2^(1-n): 98.4 % for seven repeats.
    """

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{significant(self.median)} ({significant(self.least)} - {significant(self.most)})"


def ratios(slow: Sequence[float], fast: Sequence[float]) -> Spread:
    """How many times longer ``slow`` takes than ``fast``, repeat by repeat."""
    return Spread.of([a / b for a, b in zip(slow, fast, strict=True)])


def coverage(repeats: int) -> float:
    """The probability that the range of so many repeats covers the true median."""
    return 1.0 - 2.0 ** (1 - repeats)


class UnequalWeights(ArithmeticError):
    """Two learners should compute the same weights and do not: their times mean nothing."""


def equality(
    found: NDArray[np.float64], expected: NDArray[np.float64], who: str
) -> dict[str, float | int]:
    """How far two weight vectors differ; raises ``UnequalWeights`` beyond SAME.

    ``relative`` is the greatest difference divided by the largest weight.  ``four_figures`` counts
    the weights that differ in one of their first four significant figures.
    """
    differences = np.abs(found - expected)
    largest = float(np.abs(expected).max(initial=0.0))
    greatest = float(differences.max(initial=0.0))
    relative = greatest / largest if largest else greatest
    if not relative <= SAME:  # NaN included
        raise UnequalWeights(
            f"{who}: weights differ by {relative:.2g} of the largest, more than {SAME:g}"
        )
    return {
        "weights": len(expected),
        "nonzero": int(np.count_nonzero(expected)),
        "largest": largest,
        "absolute": greatest,
        "relative": relative,
        "four_figures": int((differences > FOUR_FIGURES * np.abs(expected)).sum()),
    }


def significant(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, without an exponent where it can be read.

    >>> significant(0.00012345), significant(1234.5), significant(1234567.0)
    ('0.000123', '1,230', '1,230,000')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    magnitude = math.floor(math.log10(abs(value)))
    if not -5 <= magnitude < 9:
        return f"{value:.{digits - 1}e}"
    rounded = round(value, digits - 1 - magnitude)
    return f"{rounded:,.{max(0, digits - 1 - magnitude)}f}"


def duration(seconds: float) -> str:
    """A time in the unit in which it can be read.

    >>> duration(2.5e-7), duration(0.0123), duration(12.3)
    ('250 ns', '12.3 ms', '12.3 s')
    """
    for unit, size in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds)} s"


def in_bytes(count: float) -> str:
    """Bytes in the unit in which they can be read.

    >>> in_bytes(0), in_bytes(2088), in_bytes(1.6e8)
    ('nothing', '2.09 kB', '160 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{significant(count / size)} {unit}"
    return f"{count:g} bytes" if count else "nothing"
