"""AdaGrad with an elastic net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lazynet.losses import Loss
from lazynet.params import POSITIVE, table
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule


@dataclass(repr=False)
class AdaGrad(Rule):
    """AdaGrad, Duchi, Hazan & Singer (2011), composite form: FoBoS with a rate per coordinate.

    The rate of a coordinate is alpha / (delta + sqrt(n)), n the sum of its squared gradients.

    >>> AdaGrad(alpha=0.5)
    AdaGrad(alpha=0.5)
    """

    _kinds = table(alpha=POSITIVE, delta=POSITIVE)
    name: ClassVar[str] = "adagrad"
    scheduled: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    rate: ClassVar[str] = "AdaGrad(alpha=...)"
    remedy: ClassVar[str] = "Lower alpha of AdaGrad"
    alpha: float = 0.1
    delta: float = 1e-6

    def settings(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """l1, l2, alpha and delta.

        >>> AdaGrad(delta=0.25).settings(ElasticNet(l1=0.5))
        (0.5, 0.0, 0.1, 0.25)
        """
        return (penalty.l1, penalty.l2, self.alpha, self.delta)
