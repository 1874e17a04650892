"""The truncated gradient with a threshold: a weight and a stamp of when it was stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.cells import LaggingEngine


class TruncatedGradientEngine(LaggingEngine):
    """A cell is {w, stamp}: the weight, and the sum of gravity when the weight was stored.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.truncated_gradient import TruncatedGradient
    >>> engine = TruncatedGradientEngine(2, TruncatedGradient(threshold=0.5), ElasticNet())
    >>> engine.weights()
    array([0., 0.])
    """

    name = kind = "truncated_gradient"

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start with these weights, and sum up gravity anew."""
        self.cells[:, 0], self.cells[:, 1] = weights, 0.0
        self.fields[:] = 0.0
        self.set_field("intercept", intercept)

    def _sweep(self) -> None:
        """Bring every weight current, and sum up gravity anew."""
        self.load(self.weights(), self.intercept)
