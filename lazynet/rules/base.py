"""The base of every update rule, and the affine family: rules with one shrink for all weights."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.losses import Loss, get_loss
from lazynet.parameters import ParameterObject
from lazynet.penalties import ElasticNet
from lazynet.rules.storage import Clock, Tables
from lazynet.schedules import AUTO, FromData, needs_scale

#: The default loss of ``Rule.constants``.
LOG_LOSS = get_loss("log_loss")

# A larger eta * l1 or eta * l2 would take the scalars of the clock out of the range of doubles.
LARGEST_SHRINK = 2.0**200

# For errors: the defaults of ``Rule`` as text, of parameters that other parameters exclude.
_DEFAULTS = {
    "step_order": "'gradient_first'",
    "storage": "'clock'",
    "average": "False",
    "positive": "False",
}

#: Parameters that the plan of a training applies, and not the rule itself.
OF_TRAINING = {"schedule", "eta0", "average", "storage", "positive", "group"}


class Shrink(NamedTuple):
    """The map |w| <- [a |w| - b]+ of one step: keep = a, decay = 1 - a, pull = b.

    The fields are numbers, or arrays with an entry per step.
    """

    keep: Any
    decay: Any
    pull: Any


class Rule(ParameterObject):
    """How a step learns from its example and how it shrinks the weights."""

    #: whether one affine map shrinks all weights, so that the rule has a storage; else the rule has
    #: its own kind of cells
    is_affine: bool = False
    #: whether the rates of the rule come from a schedule
    scheduled: ClassVar[bool] = True
    #: the constructor call that sets the rate of a rule without a schedule, for error messages
    rate: ClassVar[str] = ""
    #: whether the rule learns from a stream; else it needs a dataset with numbered rows
    streams: ClassVar[bool] = True
    #: whether a warm start continues from the sums of gradients, and not from the weights alone
    continues: ClassVar[bool] = False
    #: the parameter that fixes the rates, and the size of rows on which they depend without it
    _follows: ClassVar[tuple[str, str] | None] = None
    #: the advice after an overflow
    remedy: ClassVar[str] = "Lower eta0"
    # Parameters that only some rules have, and their values for the other rules.
    schedule: Any = None
    eta0: float | None = None
    average: Any = None
    storage: Any = Clock()
    step_order: str = "gradient_first"
    positive: bool = False
    group: str | None = None

    @property
    def size_kind(self) -> str | None:
        """The size of every row on which rates depend: "absolute_sums", "squared_norms" or None.

        >>> from lazynet import AdaGrad, SGD
        >>> AdaGrad().size_kind, AdaGrad(alpha=0.5).size_kind, SGD().size_kind
        ('absolute_sums', None, None)
        """
        if self._follows is None:
            return None
        name, sizes = self._follows
        return sizes if getattr(self, name) is None else None

    def check(self, l2: float, loss: Loss) -> None:
        """Refuse parameters of a settled rule that conflict, also with the l2 or the loss.

        >>> from lazynet import RDA
        >>> RDA().check(0.1, LOG_LOSS)  # RDA accepts all
        """
        schedule, group = self.schedule, self.group
        if self.eta0 is not None and schedule != AUTO and not needs_scale(schedule):
            raise ValueError(
                f"eta0 is the scale of a schedule without a scale, got eta0={self.eta0!r} with "
                f"schedule={schedule!r}: leave eta0 at its default"
            )
        if self.average is not None and isinstance(self.storage, Tables):
            self._refuse_with("an average", "storage")
        if self.positive:
            self._refuse_with("positive=True", "storage", "average")
        if group is not None:
            self._refuse_with(f"group={group!r}", *_DEFAULTS)
        if not isinstance(schedule, FromData):
            return
        if group is not None:
            raise ValueError(
                f"group={group!r} excludes schedule={schedule!r}: write schedule='power'"
            )
        if self.storage != Clock():
            raise ValueError(
                f"schedule={schedule!r} needs storage='clock', which computes the rates from "
                f"the rows, got storage={self.storage!r}"
            )
        if self.name not in ("fobos", "sgd"):
            raise ValueError(
                f"schedule={schedule!r} gives rates to rule='fobos' and rule='sgd', got "
                f"rule={self!r}"
            )

    def _refuse_with(self, subject: str, *names: str) -> None:
        """Refuse values of the named parameters, other than the defaults, with ``subject``."""
        for name in names:
            value = getattr(self, name)
            if value != getattr(Rule, name):
                raise ValueError(
                    f"{subject} excludes {name}={value!r}: write {name}={_DEFAULTS[name]}"
                )

    def check_streams(self, call: str, instead: str = "use fit") -> None:
        """Refuse the training by ``call``, which has a stream, if the rule needs a dataset.

        >>> from lazynet import SAGA
        >>> SAGA().check_streams("partial_fit")
        Traceback (most recent call last):
        ...
        ValueError: partial_fit cannot train with rule=SAGA(), which remembers every row of a \
dataset and visits it again; use fit
        """
        if not self.streams:
            raise ValueError(
                f"{call} cannot train with rule={self!r}, which remembers every row of a dataset "
                f"and visits it again; {instead}"
            )

    def reference_options(self, loss: Loss) -> dict[str, Any]:
        """The parameters of the dense reference, with constants that depend on the loss.

        >>> from lazynet import RDA
        >>> RDA(gamma=2.0, rho=0.5).reference_options(LOG_LOSS)
        {'gamma': 2.0, 'rho': 0.5}
        """
        parameters = self.get_params(deep=False)
        return {name: value for name, value in parameters.items() if name not in OF_TRAINING}

    def constants(self, penalty: ElasticNet, loss: Loss = LOG_LOSS) -> tuple[float, ...]:
        """The numbers that the kernel of a rule receives, in its order; not for affine rules.

        Only rates that follow the data depend on the loss.

        >>> from lazynet import RDA
        >>> RDA(gamma=2.0).constants(ElasticNet(l1=0.1))  # l1, l2, gamma, rho, 0
        (0.1, 0.0, 2.0, 0.0, 0.0)
        """
        raise NotImplementedError

    def largest_rate(self, penalty: ElasticNet) -> float:
        """The upper bound of the rates, excluded.

        >>> from lazynet import RDA, SGD
        >>> SGD().largest_rate(ElasticNet(l2=0.25)), RDA().largest_rate(ElasticNet()) == 2.0**200
        (4.0, True)
        """
        return LARGEST_SHRINK


class Affine(Rule):
    """A rule that shrinks every weight by the same map: |w| <- [a |w| - b]+.

    Such a rule is the function (eta, l1, l2) -> (a, b).  Affine maps compose to affine maps, so
    the engines need only a and b, and a new rule of the family needs no kernel.

    The map is given as a, 1 - a and b.  The small number 1 - a is known to full relative precision;
    from 1 - a the engines recover the digits that a loses when it is rounded near 1.  (Without
    these digits the error grows with the number of steps, as the dense engine's does:
    paper_repro/results/accuracy.md.)
    """

    is_affine = True
    #: the upper bound of eta * l2, excluded
    decay_below: ClassVar[float] = LARGEST_SHRINK
    #: the reason for the bound of eta * l2, for error messages
    why: ClassVar[str] = "larger products drive the weights out of the range of doubles"
    #: one step in ``period`` steps pulls, ``period`` times as strongly
    period: int = 1

    @staticmethod
    def shrink(eta: Any, l1: Any, l2: Any) -> Shrink:
        """The map of one step at the rate ``eta``.

        >>> from lazynet import SGD
        >>> SGD().shrink(0.5, l1=3.0, l2=1.0)
        Shrink(keep=0.5, decay=0.5, pull=1.5)
        """
        raise NotImplementedError

    def shrinks(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> Shrink:
        """The common shrink of every step from ``first`` on; ``check_rates`` checks the rates.

        >>> from lazynet import TruncatedGradient
        >>> rule = TruncatedGradient(period=2)
        >>> rule.shrinks(np.array([0.5, 0.25]), ElasticNet(l1=2.0), first=0).pull
        array([0., 1.])
        """
        shrink = self.shrink(rates, penalty.l1, penalty.l2)
        if self.period == 1:
            return shrink
        steps = np.arange(first, first + len(rates))
        due = (steps + 1) % self.period == 0
        return shrink._replace(pull=np.where(due, self.period * shrink.pull, 0.0))

    def largest_rate(self, penalty: ElasticNet) -> float:
        limits = [LARGEST_SHRINK]
        if penalty.l2:
            limits.append(self.decay_below / penalty.l2)
        if penalty.l1:
            limits.append(LARGEST_SHRINK / penalty.l1 / self.period)
        return min(limits)

    def check_rates(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> None:
        """Refuse rates at which the rule does not work; ``first`` is the step of rates[0].

        >>> from lazynet import FoBoS
        >>> FoBoS().check_rates(np.array([9.0]), ElasticNet(l2=0.25), first=0)  # SGD refuses
        """
        # Python floats overflow to infinity without a warning, and the comparison refuses infinity.
        largest, l1, l2 = float(rates.max(initial=0.0)), penalty.l1, penalty.l2
        # A strength of 0 allows any rate, even an infinite rate, whose product with 0 is NaN.
        l2_fits = not l2 or largest * l2 < self.decay_below
        l1_fits = not l1 or largest * l1 * self.period < LARGEST_SHRINK
        if l1_fits and l2_fits:
            return
        step = first + int(rates.argmax())
        if not l2_fits:
            raise ValueError(
                f"eta must be less than {self.decay_below / l2:.6g} with rule={self.name!r} and "
                f"l2={l2:.6g}, for {self.why}; the schedule gives {largest:.6g} at step {step}. "
                "Lower eta0 or l2"
                + (", or use rule='fobos', which allows any rate." if self.name == "sgd" else ".")
            )
        largest_allowed = LARGEST_SHRINK / l1 / self.period
        raise ValueError(
            f"eta must be less than {largest_allowed:.6g} with l1={l1:.6g}; "
            f"the schedule gives {largest:.6g} at step {step}. Lower eta0 or l1."
        )


def lost_digits(shrink: Shrink) -> NDArray[np.float64]:
    """The digits that ``keep`` lost to rounding: keep + lost_digits = 1 - decay to 106 bits.

    If a < 1/2 the lost digits are not computed: the weights then halve at every step, and the
    roundoff of a does not accumulate over the steps.
    """
    keep = np.asarray(shrink.keep)
    if keep.min(initial=1.0) >= 0.5:
        return (1.0 - keep) - shrink.decay
    # 1 - keep is exact for keep in [1/2, 1] (Sterbenz).
    return np.where(keep >= 0.5, (1.0 - keep) - shrink.decay, 0.0)
