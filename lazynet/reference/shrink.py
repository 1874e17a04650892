"""One shrink of one weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def sgd_shrink(w: Any, eta: Any, l1: Any, l2: Any) -> Any:
    """sgn(w) [ (1 - eta l2) |w| - eta l1 ]+      Lipton & Elkan Eq. 3

    With eta l2 >= 1 the bracket is never positive and the weight is 0.

    >>> sgd_shrink(-4.0, 0.5, 1.0, 1.0)  # 4 / 2 - 1 / 2
    -1.5
    """
    magnitude = (1 - eta * l2) * abs(w) - eta * l1
    return _with_sign_of(w, magnitude)


def fobos_shrink(w: Any, eta: Any, l1: Any, l2: Any) -> Any:
    """sgn(w) [ (|w| - eta l1) / (1 + eta l2) ]+      Lipton & Elkan Eq. 2

    >>> fobos_shrink(-4.0, 1.0, 1.0, 1.0)  # (4 - 1) / 2
    -1.5
    """
    magnitude = (abs(w) - eta * l1) / (1 + eta * l2)
    return _with_sign_of(w, magnitude)


def _with_sign_of(w: Any, magnitude: Any) -> Any:
    if magnitude <= 0:
        return w * 0
    return magnitude if w > 0 else -magnitude


#: rule -> shrink(w, eta, l1, l2)
SHRINKS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "sgd": sgd_shrink,
    "fobos": fobos_shrink,
}
