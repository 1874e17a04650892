"""FTRL-Proximal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lazynet.params import POSITIVE, STRENGTH, Choice, table
from lazynet.penalties import ElasticNet
from lazynet.rules.base import Rule

PENALTIES = ("per_example", "once")


@dataclass(repr=False)
class FTRL(Rule):
    """FTRL-Proximal, McMahan et al. (2013).

    The rate of a coordinate is alpha / (beta + sqrt(n)), n the sum of its squared gradients.

    ``penalty`` says how often l1 and l2 count.  "per_example": after t steps the penalty is t times
    l1 and t times l2, beside the t losses seen, so that l1 and l2 mean the same as in every other
    rule.  "once": the penalty is l1 and l2 however many examples have been seen, which is the
    published form; its strengths are about t times as large for the same weights.

    >>> FTRL(alpha=0.5)
    FTRL(alpha=0.5)
    """

    _kinds = table(alpha=POSITIVE, beta=STRENGTH, penalty=Choice(accepted=PENALTIES))
    name: ClassVar[str] = "ftrl"
    scheduled: ClassVar[bool] = False
    rate: ClassVar[str] = "FTRL(alpha=...)"
    remedy: ClassVar[str] = "Lower alpha of FTRL"
    alpha: float = 0.1
    beta: float = 1.0
    penalty: str = "per_example"

    def check_penalty(self, penalty: ElasticNet) -> None:
        """Refuse l2 = 0 beside beta = 0: the first rate would be infinite.

        >>> FTRL(beta=0.0).check_penalty(ElasticNet(l2=0.1))  # l2 bounds the first step
        """
        if not self.beta and not penalty.l2:
            raise ValueError(
                "beta of FTRL and l2 must not both be 0: the first rate is alpha / beta"
            )

    def settings(self, penalty: ElasticNet) -> tuple[float, ...]:
        """l1, l2, whether the penalty counts per example, alpha and beta.

        >>> FTRL(alpha=0.25).settings(ElasticNet(l1=0.5))
        (0.5, 0.0, 1.0, 0.25, 1.0)
        """
        per_example = float(self.penalty == "per_example")
        return (penalty.l1, penalty.l2, per_example, self.alpha, self.beta)
