"""Regularised dual averaging, of one output and of several."""

from __future__ import annotations

import numpy as np

from lazynet.engines.base import Floats
from lazynet.engines.cells import GradientSums
from lazynet.engines.outputs_of_rules import RuleOutputs


class RDAEngine(GradientSums):
    """Regularised dual averaging: a cell is minus the sum of the weight's gradients.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.rda import RDA
    >>> engine = RDAEngine(2, constants=RDA(gamma=1.0).constants(ElasticNet(l1=0.1)))
    >>> engine.set_coefficients(np.array([[1.0, 0.0]]), np.array([0.5]))
    >>> engine.coefficients(), engine.intercepts()
    (array([[1., 0.]]), array([0.5]))
    """

    name = kind = "rda"
    _follows = "intercept_gamma"

    def _restate(self, weights: Floats, intercept: float) -> None:
        l1, l2, gamma, rho, intercept_gamma = self.constants.tolist()
        if self.follows:
            gamma *= self.unit * self.unit
        else:
            intercept_gamma = gamma
        seen, sums = self.field("steps"), self.cells[:, 0]
        root = np.sqrt(seen)
        strength, shift = gamma * root, seen * l1 + gamma * rho * root
        alive = weights != 0.0
        np.clip(sums, -shift, shift, out=sums)
        moved = weights[alive] * (seen * l2 + strength) + np.sign(weights[alive]) * shift
        sums[alive] = moved
        self.set_field("intercept_sum", intercept * (intercept_gamma * root))


class RDAOutputs(RuleOutputs):
    """Regularised dual averaging: a number per weight."""

    name = kind = "rda"
    single = RDAEngine
