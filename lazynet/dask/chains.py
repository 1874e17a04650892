"""Chains of tasks: a model visits one block after the other, and a visit is a pure function.

    state = visit(blocks, numbers, state)

A visit changes a copy of the state, so that Dask can repeat it after the loss of a worker, with the
same bits.  The chain of an epoch begins with a state on the client, so that only this epoch must be
repeated.  The chains of several models run in parallel.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.blocks import Blocks, as_wide, order_of
from lazynet.data.arrays import as_examples, plain, plain_arrays
from lazynet.data.chunks import Chunk
from lazynet.data.statistics import ROWS_OF_A_BLOCK, RowStatistics
from lazynet.data.targets import Targets
from lazynet.data.weights import check_any_weight
from lazynet.engines.base import Engine
from lazynet.engines.outputs import OutputsEngine
from lazynet.kernels.objective import loss_of_predictions
from lazynet.kernels.steps import Steps
from lazynet.training.passes import Learner, Pass, length_of_chunks, new_learners
from lazynet.training.plan import Plan
from lazynet.training.rows import Prepare, SourceRows
from lazynet.training.settings import Settings

Numbers = NDArray[np.float64]
# Blocks whose numbers are on the client at the same time.
_AT_ONCE = 32


# --- the rows of a block --------------------------------------------------------------------------


class Prepared(NamedTuple):
    """The checked rows of a block: targets and norms, and a copy of X if the checks made one."""

    copied: sparse.csr_matrix | None
    targets: Targets
    squared_norms: Numbers


def prepared_by(check: Prepare, chunk: Chunk) -> Prepared:
    """The rows of a chunk after ``check``."""
    X, targets = check(chunk)
    norms = as_examples(X).squared_norms()
    is_own = X.data is not chunk.X.data or X.indices is not chunk.X.indices
    return Prepared(X if is_own else None, targets, norms)


def checks_by(serial: type[Any], settings: Settings, n_features: int, classes: Any) -> Prepare:
    """A function that checks a chunk, as the serial estimator checks the rows of a fit."""
    probe = serial()
    probe.n_features_in_ = n_features
    if classes is not None:
        probe.classes_ = classes
    # Only the settings that the checks use: then fits with other settings share the result.
    used = SimpleNamespace(class_weight=settings.class_weight, softmax=settings.softmax)
    return partial(probe._rows_of_chunk, used)


class Rows:
    """The rows of a block on its worker, in arrays that kernels can read."""

    def __init__(self, chunk: Chunk, prepared: Prepared, n_features: int) -> None:
        # Arrays from a network or a disk may not be aligned.
        X = prepared.copied if prepared.copied is not None else as_wide(chunk, n_features, None).X
        self.X = plain_arrays(X)
        self.targets = copy.copy(prepared.targets)
        for name, value in vars(self.targets).items():
            if isinstance(value, np.ndarray):
                setattr(self.targets, name, plain(value, value.dtype))
        self.squared_norms = plain(prepared.squared_norms, prepared.squared_norms.dtype)


@sizeof.register(Targets)
def _bytes_of_targets(targets: Targets) -> int:
    return sum(int(sizeof(value)) for value in vars(targets).values())


# --- chains -------------------------------------------------------------------------------------


@dataclass
class Visiting:
    """The state of an engine within an epoch."""

    engine: Engine
    #: the number of the next step
    t: int
    loss: float = 0.0
    #: if the present chunk continues in the next block: predictions, targets and importances of its
    #: rows so far, or the sums of the losses of several outputs
    parts: list[tuple[Numbers, Numbers, Numbers]] = field(default_factory=list)
    sums: Numbers | None = None


@sizeof.register(Visiting)
def _bytes_of_state(state: Visiting) -> int:
    return 1000 + sum(array.nbytes for array in state.engine.state().values())


@dataclass(frozen=True)
class Visit:
    """A task: an engine takes a step on every row of some blocks."""

    plan: Plan
    #: the order of the rows of a block depends on these and on its number
    seed: int | None
    epoch: int
    #: the first of the outputs that the engine learns, and the first step of the epoch
    first: int
    t: int
    #: the rows of a chunk, the rows of an epoch, and the columns
    length: int
    n_rows: int
    n_features: int

    def __call__(self, blocks: Sequence[Any], numbers: range, state: Visiting) -> Visiting:
        """The state after a visit to each of ``blocks``, which have these numbers."""
        state = copy.deepcopy(state)
        for number, (chunk, prepared) in zip(numbers, blocks, strict=True):
            order = order_of(self.seed, self.epoch, number, chunk.X.shape[0])
            self._learn(state, Rows(chunk, prepared, self.n_features), order)
        return state

    def _learn(self, state: Visiting, rows: Rows, order: NDArray[np.int64]) -> None:
        """Take the steps on the rows of a block."""
        plan, n_visited = self.plan, state.t - self.t
        sizes = rows.squared_norms if plan.size_kind == "squared_norms" else None
        targets = rows.targets
        (learner,) = new_learners([state.engine], rows.X, targets, plan, sizes, self.first)
        while len(order):
            piece, order = np.split(order, [self.length - n_visited % self.length])
            self._take(learner, targets, piece, state)
            state.t += len(piece)
            n_visited += len(piece)
            if n_visited % self.length == 0 or n_visited == self.n_rows:
                state.loss += self._loss(state)
                state.parts, state.sums = [], None

    def _take(
        self, learner: Learner, targets: Targets, rows: NDArray[np.int64], state: Visiting
    ) -> None:
        """Take the steps on some rows of a chunk."""
        steps, task = self.plan.steps(rows, state.t), self.plan.task(learner.engine)
        if isinstance(learner.engine, OutputsEngine):
            if state.sums is None:
                state.sums = np.zeros(learner.engine.n_outputs)
            learner.engine.learn(
                learner.examples, learner.block, steps, task, state.t, state.sums,
                self.plan.softmax,
            )  # fmt: skip
            return
        predictions = np.empty(len(rows))
        steps = steps.with_predictions(predictions)
        learner.engine.take(learner.examples, steps, task, state.t)
        numbers = targets[self.first][0][rows]
        state.parts.append((predictions, numbers, targets.importances_or_ones[rows]))

    def _loss(self, state: Visiting) -> float:
        """The loss of a whole chunk, bit-identical to a serial fit."""
        with np.errstate(over="ignore"):
            if state.sums is not None:
                return float(state.sums.sum())
            parts = map(np.concatenate, zip(*state.parts, strict=True))
            predictions, targets, importances = parts
            n = len(predictions)
            examples = as_examples(sparse.csr_matrix((n, 0)), targets, importances)
            steps = Steps(np.arange(n), *np.ones((2, n)), *np.zeros((2, n)), None, predictions)
            return loss_of_predictions(examples, steps, self.plan.loss.code, self.plan.loss.epsilon)


# --- statistics of all rows, for automatic parameters ---------------------------------------------


def _numbers_of(
    of_targets: bool, seed: int | None, number: int, block: Chunk, prepared: Prepared
) -> Numbers:
    """Squared norms of rows, their importances and targets, a column each, in their order."""
    targets = prepared.targets
    columns = [prepared.squared_norms[:, None], targets.importances_or_ones[:, None]]
    if of_targets:
        columns.append(targets.in_columns())
    return np.hstack(columns)[order_of(seed, 0, number, block.X.shape[0])]


def _in_pieces(tables: Iterable[Numbers]) -> Iterator[Numbers]:
    """The same rows, ``ROWS_OF_A_BLOCK`` at a time."""
    waiting = np.zeros((0, 0))
    for table in tables:
        waiting = np.vstack([waiting, table]) if len(waiting) else table
        while len(waiting) >= ROWS_OF_A_BLOCK:
            yield waiting[:ROWS_OF_A_BLOCK]
            waiting = waiting[ROWS_OF_A_BLOCK:]
    if len(waiting):
        yield waiting


# --- a fit ----------------------------------------------------------------------------------------


class BlockRows(SourceRows):
    """The rows of blocks, which chains of tasks visit on the workers of the blocks."""

    def __init__(self, blocks: Blocks, check: Prepare, label: str) -> None:
        check_any_rows(blocks)
        self.blocks, self.label = blocks, label
        super().__init__(blocks, check)
        futures = blocks.prepared(partial(prepared_by, check))
        self.rows = [[*pair] for pair in zip(blocks.futures, futures, strict=True)]

    def _first(self) -> tuple[sparse.csr_matrix, Targets]:
        facts = self.blocks.block_facts()
        first = next(block.first for block in facts if block.tally.n_rows)
        return self._prepare(as_wide(first, self.facts.n_features, self.facts.n_labels))

    def identity(self) -> dict[str, Any]:
        return {"the facts of X": vars(self.facts), "the seed of blocks": self.blocks.seed}

    def statistics(self, settings: Settings, of_targets: bool) -> RowStatistics:
        """The sums over the same pieces of rows as in a serial fit."""
        blocks, n = self.blocks, len(self.rows)
        task = partial(_numbers_of, of_targets, blocks.seed)
        futures = [
            blocks.submitted("lazynet-numbers", task, k, *rows) for k, rows in enumerate(self.rows)
        ]
        groups = (blocks.gathered(futures[k : k + _AT_ONCE]) for k in range(0, n, _AT_ONCE))
        statistics = RowStatistics(float(settings.fit_intercept))
        for table in _in_pieces(chain.from_iterable(groups)):
            norms, counts, *targets = table.T.copy()
            statistics.add(norms, np.array(targets).T if targets else None, counts)
        return statistics

    def visit(self, pass_: Pass) -> None:
        n_rows = self.facts.n_rows
        # The engines change together: a pass that fails changes none of them.
        ends, first = [], 0
        length = length_of_chunks(len(pass_.engines), n_rows, self.facts.n_values)
        for number, engine in enumerate(pass_.engines):
            visit = Visit(
                pass_.plan, self.blocks.seed, pass_.epoch, first, pass_.t, length, n_rows,
                self.n_features,
            )  # fmt: skip
            # A chain of tasks, one per group of blocks.
            state: Any = Visiting(copy.deepcopy(engine), pass_.t)
            for group, home in self.blocks.groups():
                key = f"lazynet-visit-{self.label}-{number}-epoch{pass_.epoch}-block{group.start}"
                rows = [self.rows[k] for k in group]
                state = self.blocks.submitted(key, visit, rows, group, state, home=home)
            ends.append(state)
            first += engine.n_outputs
        states = self.blocks.gathered(ends)
        for engine, state in zip(pass_.engines, states, strict=True):
            engine.set_state(state.engine.state())
        pass_.losses[:] += [state.loss for state in states]
        if pass_.after is not None:
            pass_.after(n_rows)


def check_any_rows(blocks: Blocks) -> None:
    """Refuse blocks in which no row has a weight above 0."""
    if not blocks.facts().n_rows:
        raise ValueError("X must have at least one row, and the blocks have none")
    check_any_weight(any(block.has_weight for block in blocks.block_facts()))
