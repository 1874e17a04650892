"""What is penalised: l1 * sum|w| + l2/2 * sum w^2.  The intercept never is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ElasticNet:
    """The penalty of Lipton & Elkan, with any strengths l1, l2 >= 0.

    >>> ElasticNet(l1=1.0, l2=2.0).value(np.array([3.0, -1.0]))
    14.0
    """

    l1: float = 0.0
    l2: float = 0.0

    def __post_init__(self) -> None:
        for name in ("l1", "l2"):
            strength = getattr(self, name)
            if not isinstance(strength, Real) or isinstance(strength, bool):
                raise TypeError(f"{name} must be a number, got {strength!r}")
            if not (math.isfinite(strength) and float(strength) >= 0):
                raise ValueError(f"{name} must be finite and not negative, got {strength!r}")

    def value(self, weights: NDArray[np.float64]) -> float:
        """The exact penalty of ``weights``."""
        absolute = float(np.abs(weights).sum()) if self.l1 else 0.0
        squared = float(np.dot(weights, weights)) if self.l2 else 0.0
        return self.l1 * absolute + 0.5 * self.l2 * squared
