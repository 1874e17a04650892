"""A path of penalties: the minimum at each, every one started from the one before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.minimum.certificate import certify
from lazynet.minimum.minimise import Minimiser, Minimum
from lazynet.parameters import check_array, shown
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


def check_penalties(l1s: NDArray[np.float64], l2s: NDArray[np.float64]) -> None:
    """Refuse a point of a path, or of a grid, without a penalty."""
    if not (l1s + l2s).all():
        raise ValueError(
            "l1s and l2s must not both be 0 at a point: without a penalty nothing certifies a "
            "minimum, and there may be none"
        )


def penalties_of_path(
    largest_l1: float,
    *,
    l1_ratio: float = 1.0,
    l1s: NDArray[np.float64] | None = None,
    l2s: NDArray[np.float64] | None = None,
    n_points: int = 50,
    smallest: float = 1e-2,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """l1 and l2 of every point of a path, the largest first; refuses what does not go together.

    l1 falls in equal ratios from ``largest_l1`` to ``smallest`` times it, unless ``l1s`` names its
    values.  l2 follows from ``l1 : l2 = l1_ratio : 1 - l1_ratio``, unless ``l2s`` names its values.

    >>> penalties_of_path(2.0, l1_ratio=0.5, n_points=3, smallest=0.01)
    (array([2.  , 0.2 , 0.02]), array([2.  , 0.2 , 0.02]))
    >>> penalties_of_path(2.0, l1s=np.array([0.1, 0.3]), l2s=np.array(1.0))
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
    length = f"n_points={n_points}" if l1s is None else f"{l1s.size} l1s"
    if l1s is None:
        l1s = np.geomspace(largest_l1, largest_l1 * smallest, n_points)
    if l2s is None:
        l2s = l1s * ((1 - l1_ratio) / l1_ratio)
    l1s, l2s = np.atleast_1d(l1s, l2s)
    if len(l1s) != len(l2s) and min(len(l1s), len(l2s)) > 1:
        raise ValueError(f"l2s must be one number or as many as l1s, got {len(l2s)} and {length}")
    check_penalties(l1s, l2s)
    l1s, l2s = (np.array(strengths) for strengths in np.broadcast_arrays(l1s, l2s))
    order = np.lexsort((-l2s, -l1s))
    return l1s[order], l2s[order]


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
