"""Update rules of the affine family: how one step shrinks a weight that nothing touches.

    |w|  <-  [ a |w| - b ]+         the same a and b for every weight

A rule is the scalar map eta -> (a, b).  Composition of affine maps is affine, so the map is all
that the engines need; a new rule of the family is one row here and its twin in ``reference``.

The map is given as a, 1 - a and b: the small number 1 - a is known to full relative precision,
and from it the engines recover the digits that a loses when it is rounded near 1.  (Without them
the error grows with the number of steps, as that of the dense engine does:
paper_repro/results/accuracy.md.)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.engines import Engine, Wear, make_engine
from lazynet.online import (
    AdaGradEngine,
    AdaptiveParameters,
    AveragingParameters,
    CarpenterEngine,
    FTRLEngine,
    InexactParameters,
    LeaderParameters,
    OwnStateEngine,
    RDAEngine,
    TruncatedEngine,
    TruncatedParameters,
)
from lazynet.params import POSITIVE, STRENGTH, Integer, Number, SettledFields, check_choice, table
from lazynet.penalties import ElasticNet

# Beyond this the scalars of the clock would leave the range of doubles.
LARGEST_SHRINK = 2.0**200


class Shrink(NamedTuple):
    """One step's map: keep = a, decay = 1 - a, pull = b; numbers or arrays of them."""

    keep: Any
    decay: Any
    pull: Any


def sgd(eta: Any, l1: Any, l2: Any) -> Shrink:
    """Subgradient step, Lipton & Elkan Eq. 3: a = 1 - eta l2, b = eta l1.

    Works on numbers of any kind: floats, arrays, exact fractions.

    >>> from fractions import Fraction
    >>> sgd(Fraction(1, 2), Fraction(2), Fraction(1))
    Shrink(keep=Fraction(1, 2), decay=Fraction(1, 2), pull=Fraction(1, 1))
    """
    decay = eta * l2
    return Shrink(1 - decay, decay, eta * l1)


def fobos(eta: Any, l1: Any, l2: Any) -> Shrink:
    """Proximal step, Lipton & Elkan Eq. 2: a = 1 / (1 + eta l2), b = a eta l1.

    >>> from fractions import Fraction
    >>> fobos(Fraction(1, 2), Fraction(2), Fraction(2))
    Shrink(keep=Fraction(1, 2), decay=Fraction(1, 2), pull=Fraction(1, 2))
    """
    growth = eta * l2
    keep = 1 / (1 + growth)
    return Shrink(keep, growth * keep, eta * l1 * keep)


@dataclass(frozen=True)
class Rule(SettledFields):
    """A name, the scalar map, and the bound on eta * l2 within which the map may be used."""

    _kinds = table(decay_below=POSITIVE, period=Integer(least=1))
    name: str
    shrink: Callable[[Any, Any, Any], Shrink]
    decay_below: float
    why: str
    source: str
    #: the pull is due every so many steps, and then as strong as all of them
    period: int = 1
    #: whether its rates come from a schedule
    scheduled: ClassVar[bool] = True
    #: which of the estimators' parameters of rules it takes
    takes: ClassVar[frozenset[str]] = frozenset()

    def shrinks(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> Shrink:
        """Those of the steps from ``first`` on; refuses rates that the rule cannot have."""
        self.check_rates(rates, penalty, first)
        shrink = self.shrink(rates, penalty.l1, penalty.l2)
        if self.period == 1:
            return shrink
        return shrink._replace(pull=collected(shrink.pull, self.period, first))

    def largest_rate(self, penalty: ElasticNet) -> float:
        """Rates must be less than this."""
        limits = [LARGEST_SHRINK]
        if penalty.l2:
            limits.append(self.decay_below / penalty.l2)
        if penalty.l1:
            limits.append(LARGEST_SHRINK / penalty.l1 / self.period)
        return min(limits)

    def check_rates(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> None:
        """Refuse rates under which the rule breaks down; ``first`` is the step of rates[0]."""
        # Python floats: an overflow to infinity is caught by the comparison, without a warning.
        largest, l1, l2 = float(rates.max(initial=0.0)), penalty.l1, penalty.l2
        # A strength of zero allows any rate, even one whose product with it is not a number.
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
        raise ValueError(
            f"eta must be less than {LARGEST_SHRINK / l1:.6g} with l1={l1:.6g}; "
            f"the schedule gives {largest:.6g} at step {step}. Lower eta0 or l1."
        )


def collected(pulls: NDArray[np.float64], period: int, first: int) -> NDArray[np.float64]:
    """Pulls that are due every ``period`` steps, each as strong as if it were due at all of them.

    >>> collected(np.array([1.0, 2.0, 3.0, 4.0]), 2, first=0)
    array([0., 4., 0., 8.])
    """
    due = (np.arange(first, first + len(pulls)) + 1) % period == 0
    return np.where(due, period * pulls, 0.0)


_ROWS = (
    Rule(
        "sgd",
        sgd,
        1.0,
        "eta*l2 >= 1 would flip or wipe every weight",
        "Lipton & Elkan Eq. 3, Theorem 1 (corrected)",
    ),
    Rule(
        "fobos",
        fobos,
        LARGEST_SHRINK,
        "beyond it the weights leave the range of doubles",
        "Lipton & Elkan Eq. 2, Theorem 2",
    ),
)

#: Every rule of the affine family by name.
RULES: dict[str, Rule] = {rule.name: rule for rule in _ROWS}


class _OfItsOwn(SettledFields):
    """A rule with a state of its own, whose rates and penalties are no matter of the steps."""

    engine: ClassVar[type[OwnStateEngine]]
    scheduled: ClassVar[bool] = False

    def parameters(self, penalty: ElasticNet) -> Any:
        """What its engine takes; refuses what does not go together."""
        raise NotImplementedError

    def new_engine(
        self, n_features: int, penalty: ElasticNet, wear: Wear | None = None
    ) -> OwnStateEngine:
        """A new engine, all weights zero."""
        return self.engine(n_features, self.parameters(penalty), wear)

    def shrinks(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> Shrink:
        """None."""
        return Shrink(np.ones(len(rates)), np.zeros(len(rates)), np.zeros(len(rates)))


@dataclass(frozen=True)
class DualAveraging(_OfItsOwn):
    """Regularised dual averaging, Xiao (2010): proximal steps on the mean of all gradients.

    ``gamma`` is the strength of the proximal term, gamma / sqrt(t), in place of a rate, ``rho``
    that of an l1 penalty that fades with it.
    """

    _kinds = table(gamma=POSITIVE, rho=STRENGTH)
    gamma: float = 1.0
    rho: float = 0.0
    name: ClassVar[str] = "rda"
    engine: ClassVar[type[OwnStateEngine]] = RDAEngine
    takes: ClassVar[frozenset[str]] = frozenset({"gamma", "rho"})

    def parameters(self, penalty: ElasticNet) -> AveragingParameters:
        return AveragingParameters(penalty.l1, penalty.l2, self.gamma, self.rho)


@dataclass(frozen=True)
class FollowTheLeader(_OfItsOwn):
    """FTRL-Proximal, McMahan et al. (2013): the rate of a coordinate is alpha / (beta + sqrt(n)),
    n the sum of its squared gradients.  l1 and l2 act once, not once per step.
    """

    _kinds = table(eta0=POSITIVE, beta=STRENGTH)
    eta0: float = 0.1
    beta: float = 1.0
    name: ClassVar[str] = "ftrl"
    engine: ClassVar[type[OwnStateEngine]] = FTRLEngine
    takes: ClassVar[frozenset[str]] = frozenset({"eta0", "beta"})

    def parameters(self, penalty: ElasticNet) -> LeaderParameters:
        if not self.beta and not penalty.l2:
            raise ValueError(
                "beta and l2 must not both be 0 with rule='ftrl': the first rate is eta0 / beta"
            )
        return LeaderParameters(penalty.l1, penalty.l2, self.eta0, self.beta)


@dataclass(frozen=True)
class Adaptive(_OfItsOwn):
    """AdaGrad, Duchi, Hazan & Singer (2011), composite form: the rate of a coordinate is
    eta0 / (delta + sqrt(sum g^2)), and FoBoS with it.
    """

    _kinds = table(eta0=POSITIVE, delta=POSITIVE)
    eta0: float = 0.1
    delta: float = 1e-6
    name: ClassVar[str] = "adagrad"
    engine: ClassVar[type[OwnStateEngine]] = AdaGradEngine
    takes: ClassVar[frozenset[str]] = frozenset({"eta0", "delta"})

    def parameters(self, penalty: ElasticNet) -> AdaptiveParameters:
        return AdaptiveParameters(penalty.l1, penalty.l2, self.eta0, self.delta)


@dataclass(frozen=True)
class Truncation(_OfItsOwn):
    """Truncated gradient, Langford, Li & Zhang (2009), with a threshold: every ``period`` steps
    weights within it move towards zero by eta * period * l1.
    """

    _kinds = table(threshold=Number(least=0, infinite=True), period=Integer(least=1))
    threshold: float
    period: int = 1
    name: ClassVar[str] = "truncated_gradient"
    engine: ClassVar[type[OwnStateEngine]] = TruncatedEngine
    scheduled: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset({"threshold", "period"})

    def parameters(self, penalty: ElasticNet) -> TruncatedParameters:
        if penalty.l2:
            raise ValueError(
                f"l2 must be 0 with rule='truncated_gradient' and a threshold, got "
                f"l2={penalty.l2:g}: a weight that decays would cross the threshold unseen"
            )
        return TruncatedParameters(self.threshold)

    def shrinks(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> Shrink:
        """What gravity takes after each of the steps, of the weights that it concerns."""
        return self.without_threshold().shrinks(rates, penalty, first)

    def without_threshold(self) -> Rule:
        """The rule of the affine family that this is when nothing is beyond the threshold."""
        return replace(
            RULES["sgd"], name=self.name, period=self.period, source="Langford, Li & Zhang (2009)"
        )


@dataclass(frozen=True)
class Carpenter(_OfItsOwn):
    """INEXACT for l2 > 0: Carpenter's lazy sparse SGD (2008), one linear step in place of all the
    shrinks that a weight has missed.  Every ``period`` steps, his epochs, all are brought current.
    """

    _kinds = table(period=Integer(least=1, optional=True))
    period: int | None = None
    name: ClassVar[str] = "carpenter_inexact"
    engine: ClassVar[type[OwnStateEngine]] = CarpenterEngine
    scheduled: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset({"period"})

    def parameters(self, penalty: ElasticNet) -> InexactParameters:
        return InexactParameters(penalty.l1, penalty.l2, self.period or 0)


OwnRule = DualAveraging | FollowTheLeader | Adaptive | Truncation | Carpenter
AnyRule = Rule | OwnRule
#: Rules with a state of their own by name.
OWN_RULES: dict[str, type[OwnRule]] = {
    rule.name: rule for rule in (DualAveraging, FollowTheLeader, Adaptive, Truncation, Carpenter)
}


#: Parameters of a rule, None where the rule's own default is meant.
RULE_PARAMETERS = table(
    gamma=Number(above=0, optional=True),
    rho=Number(least=0, optional=True),
    beta=Number(least=0, optional=True),
    delta=Number(above=0, optional=True),
    period=Integer(least=1, optional=True),
    threshold=Number(least=0, infinite=True, optional=True),
)


def get_rule(name: str) -> Rule:
    """The row of the affine family called ``name``."""
    return RULES[check_choice("rule", name, RULES)]


def make_rule(name: str, **given: Any) -> AnyRule:
    """The rule called ``name`` with the parameters that are given, those that are not None.

    Refuses a parameter that the rule does not use, ``eta0`` excepted where it belongs to a
    schedule.

    >>> make_rule("rda", gamma=2.0, rho=None)
    DualAveraging(gamma=2.0, rho=0.0)
    """
    check_choice("rule", name, RULES | OWN_RULES)
    kind = RULES.get(name) or OWN_RULES[name]
    given = {key: value for key, value in given.items() if value is not None}
    if kind.scheduled:
        given.pop("eta0", None)
    for key in given:
        if key not in kind.takes:
            users = sorted(rule for rule, other in OWN_RULES.items() if key in other.takes)
            raise ValueError(
                f"{key} is not used by rule={name!r}"
                + (f" but by {users}" if users else "")
                + "; leave it at its default"
            )
    if isinstance(kind, Rule):
        return kind
    if kind is Truncation:
        rule = Truncation(**{"threshold": math.inf, **given})
        return rule if rule.threshold < math.inf else rule.without_threshold()
    return kind(**given)


# Of a weight that no row touches, the share that one step may take away without a warning.
_NOTICEABLE = 0.01


def warn_of_wiping(
    rule: AnyRule, penalty: ElasticNet, engines: Sequence[Engine], stacklevel: int
) -> None:
    """Warn where AdaGrad is about to wipe weights that it has not learned itself.

    A coordinate that has seen no gradient has the rate eta0 / delta, so that one step shrinks a
    weight that was trained by another rule by eta0 / delta * l1, and divides it by
    1 + eta0 / delta * l2.  Looks at all weights only where they came from another rule, or where
    the parameters have changed.
    """
    if not isinstance(rule, Adaptive) or not (penalty.l1 or penalty.l2):
        return
    wanted = rule.parameters(penalty)
    largest = 0.0
    for engine in engines:
        if isinstance(engine, AdaGradEngine) and (engine.now == 0 or engine.parameters != wanted):
            largest = max(largest, engine.largest_unseen())
    rate = rule.eta0 / rule.delta
    taken = rate * penalty.l1 if penalty.l1 else 0.0
    left = max(0.0, largest - taken) / (1.0 + (rate * penalty.l2 if penalty.l2 else 0.0))
    if left >= (1.0 - _NOTICEABLE) * largest:
        return
    strengths = [name for name in ("l1", "l2") if getattr(penalty, name)]
    warnings.warn(
        f"rule='adagrad' goes on with weights that it has not trained, and shrinks them fast: the "
        f"first rate of a coordinate that has seen no gradient is eta0 / delta = {rate:.3g}, so "
        f"that one step with l1={penalty.l1:g} and l2={penalty.l2:g} takes the largest of them "
        f"from {largest:.3g} to {left:.3g} unless a row touches it. Raise delta, or set "
        f"{' and '.join(f'{name}=0' for name in strengths)}.",
        UserWarning,
        stacklevel=stacklevel,
    )


def takes_eta0(name: Any) -> bool:
    """Whether the rate is a parameter of the rule called ``name``, and not of a schedule.

    >>> takes_eta0("ftrl"), takes_eta0("rda"), takes_eta0("fobos")
    (True, False, False)
    """
    return isinstance(name, str) and name in OWN_RULES and "eta0" in OWN_RULES[name].takes


def engine_for(
    rule: AnyRule,
    penalty: ElasticNet,
    n_features: int,
    *,
    engine: str = "clock",
    wear: Wear | None = None,
    **options: Any,
) -> Engine:
    """A new engine, all weights zero: the rule's own, or the one called ``engine``."""
    if isinstance(rule, Rule):
        return make_engine(engine, n_features, wear=wear, **options)
    return rule.new_engine(n_features, penalty, wear)


def check_own_state(rule: AnyRule, **given: Any) -> None:
    """Refuse what a rule with a state of its own has no use for, unless it is at its default."""
    defaults = dict(
        schedule="power", power_t=0.25, step_order="gradient_first", engine="clock",
        dense_predictions=False, averaging=False,
    )  # fmt: skip
    if rule.scheduled:
        given = {key: value for key, value in given.items() if key not in ("schedule", "power_t")}
    for key, value in given.items():
        if type(value) is not type(defaults[key]) or value != defaults[key]:
            name = "average" if key == "averaging" else key
            raise ValueError(
                f"{name} is not used by rule={rule.name!r}, which has a state of its own; leave it "
                f"at its default"
            )


def lost_digits(shrink: Shrink) -> NDArray[np.float64]:
    """What rounding took from ``keep``: keep + lost_digits = 1 - decay to twice the precision.

    Where a < 1/2 nothing is owed: the weights then halve at every step, and a roundoff of a that
    does not grow with the steps is all that can be seen.
    """
    keep = np.asarray(shrink.keep)
    if keep.min(initial=1.0) >= 0.5:
        return (1.0 - keep) - shrink.decay
    # 1 - keep is exact for keep in [1/2, 1] (Sterbenz).
    return np.where(keep >= 0.5, (1.0 - keep) - shrink.decay, 0.0)
