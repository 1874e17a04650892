"""The plan of a training: the objective, the rule and its rates; and the engines of this plan.

Affine rules: schedule -> rates -> rule -> (a, b) -> a chunk of steps -> engine -> weights.  Other
rules: rule -> constants -> engine -> weights; the kernel computes rates and shrinks, and the rates
and shrinks of a chunk are placeholders.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.averages import Average, checked_counts, known_average
from lazynet.data.statistics import Units
from lazynet.engines.base import (
    Engine,
    intercepts_of,
    outputs_of,
    set_all_coefficients,
    stacked_coefficients,
)
from lazynet.engines.catalogue import ALGORITHMS, EngineKind, new_engine
from lazynet.engines.clock import tuning_of
from lazynet.kernels.steps import Steps, Task
from lazynet.losses import Loss
from lazynet.penalties import ElasticNet
from lazynet.rules.affine import FoBoS
from lazynet.rules.base import Affine, Rule, lost_digits
from lazynet.rules.storage import Clock
from lazynet.schedules import Constant, Formula, FromData, checked_rates

Array = NDArray[np.float64]

#: The growth of the divisor of the rates: in the k-th epoch after ``full_epochs`` the rates are
#: divided by 1 + k times this number.  Their sum is infinite: training can reach any weights.
DIVISOR_GROWTH = 4.0

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
    """Whether the classes share the softmax as their loss."""
    dtype: str = "float64"
    """The type of the weights, if one pass learns several outputs."""
    full_epochs: int | None = None
    """The epochs after which the rates of ``fit`` are divided; None: never."""
    max_iter: int = 1
    """The largest number of epochs."""
    eta0: float = 1.0
    """The scale of the rates."""
    bad_loss: float = math.inf
    """A first epoch with a greater progressive loss is bad: worse than a constant prediction."""
    n_outputs: int = 1
    """The number of outputs to learn."""
    n_threads: int = 1
    """The number of threads that share the outputs."""
    n_steps: InitVar[int | None] = None

    # Fields that follow from the fields above.
    rates_from_data: bool = field(init=False)
    """Whether the clock computes the rates from the rows."""
    coupled: bool = field(init=False)
    """Whether a step of one output depends on the other outputs."""
    size_kind: str | None = field(init=False)
    """The size of every row that the rates depend on; None: the rates depend on no size."""
    engine_kind: EngineKind = field(init=False)
    """The kind of an engine of the plan; with the numbers of features and outputs it defines it."""
    constants: tuple[float, ...] = field(init=False)
    """The numbers for the kernel of a rule that is not affine."""

    def __post_init__(self, n_steps: int | None) -> None:
        rule, schedule, rates_from_data = self.rule, self.schedule, False
        if isinstance(schedule, Formula):
            schedule = schedule.completed(self.eta0, self.penalty.l2)
        elif isinstance(schedule, FromData):
            rates_from_data = rule.scheduled
        if not rule.streams and rule.alpha is None:  # type: ignore[attr-defined]
            rule = replace(rule, alpha=self.eta0).settled()  # type: ignore[call-arg]
        average = None if self.average is None else known_average(self.average, n_steps)
        for name, value in (
            ("rule", rule),
            ("schedule", schedule),
            ("average", average),
            ("rates_from_data", rates_from_data),
            ("coupled", self.softmax or rule.group is not None),
            ("size_kind", "squared_norms" if rates_from_data else rule.size_kind),
            (
                "engine_kind",
                EngineKind(
                    average,
                    "affine" if rule.is_affine else rule.name,
                    rule.storage,
                    rates_from_data,
                    self.penalty.positive,
                    self.dtype,
                    rule.group,
                ),
            ),
            ("constants", () if rule.is_affine else rule.constants(self.penalty, self.loss)),
        ):
            object.__setattr__(self, name, value)

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

    def divisor_in(self, epoch: int) -> float:
        """The divisor of the rates in an epoch of ``fit``; the first epoch is 0."""
        if self.full_epochs is None:
            return 1.0
        return 1.0 + DIVISOR_GROWTH * max(0, epoch + 1 - self.full_epochs)

    def task(self, engine: Engine) -> Task:
        """The task of the kernel of ``engine``, the same for the whole run."""
        rule, penalty, loss, limits = self.rule, self.penalty, self.loss, engine.limits
        tuning = None
        if self.rates_from_data:
            largest, proximal = rule.largest_rate(penalty) / 2, isinstance(rule, FoBoS)
            tuning = tuning_of(self.schedule, loss, penalty.l1, penalty.l2, largest, proximal)
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
    units: Units | None
    t: int
    #: the scale of the rates; None: the rates have no scale
    eta0: float | None
    generator: np.random.RandomState | None


def continued_engines(
    plan: Plan, n_features: int, units: Units | None, model: OldModel, in_place: bool = False
) -> list[Engine]:
    """Engines of the plan that continue from ``model``.

    With ``in_place`` they are the engines of the model, if these are of the kind of the plan; else
    they are new.  ``units`` are the units of the model, or None for features as passed.
    """
    old, n_outputs = model.engines, plan.n_outputs
    n_present = outputs_of(old)
    if n_present != n_outputs or old[0].n_features != n_features:
        raise ValueError(
            f"warm_start=True continues a model of {n_present} output(s) with "
            f"{old[0].n_features} features, but these data have {n_outputs} output(s) "
            f"with {n_features} features; fit them with warm_start=False"
        )
    # Any division of outputs that share no norm and no loss gives the same bits.
    same = model.engine_kind == plan.engine_kind and not (plan.coupled and len(old) > 1)
    same = same and units is model.units
    # A rule whose rates follow from sums of gradients continues from these sums: with the weights
    # alone its first steps would be as long as the first steps from zero weights.
    if same and (in_place or plan.rule.continues):
        if in_place:
            return old
        engines = copy.deepcopy(old)
        for engine in engines:
            engine.set_constants(plan.constants)
        return engines
    left = None if units is model.units else model.units
    weights = stacked_coefficients(old, left, last=True)
    plan.check_start("the model to continue", weights)
    engines = plan.new_engines(n_features)
    # Averages start again.
    set_all_coefficients(engines, weights, intercepts_of(old, left, last=True), None)
    if left is None and plan.rates_from_data:
        for engine, before in zip(engines, old, strict=False):
            engine.continue_rates(before)
    return engines


def warnings_about(engines: Sequence[Engine], plan: Plan) -> list[Warning]:
    """The warning before these engines continue, at most one for all outputs."""
    texts = [engine.warning_about(plan.constants) for engine in engines]
    warnings: list[Warning] = [UserWarning(text) for text in texts if text is not None]
    return warnings[:1]
