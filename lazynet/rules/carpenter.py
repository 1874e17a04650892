"""Carpenter's scheme, which is INEXACT for l2 > 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lazynet.losses import Loss
from lazynet.parameters import Positive, PositiveInt
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule
from lazynet.schedules import AUTO, ScheduleLike


@dataclass(repr=False)
class Carpenter(Rule):
    """INEXACT for l2 > 0: Carpenter's lazy sparse SGD (2008).

    One linear step replaces all the shrinks that a weight has missed.  Every ``period`` steps all
    weights are brought current; None: a step brings current only the weights of its example.
    ``schedule`` and ``eta0`` are those of ``FoBoS``; "auto" is the schedule "power".

    >>> Carpenter(period=100)
    Carpenter(period=100)
    """

    name: ClassVar[str] = "carpenter_inexact"
    period: PositiveInt | None = None
    schedule: ScheduleLike = AUTO
    eta0: Positive | None = None

    def constants(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """l1, l2 and the period; 0: there is none."""
        return (penalty.l1, penalty.l2, float(self.period or 0))
