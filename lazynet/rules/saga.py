"""SAGA with an elastic net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lazynet.losses import LOSSES, Loss
from lazynet.parameters import Positive
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule


@dataclass(repr=False)
class SAGA(Rule):
    """SAGA, Defazio, Bach & Lacoste-Julien (2014): gradient steps at a constant rate that converge.

    SAGA remembers the slope of every row at its last visit; a step moves the weights along the mean
    of the remembered gradients plus the change of the gradient of the present row.  ``alpha`` is
    the rate.  None: 1 / (3 L), L the largest curvature of the loss times the largest importance *
    |x|^2 of a row, with the intercept's 1; at this rate convergence to the minimum is proved.  For
    a loss whose slope jumps there is no such rate: give ``alpha``; the weights then come near the
    minimum but do not converge.

    SAGA needs a dataset with numbered rows: ``fit`` trains with SAGA, ``partial_fit`` and
    ``Stepper`` do not.

    >>> SAGA(alpha=0.5)
    SAGA(alpha=0.5)
    """

    name: ClassVar[str] = "saga"
    scheduled: ClassVar[bool] = False
    streams: ClassVar[bool] = False
    rate: ClassVar[str] = "SAGA(alpha=...)"
    remedy: ClassVar[str] = "Lower alpha of SAGA"
    alpha: Positive | None = None

    def check(self, l2: float, loss: Loss) -> None:
        """Refuse a loss whose slope jumps, unless the rate is given."""
        if self.alpha is None and loss.curvature is None:
            smooth = sorted(
                name
                for name, row in LOSSES.items()
                if row.curvature is not None and row.margin == loss.margin
            )
            raise ValueError(
                f"rule={self!r} finds its rate from the curvature of the loss, which has no bound "
                f"for loss={loss.name!r}; use one of {smooth}, or write rule={self.rate}"
            )

    def constants(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """l1, l2 and alpha; 0: the rate is not known yet."""
        return (penalty.l1, penalty.l2, self.alpha or 0.0)
