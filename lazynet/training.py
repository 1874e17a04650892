"""Training: a plan made once from parameters and data, then epochs and chunks of steps.

    schedule -> rates -> rule -> (a, b) -> a chunk of steps -> engine -> weights

A kernel returns after some tens of milliseconds at the latest, so that Python soon handles a
signal, and any split into chunks gives the same weights bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from lazynet.averages import Average, Suffix, checked_counts, known_average
from lazynet.catalogue import new_engine, new_reference
from lazynet.engines.base import Engine
from lazynet.engines.wear import Wear
from lazynet.forms import Clock, Form
from lazynet.kernels.examples import Examples, Steps
from lazynet.kernels.objective import total_loss, weight_sums
from lazynet.losses import Loss
from lazynet.params import FLAG, SettledFields, table
from lazynet.penalties import ElasticNet
from lazynet.progress import Progress
from lazynet.rules.base import Rule, lost_digits
from lazynet.schedules import Schedule, check_scale, checked_rates, known_schedule

# Steps of a chunk: the arrays of a longer chunk would leave the cache while they are used.
_LARGEST_CHUNK = 2**13


class EpochRecord(TypedDict):
    """One line of ``history_``."""

    epoch: int
    mean_loss: float
    objective: float
    nonzeros: int
    seconds: float


@dataclass(frozen=True)
class Plan(SettledFields):
    """Everything that follows from the parameters: what is minimised, and by which steps.

    ``Plan.of`` makes a plan from settled parameters, once in a call; ``known`` completes the plan
    with the scale of the rates and the length of the run, which depend on the data.
    """

    _kinds = table(fit_intercept=FLAG)
    loss: Loss
    penalty: ElasticNet
    rule: Rule
    schedule: Schedule
    form: Form
    average: Average | Suffix | None
    fit_intercept: bool

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

    def check_start(self, name: str, weights: NDArray[np.float64]) -> None:
        """Refuse to start from weights called ``name`` that the plan forbids."""
        if self.penalty.positive and weights.min(initial=0.0) < 0.0:
            raise ValueError(
                f"{name} must not hold a negative weight with positive=True, got "
                f"{float(weights.min()):.6g}"
            )

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
        )

    @property
    def storage(self) -> tuple[Any, ...]:
        """The parts in which two plans must agree for an engine of one plan to serve the other."""
        kind = self.rule.name if self.rule.has_state else "affine"
        return (self.average, kind, self.form, self.penalty.positive)

    @property
    def settings(self) -> tuple[float, ...]:
        """The parameters and strengths for the kernel of a rule with a state."""
        return self.rule.settings(self.penalty) if self.rule.has_state else ()

    def new_engine(self, n_features: int, wear: Wear | None = None) -> Engine:
        """A new engine, all weights zero."""
        return new_engine(
            self.rule,
            self.penalty,
            n_features,
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
        new = self.new_engine(engine.n_features)
        if self.penalty.positive:
            self.check_start("the model that goes on learning", engine.weights())
        if average:
            new.go_on_from(engine)
        else:
            new.load(engine.weights(), engine.intercept)
        return new

    def task(self, engine: Engine) -> Any:
        """The task of the kernel of ``engine``, the same for the whole run."""
        return engine.wear.task(
            engine.n_features,
            self.loss,
            self.rule.step_order,
            self.fit_intercept,
            pulls=self.penalty.l1 > 0,
            positive=self.penalty.positive,
        )

    def steps(self, order: NDArray[np.int64], t: int) -> Steps:
        """The chunk of steps that visits the rows ``order``, starting with step ``t``."""
        stop = t + len(order)
        scheduled = self.rule.scheduled
        rates = checked_rates(self.schedule, t, stop) if scheduled else np.ones(len(order))
        shrink = self.rule.shrinks(rates, self.penalty, t)
        counts = None if self.average is None else checked_counts(self.average, t, stop)  # type: ignore[arg-type]
        return Steps(order, rates, shrink.keep, lost_digits(shrink), shrink.pull, counts)


def check_rate_parameters(rule: Rule, schedule: Any, eta0: float | None) -> None:
    """Refuse a ``schedule`` or an ``eta0``, as the user passed them, that the rule does not use."""
    if rule.scheduled:
        check_scale(schedule, eta0)
        return
    if not (isinstance(schedule, str) and schedule == "power"):
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

    def evaluate(self, weights: NDArray[np.float64]) -> tuple[float, float, int]:
        """The mean loss and the objective of the model, and the nonzeros among the last weights.

        ``weights`` is scratch memory with an entry per feature.
        """
        engine, plan = self.engine, self.plan
        engine.model(out=weights)
        mean = mean_loss(self.examples, weights, engine.model_intercept, plan.loss)
        objective = mean + plan.penalty.of_sums(*weight_sums(weights))
        if engine.averaging:
            # An average of sparse weights is dense: count the nonzeros of the last weights.
            engine.weights(out=weights)
        return mean, objective, int(np.count_nonzero(weights))


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


def spans(n: int, size: int) -> Iterator[tuple[int, int]]:
    """(0, size), (size, 2 size), ... up to n."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def run_pass(
    learners: Sequence[Learner],
    order: NDArray[np.int64] | None,
    t: int,
    progress: Progress | None = None,
) -> int:
    """Let every learner visit the rows in ``order`` (None: as in X); returns the next step's t."""
    first = learners[0]
    n_steps = first.examples.n_rows if order is None else len(order)
    for start, stop in spans(n_steps, _LARGEST_CHUNK):
        rows = np.arange(start, stop) if order is None else order[start:stop]
        steps = first.plan.steps(rows, t + start)
        for learner in learners:
            learner.engine.take(learner.examples, steps, learner.task, t + start)
        if progress is not None:
            progress.advance(stop - start)
    return t + n_steps


class Stopping:
    """Stops once ``patience`` epochs in a row have not improved the best objective by ``tol``."""

    def __init__(self, tol: float | None, patience: int) -> None:
        self.tol, self.patience = tol, patience
        self.best = np.inf
        self.idle = 0

    def after(self, objective: float) -> bool:
        """Whether to stop after an epoch that ended with ``objective``."""
        if self.tol is None:
            return False
        self.idle = self.idle + 1 if objective > self.best - self.tol else 0
        self.best = min(self.best, objective)
        return self.idle >= self.patience


class Orders:
    """The order of the rows in each epoch: explicit, shuffled, or the order of X."""

    def __init__(
        self,
        n_rows: int,
        explicit: NDArray[np.int64] | None,
        generator: np.random.RandomState | None,
    ) -> None:
        self.n_rows, self.explicit, self.generator = n_rows, explicit, generator

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
        if self.generator is not None:
            return self.generator.permutation(self.n_rows).astype(np.int64, copy=False)
        return None


class Epoch:
    """The argument of a callback of ``fit``; the weights are computed when they are read."""

    def __init__(self, record: EpochRecord, t: int, learners: Sequence[Learner]) -> None:
        self._engines = [learner.engine for learner in learners]
        self.epoch = record["epoch"]
        """The number of the epoch, from 0 on."""
        self.mean_loss = record["mean_loss"]
        """The mean loss over the training rows."""
        self.objective = record["objective"]
        """The mean loss plus the penalty."""
        self.nonzeros = record["nonzeros"]
        """The number of weights that are not zero."""
        self.seconds = record["seconds"]
        """The time of training in this epoch, in seconds."""
        self.t = t
        """The number of steps taken so far."""

    @property
    def coef(self) -> NDArray[np.float64]:
        """A copy of the weights, a row for every problem."""
        return np.vstack([engine.model() for engine in self._engines])

    @property
    def intercept(self) -> NDArray[np.float64]:
        """The intercept of every problem."""
        return np.array([engine.model_intercept for engine in self._engines])


def _asks_to_stop(callback: Callable[[Epoch], Any], epoch: Epoch) -> bool:
    """Call the callback; returns whether training shall end."""
    answer = callback(epoch)
    try:
        return bool(answer)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"callback must return something true or false, got {type(answer).__name__}: {error}"
        ) from None


def train(
    learners: Sequence[Learner],
    orders: Orders,
    *,
    t: int,
    max_iter: int,
    stopping: Stopping,
    record: bool,
    verbose: int,
    callback: Callable[[Epoch], Any] | None = None,
) -> tuple[int, list[EpochRecord], bool]:
    """Train for up to ``max_iter`` epochs; returns the next t, the history, whether it stopped.

    Several learners all visit the rows in the same order; the losses, objectives and nonzeros in
    the history are sums over the learners.
    """
    history: list[EpochRecord] = []
    evaluate = record or verbose > 0 or stopping.tol is not None or callback is not None
    weights = np.empty(learners[0].engine.n_features)
    for epoch in range(max_iter):
        order = orders.of(epoch)
        progress = Progress(orders.n_rows, verbose > 0, f"epoch {epoch + 1}")
        began = time.perf_counter()
        try:
            t = run_pass(learners, order, t, progress)
        finally:
            progress.close()
        seconds = time.perf_counter() - began
        if not evaluate:
            continue
        mean_loss = objective = 0.0
        nonzeros = 0
        for learner in learners:
            parts = learner.evaluate(weights)
            mean_loss, objective = mean_loss + parts[0], objective + parts[1]
            nonzeros += parts[2]
        if not np.isfinite(objective):
            raise FloatingPointError(
                f"the model overflowed by step {t}: its objective is {objective}. "
                f"{learners[0].engine.advice}"
            )
        history.append(
            EpochRecord(
                epoch=epoch,
                mean_loss=mean_loss,
                objective=objective,
                nonzeros=nonzeros,
                seconds=seconds,
            )
        )
        if verbose > 0:
            print(
                f"epoch {epoch + 1:4d}  objective {objective:.6g}  mean loss {mean_loss:.6g}  "
                f"nonzeros {nonzeros}  {seconds:.3f} s"
            )
        if callback is not None and _asks_to_stop(callback, Epoch(history[-1], t, learners)):
            return t, history, True
        if stopping.after(objective):
            return t, history, True
    return t, history, False
