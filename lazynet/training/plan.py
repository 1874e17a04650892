"""The plan of a training: the objective, the rule and its rates; and the engines of this plan.

Affine rules: schedule -> rates -> rule -> (a, b) -> a chunk of steps -> engine -> weights.  Other
rules: rule -> constants -> engine -> weights; the kernel computes rates and shrinks, and the rates
and shrinks of a chunk are placeholders.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.averages import Average, checked_counts, known_average
from lazynet.engines.base import Engine, Wear
from lazynet.engines.catalogue import ALGORITHMS, EngineKind, new_engine
from lazynet.engines.clock import tuning_of
from lazynet.kernels.steps import Steps, Task
from lazynet.losses import Loss
from lazynet.penalties import ElasticNet
from lazynet.rules.affine import FoBoS
from lazynet.rules.base import Affine, Rule, lost_digits
from lazynet.rules.storage import Clock
from lazynet.schedules import Constant, Formula, FromData, checked_rates

#: In the k-th epoch after ``full_epochs`` the rates are divided by 1 + k times this number, so that
#: their sum is infinite.
CALMING = 4.0

# Outputs that one engine learns in one pass: the weights of a row of X stay in the cache nearest to
# the processor.  Fewer than the least number would not fill the vectors.
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
    """What a training minimises, and by which steps.

    A schedule that leaves its scale open takes it from ``eta0``, and an average that depends on the
    length of the run from ``n_steps``, None where the length is not known.
    """

    loss: Loss
    penalty: ElasticNet
    rule: Rule
    schedule: Any
    """The schedule of the rule, where "auto" and the scale have become values."""
    average: Average | None
    """The average of the rule."""
    fit_intercept: bool
    softmax: bool = False
    """Whether the classes share the softmax as their loss."""
    dtype: str = "float64"
    """The type of the weights where several outputs are learned in one pass."""
    full_epochs: int | None = None
    """The epochs after which the rates of ``fit`` are divided; None: never."""
    max_iter: int = 1
    """The largest number of epochs."""
    eta0: float = 1.0
    """The scale of the rates."""
    bad_loss: float = math.inf
    """A first epoch with a greater progressive loss is bad: worse than a constant prediction."""
    n_steps: InitVar[int | None] = None

    # What follows from the fields above.
    rates_from_data: bool = field(init=False)
    """Whether the clock computes the rates from the rows."""
    coupled: bool = field(init=False)
    """Whether no output can learn without the others."""
    size_kind: str | None = field(init=False)
    """Which size of every row the examples must carry for the rates; None for no size."""

    def __post_init__(self, n_steps: int | None) -> None:
        rule, schedule, rates_from_data = self.rule, self.schedule, False
        if isinstance(schedule, Formula):
            schedule = schedule.completed(self.eta0, self.penalty.l2)
        elif isinstance(schedule, FromData):
            rates_from_data = rule.scheduled
        if not rule.streams and rule.alpha is None:  # type: ignore[attr-defined]
            rule = replace(rule, alpha=self.eta0).settled()  # type: ignore[call-arg]
        for name, value in (
            ("rule", rule),
            ("schedule", schedule),
            ("average", known_average(self.average, n_steps)),
            ("rates_from_data", rates_from_data),
            ("coupled", self.softmax or rule.group is not None),
            ("size_kind", "squared_norms" if rates_from_data else rule.size_kind),
        ):
            object.__setattr__(self, name, value)

    @property
    def engine_kind(self) -> EngineKind:
        """What an engine of the plan depends on beside its size."""
        rule = self.rule
        return EngineKind(
            self.average,
            "affine" if rule.is_affine else rule.name,
            rule.storage,
            self.rates_from_data,
            self.penalty.positive,
            self.dtype,
            rule.group,
        )

    # --- engines ---

    def new_engines(self, n_features: int, n_outputs: int, n_threads: int = 1) -> list[Engine]:
        """New engines for all outputs, all weights zero: one for each output, or one for many.

        The number of threads changes how the outputs are divided, and no bit of a weight.
        """
        if self.coupled:
            return [self.new_engine(n_features, n_outputs)]
        if n_outputs == 1 or not joins_outputs(self.rule, self.rates_from_data):
            return [self.new_engine(n_features) for _ in range(n_outputs)]
        few, most = _FEWEST_OUTPUTS_OF_A_BLOCK, _OUTPUTS_OF_A_BLOCK
        if not self.rates_from_data:
            # Where each output has a clock, the outputs of a block are swept together, and must not
            # depend on the number of threads.
            n_blocks = max(-(-n_outputs // most), min(n_threads, n_outputs // few))
            most = -(-n_outputs // (n_blocks * few)) * few
        return [
            self.new_engine(n_features, min(most, n_outputs - first))
            for first in range(0, n_outputs, most)
        ]

    def new_engine(
        self, n_features: int, n_outputs: int | None = None, wear: Wear | None = None
    ) -> Engine:
        """A new engine of one output, or of ``n_outputs``; all weights zero."""
        constants = self.constants() or None
        return new_engine(self.engine_kind, n_features, n_outputs, constants, wear)

    def check_start(self, name: str, weights: NDArray[np.float64]) -> None:
        """Refuse to start from weights called ``name`` that the plan forbids."""
        if self.penalty.positive and weights.min(initial=0.0) < 0.0:
            raise ValueError(
                f"{name} must not hold a negative weight with positive=True, got "
                f"{float(weights.min()):.6g}"
            )

    # --- what the kernels receive ---

    def constants(self, divisor: float = 1.0) -> tuple[float, ...]:
        """The numbers for the kernel of a rule that is not affine, at rates divided by a number."""
        if self.rule.is_affine:
            return ()
        constants = self.rule.constants(self.penalty, self.loss)
        return constants if divisor == 1.0 else self.rule.with_divided_rates(constants, divisor)

    def divisor_in(self, epoch: int) -> float:
        """The divisor of the rates in an epoch of ``fit``; the first epoch is 0."""
        if self.full_epochs is None:
            return 1.0
        return 1.0 + CALMING * max(0, epoch + 1 - self.full_epochs)

    def task(self, engine: Engine, pulls: bool | None = None) -> Task:
        """The task of the kernel of ``engine``, the same for the whole run.

        ``pulls`` says whether weights are pulled to zero; None: with an l1 penalty.
        """
        rule, penalty, loss, wear = self.rule, self.penalty, self.loss, engine.wear
        tuning = None
        if self.rates_from_data:
            largest, proximal = rule.largest_rate(penalty) / 2, isinstance(rule, FoBoS)
            tuning = tuning_of(self.schedule, loss, penalty.l1, penalty.l2, largest, proximal)
        return Task(
            loss=loss.code,
            epsilon=loss.epsilon,
            shrink_first=rule.step_order == "shrink_first",
            fit_intercept=self.fit_intercept,
            smallest_scale=wear.smallest_scale,
            cushion=wear.cushion,
            largest_cushion=wear.largest_cushion,
            enough_work=wear.nonzeros_per_weight * engine.n_features,
            soft_reach=wear.reach,
            hard_reach=wear.largest_reach,
            pulls=penalty.l1 > 0 if pulls is None else pulls,
            positive=penalty.positive,
            tuning=tuning,
        )

    def steps(
        self, order: NDArray[np.int64], t: int, predictions: NDArray[np.float64] | None = None
    ) -> Steps:
        """The chunk of steps that visits the rows ``order``, starting with step ``t``.

        The prediction for every row, made before its update, is written to ``predictions``.
        """
        stop = t + len(order)
        counts = None if self.average is None else checked_counts(self.average, t, stop)
        rates, keep, keep_low, pull = self.rates_and_shrinks(t, stop)
        return Steps(order, rates, keep, keep_low, pull, counts, predictions)

    def rates_and_shrinks(self, start: int, stop: int) -> tuple[NDArray[np.float64], ...]:
        """Rates, a, the low digits of a, and b, of the steps from ``start`` to ``stop``."""
        rule, n_steps = self.rule, stop - start
        if self.rates_from_data or not rule.scheduled:
            # The kernel computes rates and shrinks.
            return _repeated(n_steps, 1.0, 1.0, 0.0, 0.0)
        # Where all steps are the same, the first one is checked and computed for the whole chunk.
        alike = (
            isinstance(self.schedule, Constant) and isinstance(rule, Affine) and rule.period == 1
        )
        end = min(start + 1, stop) if alike else stop
        rates = checked_rates(self.schedule, start, end) if rule.scheduled else np.ones(n_steps)
        shrink = rule.shrinks(rates, self.penalty, start)
        scalars = rates, shrink.keep, lost_digits(shrink), shrink.pull
        if alike and n_steps > 1:
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
