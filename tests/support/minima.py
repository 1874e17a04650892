"""Whether a weight minimises the function by which a paper defines an algorithm."""

import math


def assert_stationary(weight, pull, l1, scale):
    """0 is a subgradient of f(w) + l1 |w| at ``weight``, and ``pull`` is the derivative of f there.

    Rounding is allowed for, of numbers as large as ``scale``.
    """
    slack = 1e-12 * (1.0 + scale)
    if weight == 0.0:
        assert abs(pull) <= l1 + slack
    else:
        assert abs(pull + math.copysign(l1, weight)) <= slack
