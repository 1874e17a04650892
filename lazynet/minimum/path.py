"""A path of penalties: the minimum at each, every one started from the one before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.minimum.minimise import Minimiser, Minimum
from lazynet.minimum.objective import certify
from lazynet.parameters import check_array, check_integer, shown
from lazynet.penalties import ElasticNet


def check_strengths(name: str, value: Any) -> NDArray[np.float64]:
    """One strength of a penalty, or several, as an array."""
    strengths = check_array(name, "must hold real numbers", value)
    if strengths.ndim > 1 or strengths.size == 0:
        raise ValueError(
            f"{name} must be one number or a list of numbers, got an array of shape "
            f"{strengths.shape}"
        )
    if not (np.isfinite(strengths) & (strengths >= 0)).all():
        raise ValueError(f"{name} must be finite and not negative, got {shown(value)}")
    return np.array(strengths)


def check_l1s(name: str, value: Any) -> int | NDArray[np.float64]:
    """A number of strengths as an integer, or the strengths themselves."""
    try:
        return check_integer(name, value, 2, 2**20)
    except TypeError:
        return np.atleast_1d(check_strengths(name, value))
    except ValueError as error:
        raise ValueError(
            f"{error}; an integer is a count: write [1.0] for the strength 1"
        ) from None


def falling(l1s: int | NDArray[np.float64], largest: float, smallest: float) -> NDArray[np.float64]:
    """The l1s of a list; or that number of l1s in equal ratios, from ``largest`` down.

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
            "l1s and l2s must not both be 0 at a point: without a penalty nothing certifies a "
            "minimum, and there may be none"
        )


def penalties_of_path(
    largest_l1: float,
    l1s: int | NDArray[np.float64],
    l2s: NDArray[np.float64] | None = None,
    l1_ratio: float = 1.0,
    smallest: float = 1e-2,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """l1 and l2 of every point of a path, the largest first; refuses what does not go together.

    l2 follows from ``l1 : l2 = l1_ratio : 1 - l1_ratio``, unless ``l2s`` names its values.

    >>> penalties_of_path(2.0, 3, l1_ratio=0.5)
    (array([2.  , 0.2 , 0.02]), array([2.  , 0.2 , 0.02]))
    >>> penalties_of_path(2.0, np.array([0.1, 0.3]), np.array(1.0))
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
    second = first * ((1 - l1_ratio) / l1_ratio) if l2s is None else np.atleast_1d(l2s)
    if len(first) != len(second) and min(len(first), len(second)) > 1:
        raise ValueError(
            f"l2s must be one number or as many as l1s, got {len(second)} and {len(first)} l1s"
        )
    check_penalties(first, second)
    first, second = (np.array(strengths) for strengths in np.broadcast_arrays(first, second))
    order = np.lexsort((-second, -first))
    return first[order], second[order]


def follow(
    minimiser: Minimiser,
    points: Iterable[tuple[float, float]],
    *,
    tol: float,
    **options: Any,
) -> Iterator[Minimum]:
    """The minimum at every l1 and l2, each started from the one before it.

    ``options`` are those of ``Minimiser.to``.  The minimiser must be new.
    """
    for l1, l2 in points:
        if l1 >= minimiser.largest_l1:
            yield _without_weights(minimiser, ElasticNet(l1, l2), minimiser.target(tol))
        else:
            yield minimiser.to(l1, l2, tol=tol, **options)


def _without_weights(minimiser: Minimiser, penalty: ElasticNet, target: float) -> Minimum:
    """The minimum where every weight is 0: that with which a minimiser begins.

    A search would find it within tol only, with a few weights that are not 0.
    """
    start = minimiser.weights, minimiser.intercept, minimiser.duals.copy()
    certificate = certify(minimiser.mean, penalty, *start)
    return Minimum(
        *start,
        objective=certificate.objective,
        dual_objective=certificate.dual_objective,
        gap=certificate.gap,
        target=target,
        n_iter=0,
        at_rest=True,
        far_targets=minimiser.far_targets,
        history=[],
    )
