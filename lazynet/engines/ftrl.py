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
    _penalties = 3

    @property
    def follows(self) -> bool:
        return bool(self.constants[5])

    @property
    def present_rate(self) -> float | None:
        return self._rates()[0] if self.follows else None

    def _rates(self) -> tuple[float, float, float, float]:
        """alpha and beta of the weights, and of the intercept."""
        _, _, _, alpha, beta, free_alpha, free_beta = self.constants.tolist()
        if not self.follows:
            return alpha, beta, alpha, beta
        return alpha / self.unit, beta * self.unit, free_alpha, free_beta

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start with these weights and no gradients seen; the penalty counts as on one example."""
        self.cells[:] = 0.0
        self._start()
        self.set_field("steps", self._are_loaded(weights, intercept))
        self._restate(weights, intercept)

    def _restate(self, weights: NDArray[np.float64], intercept: float) -> None:
        l1, l2, per_example = self.constants[:3].tolist()
        alpha, beta, free_alpha, free_beta = self._rates()
        count = max(1.0, self.field("steps")) if per_example else 1.0
        alive = weights != 0.0
        damping = (beta + self.cells[alive, 1]) / alpha + count * l2
        shift = count * l1 * np.sign(weights[alive])
        self.cells[alive, 0] = -damping * weights[alive] - shift
        if not free_beta and not self.field("intercept_s") and intercept:
            # With beta = 0 and no gradient the intercept would be 0: assume one small gradient.
            self.set_field("intercept_s", _SMALL_GRADIENT * free_alpha)
        seen = free_beta + self.field("intercept_s")
        self.set_field("intercept_z", -seen / free_alpha * intercept)
