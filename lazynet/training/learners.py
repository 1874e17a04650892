"""Learners: the outputs in training, each with its engine, and their pass over the rows.

A kernel returns after some tens of milliseconds at the latest, so that Python soon handles a
signal, and any split into chunks gives the same weights bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.data.targets import Targets
from lazynet.engines.base import Engine
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.threads import Workers
from lazynet.kernels.examples import Examples
from lazynet.kernels.objective import loss_of_predictions, total_loss, weight_sums
from lazynet.kernels.steps import Steps
from lazynet.losses import Loss
from lazynet.training.held_out import copied_rows, decisions_of, summed_losses
from lazynet.training.plan import Plan

# Steps of a chunk: the arrays of a longer chunk would leave the cache while they are used.
_LARGEST_CHUNK = 2**13
# Nonzeros of a chunk that several learners visit.  In a long chunk the state of a learner stays in
# the cache, while the rows come anew for every learner.  A thread that has to stop ends its
# chunk first, a few hundredths of a second later.
_NONZEROS_OF_A_CHUNK = 2**22
# Rows whose predictions are computed at once when the objective is evaluated.
_ROWS_TO_EVALUATE = 2**14


@dataclass
class Learner:
    """One output in training: its engine, its examples, its plan."""

    engine: Engine
    examples: Examples
    plan: Plan

    def __post_init__(self) -> None:
        self.task = self.plan.task(self.engine)

    def visit(self, steps: Steps, t: int, with_loss: bool) -> float:
        """Take the steps, the first of which is step ``t`` of the run.

        Returns the sum of the losses of the predictions before each update, or 0 without
        ``with_loss``.
        """
        if not with_loss:
            self.engine.take(self.examples, steps, self.task, t)
            return 0.0
        steps = steps.with_predictions(np.empty(len(steps)))
        self.engine.take(self.examples, steps, self.task, t)
        return loss_of_predictions(
            self.examples, steps, self.plan.loss.code, self.plan.loss.epsilon
        )

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
    """Several outputs in training, from ``first`` on, in one engine."""

    engine: OutputsEngine
    examples: Examples
    plan: Plan
    X: sparse.csr_matrix
    targets: Targets
    first: int

    def __post_init__(self) -> None:
        self.task = self.plan.task(self.engine)
        self.block = self.targets.block(self.first, self.engine.n_outputs)

    def visit(self, steps: Steps, t: int, with_loss: bool) -> float:
        """As ``Learner.visit``."""
        losses = np.zeros(self.engine.n_outputs)
        self.engine.learn(self.examples, self.block, steps, self.task, t, losses, self.plan.softmax)
        # Losses with large importances may have an infinite sum, as an engine of one output does.
        with np.errstate(over="ignore"):
            return float(losses.sum())

    def evaluate(self) -> tuple[float, float, int]:
        """As ``Learner.evaluate``, summed over the outputs."""
        n, total = self.examples.n_rows, 0.0
        for start, stop in spans(n, _ROWS_TO_EVALUATE):
            rows = np.arange(start, stop)
            part, targets = copied_rows(self.X, rows), self.targets.only(rows)
            for _, decisions in decisions_of(part, [self.engine]):
                total += summed_losses(
                    decisions, self.first, targets, self.plan.loss, self.plan.softmax
                )
        weights = self.engine.coefficients()
        penalty = self._penalty(weights)
        last = self.engine.coefficients(last=True) if self.engine.averaging else weights
        return total / n, total / n + penalty, int(np.count_nonzero(last))

    def _penalty(self, weights: NDArray[np.float64]) -> float:
        sums = np.array([weight_sums(row) for row in weights])
        penalty = self.plan.penalty
        if self.plan.rule.group is None:
            return sum(penalty.of_sums(*item) for item in sums)
        order = {"l2": 2, "max": np.inf}[self.plan.rule.group]
        norms = np.linalg.norm(weights, order, axis=0)
        return penalty.of_sums(float(norms.sum()), float(sums[:, 1].sum()))


AnyLearner = Learner | OutputsLearner


def new_learners(
    engines: Sequence[Engine],
    X: sparse.csr_matrix,
    targets: Targets,
    plan: Plan,
    sizes: NDArray[np.float64] | str | None,
) -> list[AnyLearner]:
    """A learner for every engine; the engines hold all outputs in their order.

    ``sizes`` as in ``as_examples``.
    """
    learners: list[AnyLearner] = []
    shared, first = None, 0
    for engine in engines:
        if isinstance(engine, OutputsEngine):
            if shared is None:
                shared = as_examples(X, None, targets.importances, sizes)
            learners.append(OutputsLearner(engine, shared, plan, X, targets, first))
        else:
            learners.append(Learner(engine, as_examples(X, *targets[first], sizes), plan))
        first += engine.n_outputs
    return learners


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
            raise ValueError(f"X: row {row} cannot be read")
        total += part
    return total / n


def evaluated(learners: Sequence[AnyLearner]) -> tuple[float, float, int]:
    """The mean losses, the objectives and the nonzeros, each summed over the learners."""
    parts = [learner.evaluate() for learner in learners]
    return sum(p[0] for p in parts), sum(p[1] for p in parts), sum(p[2] for p in parts)


def spans(n: int, size: int, begin: int = 0) -> Iterator[tuple[int, int]]:
    """(0, size), (size, 2 size), ... up to n; or the same from ``begin`` on."""
    for start in range(begin, n, size):
        yield start, min(start + size, n)


def run_pass(
    learners: Sequence[AnyLearner],
    order: NDArray[np.int64] | None,
    t: int,
    losses: NDArray[np.float64] | None = None,
    workers: Workers | None = None,
    *,
    length: int | None = None,
    begin: int = 0,
    after: Callable[[int], None] | None = None,
) -> int:
    """Let every learner visit the rows in ``order`` (None: as in X); returns the next step's t.

    Each learner adds the losses of its predictions before each update to its entry of ``losses``.
    A chunk has ``length`` rows; None: a number that suits the rows.  The first ``begin`` rows have
    been visited, in whole chunks; ``t`` is the step of the first row.  ``after``
    receives the number of rows visited so far after every chunk.
    The learners take turns on every chunk of rows, and the threads of ``workers`` share the
    learners.  No learner depends on another one.
    """
    plan, examples = learners[0].plan, learners[0].examples
    n_rows = examples.n_rows if order is None else len(order)
    if length is None:
        length = length_of_chunks(len(learners), examples.n_rows, examples.n_values)
    if begin % length and begin != n_rows:
        raise ValueError(f"begin must be at the end of a chunk of {length} rows, got {begin}")
    numbers = range(len(learners))
    for start in range(begin, n_rows, length):
        stop = min(start + length, n_rows)
        rows = np.arange(start, stop) if order is None else order[start:stop]
        steps = plan.steps(rows, t + start)
        if workers is None:
            _visit(learners, steps, t + start, losses, None, numbers)
        else:
            shares = [numbers[first :: workers.n_threads] for first in range(workers.n_threads)]
            workers.each(shares, partial(_visit, learners, steps, t + start, losses, workers))
        if after is not None:
            after(stop)
    return t + n_rows


def _visit(
    learners: Sequence[AnyLearner],
    steps: Steps,
    t: int,
    losses: NDArray[np.float64] | None,
    workers: Workers | None,
    numbers: range,
) -> None:
    """Let the learners of these numbers take the steps, the first of which is step ``t``."""
    for number in numbers:
        if workers is not None:
            workers.check()
        loss = learners[number].visit(steps, t, losses is not None)
        if losses is not None:
            losses[number] += loss


def length_of_chunks(n_learners: int, n_rows: int, n_values: int) -> int:
    """The number of rows in a chunk: fewer for several learners where rows are long.

    >>> length_of_chunks(1, 10_000, 5_000_000), length_of_chunks(2, 10_000, 50_000_000)
    (8192, 838)
    """
    rows = _LARGEST_CHUNK
    if n_learners > 1 and n_values:
        rows = min(rows, _NONZEROS_OF_A_CHUNK * n_rows // n_values)
    return max(rows, 1)
