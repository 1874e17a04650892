"""The plan of a training: everything that follows from the parameters, before a row is seen.

schedule -> rates -> rule -> (a, b) -> a chunk of steps -> engine -> weights
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.averages import Average, Suffix, checked_counts, known_average
from lazynet.engines.base import Engine
from lazynet.engines.catalogue import (
    EngineKind,
    algorithm_of,
    new_engine,
    new_outputs,
    new_reference,
)
from lazynet.engines.clock import tuning_of
from lazynet.engines.groups import GROUPED_OUTPUTS
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.wear import Wear
from lazynet.kernels.batches import Batches
from lazynet.kernels.examples import Steps
from lazynet.losses import Loss
from lazynet.parameters import FLAG, Integer, SettledFields, table
from lazynet.penalties import ElasticNet
from lazynet.rules.affine import FoBoS
from lazynet.rules.base import Affine, Rule, lost_digits
from lazynet.rules.storage import Clock
from lazynet.schedules import (
    Constant,
    FromData,
    Schedule,
    checked_rates,
    known_schedule,
)
from lazynet.training.defaults import SLOWER, divisor_of_rates

# Outputs that one engine learns in one pass: the weights of a row of X stay in the cache nearest to
# the processor.  Fewer than the least number would not fill the vectors.
_OUTPUTS_OF_A_BLOCK = 32
_FEWEST_OUTPUTS_OF_A_BLOCK = 8


@dataclass(frozen=True)
class Plan(SettledFields):
    """What a training minimises, and by which steps.

    ``make_plan`` makes the plan of a fit; ``known`` completes a plan with the scale of the rates
    and the length of the run, which depend on the data.
    """

    _kinds = table(
        fit_intercept=FLAG,
        softmax=FLAG,
        full_epochs=Integer(least=1, optional=True),
        max_iter=Integer(least=1),
    )
    loss: Loss
    penalty: ElasticNet
    rule: Rule
    schedule: Any
    """The schedule of the rule, where "auto" and the scale have become values."""
    average: Average | Suffix | None
    """The average of the rule; ``known`` gives it the number of steps."""
    fit_intercept: bool
    softmax: bool = False
    """Whether the classes share the softmax as their loss."""
    dtype: str = "float64"
    """The type of the weights where several outputs are learned in one pass."""
    full_epochs: int | None = None
    """The epochs after which the rates of ``fit`` are divided (``divisor_of_rates``); None: never.

    Only for a rule whose rates follow the data, and that ``divides`` them.
    """
    max_iter: int = 1
    """The largest number of epochs."""
    eta0: float = 1.0
    """The scale of the rates."""
    best_constant: float | None = None
    """The loss of the best constant prediction, with which the first epoch is compared."""

    @property
    def joins_outputs(self) -> bool:
        """Whether one engine can learn several outputs in one pass."""
        if algorithm_of(self.rule).outputs is None:
            return False
        if self.penalty.positive or self.rule.batch_size > 1:
            return False
        return self.rule.has_state or (
            self.rule.storage == Clock() and not (self.adaptive and self.average is not None)
        )

    def n_steps(self, n_rows: int) -> int:
        """The number of steps of a pass over ``n_rows`` rows; the last may have fewer rows."""
        return -(-n_rows // self.rule.batch_size)

    def check_start(self, name: str, weights: NDArray[np.float64]) -> None:
        """Refuse to start from weights called ``name`` that the plan forbids."""
        if self.penalty.positive and weights.min(initial=0.0) < 0.0:
            raise ValueError(
                f"{name} must not hold a negative weight with positive=True, got "
                f"{float(weights.min()):.6g}"
            )

    @property
    def adaptive(self) -> bool:
        """Whether the clock computes the rates from the rows."""
        return self.rule.scheduled and isinstance(self.schedule, FromData)

    @property
    def sizes(self) -> str | None:
        """Which size of every row the examples must carry for the rates; None for no size."""
        return "squared_norms" if self.adaptive else self.rule.sizes

    def known(self, eta0: float, n_steps: int | None) -> Plan:
        """The plan of a run whose rates have the scale ``eta0``.

        ``n_steps`` is the length of the run, None where it is not known.
        """
        return replace(
            self,
            eta0=eta0,
            rule=self.rule.known(eta0),
            schedule=known_schedule(self.schedule, eta0, self.penalty.l2),
            average=known_average(self.average, n_steps),
        )

    def with_schedule(self, schedule: Schedule) -> Plan:
        """The same plan with another schedule."""
        return replace(self, schedule=schedule)

    @property
    def engine_kind(self) -> EngineKind:
        """What two plans must share for an engine of one plan to serve the other."""
        kind = self.rule.name if self.rule.has_state else "affine"
        return EngineKind(
            self.average, kind, self.rule.storage, self.adaptive, self.penalty.positive, self.dtype,
            self.rule.group,
        )  # fmt: skip

    @property
    def settings(self) -> tuple[float, ...]:
        """The parameters and strengths for the kernel of a rule with a state."""
        return self.rule.settings(self.penalty, self.loss) if self.rule.has_state else ()

    def divides_in(self, epoch: int) -> bool:
        """Whether the rates of an epoch of ``fit``, of which the first is 0, are divided."""
        return self.divisor_in(epoch) != 1.0

    def divisor_in(self, epoch: int) -> float:
        """By what the rates of an epoch of ``fit`` are divided."""
        return 1.0 if self.full_epochs is None else divisor_of_rates(epoch, self.full_epochs)

    def settings_in(self, epoch: int) -> tuple[float, ...]:
        """The settings in an epoch whose rates are divided."""
        return self.rule.with_divided_rates(self.settings, self.divisor_in(epoch))

    @property
    def slower_settings(self) -> tuple[float, ...]:
        """The settings of a training that begins anew, because it began badly."""
        return self.rule.with_divided_rates(self.settings, SLOWER)

    @property
    def coupled(self) -> bool:
        """Whether no output can learn without the others."""
        return self.softmax or self.rule.group is not None

    def new_engines(self, n_features: int, n_outputs: int, n_threads: int = 1) -> list[Engine]:
        """New engines for all outputs, all weights zero: one for each output, or one for many.

        The number of threads changes how the outputs are divided, and no bit of a weight.
        """
        coupled = self.coupled
        if (n_outputs == 1 and not coupled) or not self.joins_outputs:
            return [self.new_engine(n_features) for _ in range(n_outputs)]
        sizes = [n_outputs] if coupled else self._sizes_of_blocks(n_outputs, n_threads)
        return [self.new_outputs(n_features, size) for size in sizes]

    def _sizes_of_blocks(self, n_outputs: int, n_threads: int) -> list[int]:
        """The numbers of outputs that one engine learns."""
        few = _FEWEST_OUTPUTS_OF_A_BLOCK
        most = _OUTPUTS_OF_A_BLOCK
        if not self.adaptive:
            # Where each output has a clock, the outputs of a block are swept together, and must not
            # depend on the number of threads.
            n_blocks = max(-(-n_outputs // most), min(n_threads, n_outputs // few))
            most = -(-n_outputs // (n_blocks * few)) * few
        return [min(most, n_outputs - first) for first in range(0, n_outputs, most)]

    def bytes_of_a_feature(self, n_outputs: int, n_threads: int = 1) -> int:
        """The bytes that the engines of ``new_engines`` hold for every feature."""
        if self.joins_outputs:
            engines, times = self.new_engines(1, n_outputs, n_threads), 1
        else:
            engines, times = [self.new_engine(1)], n_outputs
        arrays = (array for engine in engines for array in engine.per_weight.values())
        return times * sum(array.nbytes for array in arrays)

    def new_outputs(self, n_features: int, n_outputs: int) -> OutputsEngine:
        """A new engine of several outputs, all weights zero."""
        if self.rule.group is not None:
            return GROUPED_OUTPUTS[self.rule.group](n_features, n_outputs, self.rule, self.dtype)
        return new_outputs(
            self.rule,
            self.penalty,
            n_features,
            n_outputs,
            loss=self.loss,
            average=self.average is not None,
            own_clocks=self.adaptive,
            dtype=self.dtype,
        )

    def new_like(self, engine: Engine) -> Engine:
        """A new engine for the same outputs, all weights zero."""
        if engine.n_outputs > 1 or isinstance(engine, OutputsEngine):
            return self.new_outputs(engine.n_features, engine.n_outputs)
        return self.new_engine(engine.n_features)

    def new_engine(self, n_features: int, wear: Wear | None = None) -> Engine:
        """A new engine of one output, all weights zero."""
        return new_engine(
            self.rule,
            self.penalty,
            n_features,
            loss=self.loss,
            storage=self.rule.storage,
            average=self.average is not None,
            wear=wear,
        )

    def new_reference(
        self, n_features: int, schedule: Callable[[int], float], n_rows: int | None = None
    ) -> Any:
        """The plain Python twin, all weights zero; ``n_rows`` as in ``catalogue.new_reference``."""
        return new_reference(
            self.rule,
            n_features,
            loss=self.loss,
            penalty=self.penalty,
            schedule=schedule,
            fit_intercept=self.fit_intercept,
            n_rows=n_rows,
        )

    def continued(self, engine: Engine, *, average: bool) -> Engine:
        """A new engine of this plan with the weights of ``engine``, and if asked its average."""
        new = self.new_like(engine)
        if self.penalty.positive:
            self.check_start("the model that goes on learning", engine.weights())
        if average:
            new.go_on_from(engine)
        else:
            new.load_rows(engine.rows(last=True), engine.intercepts)
        if self.adaptive:
            new.continue_rates(engine)
        return new

    def restarted(self, engine: Engine, kind: EngineKind) -> Engine:
        """A new engine for a fit that starts from ``engine``, an engine of ``kind``.

        A rule whose rates follow from its own sums of gradients continues from these sums; with the
        weights alone its first steps would be as long as those of a model that knows nothing.
        """
        if not (self.rule.continues and kind == self.engine_kind):
            return self.continued(engine, average=False)
        new = self.new_like(engine)
        new.set_state(engine.state())
        new.retune(self.settings)
        return new

    def task(self, engine: Engine) -> Any:
        """The task of the kernel of ``engine``, the same for the whole run."""
        tuning = None
        if isinstance(self.schedule, FromData) and self.adaptive:
            largest = self.rule.largest_rate(self.penalty) / 2
            tuning = tuning_of(
                self.schedule,
                self.loss,
                self.penalty.l1,
                self.penalty.l2,
                largest,
                isinstance(self.rule, FoBoS),
            )
        return engine.wear.task(
            engine.n_features,
            self.loss,
            self.rule.step_order,
            self.fit_intercept,
            pulls=self.penalty.l1 > 0,
            positive=self.penalty.positive,
            tuning=tuning,
        )

    def steps(
        self, order: NDArray[np.int64], t: int, predictions: NDArray[np.float64] | None = None
    ) -> Steps | Batches:
        """The chunk of steps that visits the rows ``order``, starting with step ``t``.

        The prediction for every row, made before its update, is written to ``predictions``.
        """
        n_steps = self.n_steps(len(order))
        stop = t + n_steps
        counts = None if self.average is None else checked_counts(self.average, t, stop)  # type: ignore[arg-type]
        rates, keep, lost, pull = self._rates_and_shrinks(t, stop)
        scalars = rates, keep, lost, pull, counts, predictions
        if self.rule.batch_size > 1:
            return Batches(order, self.rule.batch_size, *scalars)
        return Steps(order, *scalars)

    def _rates_and_shrinks(self, start: int, stop: int) -> tuple[NDArray[np.float64], ...]:
        """Rates, a, the digits that a has lost, and b, of the steps from ``start`` to ``stop``."""
        rule, n_steps = self.rule, stop - start
        if self.adaptive or (rule.has_state and not rule.scheduled):
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
    result = tuple(np.full(n_steps, number) for number in numbers)
    for array in result:
        array.flags.writeable = False
    return result
