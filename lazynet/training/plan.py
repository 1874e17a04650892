"""The plan of a training: the objective, the rule and its rates; and the engines of this plan.

Affine rules: schedule -> rates -> rule -> (a, b) -> a chunk of steps -> engine -> weights.  Other
rules: rule -> constants -> engine -> weights; the kernel computes rates and shrinks, and the rates
and shrinks of a chunk are placeholders.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.averages import Average, checked_counts, known_average
from lazynet.data.statistics import FeatureMoments, Units
from lazynet.engines.base import (
    Engine,
    intercepts_of,
    outputs_of,
    set_all_coefficients,
    stacked_coefficients,
)
from lazynet.engines.catalogue import ALGORITHMS, EngineKind, new_engine
from lazynet.kernels.steps import Steps, Task
from lazynet.losses import Loss
from lazynet.penalties import ElasticNet
from lazynet.rules.adagrad import AdaGrad
from lazynet.rules.affine import FoBoS
from lazynet.rules.base import Affine, Rule, lost_digits
from lazynet.rules.storage import Clock
from lazynet.schedules import Constant, Formula, FromData, checked_rates
from lazynet.training.automatic import SHARE_AFTER_RESTART, share_of_rates
from lazynet.training.tuning import tuning_of

Array = NDArray[np.float64]

# The number of outputs that one engine learns in one pass.  With more outputs the weights of a row
# of X would leave the nearest cache; with fewer outputs than the least number the vectors would not
# be full.
_OUTPUTS_OF_A_BLOCK = 32
_FEWEST_OUTPUTS_OF_A_BLOCK = 8


def joins_outputs(rule: Rule, rates_from_data: bool) -> bool:
    """Whether one engine can learn several outputs in one pass.

    >>> from lazynet import SGD
    >>> rule = SGD(average=True).settled()
    >>> joins_outputs(rule, False), joins_outputs(rule, True)
    (True, False)
    """
    if ALGORITHMS[rule.name].outputs is None or rule.positive:
        return False
    if not rule.is_affine:
        return True
    return rule.storage == Clock() and not (rates_from_data and rule.average is not None)


@dataclass(frozen=True)
class Plan:
    """The objective that a training minimises, and the steps by which it does so.

    ``eta0`` is the scale of a schedule without a scale, and ``n_steps`` the length of the run, for
    an average that depends on it; None: the length is not known.
    """

    loss: Loss
    penalty: ElasticNet
    rule: Rule
    schedule: Any
    """The schedule of the rule, with values in place of "auto" and of a missing scale."""
    average: Average | None
    """The average of the rule."""
    fit_intercept: bool
    softmax: bool = False
    """Whether the loss is the softmax of all classes."""
    dtype: str = "float64"
    """The type of the weights, if one pass learns several outputs."""
    max_iter: int = 1
    """The largest number of epochs."""
    falls: bool = False
    """Whether the rates fall in the second half of the epochs of ``fit``."""
    share: float = 1.0
    """The share of the full rates at which the weights learn."""
    eta0: float = 1.0
    """The scale of the rates."""
    bad_loss: float = math.inf
    """A first epoch with a greater progressive loss is bad: worse than a constant prediction."""
    n_outputs: int = 1
    """The number of outputs to learn."""
    n_threads: int = 1
    """The number of threads among which the outputs are divided."""
    n_steps: InitVar[int | None] = None

    def __post_init__(self, n_steps: int | None) -> None:
        rule, schedule, average = self.rule, self.schedule, self.average
        if isinstance(schedule, Formula):
            schedule = schedule.completed(self.eta0, self.penalty.l2)
        if not rule.streams and rule.alpha is None:  # type: ignore[attr-defined]
            rule = replace(rule, alpha=self.eta0).settled()  # type: ignore[call-arg]
        if average is not None:
            average = known_average(average, n_steps)
        for name, value in (("rule", rule), ("schedule", schedule), ("average", average)):
            object.__setattr__(self, name, value)

    @property
    def rates_from_data(self) -> bool:
        """Whether the clock computes the rates from the rows."""
        return self.rule.scheduled and isinstance(self.schedule, FromData)

    @property
    def coupled(self) -> bool:
        """Whether a step of one output depends on the other outputs."""
        return self.softmax or self.rule.group is not None

    @property
    def size_kind(self) -> str | None:
        """The size of every row that the rates depend on; None: the rates depend on no size."""
        return "squared_norms" if self.rates_from_data else self.rule.size_kind

    @cached_property
    def engine_kind(self) -> EngineKind:
        """The kind of an engine of the plan; with the numbers of features and outputs it is one."""
        kind = "affine" if self.rule.is_affine else self.rule.name
        return EngineKind(
            self.average, kind, self.rule.storage, self.rates_from_data, self.penalty.positive,
            self.dtype, self.rule.group,
        )  # fmt: skip

    @cached_property
    def constants(self) -> tuple[float, ...]:
        """The numbers for the kernel of a rule that is not affine, at this share of its rates."""
        if self.rule.is_affine:
            return ()
        options = {"share": self.share} if isinstance(self.rule, AdaGrad) else {}
        return self.rule.constants(self.penalty, self.loss, **options)

    # --- engines ---

    def new_engines(self, n_features: int) -> list[Engine]:
        """New engines for all outputs, all weights zero: one for each output, or one for many.

        The number of threads changes how the outputs are divided, and no bit of a weight.
        """
        n_outputs, few, most = self.n_outputs, _FEWEST_OUTPUTS_OF_A_BLOCK, _OUTPUTS_OF_A_BLOCK
        joins = n_outputs > 1 and joins_outputs(self.rule, self.rates_from_data)
        if self.coupled:
            most = n_outputs
        elif not joins:
            most = 1
        elif not self.rates_from_data:
            # If each output has a clock, a sweep concerns all outputs of a block: then the blocks
            # must not depend on the number of threads.
            n_blocks = max(-(-n_outputs // most), min(self.n_threads, n_outputs // few))
            most = -(-n_outputs // (n_blocks * few)) * few
        engines = []
        for first in range(0, n_outputs, most):
            n = min(most, n_outputs - first) if self.coupled or joins else None
            engines.append(new_engine(self.engine_kind, n_features, n, self.constants))
        return engines

    def check_start(self, name: str, weights: Array, intercepts: Array | None = None) -> None:
        """Refuse weights called ``name``, or intercepts, that are no start for this plan."""
        frozen = not (self.fit_intercept or self.rule.scheduled)
        if frozen and intercepts is not None and intercepts.any():
            raise ValueError(
                f"{name.replace('coef', 'intercept')} must be 0 with rule={self.rule!r} and "
                f"fit_intercept=False: the rule trains without an intercept"
            )
        if self.penalty.positive and weights.min(initial=0.0) < 0.0:
            raise ValueError(
                f"{name} must not hold a negative weight with positive=True, got "
                f"{float(weights.min()):.6g}"
            )

    # --- the arguments of the kernels ---

    def in_epoch(self, epoch: int, restarted: bool = False) -> Plan:
        """The plan of an epoch of ``fit``, the first is 0: its rates may be lower."""
        share = share_of_rates(epoch, self.max_iter) if self.falls else 1.0
        share *= SHARE_AFTER_RESTART if restarted else 1.0
        return self if share == self.share else replace(self, share=share)

    def task(self, engine: Engine) -> Task:
        """The task of the kernel of ``engine``, the same for the whole run."""
        rule, penalty, loss, limits = self.rule, self.penalty, self.loss, engine.limits
        tuning = None
        if self.rates_from_data:
            largest, proximal = rule.largest_rate(penalty) / 2, isinstance(rule, FoBoS)
            schedule = replace(self.schedule, factor=self.schedule.factor * self.share)
            tuning = tuning_of(schedule, loss, penalty.l1, penalty.l2, largest, proximal)
        return Task(
            loss=loss.code,
            epsilon=loss.epsilon,
            shrink_first=rule.step_order == "shrink_first",
            fit_intercept=self.fit_intercept,
            smallest_scale=max(limits.smallest_scale, engine.smallest_scale),
            cushion=limits.cushion,
            largest_cushion=limits.largest_cushion,
            enough_work=limits.nonzeros_per_weight * engine.n_features,
            soft_reach=limits.reach,
            hard_reach=limits.largest_reach,
            has_pull=penalty.l1 > 0,
            positive=penalty.positive,
            tuning=tuning,
        )

    def steps(self, order: NDArray[np.int64], t: int) -> Steps:
        """The chunk of steps that visits the rows ``order``, starting with step ``t``."""
        stop = t + len(order)
        counts = None if self.average is None else checked_counts(self.average, t, stop)
        rates, keep, keep_low, pull = self.rates_and_shrinks(t, stop)
        return Steps(order, rates, keep, keep_low, pull, counts)

    def rates_and_shrinks(self, start: int, stop: int) -> tuple[NDArray[np.float64], ...]:
        """Rates, a, the low digits of a, and b, of the steps from ``start`` to ``stop``."""
        rule, n_steps = self.rule, stop - start
        if self.rates_from_data or not rule.scheduled:
            # The kernel computes rates and shrinks.
            return _repeated(n_steps, 1.0, 1.0, 0.0, 0.0)
        # If all steps are the same, the first step is computed and checked for the whole chunk.
        same_steps = (
            isinstance(self.schedule, Constant) and isinstance(rule, Affine) and rule.period == 1
        )
        end = min(start + 1, stop) if same_steps else stop
        rates = checked_rates(self.schedule, start, end)
        if not isinstance(rule, Affine):  # the kernel shrinks
            return rates, *_repeated(n_steps, 1.0, 0.0, 0.0)
        rule.check_rates(rates, self.penalty, start)
        shrink = rule.shrinks(rates, self.penalty, start)
        scalars = rates, shrink.keep, lost_digits(shrink), shrink.pull
        if same_steps and n_steps > 1:
            return _repeated(n_steps, *(float(numbers[0]) for numbers in scalars))
        return scalars


@lru_cache(maxsize=8)
def _repeated(n_steps: int, *numbers: float) -> tuple[NDArray[np.float64], ...]:
    """An array of each number, the same read-only one for all chunks of ``n_steps`` steps."""
    result = []
    for number in numbers:
        array = np.full(n_steps, number)
        array.flags.writeable = False
        result.append(array)
    return tuple(result)


# --- the engines at the start of a call ---


class OldModel(NamedTuple):
    """The model before a call: an earlier ``fit`` or ``partial_fit`` trained it."""

    engines: list[Engine]
    engine_kind: EngineKind
    #: of the features, in whose units the engines are; None: the features as passed
    moments: FeatureMoments | None
    t: int
    #: the scale of the rates; None: the rates have no scale
    eta0: float | None
    generator: np.random.RandomState | None

    @property
    def units(self) -> Units | None:
        """The units of the engines; None: features as passed."""
        return units_of(self.moments)

    def check_sizes(self, n_features: int, n_outputs: int) -> None:
        """Refuse data of other sizes than those of the model."""
        n_present, engine = outputs_of(self.engines), self.engines[0]
        if n_present != n_outputs or engine.n_features != n_features:
            raise ValueError(
                f"warm_start=True continues a model of {n_present} output(s) with "
                f"{engine.n_features} features, but these data have {n_outputs} output(s) "
                f"with {n_features} features; fit them with warm_start=False"
            )


def units_of(moments: FeatureMoments | None) -> Units | None:
    """The units of the moments; None: features as passed."""
    return None if moments is None else moments.units


def continued_moments(
    plan_of_units: tuple[bool, bool] | None, n_features: int, model: OldModel | None
) -> FeatureMoments | None:
    """The moments with which a call continues: those of the model, or new ones of no rows.

    ``plan_of_units`` says whether every feature has its own size, and whether features are centred;
    None: features are not standardised.
    """
    if plan_of_units is None:
        return None
    own, centred = plan_of_units
    old = None if model is None else model.moments
    if old is None:
        return FeatureMoments.of(n_features, own, centred)
    if (old.own, old.centred) == plan_of_units:
        return old
    return replace(copy.deepcopy(old), own=own, centred=centred)


def continued_engines(
    plan: Plan,
    n_features: int,
    moments: FeatureMoments | None,
    model: OldModel,
    in_place: bool = False,
) -> list[Engine]:
    """Engines of the plan that continue from ``model``.

    With ``in_place`` they are the engines of the model, if these are of the kind of the plan; else
    they are new.  ``moments`` give the units of the features, or None for features as passed.
    """
    old = model.engines
    # Any division of outputs that share no norm and no loss gives the same bits.
    same_units = moments is model.moments
    same = model.engine_kind == plan.engine_kind and not (plan.coupled and len(old) > 1)
    # A rule whose rates follow from sums of gradients continues from these sums: with the weights
    # alone its first steps would be as long as the first steps from zero weights.
    if same and same_units and (in_place or plan.rule.continues):
        if in_place:
            return old
        engines = copy.deepcopy(old)
        for engine in engines:
            engine.set_constants(plan.constants)
        return engines
    before, now = (None, None) if same_units else (model.units, units_of(moments))
    weights = stacked_coefficients(old, before, last=True)
    plan.check_start("the model to continue", weights)
    engines = plan.new_engines(n_features)
    # Averages start again.
    intercepts = intercepts_of(old, before, last=True)
    set_all_coefficients(engines, weights, intercepts, now)
    if same_units and plan.rates_from_data:
        for engine, other in zip(engines, old, strict=False):
            engine.continue_rates(other)
    return engines


def warnings_about(engines: Sequence[Engine], plan: Plan) -> list[Warning]:
    """The warning before these engines continue, at most one for all outputs."""
    texts = [engine.warning_about(plan.constants) for engine in engines]
    warnings: list[Warning] = [UserWarning(text) for text in texts if text is not None]
    return warnings[:1]
