"""AdaGrad with an elastic net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lazynet.losses import Loss
from lazynet.parameters import NonNegative, Positive
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule

#: If alpha follows the data: ``initial`` of losses of margins, whose slopes are about 1 in size.
INITIAL = 1.0


@dataclass(repr=False)
class AdaGrad(Rule):
    """AdaGrad, Duchi, Hazan & Singer (2011), composite form: FoBoS with a rate per coordinate.

    The rate of a coordinate is alpha / (delta + sqrt(n)), n the sum of its squared gradients.  With
    ``initial``, n starts at the square of initial * |x_j|, x_j the value of the feature in the row
    that first changes the weight, times the importance of the row: as after a row with the slope
    ``initial``.  So the first steps of a weight are in proportion to its gradients.  Without
    ``initial`` the first step has the size alpha even for a tiny gradient; most first gradients are
    tiny if one class is rare.

    Without ``alpha`` the rates follow the data: alpha is a constant of the loss divided by m, the
    mean of ||x||_1 over the rows so far, and delta is multiplied by m.  So if X is multiplied by a
    number, the weights are divided by it, and no prediction changes.  ``initial=None`` is then 1
    for the losses of classifiers; it is 0 for other losses, and with a given ``alpha``.  For two
    losses the constant is larger with ``initial`` than without.  m is computed again before the
    steps 0, 1, 2, 4, 8, ..., if it has changed by more than a sixteenth of itself.  Then the
    weights are multiplied by the ratio of the new alpha to the old alpha, as if the earlier steps
    had had the new alpha.  The intercept has the rate 1 / (delta + sqrt(n)).

    >>> AdaGrad(alpha=0.5)
    AdaGrad(alpha=0.5)
    """

    name: ClassVar[str] = "adagrad"
    scheduled: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    _follows: ClassVar[tuple[str, str] | None] = ("alpha", "absolute_sums")
    rate: ClassVar[str] = "AdaGrad(alpha=...)"
    remedy: ClassVar[str] = "Lower alpha of AdaGrad"
    alpha: Positive | None = None
    delta: Positive = 1e-6
    initial: NonNegative | None = None

    def reference_options(self, loss: Loss) -> dict[str, Any]:
        """alpha, delta, initial, and the constant of the loss."""
        *_, product, _, _, initial = self.constants(ElasticNet(), loss)
        return super().reference_options(loss) | {"initial": initial, "product": product}

    def constants(
        self, penalty: ElasticNet, loss: Loss = LOG_LOSS, share: float = 1.0
    ) -> tuple[float, ...]:
        """l1, l2, alpha, delta, 0 and initial; or the constant of the loss for alpha, and 1 for 0.

        ``share`` multiplies alpha: the rates of the weights, but not that of the intercept.

        >>> AdaGrad(delta=0.25).constants(ElasticNet(l1=0.5), share=0.5)
        (0.5, 0.0, 4.0, 0.25, 1.0, 1.0)
        """
        follows, initial, alpha = self.alpha is None, self.initial, self.alpha
        if initial is None:
            initial = INITIAL if follows and loss.margin else 0.0
        if alpha is None:
            alpha = loss.alphas[initial > 0.0]
        return (penalty.l1, penalty.l2, alpha * share, self.delta, float(follows), initial)
