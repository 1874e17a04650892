"""Regularised dual averaging: minus the sum of the gradients per weight, and their number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.cells import LeadingEngine


class RDAEngine(LeadingEngine):
    """Regularised dual averaging: a cell is minus the sum of the weight's gradients.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.rda import RDA
    >>> engine = RDAEngine(2, RDA(), ElasticNet(l1=0.1))
    >>> engine.load(np.array([1.0, 0.0]), 0.5)
    >>> engine.weights(), engine.intercept
    (array([1., 0.]), 0.5)
    """

    name = kind = "rda"

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start as if one gradient had been seen, the gradient that gives these weights."""
        self.cells[:] = 0.0
        self.set_field("seen", float(bool(intercept or np.any(weights))))
        self._restate(weights, intercept)

    def _restate(self, weights: NDArray[np.float64], intercept: float) -> None:
        l1, l2, gamma, rho = self.settings.tolist()
        seen, sums = self.field("seen"), self.cells[:, 0]
        strength, shift = gamma * np.sqrt(seen), seen * l1 + gamma * rho * np.sqrt(seen)
        alive = weights != 0.0
        np.clip(sums, -shift, shift, out=sums)
        moved = weights[alive] * (seen * l2 + strength) + np.sign(weights[alive]) * shift
        sums[alive] = moved
        self.set_field("intercept_sum", intercept * strength)
