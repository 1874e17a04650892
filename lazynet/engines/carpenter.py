"""INEXACT for l2 > 0: Carpenter's scheme, a weight and the step at which it was brought current."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.cells import LaggingEngine


class CarpenterEngine(LaggingEngine):
    """INEXACT for l2 > 0: a cell is {w, seen}, seen the steps taken when w was brought current.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.carpenter import Carpenter
    >>> engine = CarpenterEngine(2, Carpenter(), ElasticNet(l1=0.1))
    >>> engine.weights()
    array([0., 0.])
    """

    name = "carpenter_inexact"
    kind = "carpenter"

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start with these weights, and count the steps anew."""
        self.cells[:, 0], self.cells[:, 1] = weights, 0.0
        self.fields[:] = 0.0
        self.set_field("intercept", intercept)

    def _sweep(self) -> None:
        """Bring every weight current."""
        self.cells[:, 0] = self.weights()
        self.cells[:, 1] = self.field("steps")
