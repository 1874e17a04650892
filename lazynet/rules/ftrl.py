"""FTRL-Proximal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lazynet.losses import Loss
from lazynet.params import POSITIVE, STRENGTH, table
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule


@dataclass(repr=False)
class FTRL(Rule):
    """FTRL-Proximal, McMahan et al. (2013).

    The rate of a coordinate is alpha / (beta + sqrt(n)), n the sum of its squared gradients.  l1
    and l2 act once, not once per step.

    >>> FTRL(alpha=0.5)
    FTRL(alpha=0.5)
    """

    _kinds = table(alpha=POSITIVE, beta=STRENGTH)
    name: ClassVar[str] = "ftrl"
    scheduled: ClassVar[bool] = False
    rate: ClassVar[str] = "FTRL(alpha=...)"
    remedy: ClassVar[str] = "Lower alpha of FTRL"
    alpha: float = 0.1
    beta: float = 1.0

    def check_penalty(self, penalty: ElasticNet) -> None:
        """Refuse l2 = 0 beside beta = 0: the first rate would be infinite.

        >>> FTRL(beta=0.0).check_penalty(ElasticNet(l2=0.1))  # l2 bounds the first step
        """
        if not self.beta and not penalty.l2:
            raise ValueError(
                "beta of FTRL and l2 must not both be 0: the first rate is alpha / beta"
            )

    def settings(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """l1, l2, alpha and beta.

        >>> FTRL(alpha=0.25).settings(ElasticNet(l1=0.5))
        (0.5, 0.0, 0.25, 1.0)
        """
        return (penalty.l1, penalty.l2, self.alpha, self.beta)
