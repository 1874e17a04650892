"""The penalty: l1 * sum|w| + l2/2 * sum w^2, and whether weights may be negative.

The intercept is not penalised, and may be negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazynet.parameters import Flag, NonNegative, SettledFields


@dataclass(frozen=True)
class ElasticNet(SettledFields):
    """The penalty of Lipton & Elkan, with any strengths l1, l2 >= 0.

    >>> ElasticNet(l1=1.0, l2=2.0).value(np.array([3.0, -1.0]))
    14.0
    """

    l1: NonNegative = 0.0
    l2: NonNegative = 0.0
    positive: Flag = False
    """Whether weights below 0 are forbidden."""

    def value(self, weights: NDArray[np.float64]) -> float:
        """The exact penalty of ``weights``."""
        return self.of_sums(float(np.abs(weights).sum()), float(np.dot(weights, weights)))

    def of_sums(self, absolute: float, squared: float) -> float:
        """The penalty of weights with these sums of magnitudes and of squares.

        >>> ElasticNet(l1=1.0, l2=2.0).of_sums(4.0, 10.0)
        14.0
        """
        # A strength of 0 costs nothing, even where the sum has overflowed.
        parts = (self.l1 * absolute if self.l1 else 0.0, self.l2 * squared if self.l2 else 0.0)
        return float(parts[0] + 0.5 * parts[1])
