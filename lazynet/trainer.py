"""Epochs, chunks and history: drives any engine, one way through.

    schedule -> rates -> rule -> (a, b) -> a chunk of steps -> engine -> weights

A kernel returns after some tens of milliseconds at the latest, so that a signal is soon seen, and
any split into chunks gives the same weights bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from lazynet.averaging import Averaging, checked_counts
from lazynet.engines import Engine
from lazynet.kernels.examples import Examples, Steps
from lazynet.kernels.objective import total_loss
from lazynet.losses import Loss
from lazynet.params import FLAG, STRENGTH, Choice, SettledFields, table
from lazynet.penalties import ElasticNet
from lazynet.progress import Progress
from lazynet.rules import AnyRule, lost_digits
from lazynet.schedules import Schedule, checked_rates

STEP_ORDERS = ("gradient_first", "shrink_first")
# Steps of a chunk: beyond this its arrays no longer stay in the cache while they are used.
_LARGEST_CHUNK = 2**13


class EpochRecord(TypedDict):
    """One line of ``history_``."""

    epoch: int
    mean_loss: float
    objective: float
    nonzeros: int
    seconds: float


@dataclass(frozen=True)
class Recipe(SettledFields):
    """What is minimised and by which steps."""

    _kinds = table(step_order=Choice(accepted=STEP_ORDERS), fit_intercept=FLAG, epsilon=STRENGTH)

    loss: Loss
    penalty: ElasticNet
    rule: AnyRule
    schedule: Schedule
    step_order: str = "gradient_first"
    fit_intercept: bool = False
    epsilon: float = 0.1
    averaging: Averaging | None = None

    def steps(self, order: NDArray[np.int64], t: int) -> Steps:
        """The chunk of steps that visits the rows ``order``, starting with step ``t``."""
        stop = t + len(order)
        scheduled = self.rule.scheduled
        rates = checked_rates(self.schedule, t, stop) if scheduled else np.ones(len(order))
        shrink = self.rule.shrinks(rates, self.penalty, t)
        counts = None if self.averaging is None else checked_counts(self.averaging, t, stop)
        return Steps(order, rates, shrink.keep, lost_digits(shrink), shrink.pull, counts)


@dataclass
class Learner:
    """One binary or regression problem in training: its engine and its own view of the data."""

    engine: Engine
    examples: Examples
    recipe: Recipe

    def __post_init__(self) -> None:
        wear, recipe = self.engine.wear, self.recipe
        self.task = wear.task(
            self.engine.n_features,
            recipe.loss,
            recipe.epsilon,
            recipe.step_order,
            recipe.fit_intercept,
            pulls=recipe.penalty.l1 > 0,
        )

    def evaluate(self, weights: NDArray[np.float64]) -> tuple[float, float, int]:
        """Mean loss and objective, penalty exact, of what predicts; nonzeros of the last weights.

        ``weights`` is room for as many.
        """
        self.engine.model(out=weights)
        mean = mean_loss(
            self.examples,
            weights,
            self.engine.model_intercept,
            self.recipe.loss,
            self.recipe.epsilon,
        )
        objective = mean + self.recipe.penalty.value(weights)
        if self.engine.averaging:
            # An average of sparse weights is dense: what is sparse is the last of them.
            self.engine.weights(out=weights)
        return mean, objective, int(np.count_nonzero(weights))


def mean_loss(
    examples: Examples,
    weights: NDArray[np.float64],
    intercept: float,
    loss: Loss,
    epsilon: float,
) -> float:
    """Over all examples, each as often as it counts."""
    n = examples.n_rows
    total, row = 0.0, 0
    while row < n:
        part, row, unreadable = total_loss(examples, weights, intercept, loss.code, epsilon, row, n)
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
    """Let every learner visit the rows in ``order`` (None: as they lie); returns the next t."""
    first = learners[0]
    n_steps = first.examples.n_rows if order is None else len(order)
    for start, stop in spans(n_steps, _LARGEST_CHUNK):
        rows = np.arange(start, stop) if order is None else order[start:stop]
        steps = first.recipe.steps(rows, t + start)
        for learner in learners:
            learner.engine.take(learner.examples, steps, learner.task, t + start)
        if progress is not None:
            progress.advance(stop - start)
    return t + n_steps


class Stopping:
    """No improvement of the best objective by ``tol`` for ``patience`` epochs in a row."""

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
    """The order of the rows in each epoch: as asked for, shuffled, or as they lie."""

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


def train(
    learners: Sequence[Learner],
    orders: Orders,
    *,
    t: int,
    max_iter: int,
    stopping: Stopping,
    record: bool,
    verbose: int,
) -> tuple[int, list[EpochRecord], bool]:
    """Train for up to ``max_iter`` epochs; returns the next t, the history, whether it stopped.

    With several learners, all see the same order and the figures are sums over them.
    """
    history: list[EpochRecord] = []
    evaluate = record or verbose > 0 or stopping.tol is not None
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
                f"Lower eta0, or scale the features to comparable sizes."
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
        if stopping.after(objective):
            return t, history, True
    return t, history, False
