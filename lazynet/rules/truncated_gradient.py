"""The truncated gradient, whose penalty leaves large weights alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from lazynet.averages import AverageLike
from lazynet.losses import Loss
from lazynet.parameters import Number, Positive, PositiveInt
from lazynet.penalties import ElasticNet
from lazynet.rules.affine import sgd
from lazynet.rules.base import LOG_LOSS, Affine
from lazynet.rules.storage import StorageLike
from lazynet.schedules import AUTO, ScheduleLike


@dataclass(repr=False)
class TruncatedGradient(Affine):
    """Truncated gradient, Langford, Li & Zhang (2009), with l1 as gravity.

    Every ``period`` steps weights of at most ``threshold`` move towards zero by eta * period * l1.
    Without a threshold the rule is SGD with a pull every ``period`` steps.  A threshold needs
    l2 = 0 and the clock as storage, and excludes an average.  The other parameters are those of
    ``FoBoS``; "auto" is the schedule "power".

    >>> TruncatedGradient(period=10, threshold=1.0)
    TruncatedGradient(period=10, threshold=1.0)
    """

    name: ClassVar[str] = "truncated_gradient"
    decay_below: ClassVar[float] = 1.0
    why: ClassVar[str] = "eta*l2 >= 1 would flip or wipe every weight"
    shrink = staticmethod(sgd)
    period: PositiveInt = 1
    threshold: Annotated[float, Number(least=0, infinite=True)] = math.inf
    schedule: ScheduleLike = AUTO
    eta0: Positive | None = None
    average: AverageLike = False
    storage: StorageLike = "clock"

    @property
    def is_affine(self) -> bool:  # type: ignore[override]
        """Whether all weights shrink by the same map; a threshold leaves large weights alone.

        >>> TruncatedGradient().is_affine, TruncatedGradient(threshold=0.5).is_affine
        (True, False)
        """
        return self.threshold == math.inf

    def check(self, l2: float, loss: Loss) -> None:
        """Refuse l2 > 0, an average and other storages together with a threshold."""
        super().check(l2, loss)
        if self.is_affine:
            return
        if l2:
            raise ValueError(
                f"l2 must be 0 with rule=TruncatedGradient(threshold=...), got "
                f"l2={l2:g}: a weight that decays would cross the threshold unseen"
            )
        self._refuse_with("a threshold", "storage", "average")

    def constants(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """The threshold."""
        return (self.threshold,)
