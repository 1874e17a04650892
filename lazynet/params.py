"""Checks of single parameters, in one wording: name, what was wrong, what is accepted."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np


def check_number(
    name: str, value: Any, *, least: float = -math.inf, above: float | None = None
) -> float:
    """A finite number, at least ``least`` and greater than ``above``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if above is not None and not (math.isfinite(number) and number > above):
        what = "positive" if above == 0 else f"greater than {above:g}"
        raise ValueError(f"{name} must be finite and {what}, got {value!r}")
    if not (math.isfinite(number) and number >= least):
        what = "finite and not negative" if least == 0 else "finite"
        raise ValueError(f"{name} must be {what}, got {value!r}")
    return number


def check_integer(name: str, value: Any, least: int) -> int:
    """An integer of at least ``least``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return int(value)
