"""FTRL-Proximal, of one output and of several."""

from __future__ import annotations

import numpy as np

from lazynet.engines.base import Floats
from lazynet.engines.cells import GradientSums
from lazynet.engines.outputs_of_rules import RuleOutputs

# With beta = 0 an intercept needs a sum of squared gradients above 0: the root of this sum is this
# share of alpha.
_SMALL_GRADIENT = 2.0**-30


class FTRLEngine(GradientSums):
    """FTRL-Proximal: a cell is {z, s}, s the root of the sum of squared gradients.

    Loaded weights have seen no gradient; the penalty counts as on one example.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.ftrl import FTRL
    >>> engine = FTRLEngine(2, constants=FTRL().constants(ElasticNet(l1=0.1)))
    >>> engine.set_coefficients(np.array([[1.0, 0.0]]), np.array([0.5]))
    >>> engine.coefficients().round(12) + 0.0, engine.intercepts().round(12)
    (array([[1., 0.]]), array([0.5]))
    """

    name = kind = "ftrl"
    _n_penalties = 3
    _follows = "intercept_alpha"

    @property
    def present_rate(self) -> float | None:
        return self._rates()[0] if self.follows else None

    def _rates(self) -> tuple[float, float, float, float]:
        """alpha and beta of the weights, and of the intercept."""
        _, _, _, alpha, beta, intercept_alpha, intercept_beta = self.constants.tolist()
        if not self.follows:
            return alpha, beta, alpha, beta
        return alpha / self.unit, beta * self.unit, intercept_alpha, intercept_beta

    def _restate(self, weights: Floats, intercept: float) -> None:
        l1, l2, per_example = self.constants[:3].tolist()
        alpha, beta, intercept_alpha, intercept_beta = self._rates()
        count = max(1.0, self.field("steps")) if per_example else 1.0
        alive = weights != 0.0
        damping = (beta + self.cells[alive, 1]) / alpha + count * l2
        shift = count * l1 * np.sign(weights[alive])
        self.cells[alive, 0] = -damping * weights[alive] - shift
        if not intercept_beta and not self.field("intercept_s") and intercept:
            # With beta = 0 and no gradient the intercept would be 0: assume one small gradient.
            self.set_field("intercept_s", _SMALL_GRADIENT * intercept_alpha)
        seen = intercept_beta + self.field("intercept_s")
        self.set_field("intercept_z", -seen / intercept_alpha * intercept)


class FTRLOutputs(RuleOutputs):
    """FTRL-Proximal: two numbers per weight."""

    name = kind = "ftrl"
    single = FTRLEngine
