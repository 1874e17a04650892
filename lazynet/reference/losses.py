"""The losses, as one would write them on a blackboard; algorithms.md 1.

``p`` is the prediction w.x + b, ``y`` the target.  Each loss is a pair (value, slope): l(p, y) and
its derivative in p, or a subgradient where there is none.  At a kink the subgradient 0 is taken,
as everywhere in this package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Function = Callable[[Any, Any, Any], Any]


def _sign(v: Any) -> int:
    return 1 if v > 0 else -1 if v < 0 else 0


def log_loss(p: float, y: float, epsilon: float) -> float:
    """log(1 + exp(-m)), m = p y, without overflow at any margin."""
    m = p * y
    return math.log1p(math.exp(-abs(m))) + max(-m, 0.0)


def log_slope(p: float, y: float, epsilon: float) -> float:
    """-y / (1 + exp(m)) = -y exp(-max(m, 0)) / (1 + exp(-|m|))."""
    m = p * y
    return -y * math.exp(-max(m, 0.0)) / (1.0 + math.exp(-abs(m)))


def hinge(p: Any, y: Any, epsilon: Any) -> Any:
    return max(0, 1 - p * y)


def hinge_slope(p: Any, y: Any, epsilon: Any) -> Any:
    return -y if p * y < 1 else 0


def squared_hinge(p: Any, y: Any, epsilon: Any) -> Any:
    gap = max(0, 1 - p * y)
    return gap * gap  # not ** 2, which is an error where the product is infinite


def squared_hinge_slope(p: Any, y: Any, epsilon: Any) -> Any:
    return -2 * y * max(0, 1 - p * y)


def modified_huber(p: Any, y: Any, epsilon: Any) -> Any:
    return squared_hinge(p, y, epsilon) if p * y >= -1 else -4 * p * y


def modified_huber_slope(p: Any, y: Any, epsilon: Any) -> Any:
    return -2 * y * max(0, 1 - p * y) if p * y >= -1 else -4 * y


def squared_error(p: Any, y: Any, epsilon: Any) -> Any:
    return (p - y) * (p - y) / 2


def squared_error_slope(p: Any, y: Any, epsilon: Any) -> Any:
    return p - y


def absolute_error(p: Any, y: Any, epsilon: Any) -> Any:
    return abs(p - y)


def absolute_error_slope(p: Any, y: Any, epsilon: Any) -> Any:
    return _sign(p - y)


def huber(p: Any, y: Any, epsilon: Any) -> Any:
    r = abs(p - y)
    return r * r / 2 if r <= epsilon else epsilon * (r - epsilon / 2)


def huber_slope(p: Any, y: Any, epsilon: Any) -> Any:
    return p - y if abs(p - y) <= epsilon else epsilon * _sign(p - y)


def epsilon_insensitive(p: Any, y: Any, epsilon: Any) -> Any:
    return max(0, abs(p - y) - epsilon)


def epsilon_insensitive_slope(p: Any, y: Any, epsilon: Any) -> Any:
    return _sign(p - y) if abs(p - y) > epsilon else 0


#: name -> (value, slope)
LOSSES: dict[str, tuple[Function, Function]] = {
    "log_loss": (log_loss, log_slope),
    "hinge": (hinge, hinge_slope),
    "squared_hinge": (squared_hinge, squared_hinge_slope),
    "modified_huber": (modified_huber, modified_huber_slope),
    "squared_error": (squared_error, squared_error_slope),
    "absolute_error": (absolute_error, absolute_error_slope),
    "huber": (huber, huber_slope),
    "epsilon_insensitive": (epsilon_insensitive, epsilon_insensitive_slope),
}
