"""Passes over the rows: for training, and for the evaluation of a model.

A kernel returns after some tens of milliseconds at the latest, so that Python soon handles a
signal.  Any division of the rows into chunks gives the same weights bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from lazynet.data.arrays import as_examples, plain, row_sizes_of
from lazynet.data.products import own_rows, products
from lazynet.data.targets import Classes, Targets
from lazynet.engines.base import Engine
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.threads import Workers
from lazynet.kernels.examples import Examples
from lazynet.kernels.objective import loss_of_predictions, values_and_slopes, weight_sums
from lazynet.kernels.steps import OutputTargets, Steps
from lazynet.losses import Loss
from lazynet.training.plan import Plan

# Steps of a chunk: the arrays of a longer chunk would leave the cache while they are used.
_LARGEST_CHUNK = 2**13
# Nonzeros of a chunk that several learners visit.  In a long chunk the state of a learner stays in
# the cache, while every learner reads the rows from memory again.  A thread that has to stop
# completes its chunk first, which takes a few hundredths of a second.
_NONZEROS_OF_A_CHUNK = 2**22


@dataclass
class Learner:
    """The outputs of one engine in training, with their examples.

    ``block`` has the targets of several outputs; None: ``examples`` has the targets of one output.
    """

    engine: Engine
    examples: Examples
    plan: Plan
    block: OutputTargets | None = None

    def visit(self, steps: Steps, t: int, counts: bool = False) -> float:
        """Take the steps; the first is step ``t`` of the run.

        If it ``counts``, returns the sum of the losses of the predictions before each update.
        """
        engine, examples, loss = self.engine, self.examples, self.plan.loss
        task = self.plan.task(engine)
        if isinstance(engine, OutputsEngine):
            sums = np.zeros(engine.n_outputs)
            engine.learn(examples, self.block, steps, task, t, sums, self.plan.softmax)
            # The sum of losses with large importances may be infinite.
            with np.errstate(over="ignore"):
                return float(sums.sum())
        if counts:
            steps = steps.with_predictions(np.empty(len(steps)))
        engine.take(examples, steps, task, t)
        return loss_of_predictions(examples, steps, loss.code, loss.epsilon) if counts else 0.0


def new_learners(
    engines: Sequence[Engine],
    X: sparse.csr_matrix,
    targets: Targets,
    plan: Plan,
    row_sizes: NDArray[np.float64] | str | None = None,
    first: int = 0,
) -> list[Learner]:
    """A learner for every engine; the engines hold the outputs from ``first`` on in their order.

    ``row_sizes`` are the sizes of the rows, for rates that depend on them; None: computed from X.
    """
    if row_sizes is None:
        # A single engine computes the size of a row at its visit, which saves a pass over X.
        kind = plan.size_kind
        row_sizes = kind if len(engines) == 1 else row_sizes_of(X, kind)
    learners: list[Learner] = []
    shared = None
    for engine in engines:
        if isinstance(engine, OutputsEngine):
            if shared is None:
                shared = as_examples(X, None, targets.importances, row_sizes)
            block = targets.block(first, engine.n_outputs)
            learners.append(Learner(engine, shared, plan, block))
        else:
            examples = as_examples(X, *targets[first], row_sizes)
            learners.append(Learner(engine, examples, plan))
        first += engine.n_outputs
    return learners


def run_pass(
    learners: Sequence[Learner],
    order: NDArray[np.int64] | None,
    t: int,
    losses: NDArray[np.float64] | None = None,
    workers: Workers | None = None,
    *,
    length: int | None = None,
    after: Callable[[int], Any] | None = None,
) -> int:
    """Let every learner visit the rows in ``order`` (None: as in X); returns the next step's t.

    Each learner adds the losses of its predictions before each update to its entry of ``losses``.
    A chunk has ``length`` rows; None: ``length_of_chunks``.  ``t`` is the step of the first row.
    ``after`` is called after every chunk with the number of its rows.
    Every learner visits a chunk before the next chunk begins; the threads of ``workers`` share the
    learners.  No learner depends on another one.
    """
    plan, examples = learners[0].plan, learners[0].examples
    n_rows = examples.n_rows if order is None else len(order)
    if length is None:
        length = length_of_chunks(len(learners), examples.n_rows, examples.n_values)
    for start in range(0, n_rows, length):
        stop = min(start + length, n_rows)
        rows = np.arange(start, stop) if order is None else order[start:stop]
        steps = plan.steps(rows, t + start)
        visit = methodcaller("visit", steps, t + start, losses is not None)
        found = [*map(visit, learners)] if workers is None else workers.map(visit, learners)
        if losses is not None:
            losses += found
        if after is not None:
            after(stop - start)
    return t + n_rows


def length_of_chunks(n_learners: int, n_rows: int, n_values: int) -> int:
    """The number of rows in a chunk: smaller for several learners and long rows.

    >>> length_of_chunks(1, 10_000, 5_000_000), length_of_chunks(2, 10_000, 50_000_000)
    (8192, 838)
    """
    rows = _LARGEST_CHUNK
    if n_learners > 1 and n_values:
        rows = min(rows, _NONZEROS_OF_A_CHUNK * n_rows // n_values)
    return max(rows, 1)


#: Some rows and their targets.
RowsAndTargets = tuple[sparse.csr_matrix, Targets]

# Rows whose predictions are computed at once.
_ROWS_AT_ONCE = 2**14


class Evaluation(NamedTuple):
    """Losses and counts that a pass over the rows computes; losses are summed over the outputs."""

    mean_loss: float
    objective: float
    nonzeros: int


def evaluate(
    engines: Sequence[Engine], plan: Plan, X: sparse.csr_matrix, targets: Targets
) -> Evaluation:
    """The mean loss and the objective of the model, and the nonzeros of its last weights."""
    mean = total_loss(engines, plan, partial(_parts_of, X, targets)) / X.shape[0]
    penalty, nonzeros = 0.0, 0
    for engine in engines:
        weights = engine.coefficients()
        absolute, squared = weight_sums(weights.ravel())
        if plan.rule.group is not None:
            absolute = float(np.linalg.norm(weights, axis=0).sum())
        penalty += plan.penalty.of_sums(absolute, squared)
        # An average of sparse weights is dense: count the nonzeros of the last weights.
        last = engine.coefficients(last=True) if engine.counted else weights
        nonzeros += int(np.count_nonzero(last))
    return Evaluation(mean, mean + penalty, nonzeros)


def _parts_of(X: sparse.csr_matrix, targets: Targets) -> Iterator[RowsAndTargets]:
    """The rows, some at a time."""
    for start in range(0, X.shape[0], _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, X.shape[0])
        yield own_rows(X, start, stop), targets.only(np.arange(start, stop))


def total_loss(
    engines: Sequence[Engine], plan: Plan, blocks: Callable[[], Iterable[RowsAndTargets]]
) -> float:
    """The sum over rows and outputs of importance times loss; ``blocks`` begins a pass."""
    total, first = 0.0, 0
    for engine in engines:
        rows, intercepts = engine.coefficients(), engine.intercepts()[:, None]
        for X, targets in blocks():
            with np.errstate(over="ignore", invalid="ignore"):
                decisions = products(X, rows).T + intercepts
                if plan.softmax:
                    assert isinstance(targets, Classes), "the softmax is a loss of classes"
                    losses = softmax_losses(decisions, targets.codes)
                    total += float((losses * targets.importances_or_ones).sum())
                else:
                    total += sum(
                        total_loss_of(row, *targets[first + k], plan.loss)
                        for k, row in enumerate(decisions)
                    )
        first += engine.n_outputs
    return total


def total_loss_of(
    predictions: NDArray[np.float64],
    targets: NDArray[np.float64],
    importances: NDArray[np.float64] | None,
    loss: Loss,
) -> float:
    """The sum of importance times loss of given predictions.

    >>> from lazynet.losses import get_loss
    >>> total_loss_of(np.array([0.0, 3.0]), np.array([1.0, 1.0]), None, get_loss("squared_error"))
    2.5
    """
    doubles = np.dtype(np.float64)
    losses, _ = values_and_slopes(
        loss.code, plain(predictions, doubles), plain(targets, doubles), loss.epsilon
    )
    if importances is not None:
        # An infinite loss of a row of importance 0 would make the sum NaN.
        losses = np.multiply(importances, losses, out=np.zeros(len(losses)), where=importances > 0)
    # The last bits of a dot product would depend on the BLAS library.
    return float(losses.sum())


def softmax_losses(decisions: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """log(sum over the classes of exp p) - p of its class, for every row.

    >>> softmax_losses(np.zeros((4, 1)), np.array([2])).round(4)  # log 4
    array([1.3863])
    """
    chosen = decisions[codes, np.arange(len(codes))]
    return np.asarray(logsumexp(decisions, axis=0) - chosen, dtype=np.float64)
