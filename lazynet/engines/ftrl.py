"""FTRL-Proximal: two numbers per weight, from which the weight is computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.cells import LeadingEngine

# With beta = 0 an intercept needs a sum of squared gradients: its root is this share of alpha.
_SMALL_GRADIENT = 2.0**-30


class FTRLEngine(LeadingEngine):
    """FTRL-Proximal: a cell is {z, s}, s the root of the sum of squared gradients.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.ftrl import FTRL
    >>> engine = FTRLEngine(2, FTRL(), ElasticNet(l1=0.1))
    >>> engine.load(np.array([1.0, 0.0]), 0.5)
    >>> engine.weights().round(12) + 0.0, round(engine.intercept, 12)
    (array([1., 0.]), 0.5)
    """

    name = kind = "ftrl"

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start with these weights and no gradients seen."""
        self.cells[:] = 0.0
        self.fields[:] = 0.0
        self._restate(weights, intercept)

    def _restate(self, weights: NDArray[np.float64], intercept: float) -> None:
        l1, l2, alpha, beta = self.settings.tolist()
        alive = weights != 0.0
        damping = (beta + self.cells[alive, 1]) / alpha + l2
        self.cells[alive, 0] = -damping * weights[alive] - l1 * np.sign(weights[alive])
        if not beta and not self.field("intercept_s") and intercept:
            # With beta = 0 and no gradient the intercept would be 0: assume one small gradient.
            self.set_field("intercept_s", _SMALL_GRADIENT * alpha)
        self.set_field("intercept_z", -(beta + self.field("intercept_s")) / alpha * intercept)
