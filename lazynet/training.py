"""Training: a plan made once from parameters and data, then epochs and chunks of steps.

    schedule -> rates -> rule -> (a, b) -> a chunk of steps -> engine -> weights

A kernel returns after some tens of milliseconds at the latest, so that Python soon handles a
signal, and any split into chunks gives the same weights bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NotRequired, Protocol, TypedDict, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.averages import Average, Suffix, checked_counts, known_average
from lazynet.catalogue import ALGORITHMS, algorithm_of, new_engine, new_outputs, new_reference
from lazynet.course import Course
from lazynet.data import as_examples, sizes_of, unusable
from lazynet.engines.base import Engine
from lazynet.engines.groups import GROUPED_OUTPUTS
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.wear import Wear
from lazynet.forms import Clock, Form
from lazynet.kernels.batches import Batches, Merger
from lazynet.kernels.examples import Examples, Steps
from lazynet.kernels.objective import loss_of_predictions, total_loss, weight_sums
from lazynet.losses import Loss
from lazynet.models.checkpoints import Keeper
from lazynet.params import FLAG, Integer, SettledFields, table
from lazynet.penalties import ElasticNet
from lazynet.problems import Problems
from lazynet.progress import Progress
from lazynet.rules.affine import SGD, FoBoS
from lazynet.rules.base import Rule, lost_digits
from lazynet.schedules import (
    FromData,
    Schedule,
    check_scale,
    checked_rates,
    known_after_stall,
    known_schedule,
)
from lazynet.threads import Workers
from lazynet.transactions import Undo
from lazynet.units import Units
from lazynet.validation import copied_rows, decisions_of, summed_losses

# Steps of a chunk: the arrays of a longer chunk would leave the cache while they are used.
_LARGEST_CHUNK = 2**13
# Nonzeros of a chunk that several learners visit.  In a long chunk the state of a learner stays in
# the cache, while the rows come anew for every learner.  A thread that is told to stop ends its
# chunk first, a few hundredths of a second later.
_NONZEROS_OF_A_CHUNK = 2**22
# Outputs that one engine learns in one pass: the weights of a row of X stay in the cache nearest to
# the processor.  Fewer than the least number would not fill the vectors.
_OUTPUTS_OF_A_BLOCK = 32
_FEWEST_OUTPUTS_OF_A_BLOCK = 8
# Rows whose predictions are computed at once when the objective is evaluated.
_ROWS_TO_EVALUATE = 2**14


class EpochRecord(TypedDict):
    """One line of ``history_``."""

    epoch: int
    progressive_loss: float
    seconds: float
    #: with early stopping
    validation_loss: NotRequired[float]
    validation_score: NotRequired[float]
    #: where the objective is recorded
    mean_loss: NotRequired[float]
    objective: NotRequired[float]
    nonzeros: NotRequired[int]


def _joining() -> str:
    """The rules whose outputs are learned in one pass."""
    return ", ".join(repr(name) for name, row in ALGORITHMS.items() if row.outputs is not None)


@dataclass(frozen=True)
class Plan(SettledFields):
    """Everything that follows from the parameters: what is minimised, and by which steps.

    ``Plan.of`` makes a plan from settled parameters, once in a call; ``known`` completes the plan
    with the scale of the rates and the length of the run, which depend on the data.
    """

    _kinds = table(fit_intercept=FLAG, softmax=FLAG, batch_size=Integer(least=1))
    loss: Loss
    penalty: ElasticNet
    rule: Rule
    schedule: Schedule
    form: Form
    average: Average | Suffix | None
    fit_intercept: bool
    softmax: bool = False
    """Whether the classes share the softmax as their loss."""
    dtype: str = "float64"
    """The type of the weights where several outputs are learned in one pass."""
    group: str | None = None
    """The norm of the weights of a feature on which the l1 penalty acts; None: on each weight."""
    batch_size: int = 1

    @classmethod
    def of(cls, p: Any) -> Plan:
        """The plan of settled parameters; refuses parameters that do not go together."""
        plan = cls(
            p.loss,
            ElasticNet(p.l1, p.l2, p.positive),
            p.rule,
            p.schedule,
            p.engine,
            p.average,
            p.fit_intercept,
            getattr(p, "multi_class", "ovr") == "multinomial",
            getattr(p, "dtype", "float64"),
            getattr(p, "group", None),
            getattr(p, "batch_size", 1),
        )
        plan._check_together()
        return plan

    def _check_together(self) -> None:
        rule, form = self.rule, self.form
        rule.check_penalty(self.penalty)
        rule.check_loss(self.loss)
        if self.penalty.l1 and not form.takes_l1:
            raise ValueError(
                f"engine={form.name!r} knows no l1 penalty, got l1={self.penalty.l1:g}; set l1=0, "
                f"or use engine='clock'"
            )
        if self.average is not None and not form.takes_averages:
            raise ValueError(
                f"average needs engine='clock', or engine='dense' for comparison; "
                f"engine={form.name!r} does not keep the sums that an average needs"
            )
        if self.penalty.positive:
            self._check_positive()
        if self.adaptive:
            self._check_adaptive()
        if self.softmax:
            self._check_softmax()
        if self.group is not None:
            self._check_group()
        if self.dtype != "float64" and (self.average is not None or not self.joins_outputs):
            raise ValueError(
                f"dtype={self.dtype!r} is for outputs that are learned in one pass, by one of the "
                f"rules {_joining()} with engine='clock', without positive=True, without an "
                f"average and with batch_size=1"
            )
        if self.batch_size > 1:
            self._check_batches()
        if not rule.has_state:
            return
        for name, is_default in (
            ("engine", form == Clock()),
            ("average", self.average is None),
        ):
            if not is_default:
                raise ValueError(
                    f"{name} is not used by rule={rule!r}, which has a state of its own; leave it "
                    f"at its default"
                )

    @property
    def joins_outputs(self) -> bool:
        """Whether one engine can learn several outputs in one pass."""
        if algorithm_of(self.rule).outputs is None:
            return False
        if self.penalty.positive or self.batch_size > 1:
            return False
        return self.rule.has_state or (
            self.form == Clock() and not (self.adaptive and self.average is not None)
        )

    def _check_group(self) -> None:
        """Refuse what rows of weights that shrink as a whole do not go with."""
        for name, given, takes, write in (
            ("rule", self.rule, self.rule == FoBoS(), "'fobos'"),
            ("engine", self.form, self.form == Clock(), "'clock'"),
            ("average", self.average, self.average is None, "False"),
            ("positive", True, not self.penalty.positive, "False"),
            ("batch_size", self.batch_size, self.batch_size == 1, "1"),
            ("schedule", self.schedule, not self.adaptive, "'power'"),
        ):
            if not takes:
                raise ValueError(
                    f"group={self.group!r} does not go with {name}={given!r}: write {name}={write}"
                )

    def _check_softmax(self) -> None:
        """Refuse a loss or a rule that the softmax does not go with."""
        if self.loss.name != "log_loss":
            raise ValueError(
                f"multi_class='multinomial' is the logistic loss of several classes, got "
                f"loss={self.loss.name!r}: write loss='log_loss'"
            )
        if self.adaptive:
            raise ValueError(
                f"multi_class='multinomial' does not go with schedule={self.schedule!r}, whose "
                f"rates follow the slopes of one output: give an eta0, or write rule='adagrad'"
            )
        if not self.joins_outputs:
            raise ValueError(
                f"multi_class='multinomial' needs one of the rules {_joining()} with "
                f"engine='clock', without positive=True and with batch_size=1, got "
                f"rule={self.rule!r}"
            )

    def _check_positive(self) -> None:
        """Refuse a rule, a form or an average that cannot keep all weights at 0 or above."""
        for name, given, takes, write in (
            ("rule", self.rule, self.rule.takes_positive, "'fobos'"),
            ("engine", self.form, self.form == Clock(), "'clock'"),
            ("average", self.average, self.average is None, "False"),
        ):
            if not takes:
                raise ValueError(
                    f"positive=True does not go with {name}={given!r}: write {name}={write}"
                )

    def _check_batches(self) -> None:
        """Refuse what cannot take a step on several rows."""
        for name, given, takes, write in (
            ("rule", self.rule, self.rule.takes_batches, "'adagrad'"),
            ("engine", self.form, self.form == Clock(), "'clock'"),
            ("schedule", self.schedule, not self.adaptive, "'power'"),
            ("positive", True, not self.penalty.positive, "False"),
        ):
            if not takes:
                raise ValueError(
                    f"batch_size={self.batch_size} does not go with {name}={given!r}, which takes "
                    f"one row in a step: write {name}={write}, or batch_size=1"
                )

    def n_steps(self, n_rows: int) -> int:
        """The number of steps of a pass over ``n_rows`` rows; the last may have fewer rows."""
        return -(-n_rows // self.batch_size)

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

    def _check_adaptive(self) -> None:
        if self.form != Clock():
            raise ValueError(
                f"schedule={self.schedule!r} needs engine='clock', which computes the rates from "
                f"the rows, got engine={self.form!r}"
            )
        if not isinstance(self.rule, (FoBoS, SGD)):
            raise ValueError(
                f"schedule={self.schedule!r} gives rates to rule='fobos' and rule='sgd', "
                f"got rule={self.rule!r}"
            )

    @property
    def sizes(self) -> str | None:
        """Which size of every row the examples must carry for the rates; None for no size."""
        return "squared_norms" if self.adaptive else self.rule.sizes

    def known(self, eta0: float, n_steps: int | None) -> Plan:
        """The plan of a run whose rates have the scale ``eta0``.

        ``n_steps`` is the length of the run, None where it is not known.
        """
        return Plan(
            self.loss,
            self.penalty,
            self.rule.known(eta0),
            known_schedule(self.schedule, eta0, self.penalty.l2),
            self.form,
            known_average(self.average, n_steps),
            self.fit_intercept,
            self.softmax,
            self.dtype,
            self.group,
            self.batch_size,
        )

    def with_schedule(self, schedule: Schedule) -> Plan:
        """The same plan with another schedule."""
        return replace(self, schedule=schedule)

    @property
    def storage(self) -> tuple[Any, ...]:
        """The parts in which two plans must agree for an engine of one plan to serve the other."""
        kind = self.rule.name if self.rule.has_state else "affine"
        return (
            self.average, kind, self.form, self.adaptive, self.penalty.positive, self.dtype,
            self.group,
        )  # fmt: skip

    @property
    def settings(self) -> tuple[float, ...]:
        """The parameters and strengths for the kernel of a rule with a state."""
        return self.rule.settings(self.penalty, self.loss) if self.rule.has_state else ()

    @property
    def coupled(self) -> bool:
        """Whether no output can learn without the others."""
        return self.softmax or self.group is not None

    def new_engines(
        self, n_features: int, n_outputs: int, n_threads: int = 1, *, part: bool = False
    ) -> list[Engine]:
        """New engines for all outputs, all weights zero: one for each output, or one for many.

        The number of threads changes how the outputs are divided, and no bit of a weight.  The
        outputs may be a ``part`` of those of a fit, which all learn in engines of the same kind.
        """
        coupled = self.coupled
        if (n_outputs == 1 and not coupled and not part) or not self.joins_outputs:
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

    def at_once(self, wanted: int | None, n_outputs: int) -> int:
        """How many of the outputs of a fit learn at the same time, if so many are ``wanted``.

        Whatever is wanted changes no bit of a weight.  Outputs with a clock each, which are swept
        together, therefore learn in whole blocks.
        """
        if wanted is None or wanted >= n_outputs:
            return n_outputs
        if self.coupled:
            what = "multi_class='multinomial'" if self.softmax else f"group={self.group!r}"
            raise ValueError(
                f"outputs_at_once={wanted} does not go with {what}, which lets all {n_outputs} "
                f"outputs learn together: write outputs_at_once=None"
            )
        if self.joins_outputs and self.adaptive:
            whole = wanted - wanted % _OUTPUTS_OF_A_BLOCK
            wanted = min(max(whole, _OUTPUTS_OF_A_BLOCK), n_outputs)
        return wanted

    def bytes_of_a_feature(self, n_outputs: int, n_threads: int = 1, *, part: bool = False) -> int:
        """The bytes that the engines of ``new_engines`` hold for every feature."""
        if self.joins_outputs:
            engines, times = self.new_engines(1, n_outputs, n_threads, part=part), 1
        else:
            engines, times = [self.new_engine(1)], n_outputs
        arrays = (array for each in engines for array in each.state().per_weight.values())
        return times * sum(array.nbytes for array in arrays)

    def new_outputs(self, n_features: int, n_outputs: int) -> OutputsEngine:
        """A new engine of several outputs, all weights zero."""
        if self.group is not None:
            return GROUPED_OUTPUTS[self.group](n_features, n_outputs, self.rule, self.dtype)
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
            form=self.form,
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

    def restarted(self, engine: Engine, storage: tuple[Any, ...]) -> Engine:
        """A new engine for a fit that starts from ``engine``, which plans of ``storage`` use.

        A rule whose rates follow from its own sums of gradients goes on from these sums; with the
        weights alone its first steps would be as long as those of a model that knows nothing.
        """
        if not (self.rule.continues and storage == self.storage):
            return self.continued(engine, average=False)
        new = self.new_like(engine)
        new.copy_state(engine)
        new.retune(self.settings)
        return new

    def task(self, engine: Engine) -> Any:
        """The task of the kernel of ``engine``, the same for the whole run."""
        tuning = None
        if isinstance(self.schedule, FromData) and self.adaptive:
            largest = self.rule.largest_rate(self.penalty) / 2
            tuning = self.schedule.tuning(
                self.loss, self.penalty.l1, self.penalty.l2, largest, isinstance(self.rule, FoBoS)
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
        if self.adaptive or (self.rule.has_state and not self.rule.scheduled):
            rates, keep, lost, pull = _nothing_scheduled(n_steps)
        else:
            scheduled = self.rule.scheduled
            rates = checked_rates(self.schedule, t, stop) if scheduled else np.ones(n_steps)
            shrink = self.rule.shrinks(rates, self.penalty, t)
            keep, lost, pull = shrink.keep, lost_digits(shrink), shrink.pull
        counts = None if self.average is None else checked_counts(self.average, t, stop)  # type: ignore[arg-type]
        scalars = rates, keep, lost, pull, counts, predictions
        if self.batch_size > 1:
            return Batches(order, self.batch_size, *scalars)
        return Steps(order, *scalars)


@lru_cache(maxsize=8)
def _nothing_scheduled(n_steps: int) -> tuple[NDArray[np.float64], ...]:
    """Rates, a, the digits that a has lost, and b, where the kernel computes rates and shrinks.

    Every chunk of the same length has the same arrays, which are read-only.
    """
    found = np.ones(n_steps), np.ones(n_steps), np.zeros(n_steps), np.zeros(n_steps)
    for array in found:
        array.flags.writeable = False
    return found


def check_rate_parameters(
    rule: Rule, schedule: Any, eta0: float | None, default: str = "power"
) -> None:
    """Refuse a ``schedule`` or an ``eta0``, as the user passed them, that the rule does not use.

    ``default`` is the value of ``schedule`` that asks for nothing.
    """
    if rule.scheduled:
        check_scale(schedule, eta0)
        return
    if not (isinstance(schedule, str) and schedule == default):
        raise ValueError(
            f"schedule is not used by rule={rule!r}, which has rates of its own; leave it at its "
            f"default and write rule={rule.rate}"
        )
    if eta0 is not None:
        raise ValueError(
            f"eta0 is not used by rule={rule!r}, which has rates of its own: write rule={rule.rate}"
        )


@dataclass
class Learner:
    """One binary or regression problem in training: its engine, its examples, its plan."""

    engine: Engine
    examples: Examples
    plan: Plan

    def __post_init__(self) -> None:
        self.task = self.plan.task(self.engine)

    def visit(self, steps: Steps | Batches, t: int, judged: bool, merger: Merger) -> float:
        """Take the steps, the first of which is step ``t`` of the run.

        Returns the sum of the losses of the predictions before each update, if they are ``judged``.
        ``merger`` has the memory in which the rows of a batch are merged.
        """
        if isinstance(steps, Batches):
            steps = steps.with_predictions(np.empty(steps.n_rows) if judged else None, merger)
        elif judged:
            steps = steps.with_predictions(np.empty(len(steps)))
        self.engine.take(self.examples, steps, self.task, t)
        return self.loss_before(steps) if judged else 0.0

    def loss_before(self, steps: Steps | Batches) -> float:
        """The sum of importance times loss over rows, of the predictions before each update."""
        loss = self.plan.loss
        return loss_of_predictions(self.examples, steps, loss.code, loss.epsilon)

    def evaluate(self) -> tuple[float, float, int]:
        """The mean loss and the objective of the model, and the nonzeros among the last weights."""
        engine, plan = self.engine, self.plan
        weights = engine.model()
        mean = mean_loss(self.examples, weights, engine.model_intercept, plan.loss)
        objective = mean + plan.penalty.of_sums(*weight_sums(weights))
        if engine.averaging:
            # An average of sparse weights is dense: count the nonzeros of the last weights.
            engine.weights(out=weights)
        return mean, objective, int(np.count_nonzero(weights))


@dataclass
class OutputsLearner:
    """Several problems in training, from ``first`` on, in one engine."""

    engine: OutputsEngine
    examples: Examples
    plan: Plan
    X: sparse.csr_matrix
    problems: Problems
    first: int

    def __post_init__(self) -> None:
        self.task = self.plan.task(self.engine)
        self.targets = self.problems.block(self.first, self.engine.n_outputs)

    def visit(self, steps: Steps | Batches, t: int, judged: bool, merger: Merger) -> float:
        """As ``Learner.visit``."""
        assert isinstance(steps, Steps), "outputs in batches have an engine each"
        losses = np.zeros(self.engine.n_outputs)
        self.engine.learn(
            self.examples, self.targets, steps, self.task, t, losses, self.plan.softmax
        )
        return float(losses.sum())

    def evaluate(self) -> tuple[float, float, int]:
        """As ``Learner.evaluate``, summed over the problems."""
        n, total = self.examples.n_rows, 0.0
        for start, stop in spans(n, _ROWS_TO_EVALUATE):
            rows = np.arange(start, stop)
            part, problems = copied_rows(self.X, rows), self.problems.only(rows)
            for _, decisions in decisions_of(part, [self.engine]):
                total += summed_losses(
                    decisions, self.first, problems, self.plan.loss, self.plan.softmax
                )
        weights = self.engine.rows()
        penalty = self._penalty(weights)
        last = self.engine.rows(last=True) if self.engine.averaging else weights
        return total / n, total / n + penalty, int(np.count_nonzero(last))

    def _penalty(self, weights: NDArray[np.float64]) -> float:
        sums = np.array([weight_sums(row) for row in weights])
        penalty = self.plan.penalty
        if self.plan.group is None:
            return sum(penalty.of_sums(*each) for each in sums)
        order = {"l2": 2, "max": np.inf}[self.plan.group]
        norms = np.linalg.norm(weights, order, axis=0)
        return penalty.of_sums(float(norms.sum()), float(sums[:, 1].sum()))


AnyLearner = Learner | OutputsLearner


def new_learners(
    engines: Sequence[Engine],
    X: sparse.csr_matrix,
    problems: Problems,
    plan: Plan,
    sizes: NDArray[np.float64] | str | None,
) -> list[AnyLearner]:
    """A learner for every engine; the engines hold all problems in their order.

    ``sizes`` as in ``as_examples``.
    """
    learners: list[AnyLearner] = []
    shared, first = None, 0
    for engine in engines:
        if isinstance(engine, OutputsEngine):
            if shared is None:
                shared = as_examples(X, None, problems.importances, sizes)
            learners.append(OutputsLearner(engine, shared, plan, X, problems, first))
        else:
            learners.append(Learner(engine, as_examples(X, *problems[first], sizes), plan))
        first += engine.n_outputs
    return learners


def sizes_for_a_pass(
    X: sparse.csr_matrix, plan: Plan, n_engines: int
) -> NDArray[np.float64] | str | None:
    """The sizes of rows that every engine visits once, as ``new_learners`` takes them.

    One engine measures a row when it visits it, which reads X once less.
    """
    return plan.sizes if n_engines == 1 else sizes_of(X, plan.sizes)


def mean_loss(
    examples: Examples,
    weights: NDArray[np.float64],
    intercept: float,
    loss: Loss,
) -> float:
    """The mean over all examples of importance times loss."""
    n = examples.n_rows
    total, row = 0.0, 0
    while row < n:
        part, row, unreadable = total_loss(
            examples, weights, intercept, loss.code, loss.epsilon, row, n
        )
        if unreadable:
            raise ValueError(f"X: row {row} changed during training and cannot be read")
        total += part
    return total / n


def spans(n: int, size: int, begin: int = 0) -> Iterator[tuple[int, int]]:
    """(0, size), (size, 2 size), ... up to n; or the same from ``begin`` on."""
    for start in range(begin, n, size):
        yield start, min(start + size, n)


def run_pass(
    learners: Sequence[AnyLearner],
    order: NDArray[np.int64] | None,
    t: int,
    progress: Progress | None = None,
    losses: NDArray[np.float64] | None = None,
    workers: Workers | None = None,
    length: int | None = None,
    begin: int = 0,
    after: Callable[[int], None] | None = None,
) -> int:
    """Let every learner visit the rows in ``order`` (None: as in X); returns the next step's t.

    Each learner adds the losses of its predictions before each update to its entry of ``losses``.
    A chunk has ``length`` rows; None: a number that suits the rows.  The first ``begin`` rows have
    been visited, in whole chunks; ``t`` is the step of the first row.  ``after`` is told after
    every chunk how many rows have been visited.
    The learners take turns on every chunk of rows, and the threads of ``workers`` share the
    learners.  No learner depends on another one.
    """
    first = learners[0]
    n_rows = first.examples.n_rows if order is None else len(order)
    workers = Workers(1) if workers is None else workers
    shares = [range(k, len(learners), workers.n_threads) for k in range(workers.n_threads)]
    # Memory in which a thread merges the rows of a batch, for all chunks.
    mergers = [Merger() for _ in shares]
    length = _chunk_length(learners) if length is None else length
    if begin % length and begin != n_rows:
        raise ValueError(f"begin must be at the end of a chunk of {length} rows, got {begin}")
    for start, stop in spans(n_rows, length, begin):
        rows = np.arange(start, stop) if order is None else order[start:stop]
        first_step = t + start // first.plan.batch_size
        steps = first.plan.steps(rows, first_step)

        def visit(share: range, steps: Steps | Batches = steps, t: int = first_step) -> None:
            for number in share:
                workers.check()
                loss = learners[number].visit(steps, t, losses is not None, mergers[share.start])
                if losses is not None:
                    losses[number] += loss

        workers.each(shares, visit)
        if progress is not None:
            progress.advance(stop - start)
        if after is not None:
            after(stop)
    return t + first.plan.n_steps(n_rows)


def _chunk_length(learners: Sequence[AnyLearner]) -> int:
    examples, size = learners[0].examples, learners[0].plan.batch_size
    return length_of_chunks(len(learners), examples.n_rows, examples.n_values, size)


def length_of_chunks(n_learners: int, n_rows: int, n_values: int, batch_size: int) -> int:
    """The number of rows in a chunk: fewer for several learners where rows are long.

    A chunk ends where a batch ends.

    >>> length_of_chunks(1, 10_000, 5_000_000, 1), length_of_chunks(2, 10_000, 50_000_000, 100)
    (8192, 800)
    """
    rows = _LARGEST_CHUNK
    if n_learners > 1 and n_values:
        rows = min(rows, _NONZEROS_OF_A_CHUNK * n_rows // n_values)
    return max(rows // batch_size, 1) * batch_size


class Stopping:
    """Counts the epochs in a row that have not lowered the best loss by the share ``tol``.

    >>> stopping = Stopping(tol=0.1, patience=2)
    >>> [stopping.after(loss) for loss in (1.0, 0.95, 0.85, 0.8, 0.8)]
    [False, False, False, False, True]
    """

    def __init__(self, tol: float | None, patience: int) -> None:
        self.tol, self.patience = tol, patience
        self.best = np.inf
        self.idle = 0

    def after(self, loss: float) -> bool:
        """Whether ``patience`` epochs without progress have passed, the last with this loss."""
        if self.tol is None:
            return False
        progress = math.isinf(self.best) or loss < self.best * (1.0 - self.tol)
        self.idle = 0 if progress else self.idle + 1
        self.best = min(self.best, loss)
        return self.idle >= self.patience

    def wait_again(self) -> None:
        """Begin to count anew; the best loss remains."""
        self.idle = 0


class Orders:
    """The order of the rows in each epoch: explicit, shuffled, or the order of X.

    ``rows`` are the rows to visit, None for all rows.
    """

    def __init__(
        self,
        n_rows: int,
        explicit: NDArray[np.int64] | None,
        generator: np.random.RandomState | None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        self.explicit, self.generator, self.rows = explicit, generator, rows
        self.n_rows = n_rows if rows is None else len(rows)

    @property
    def n_visits(self) -> int:
        """The number of rows that an epoch visits."""
        return self.n_rows if self.explicit is None else int(self.explicit.shape[-1])

    def of(self, epoch: int) -> NDArray[np.int64] | None:
        if self.explicit is not None:
            if self.explicit.ndim == 1:
                return self.explicit
            if epoch >= len(self.explicit):
                raise ValueError(
                    f"sample_order has {len(self.explicit)} epochs, but epoch {epoch} was asked "
                    f"for; give one row for each of max_iter epochs, or a single order for all"
                )
            return self.explicit[epoch]
        if self.generator is None:
            return self.rows
        places = self.generator.permutation(self.n_rows).astype(np.int64, copy=False)
        return places if self.rows is None else self.rows[places]


class Epoch:
    """The argument of a callback of ``fit``; what costs a pass is computed when it is read."""

    def __init__(
        self,
        record: EpochRecord,
        t: int,
        learners: Sequence[AnyLearner],
        units: Units | None = None,
        *,
        in_memory: bool = True,
    ) -> None:
        self._learners, self._units, self._in_memory = learners, units, in_memory
        self.outputs = range(sum(learner.engine.n_outputs for learner in learners))
        """The outputs that learn: all of them, or a part with ``outputs_at_once``."""
        self._parts: tuple[float, float, int] | None = None
        self.epoch = record["epoch"]
        """The number of the epoch, from 0 on."""
        self.progressive_loss = record["progressive_loss"]
        """The mean loss of the predictions in this epoch, each made before its row is learned."""
        self.validation_loss = record.get("validation_loss")
        """The mean loss over the rows that are held out; None without early stopping."""
        self.validation_score = record.get("validation_score")
        """Accuracy or R^2 on the rows that are held out; None without early stopping."""
        self.seconds = record["seconds"]
        """The time of training in this epoch, in seconds."""
        self.t = t
        """The number of steps taken so far."""

    def _evaluated(self) -> tuple[float, float, int]:
        if not self._in_memory:
            raise ValueError(
                "the objective, the mean loss and the nonzeros of an epoch are not known where X "
                "is a source of chunks, which would have to be read once more"
            )
        if self._parts is None:
            self._parts = evaluated(self._learners)
        return self._parts

    @property
    def mean_loss(self) -> float:
        """The mean loss over all rows of X, at the cost of a pass over the rows."""
        return self._evaluated()[0]

    @property
    def objective(self) -> float:
        """The mean loss plus the penalty, at the cost of a pass over the rows."""
        return self._evaluated()[1]

    @property
    def nonzeros(self) -> int:
        """The number of weights that are not zero."""
        return self._evaluated()[2]

    @property
    def coef(self) -> NDArray[np.float64]:
        """A copy of the weights, a row for every problem."""
        found = np.vstack([learner.engine.rows() for learner in self._learners])
        return found if self._units is None else self._units.weights(found)

    @property
    def intercept(self) -> NDArray[np.float64]:
        """The intercept of every problem."""
        own = np.concatenate([learner.engine.model_intercepts for learner in self._learners])
        if self._units is None:
            return own
        found = self._units.intercept(self.coef[:, self._units.moved], own)
        return np.asarray(found, dtype=np.float64)


def evaluated(learners: Sequence[AnyLearner]) -> tuple[float, float, int]:
    """The mean losses, the objectives and the nonzeros, each summed over the learners."""
    parts = [learner.evaluate() for learner in learners]
    return sum(p[0] for p in parts), sum(p[1] for p in parts), sum(p[2] for p in parts)


def _asks_to_stop(callback: Callable[[Epoch], Any], epoch: Epoch) -> bool:
    """Call the callback; returns whether training shall end."""
    answer = callback(epoch)
    try:
        return bool(answer)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"callback must return something true or false, got {type(answer).__name__}: {error}"
        ) from None


class BestEpoch:
    """The epoch with the least loss, and what is needed to return to its end.

    The copies of an epoch are made when the next epoch begins, so the last epoch is never copied.
    ``columns`` are the columns that the steps may touch.
    """

    def __init__(self, learners: Sequence[AnyLearner], columns: NDArray[Any]) -> None:
        self.learners, self.columns = learners, columns
        self.loss = np.inf
        self.epoch = self.t = 0
        self.plan = learners[0].plan
        #: the copies, from the second epoch on
        self.undos: list[Undo] = []

    def after(self, epoch: int, t: int, loss: float) -> None:
        """Note an epoch that has ended before step ``t``; the first of equal epochs is the best."""
        if loss < self.loss or epoch == 0:
            self.release()
            self.loss, self.epoch, self.t = loss, epoch, t
            self.plan = self.learners[0].plan

    def before(self, epoch: int) -> None:
        """Copy what the steps of ``epoch`` change, if the epoch before it is the best so far."""
        if epoch and self.epoch == epoch - 1:
            with unusable("X"):
                if self.undos:
                    for undo in self.undos:
                        undo.take()
                else:
                    self.undos = [Undo(each.engine, self.columns) for each in self.learners]

    def restore(self) -> None:
        """Return every engine to the end of the best epoch."""
        for undo in self.undos:
            undo.rollback()
        for learner in self.learners:
            learner.plan = self.plan

    def release(self) -> None:
        """Let the engines change freely; the next copies are made in the memory of these."""
        for undo in self.undos:
            undo.done()


def added_up(runs: Sequence[Run]) -> list[EpochRecord]:
    """The history of runs that have learned a part of the outputs each: a line for every epoch.

    A line is the sum over the parts.  A part that has stopped counts with its best epoch, whose
    weights it keeps, and takes no more seconds.
    """
    found = []
    for epoch in range(max(len(run.history) for run in runs)):
        lines: list[Any] = [
            run.history[epoch] if epoch < len(run.history)
            else {**run.history[run.best_epoch], "seconds": 0.0}
            for run in runs
        ]  # fmt: skip
        # A score judges all outputs together and cannot be added up.
        names = [name for name in lines[0] if name not in ("epoch", "validation_score")]
        total: Any = {name: sum(line[name] for line in lines) for name in names}
        found.append(cast(EpochRecord, {"epoch": epoch, **total}))
    return found


class PassOver(Protocol):
    """Lets learners visit the rows of an epoch, the first of which has step ``t``.

    Adds to their losses, and returns the next t.  ``begin`` and ``after`` as in ``run_pass``.
    """

    def __call__(
        self,
        epoch: int,
        t: int,
        progress: Progress,
        losses: NDArray[np.float64],
        workers: Workers | None,
        begin: int,
        after: Callable[[int], None],
    ) -> int: ...


@dataclass
class Run:
    """What a training has come to."""

    t: int
    """The number of steps behind the weights."""
    history: list[EpochRecord]
    best_epoch: int
    """The epoch at whose end the engines have the weights that they hold."""
    ended_early: bool
    """Whether training ended before it had made all epochs."""


def train(
    learners: Sequence[AnyLearner],
    orders: Orders,
    *,
    t: int,
    max_iter: int,
    stopping: Stopping,
    record: bool,
    verbose: int,
    callback: Callable[[Epoch], Any] | None = None,
    validate: Callable[[], tuple[float, float]] | None = None,
    columns: NDArray[Any] | None = None,
    workers: Workers | None = None,
    units: Units | None = None,
    pass_over: PassOver | None = None,
    keeper: Keeper | None = None,
) -> Run:
    """Train for up to ``max_iter`` epochs.

    Several learners all visit the rows in the same order; losses, objectives and nonzeros in the
    history are sums over the learners.  ``validate`` gives the loss and the score of the present
    models on rows that are held out; the loss then decides when training stops.  The threads of
    ``workers`` share the learners.

    With ``columns``, the columns that the rows name, the engines return to the end of the best
    epoch.  Its loss is the least: the loss on the rows that are held out, which judges the weights
    at the end of the epoch; or else the progressive loss, which judges the weights of the whole
    epoch, of which the last have learned most.

    ``units`` are those of the rows; a callback sees the model of rows as they were given.

    ``pass_over`` lets the learners visit rows that are not in memory; ``orders`` then has their
    number alone.

    ``keeper`` may write where the training stands after every chunk, and may know where an earlier
    run of the same training stood.
    """
    keeper = Keeper() if keeper is None else keeper
    best = BestEpoch(learners, columns) if columns is not None else None
    course = Course(learners, orders, stopping, best, t, is_written=keeper.writes)
    ended = False
    try:
        course.go_on_from(keeper.found("training"), max_iter, orders.n_visits)
        with keeper.following("training", course.written):
            for epoch in range(course.epoch, max_iter):
                order = course.enter(epoch)
                line, t = _one_epoch(course, order, verbose, workers, pass_over, keeper)
                with keeper.outside():
                    if validate is not None:
                        line["validation_loss"], line["validation_score"] = validate()
                    if record:
                        line["mean_loss"], line["objective"], line["nonzeros"] = evaluated(learners)
                    _check_losses(line, learners, t)
                    if verbose > 0:
                        print(_told(line))
                    asked = False
                    if callback is not None:
                        told = Epoch(line, t, learners, units, in_memory=pass_over is None)
                        asked = _asks_to_stop(callback, told)
                course.history.append(line)
                course.t = t
                judged = line.get("validation_loss", line["progressive_loss"])
                if best is not None:
                    best.after(epoch, t, judged)
                if asked:
                    ended = True
                    break
                if stopping.after(judged):
                    slower = known_after_stall(learners[0].plan.schedule)
                    if slower is None:
                        ended = True
                        break
                    stopping.wait_again()
                    for learner in learners:
                        learner.plan = learner.plan.with_schedule(slower)
                elif stopping.idle and learners[0].plan.adaptive:
                    for learner in learners:
                        learner.engine.calm()
        history: list[EpochRecord] = course.history
        if best is None or best.epoch == len(history) - 1:
            return Run(t, history, len(history) - 1, ended)
        best.restore()
        return Run(best.t, history, best.epoch, ended)
    finally:
        if best is not None:
            best.release()


def _one_epoch(
    course: Course,
    order: NDArray[np.int64] | None,
    verbose: int,
    workers: Workers | None,
    pass_over: PassOver | None,
    keeper: Keeper,
) -> tuple[EpochRecord, int]:
    """Train to the end of the epoch; returns its line of the history and the next t."""
    epoch, learners = course.epoch, cast(Sequence[AnyLearner], course.learners)
    n_rows = course.orders.n_rows if order is None else len(order)
    progress = Progress(n_rows, verbose > 0, f"epoch {epoch + 1}")
    began = time.perf_counter() - course.seconds

    def after(rows: int) -> None:
        course.rows, course.seconds = rows, time.perf_counter() - began
        keeper.point()

    try:
        progress.advance(course.rows)
        given = progress, course.losses, workers
        if pass_over is None:
            t = run_pass(learners, order, course.t, *given, begin=course.rows, after=after)
        else:
            t = pass_over(epoch, course.t, *given, begin=course.rows, after=after)
    finally:
        progress.close()
    seconds = time.perf_counter() - began
    loss = float(course.losses.sum()) / n_rows
    return EpochRecord(epoch=epoch, progressive_loss=loss, seconds=seconds), t


def _check_losses(line: EpochRecord, learners: Sequence[AnyLearner], t: int) -> None:
    """Refuse a model that overflowed in an epoch."""
    judged = {
        "progressive loss": line["progressive_loss"],
        "validation loss": line.get("validation_loss", 0.0),
        "objective": line.get("objective", 0.0),
    }
    for name, value in judged.items():
        if not math.isfinite(value):
            raise FloatingPointError(
                f"the model overflowed by step {t}: its {name} is {value}. "
                f"{learners[0].engine.advice}"
            )


def _told(line: EpochRecord) -> str:
    """The line of an epoch that ``verbose`` prints."""
    figures = [
        f"{name.replace('_', ' ')} {line[name]:.6g}"
        for name in (
            "progressive_loss", "validation_loss", "validation_score", "objective", "mean_loss",
            "nonzeros",
        )
        if name in line
    ]  # fmt: skip
    return "  ".join([f"epoch {line['epoch'] + 1:4d}", *figures, f"{line['seconds']:.3f} s"])
