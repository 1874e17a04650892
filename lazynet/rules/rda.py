"""Regularised dual averaging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lazynet.losses import Loss
from lazynet.parameters import NonNegative, Positive
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule

# If gamma follows the data: the gamma of the intercept.
_INTERCEPT_GAMMA = 3.0


@dataclass(repr=False)
class RDA(Rule):
    """Regularised dual averaging, Xiao (2010): proximal steps on the mean of all gradients.

    ``gamma`` is the strength of the proximal term, gamma / sqrt(t), which replaces a rate; ``rho``
    adds gamma rho / sqrt(t) to l1.

    Without ``gamma`` the strength follows the data: gamma is a constant of the loss times m^2, m
    the mean of ||x||_2 over the rows so far.  So if X is multiplied by a number, the weights are
    divided by it, and no prediction changes.  m is computed again before the steps 0, 1, 2, 4, 8,
    ..., and the weights are then computed from the same sums with the new gamma.  The gamma of the
    intercept is a constant.

    >>> RDA(gamma=5)
    RDA(gamma=5)
    """

    name: ClassVar[str] = "rda"
    scheduled: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    _follows: ClassVar[tuple[str, str] | None] = ("gamma", "squared_norms")
    rate: ClassVar[str] = "RDA(gamma=...)"
    remedy: ClassVar[str] = "Raise gamma of RDA"
    gamma: Positive | None = None
    rho: NonNegative = 0.0

    def reference_options(self, loss: Loss) -> dict[str, Any]:
        """The parameters of the reference; without gamma also the intercept's, and its unit."""
        options = super().reference_options(loss)
        if self.gamma is None:
            options |= dict(gamma_unit=loss.gamma, intercept_gamma=_INTERCEPT_GAMMA)
        return options

    def constants(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """l1, l2, gamma, rho, and the intercept's gamma; 0: the intercept has the same gamma."""
        if self.gamma is not None:
            return (penalty.l1, penalty.l2, self.gamma, self.rho, 0.0)
        return (penalty.l1, penalty.l2, loss.gamma, self.rho, _INTERCEPT_GAMMA)
