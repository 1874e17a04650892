"""The conjugate of every loss, and the best dual variable of one example, for dual ascent.

The conjugate l*(-a) = sup_p (-a p - l(p, y)) is finite for dual variables a in an interval that
contains 0, and 0 at a = 0.  A step on one example maximises, with q > 0,

    -l*(-a) - p (a - alpha) - (q/2) (a - alpha)^2

in a, where alpha is the dual variable before the step and p the prediction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lazynet.reference.losses import LOSSES


def clip(v: Any, least: Any, most: Any) -> Any:
    """v, or the nearer end of the interval if v is outside.

    >>> clip(0.5, 0, 1), clip(-2.0, 0, 1)
    (0.5, 0)
    """
    return least if v < least else most if v > most else v


def soft(v: Any, a: Any) -> Any:
    """sgn(v) [ |v| - a ]+

    >>> soft(-3.0, 1.0), soft(0.5, 1.0)
    (-2.0, 0.0)
    """
    return v - a if v > a else v + a if v < -a else 0 * v


def _within(value: Any, v: Any, least: Any, most: Any) -> Any:
    """``value`` where least <= v <= most, and infinity elsewhere."""
    return value if least <= v <= most else math.inf


def _conjugate_of_log_loss(a: float, y: float, e: float) -> float:
    """b log b + (1 - b) log(1 - b) with b = y a."""
    b = y * a
    if b in (0.0, 1.0):
        return 0.0
    if not 0.0 < b < 1.0:
        return math.inf
    return b * math.log(b) + (1.0 - b) * math.log1p(-b)


def _best_of_log_loss(alpha: float, p: float, y: float, q: float, e: float) -> float:
    """By bisection: the derivative, which is here taken with the sign changed, rises in b = y a."""
    old, least, most = y * alpha, 0.0, 1.0
    while True:
        b = least + (most - least) / 2
        if b in (least, most):
            return y * b
        if math.log(b) - math.log1p(-b) + q * (b - old) + y * p < 0:
            least = b
        else:
            most = b


Conjugate = Callable[[Any, Any, Any], Any]
Update = Callable[[Any, Any, Any, Any, Any], Any]

#: name -> l*(-a) of (a, y, epsilon)
CONJUGATES: dict[str, Conjugate] = {
    "log_loss": _conjugate_of_log_loss,
    "hinge": lambda a, y, e: _within(-y * a, y * a, 0, 1),
    "squared_hinge": lambda a, y, e: _within(a * a / 4 - y * a, y * a, 0, math.inf),
    "modified_huber": lambda a, y, e: _within(a * a / 4 - y * a, y * a, 0, 4),
    "squared_error": lambda a, y, e: a * a / 2 - y * a,
    "absolute_error": lambda a, y, e: _within(-y * a, a, -1, 1),
    "huber": lambda a, y, e: _within(a * a / 2 - y * a, a, -e, e),
    "epsilon_insensitive": lambda a, y, e: _within(e * abs(a) - y * a, a, -1, 1),
    "smooth_hinge": lambda a, y, e: _within(a * a / 2 - y * a, y * a, 0, 1),
    "perceptron": lambda a, y, e: _within(0 * a, y * a, 0, 1),
    "squared_epsilon_insensitive": lambda a, y, e: a * a / 4 + e * abs(a) - y * a,
}

#: name -> the best a of (alpha, p, y, q, epsilon), for q > 0
UPDATES: dict[str, Update] = {
    "log_loss": _best_of_log_loss,
    "hinge": lambda alpha, p, y, q, e: y * clip(y * alpha + (1 - y * p) / q, 0, 1),
    "squared_hinge": lambda alpha, p, y, q, e: (
        y * max(0, 2 * (1 - y * p + q * y * alpha) / (1 + 2 * q))
    ),
    "modified_huber": lambda alpha, p, y, q, e: (
        y * clip(2 * (1 - y * p + q * y * alpha) / (1 + 2 * q), 0, 4)
    ),
    "squared_error": lambda alpha, p, y, q, e: (y - p + q * alpha) / (1 + q),
    "absolute_error": lambda alpha, p, y, q, e: clip(alpha + (y - p) / q, -1, 1),
    "huber": lambda alpha, p, y, q, e: clip((y - p + q * alpha) / (1 + q), -e, e),
    # q divides last: epsilon / q and (y - p) / q might both be infinite.
    "epsilon_insensitive": lambda alpha, p, y, q, e: clip(soft(y - p + q * alpha, e) / q, -1, 1),
    "smooth_hinge": lambda alpha, p, y, q, e: y * clip((1 - y * p + q * y * alpha) / (1 + q), 0, 1),
    "perceptron": lambda alpha, p, y, q, e: y * clip(y * alpha - y * p / q, 0, 1),
    "squared_epsilon_insensitive": lambda alpha, p, y, q, e: (
        2 * soft(y - p + q * alpha, e) / (1 + 2 * q)
    ),
}


def conjugate(loss: str, alpha: Any, y: Any, epsilon: Any = 0.1) -> Any:
    """l*(-alpha) = sup_p (-alpha p - l(p, y)), which is infinite outside of an interval.

    >>> conjugate("squared_error", 2.0, 3.0)  # at p = 1: -2 - 2
    -4.0
    >>> conjugate("hinge", 0.5, 1.0), conjugate("hinge", -0.5, 1.0)
    (-0.5, inf)
    """
    return CONJUGATES[loss](alpha, y, epsilon)


def best_dual(loss: str, alpha: Any, p: Any, y: Any, q: Any, epsilon: Any = 0.1) -> Any:
    """The a that maximises -l*(-a) - p (a - alpha) - (q/2) (a - alpha)^2.

    For q = 0, where the maximum may be at more than one a, the result is -l'(p).

    >>> best_dual("squared_error", 1.0, 0.0, 3.0, 1.0)  # -a + 3 - (a - 1) = 0
    2.0
    >>> best_dual("hinge", 0.0, 0.5, 1.0, 1.0), best_dual("hinge", 0.0, 0.5, 1.0, 0.0)
    (0.5, 1.0)
    """
    if not q:
        return -LOSSES[loss][1](p, y, epsilon)
    return UPDATES[loss](alpha, p, y, q, epsilon)
