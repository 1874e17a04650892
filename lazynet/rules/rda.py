"""Regularised dual averaging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lazynet.losses import Loss
from lazynet.params import POSITIVE, STRENGTH, table
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule


@dataclass(repr=False)
class RDA(Rule):
    """Regularised dual averaging, Xiao (2010): proximal steps on the mean of all gradients.

    ``gamma`` is the strength of the proximal term, gamma / sqrt(t), which takes the place of a
    rate; ``rho`` adds an l1 penalty gamma rho / sqrt(t) beside l1.

    >>> RDA(gamma=5)
    RDA(gamma=5)
    """

    _kinds = table(gamma=POSITIVE, rho=STRENGTH)
    name: ClassVar[str] = "rda"
    scheduled: ClassVar[bool] = False
    rate: ClassVar[str] = "RDA(gamma=...)"
    remedy: ClassVar[str] = "Raise gamma of RDA"
    gamma: float = 1.0
    rho: float = 0.0

    def settings(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """l1, l2, gamma and rho.

        >>> RDA(gamma=2.0).settings(ElasticNet(l1=0.5))
        (0.5, 0.0, 2.0, 0.0)
        """
        return (penalty.l1, penalty.l2, self.gamma, self.rho)
