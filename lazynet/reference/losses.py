"""The losses, as one would write them on a blackboard.

``p`` is the prediction w.x + b and ``y`` the target.  Each loss is a pair of functions: the value
l(p, y) and the slope, the derivative of l in p.  At a kink, where l has no derivative, the slope is
the subgradient 0, as everywhere in this package, but for ``perceptron``, which would not begin to
learn.  Only ``huber`` and the two losses ``epsilon_insensitive`` use ``epsilon``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Function = Callable[[Any, Any, Any], Any]


def _sign(v: Any) -> int:
    return 1 if v > 0 else -1 if v < 0 else 0


def log_loss(p: float, y: float, epsilon: float) -> float:
    """log(1 + exp(-m)), m = p y, without overflow at any margin.

    >>> round(log_loss(0.0, 1, 0.1), 4), round(log_loss(-1000.0, 1, 0.1), 4)
    (0.6931, 1000.0)
    """
    m = p * y
    return math.log1p(math.exp(-abs(m))) + max(-m, 0.0)


def log_slope(p: float, y: float, epsilon: float) -> float:
    """-y / (1 + exp(m)) = -y exp(-max(m, 0)) / (1 + exp(-|m|)), m = p y.

    >>> log_slope(0.0, 1, 0.1), log_slope(-1000.0, 1, 0.1)
    (-0.5, -1.0)
    """
    m = p * y
    return -y * math.exp(-max(m, 0.0)) / (1.0 + math.exp(-abs(m)))


def hinge(p: Any, y: Any, epsilon: Any) -> Any:
    """[ 1 - m ]+, m = p y.

    >>> hinge(0.5, 1, 0.1), hinge(2.0, 1, 0.1)
    (0.5, 0)
    """
    return max(0, 1 - p * y)


def hinge_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """-y where m = p y < 1, else 0; at the kink, m = 1, the slope is 0.

    >>> hinge_slope(0.5, 1, 0.1), hinge_slope(1.0, 1, 0.1)
    (-1, 0)
    """
    return -y if p * y < 1 else 0


def squared_hinge(p: Any, y: Any, epsilon: Any) -> Any:
    """[ 1 - m ]+^2, m = p y.

    >>> squared_hinge(0.5, 1, 0.1), squared_hinge(-1.0, 1, 0.1)
    (0.25, 4.0)
    """
    gap = max(0, 1 - p * y)
    return gap * gap  # not ** 2, which raises OverflowError where the product is infinite


def squared_hinge_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """-2 y [ 1 - m ]+, m = p y.

    >>> squared_hinge_slope(0.5, 1, 0.1), squared_hinge_slope(-1.0, 1, 0.1)
    (-1.0, -4.0)
    """
    return -2 * y * max(0, 1 - p * y)


def modified_huber(p: Any, y: Any, epsilon: Any) -> Any:
    """[ 1 - m ]+^2 where m = p y >= -1, and -4 m where m < -1.

    >>> modified_huber(0.5, 1, 0.1), modified_huber(-2.0, 1, 0.1)
    (0.25, 8.0)
    """
    return squared_hinge(p, y, epsilon) if p * y >= -1 else -4 * p * y


def modified_huber_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """-2 y [ 1 - m ]+ where m = p y >= -1, and -4 y where m < -1.

    >>> modified_huber_slope(0.5, 1, 0.1), modified_huber_slope(-2.0, 1, 0.1)
    (-1.0, -4)
    """
    return -2 * y * max(0, 1 - p * y) if p * y >= -1 else -4 * y


def squared_error(p: Any, y: Any, epsilon: Any) -> Any:
    """(p - y)^2 / 2.

    >>> squared_error(3.0, 1.0, 0.1)
    2.0
    """
    return (p - y) * (p - y) / 2


def squared_error_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """p - y.

    >>> squared_error_slope(3.0, 1.0, 0.1)
    2.0
    """
    return p - y


def absolute_error(p: Any, y: Any, epsilon: Any) -> Any:
    """|p - y|.

    >>> absolute_error(3.0, 1.0, 0.1)
    2.0
    """
    return abs(p - y)


def absolute_error_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """sgn(p - y); at the kink, p = y, the slope is 0.

    >>> absolute_error_slope(3.0, 1.0, 0.1), absolute_error_slope(1.0, 1.0, 0.1)
    (1, 0)
    """
    return _sign(p - y)


def huber(p: Any, y: Any, epsilon: Any) -> Any:
    """r^2 / 2 where r = |p - y| <= epsilon, and epsilon (r - epsilon / 2) where r > epsilon.

    >>> huber(2.0, 1.0, 2.0), huber(5.0, 1.0, 2.0)
    (0.5, 6.0)
    """
    r = abs(p - y)
    return r * r / 2 if r <= epsilon else epsilon * (r - epsilon / 2)


def huber_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """p - y where |p - y| <= epsilon, and epsilon sgn(p - y) where |p - y| > epsilon.

    >>> huber_slope(2.0, 1.0, 2.0), huber_slope(5.0, 1.0, 2.0)
    (1.0, 2.0)
    """
    return p - y if abs(p - y) <= epsilon else epsilon * _sign(p - y)


def epsilon_insensitive(p: Any, y: Any, epsilon: Any) -> Any:
    """[ |p - y| - epsilon ]+.

    >>> epsilon_insensitive(3.0, 1.0, 0.5), epsilon_insensitive(1.25, 1.0, 0.5)
    (1.5, 0)
    """
    return max(0, abs(p - y) - epsilon)


def epsilon_insensitive_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """sgn(p - y) where |p - y| > epsilon, else 0.

    >>> epsilon_insensitive_slope(3.0, 1.0, 0.5), epsilon_insensitive_slope(1.25, 1.0, 0.5)
    (1, 0)
    """
    return _sign(p - y) if abs(p - y) > epsilon else 0


def smooth_hinge(p: Any, y: Any, epsilon: Any) -> Any:
    """0 where m = p y >= 1, (1 - m)^2 / 2 where 0 < m < 1, and 1/2 - m where m <= 0.

    >>> smooth_hinge(0.5, 1, 0.1), smooth_hinge(-2.0, 1, 0.1)
    (0.125, 2.5)
    """
    gap = 1 - p * y
    if gap <= 0:
        return 0
    return gap * gap / 2 if gap < 1 else (2 * gap - 1) / 2


def smooth_hinge_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """-y [ 1 - m ]+ where m = p y > 0, and -y where m <= 0.

    >>> smooth_hinge_slope(0.75, 1, 0.1), smooth_hinge_slope(-2.0, 1, 0.1)
    (-0.25, -1)
    """
    return -y * min(1, max(0, 1 - p * y))


def perceptron(p: Any, y: Any, epsilon: Any) -> Any:
    """[ -m ]+, m = p y.

    >>> perceptron(-0.5, 1, 0.1), perceptron(2.0, 1, 0.1)
    (0.5, 0)
    """
    return max(0, -p * y)


def perceptron_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """-y where m = p y <= 0, else 0; at the kink, m = 0, the slope is -y.

    With a slope of 0 at the kink, zero weights would never move: every prediction is 0.

    >>> perceptron_slope(-0.5, 1, 0.1), perceptron_slope(0.0, 1, 0.1), perceptron_slope(2.0, 1, 0.1)
    (-1, -1, 0)
    """
    return -y if p * y <= 0 else 0


def squared_epsilon_insensitive(p: Any, y: Any, epsilon: Any) -> Any:
    """[ |p - y| - epsilon ]+^2.

    >>> squared_epsilon_insensitive(3.0, 1.0, 0.5), squared_epsilon_insensitive(1.25, 1.0, 0.5)
    (2.25, 0)
    """
    excess = max(0, abs(p - y) - epsilon)
    return excess * excess


def squared_epsilon_insensitive_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """2 [ |p - y| - epsilon ]+ sgn(p - y).

    >>> squared_epsilon_insensitive_slope(3.0, 1.0, 0.5)
    3.0
    """
    r = p - y
    return 2 * (r - epsilon * _sign(r)) if abs(r) > epsilon else 0 * r


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
    "smooth_hinge": (smooth_hinge, smooth_hinge_slope),
    "perceptron": (perceptron, perceptron_slope),
    "squared_epsilon_insensitive": (squared_epsilon_insensitive, squared_epsilon_insensitive_slope),
}

#: The losses whose target is any number; all others depend on the margin, with targets -1 and +1.
NUMBERS = (
    "squared_error",
    "absolute_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)
