"""The losses and their conjugates, in their textbook form.

``p`` is the prediction w.x + b, ``y`` the target, and m = p y the margin.  Each loss is a pair of
functions: the value l(p, y) and the slope, the derivative of l in p.  At a kink l has no
derivative, and the slope is the subgradient 0, as everywhere in this package.  The exception is
``perceptron``: with 0 training could not leave zero weights.  Only ``huber`` and the two losses
``epsilon_insensitive`` use ``epsilon``.  All but ``log_loss`` take floats and exact fractions.

>>> for name, (value, slope) in LOSSES.items():
...     print(name, round(value(-0.5, 1.0, 0.25), 4), round(slope(-0.5, 1.0, 0.25), 4))
log_loss 0.9741 -0.6225
hinge 1.5 -1.0
squared_hinge 2.25 -3.0
modified_huber 2.25 -3.0
squared_error 1.125 -1.5
absolute_error 1.5 -1
huber 0.3438 -0.25
epsilon_insensitive 1.25 -1
smooth_hinge 1.0 -1.0
perceptron 0.5 -1.0
squared_epsilon_insensitive 1.5625 -2.5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Function = Callable[[Any, Any, Any], Any]


def entry_named(name: str, value: Any, table: Mapping[str, Any]) -> Any:
    """The entry ``value`` of a table; an error lists the names that the parameter takes."""
    if value not in [*table]:  # a list: the value may not be hashable
        raise ValueError(f"{name} must be one of {sorted(table)}, got {value!r}")
    return table[value]


def _sign(v: Any) -> int:
    return 1 if v > 0 else -1 if v < 0 else 0


def log_loss(p: float, y: float, epsilon: float) -> float:
    """log(1 + exp(-m)), without overflow at any margin."""
    m = p * y
    return math.log1p(math.exp(-abs(m))) + max(-m, 0.0)


def log_slope(p: float, y: float, epsilon: float) -> float:
    """-y / (1 + exp(m)) = -y exp(-max(m, 0)) / (1 + exp(-|m|))."""
    m = p * y
    return -y * math.exp(-max(m, 0.0)) / (1.0 + math.exp(-abs(m)))


def hinge(p: Any, y: Any, epsilon: Any) -> Any:
    """[ 1 - m ]+"""
    return max(0, 1 - p * y)


def hinge_slope(p: Any, y: Any, epsilon: Any) -> Any:
    """-y if m < 1, else 0."""
    return -y if p * y < 1 else 0


def modified_huber(p: Any, y: Any, epsilon: Any) -> Any:
    """[ 1 - m ]+^2 if m >= -1, and -4 m if m < -1."""
    gap = max(0, 1 - p * y)
    return gap * gap if p * y >= -1 else -4 * p * y  # gap ** 2 would raise OverflowError


def huber(p: Any, y: Any, epsilon: Any) -> Any:
    """With r = |p - y|: r^2 / 2 if r <= epsilon, else epsilon (r - epsilon / 2)."""
    r = abs(p - y)
    return r * r / 2 if r <= epsilon else epsilon * (r - epsilon / 2)


def smooth_hinge(p: Any, y: Any, epsilon: Any) -> Any:
    """0 if m >= 1, (1 - m)^2 / 2 if 0 < m < 1, and 1/2 - m if m <= 0."""
    gap = 1 - p * y
    if gap <= 0:
        return 0
    return gap * gap / 2 if gap < 1 else (2 * gap - 1) / 2


def _square(v: Any) -> Any:
    return v * v  # v ** 2 raises OverflowError if the square is infinite


#: name -> (value, slope)
LOSSES: dict[str, tuple[Function, Function]] = {
    "log_loss": (log_loss, log_slope),
    "hinge": (hinge, hinge_slope),
    # [ 1 - m ]+^2
    "squared_hinge": (
        lambda p, y, epsilon: _square(max(0, 1 - p * y)),
        lambda p, y, epsilon: -2 * y * max(0, 1 - p * y),
    ),
    "modified_huber": (
        modified_huber,
        lambda p, y, epsilon: -2 * y * max(0, 1 - p * y) if p * y >= -1 else -4 * y,
    ),
    "squared_error": (lambda p, y, epsilon: _square(p - y) / 2, lambda p, y, epsilon: p - y),
    "absolute_error": (lambda p, y, epsilon: abs(p - y), lambda p, y, epsilon: _sign(p - y)),
    "huber": (
        huber,
        lambda p, y, epsilon: p - y if abs(p - y) <= epsilon else epsilon * _sign(p - y),
    ),
    # [ |p - y| - epsilon ]+
    "epsilon_insensitive": (
        lambda p, y, epsilon: max(0, abs(p - y) - epsilon),
        lambda p, y, epsilon: _sign(p - y) if abs(p - y) > epsilon else 0,
    ),
    "smooth_hinge": (smooth_hinge, lambda p, y, epsilon: -y * min(1, max(0, 1 - p * y))),
    # [ -m ]+; with a slope of 0 at the kink, zero weights would never move: every prediction is 0
    "perceptron": (
        lambda p, y, epsilon: max(0, -p * y),
        lambda p, y, epsilon: -y if p * y <= 0 else 0,
    ),
    # [ |p - y| - epsilon ]+^2
    "squared_epsilon_insensitive": (
        lambda p, y, epsilon: _square(max(0, abs(p - y) - epsilon)),
        lambda p, y, epsilon: 2 * _sign(p - y) * max(0, abs(p - y) - epsilon),
    ),
}


class Shape(NamedTuple):
    """What rates that follow the rows must know of a loss.

    ``margin``: whether it depends on m = p y, with targets -1 and +1; else the target is any
    number.  ``steepest``: the pair (c, k) stands for the bound c + k epsilon of the size of the
    slope.  ``curvature``: the bound of the second derivative; None: the slope jumps.

    >>> SHAPES["huber"].largest_slope(epsilon=0.25)
    0.25
    """

    margin: bool
    steepest: tuple[float, float]
    curvature: float | None

    def largest_slope(self, epsilon: Any) -> Any:
        """The bound of the size of the slope; infinite if there is none."""
        constant, factor = self.steepest
        return constant + factor * epsilon


#: name -> Shape
SHAPES: dict[str, Shape] = {
    "log_loss": Shape(True, (1.0, 0.0), 0.25),
    "hinge": Shape(True, (1.0, 0.0), None),
    "squared_hinge": Shape(True, (math.inf, 0.0), 2.0),
    "modified_huber": Shape(True, (4.0, 0.0), 2.0),
    "squared_error": Shape(False, (math.inf, 0.0), 1.0),
    "absolute_error": Shape(False, (1.0, 0.0), None),
    "huber": Shape(False, (0.0, 1.0), 1.0),
    "epsilon_insensitive": Shape(False, (1.0, 0.0), None),
    "smooth_hinge": Shape(True, (1.0, 0.0), 1.0),
    "perceptron": Shape(True, (1.0, 0.0), None),
    "squared_epsilon_insensitive": Shape(False, (math.inf, 0.0), 2.0),
}


# --- the conjugates, for dual ascent ----------------------------------------------------------
#
# The conjugate l*(-a) = sup_p (-a p - l(p, y)) is finite for dual variables a in an interval that
# contains 0, and 0 at a = 0.  A step on one example maximises, with q > 0,
#
#     -l*(-a) - p (a - alpha) - (q/2) (a - alpha)^2
#
# in a, with alpha the dual variable before the step and p the prediction.


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
    """``value`` if least <= v <= most, and infinity elsewhere."""
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
    return entry_named("loss", loss, CONJUGATES)(alpha, y, epsilon)


def best_dual(loss: str, alpha: Any, p: Any, y: Any, q: Any, epsilon: Any = 0.1) -> Any:
    """The a that maximises -l*(-a) - p (a - alpha) - (q/2) (a - alpha)^2.

    For q = 0 the maximum may be at several a, and the result is -l'(p).

    >>> best_dual("squared_error", 1.0, 0.0, 3.0, 1.0)  # -a + 3 - (a - 1) = 0
    2.0
    >>> best_dual("hinge", 0.0, 0.5, 1.0, 1.0), best_dual("hinge", 0.0, 0.5, 1.0, 0.0)
    (0.5, 1.0)
    """
    if not q:
        return -entry_named("loss", loss, LOSSES)[1](p, y, epsilon)
    return entry_named("loss", loss, UPDATES)(alpha, p, y, q, epsilon)
