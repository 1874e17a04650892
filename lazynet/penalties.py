"""The penalty: l1 * sum|w| + l2/2 * sum w^2, and whether weights may be negative; its paths.

The intercept is not penalised, and may be negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.parameters import Flag, NonNegative, SettledFields, check_array, check_integer, shown

#: The last l1 of a path as a share of the first, unless the user gives another.  At a hundredth the
#: held-out loss often still falls.
SMALLEST = 1e-3


@dataclass(frozen=True)
class ElasticNet(SettledFields):
    """The penalty of Lipton & Elkan, with any strengths l1, l2 >= 0.

    >>> penalty = ElasticNet(l1=1.0, l2=2.0)
    >>> penalty.value(np.array([3.0, -1.0])), penalty.of_sums(4.0, 10.0)
    (14.0, 14.0)
    """

    l1: NonNegative = 0.0
    l2: NonNegative = 0.0
    positive: Flag = False
    """Whether weights below 0 are forbidden."""

    def value(self, weights: NDArray[np.float64]) -> float:
        """The exact penalty of ``weights``."""
        return self.of_sums(float(np.abs(weights).sum()), float(np.dot(weights, weights)))

    def of_sums(self, absolute: float, squared: float) -> float:
        """The penalty of weights with these sums of magnitudes and of squares."""
        # With a strength of 0 the penalty is 0, even if the sum has overflowed.
        parts = (self.l1 * absolute if self.l1 else 0.0, self.l2 * squared if self.l2 else 0.0)
        return float(parts[0] + 0.5 * parts[1])


# --- the penalties of a path, or of a grid --------------------------------------------------------


def check_strengths(name: str, value: Any) -> NDArray[np.float64]:
    """One strength of a penalty, or several, as an array of one dimension."""
    strengths = check_array(name, "must hold real numbers", value)
    if strengths.ndim > 1 or strengths.size == 0:
        raise ValueError(
            f"{name} must be one number or a list of numbers, got an array of shape "
            f"{strengths.shape}"
        )
    if not (np.isfinite(strengths) & (strengths >= 0)).all():
        raise ValueError(f"{name} must be finite and not negative, got {shown(value)}")
    return np.atleast_1d(strengths.copy())


def check_l1s(name: str, value: Any) -> int | NDArray[np.float64]:
    """A number of strengths as an integer, or the strengths themselves."""
    try:
        return check_integer(name, value, 2, 2**20)
    except TypeError:
        return check_strengths(name, value)
    except ValueError as error:
        raise ValueError(
            f"{error}; an integer is a count: write [1.0] for the strength 1"
        ) from None


def falling(l1s: int | NDArray[np.float64], largest: float, smallest: float) -> NDArray[np.float64]:
    """The given l1s; or, for a number n, n l1s in equal ratios, from ``largest`` down.

    The last one is ``smallest`` times the first.

    >>> falling(3, 2.0, 0.01)
    array([2.  , 0.2 , 0.02])
    """
    if isinstance(l1s, int):
        return np.geomspace(largest, largest * smallest, l1s)
    return l1s


def check_penalties(l1s: NDArray[np.float64], l2s: NDArray[np.float64]) -> None:
    """Refuse a point of a path, or of a grid, without a penalty."""
    if not (l1s + l2s).all():
        raise ValueError(
            "l1s and l2s must not both be 0 at a point: without a penalty there is no bound on "
            "the error, and there may be no minimum"
        )


def penalties_of_path(
    largest_l1: float,
    l1s: int | NDArray[np.float64],
    l2s: NDArray[np.float64] | None = None,
    l1_ratio: float = 1.0,
    smallest: float = SMALLEST,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """l1 and l2 of every point of a path, the largest first; refuses parameters that conflict.

    l2 follows from ``l1 : l2 = l1_ratio : 1 - l1_ratio``, unless ``l2s`` names its values.

    >>> penalties_of_path(2.0, 4, l1_ratio=0.5)[0]
    array([2.   , 0.2  , 0.02 , 0.002])
    >>> penalties_of_path(2.0, np.array([0.1, 0.3]), np.array([1.0]))
    (array([0.3, 0.1]), array([1., 1.]))
    """
    if l2s is None and l1_ratio == 0:
        raise ValueError(
            "l1_ratio=0 leaves only the l2 penalty, and no l2 is large enough to make every "
            "weight 0, so there is no largest penalty to begin at: write l1s=0.0 and "
            "l2s=... with the penalties"
        )
    if l2s is not None and l1_ratio != 1:
        raise ValueError(
            f"l1_ratio={l1_ratio:g} and l2s both say what l2 is: leave one of them out"
        )
    first = falling(l1s, largest_l1, smallest)
    second = first * ((1 - l1_ratio) / l1_ratio) if l2s is None else l2s
    if len(first) != len(second) and min(len(first), len(second)) > 1:
        raise ValueError(
            f"l2s must be one number or as many as l1s, got {len(second)} and {len(first)} l1s"
        )
    check_penalties(first, second)
    first, second = (np.array(strengths) for strengths in np.broadcast_arrays(first, second))
    order = np.lexsort((-second, -first))
    return first[order], second[order]
