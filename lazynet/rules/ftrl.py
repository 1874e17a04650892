"""FTRL-Proximal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from lazynet.losses import Loss
from lazynet.parameters import Choice, NonNegative, Positive
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule

PENALTIES = ("per_example", "once")

# If alpha follows the data: the effective beta for beta = 1, as a share of the mean of |x|_1; and
# the alpha of the intercept.
_BETA = 0.001
_INTERCEPT_ALPHA = 1.0


@dataclass(repr=False)
class FTRL(Rule):
    """FTRL-Proximal, McMahan et al. (2013).

    The rate of a coordinate is alpha / (beta + sqrt(n)), n the sum of its squared gradients.

    Without ``alpha`` the rates follow the data: alpha is a constant of the loss divided by m, the
    mean of ||x||_1 over the rows so far, and ``beta`` is multiplied by m / 1000.  So if X is
    multiplied by a number, the weights are divided by it, and no prediction changes.  m is computed
    again before the steps 0, 1, 2, 4, 8, ..., and the weights are then computed from the same sums
    with the new alpha.  The intercept has the rate 1 / (beta + sqrt(n)).

    ``penalty`` says how often l1 and l2 count.  "per_example": after t steps the objective is the
    sum of t losses, t times l1 and t times l2, so that l1 and l2 mean the same as in every other
    rule.  "once", the published form: l1 and l2 count once for any number of examples; for the same
    weights l1 and l2 must be about t times as large.

    >>> FTRL(alpha=0.5)
    FTRL(alpha=0.5)
    """

    name: ClassVar[str] = "ftrl"
    scheduled: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    _follows: ClassVar[tuple[str, str] | None] = ("alpha", "absolute_sums")
    rate: ClassVar[str] = "FTRL(alpha=...)"
    remedy: ClassVar[str] = "Lower alpha of FTRL"
    alpha: Positive | None = None
    beta: NonNegative = 1.0
    penalty: Annotated[str, Choice(accepted=PENALTIES)] = "per_example"

    def check(self, l2: float, loss: Loss) -> None:
        """Refuse l2 = 0 with beta = 0: the first rate would be infinite."""
        if not self.beta and not l2:
            raise ValueError(
                "beta of FTRL and l2 must not both be 0: the first rate is alpha / beta"
            )

    def reference_options(self, loss: Loss) -> dict[str, Any]:
        """The parameters of the reference; without alpha also the units of alpha and beta."""
        options = super().reference_options(loss)
        if self.alpha is None:
            options |= dict(
                alpha_unit=loss.alphas[0], beta_unit=_BETA, intercept_alpha=_INTERCEPT_ALPHA
            )
        return options

    def constants(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """l1, l2, whether the penalty counts per example, alpha, beta, and the intercept's.

        An alpha of 0 for the intercept says that the intercept has the same alpha.
        """
        per_example = float(self.penalty == "per_example")
        penalties = (penalty.l1, penalty.l2, per_example)
        if self.alpha is not None:
            return (*penalties, self.alpha, self.beta, 0.0, 0.0)
        return (*penalties, loss.alphas[0], self.beta * _BETA, _INTERCEPT_ALPHA, self.beta)
