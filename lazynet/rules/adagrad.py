"""AdaGrad with an elastic net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lazynet.losses import Loss
from lazynet.params import POSITIVE, Number, table
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule

#: alpha times the mean of ||x||_1 by the name of the loss, where alpha follows the data.  The first
#: visit to a row moves its prediction by at most this number.
PRODUCTS = {
    "log_loss": 5.0,
    "hinge": 5.0,
    "squared_hinge": 2.5,
    "modified_huber": 2.5,
    "squared_error": 1.0,
    "absolute_error": 1.0,
    "huber": 1.0,
    "epsilon_insensitive": 1.0,
    "smooth_hinge": 2.5,
    "perceptron": 5.0,
    "squared_epsilon_insensitive": 1.0,
}


@dataclass(repr=False)
class AdaGrad(Rule):
    """AdaGrad, Duchi, Hazan & Singer (2011), composite form: FoBoS with a rate per coordinate.

    The rate of a coordinate is alpha / (delta + sqrt(n)), n the sum of its squared gradients.

    Without ``alpha`` the rates follow the data: alpha is a constant of the loss divided by m, the
    mean of ||x||_1 over the rows seen so far, and delta is multiplied by m.  So multiplying X by a
    number divides the weights by it and changes nothing else.  m is computed anew before the steps
    0, 1, 2, 4, 8, ..., if it has changed by more than a sixteenth of itself, and the weights are
    multiplied by the ratio of the new alpha to the old: what the first rows of a stream have taught
    then counts as if their alpha had been the new one.  The intercept has the rate
    1 / (delta + sqrt(n)).

    >>> AdaGrad(alpha=0.5)
    AdaGrad(alpha=0.5)
    """

    _kinds = table(alpha=Number(above=0, optional=True), delta=POSITIVE)
    name: ClassVar[str] = "adagrad"
    scheduled: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    divides: ClassVar[bool] = True
    rate: ClassVar[str] = "AdaGrad(alpha=...)"
    remedy: ClassVar[str] = "Lower alpha of AdaGrad"
    alpha: float | None = None
    delta: float = 1e-6

    @property
    def sizes(self) -> str | None:
        """The sums of absolute values, unless ``alpha`` is given.

        >>> AdaGrad().sizes, AdaGrad(alpha=0.5).sizes
        ('absolute_sums', None)
        """
        return "absolute_sums" if self.alpha is None else None

    def twin_options(self, loss: Loss) -> dict[str, Any]:
        """alpha, delta, and the constant of the loss.

        >>> AdaGrad().twin_options(LOG_LOSS)
        {'alpha': None, 'delta': 1e-06, 'product': 5.0}
        """
        return {**self.get_params(), "product": PRODUCTS[loss.name]}

    def settings(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """l1, l2, alpha, delta, and 0; or the constant of the loss for alpha, and 1.

        >>> AdaGrad(0.1, delta=0.25).settings(ElasticNet(l1=0.5))
        (0.5, 0.0, 0.1, 0.25, 0.0)
        >>> AdaGrad(delta=0.25).settings(ElasticNet(l1=0.5))
        (0.5, 0.0, 5.0, 0.25, 1.0)
        """
        follows = self.alpha is None
        alpha = PRODUCTS[loss.name] if self.alpha is None else self.alpha
        return (penalty.l1, penalty.l2, alpha, self.delta, float(follows))

    def with_divided_rates(self, settings: tuple[float, ...], divisor: float) -> tuple[float, ...]:
        """The ``settings`` with another alpha for the weights; the intercept keeps its rates.

        >>> rule = AdaGrad()
        >>> rule.with_divided_rates(rule.settings(ElasticNet(l1=0.5)), 2.0)
        (0.5, 0.0, 2.5, 1e-06, 1.0)
        """
        l1, l2, alpha, *others = settings
        return (l1, l2, alpha / divisor, *others)
