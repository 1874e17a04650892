"""Regularised dual averaging: minus the sum of the gradients per weight, and their number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.cells import LeadingEngine


class RDAEngine(LeadingEngine):
    """Regularised dual averaging: a cell is minus the sum of the weight's gradients.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.rda import RDA
    >>> engine = RDAEngine(2, RDA(gamma=1.0), ElasticNet(l1=0.1))
    >>> engine.load(np.array([1.0, 0.0]), 0.5)
    >>> engine.weights(), engine.intercept
    (array([1., 0.]), 0.5)
    """

    name = kind = "rda"

    @property
    def follows(self) -> bool:
        return bool(self.constants[4])

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start as if one gradient had been seen, the gradient that gives these weights."""
        self.cells[:] = 0.0
        self._start()
        self.set_field("seen", self._are_loaded(weights, intercept))
        self._restate(weights, intercept)

    def _restate(self, weights: NDArray[np.float64], intercept: float) -> None:
        l1, l2, gamma, rho, free_gamma = self.constants.tolist()
        if self.follows:
            gamma *= self.unit * self.unit
        else:
            free_gamma = gamma
        seen, sums = self.field("seen"), self.cells[:, 0]
        root = np.sqrt(seen)
        strength, shift = gamma * root, seen * l1 + gamma * rho * root
        alive = weights != 0.0
        np.clip(sums, -shift, shift, out=sums)
        moved = weights[alive] * (seen * l2 + strength) + np.sign(weights[alive]) * shift
        sums[alive] = moved
        self.set_field("intercept_sum", intercept * (free_gamma * root))
