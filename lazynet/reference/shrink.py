"""One shrink of one weight, and the scalar map that makes the same shrink for every weight.

A rule of the affine family is written twice: as the papers write the shrink, and as the map
(eta, l1, l2) -> (a, b) with which the shrink is |w| <- [ a |w| - b ]+.

>>> sgd_shrink(-4.0, 0.5, 1.0, 1.0), fobos_shrink(-4.0, 1.0, 1.0, 1.0)  # 4 / 2 - 1 / 2, (4 - 1) / 2
(-1.5, -1.5)
>>> sgd_map(0.5, 3.0, 1.0), fobos_map(0.5, 3.0, 2.0)
((0.5, 1.5), (0.5, 0.75))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def sgd_shrink(w: Any, eta: Any, l1: Any, l2: Any) -> Any:
    """sgn(w) [ (1 - eta l2) |w| - eta l1 ]+      Lipton & Elkan Eq. 3

    With eta l2 >= 1 the bracket is never positive and the weight becomes 0.
    """
    return _with_sign_of(w, (1 - eta * l2) * abs(w) - eta * l1)


def fobos_shrink(w: Any, eta: Any, l1: Any, l2: Any) -> Any:
    """sgn(w) [ (|w| - eta l1) / (1 + eta l2) ]+      Lipton & Elkan Eq. 2"""
    return _with_sign_of(w, (abs(w) - eta * l1) / (1 + eta * l2))


def _with_sign_of(w: Any, magnitude: Any) -> Any:
    if magnitude <= 0:
        return w * 0
    return magnitude if w > 0 else -magnitude


def sgd_map(eta: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """a = 1 - eta l2, b = eta l1."""
    return 1 - eta * l2, eta * l1


def fobos_map(eta: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """a = 1 / (1 + eta l2), b = a eta l1."""
    return 1 / (1 + eta * l2), eta * l1 / (1 + eta * l2)


#: rule -> shrink(w, eta, l1, l2)
SHRINKS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "sgd": sgd_shrink,
    "fobos": fobos_shrink,
}

#: rule -> (eta, l1, l2) -> (a, b)
MAPS: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    "sgd": sgd_map,
    "fobos": fobos_map,
}
