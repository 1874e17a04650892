"""What a travelling model does on a block: it takes a step on every row, and goes on to the next.

Whatever travels through a ring of blocks is an object with

    visit(block, travelling, resident) -> (travelling, resident)

``block`` is what the worker holds of the rows.  ``travelling`` is the state that goes from block to
block; ``resident`` is what belongs to the rows of this block (None where nothing does) and stays.
A visit changes neither of its arguments, so that it can be repeated.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.held import Prepared
from lazynet.data import as_examples, plain, plain_arrays, sizes_of
from lazynet.engines.base import Engine
from lazynet.kernels.batches import Merger
from lazynet.kernels.examples import Steps
from lazynet.kernels.objective import loss_of_predictions
from lazynet.learners import AnyLearner, OutputsLearner, new_learners
from lazynet.plan import Plan
from lazynet.problems import Problems
from lazynet.streams.chunks import Chunk
from lazynet.surveys import ROWS_OF_A_BLOCK, Survey


class Block(NamedTuple):
    """A block on its worker."""

    chunk: Chunk
    prepared: Prepared

    def rows(self) -> sparse.csr_matrix:
        """X, in arrays that kernels can read; those from a disk or a wire may not be."""
        return plain_arrays(self.prepared.rows(self.chunk))

    def sizes(self, kind: str | None, X: sparse.csr_matrix) -> NDArray[np.float64] | None:
        """The sizes of the rows X of the block."""
        return self.prepared.squared_norms if kind == "squared_norms" else sizes_of(X, kind)

    def problems(self) -> Problems:
        """The targets and importances of the rows, in arrays that kernels can read."""
        problems = copy.copy(self.prepared.problems)
        for name, value in vars(problems).items():
            if isinstance(value, np.ndarray):
                setattr(problems, name, plain(value, value.dtype))
        return problems


class Visitor(Protocol):
    """What travels; it must be possible to pickle it."""

    def visit(self, block: Any, travelling: Any, resident: Any) -> tuple[Any, Any]:
        """The states after a visit to the block."""
        ...


# --- rows that cross the borders of blocks -------------------------------------------------------


class Rows(NamedTuple):
    """Numbers of some rows: the predictions for them, their targets and their importances."""

    predictions: NDArray[np.float64]
    targets: NDArray[np.float64]
    importances: NDArray[np.float64]


@dataclass
class OpenChunk:
    """The chunk of rows that the last block has begun and the next block goes on with.

    A loss is summed over chunks of a fixed number of rows, first within a chunk.  A sum that began
    anew in each block would have other last digits.
    """

    n_rows: int = 0
    #: one output: what its loss is computed from when the chunk is complete
    rows: list[Rows] = field(default_factory=list)
    #: several outputs: the sums so far
    sums: NDArray[np.float64] | None = None


def _visit_part(
    learner: AnyLearner, problems: Problems, rows: NDArray[np.int64], t: int, chunk: OpenChunk
) -> OpenChunk:
    """Take the steps on some rows of a chunk; returns the chunk with these rows."""
    n_rows = chunk.n_rows + len(rows)
    steps = learner.plan.steps(rows, t)
    if isinstance(learner, OutputsLearner):
        assert isinstance(steps, Steps), "outputs in batches have an engine each"
        sums = np.zeros(learner.engine.n_outputs) if chunk.sums is None else chunk.sums.copy()
        learner.engine.learn(
            learner.examples, learner.targets, steps, learner.task, t, sums, learner.plan.softmax
        )
        return OpenChunk(n_rows, sums=sums)
    found = np.empty(len(rows))
    if isinstance(steps, Steps):
        steps = steps.with_predictions(found)
    else:
        steps = steps.with_predictions(found, Merger())
    learner.engine.take(learner.examples, steps, learner.task, t)
    part = Rows(found, problems.targets_of(0)[rows], problems.weights[rows])
    return OpenChunk(n_rows, [*chunk.rows, part])


def _loss_of(chunk: OpenChunk, plan: Plan) -> float:
    """The loss of a complete chunk, with the digits that a chunk within one block has."""
    if chunk.sums is not None:
        return float(chunk.sums.sum())
    predictions, targets, importances = (np.concatenate(a) for a in zip(*chunk.rows, strict=True))
    n = len(predictions)
    examples = as_examples(sparse.csr_matrix((n, 0)), targets, importances)
    ones, zeros = np.ones(n), np.zeros(n)
    steps = Steps(np.arange(n), ones, ones, zeros, zeros, None, predictions)
    return loss_of_predictions(examples, steps, plan.loss.code, plan.loss.epsilon)


AnyEngine = TypeVar("AnyEngine", bound=Engine)

# --- the online rules ----------------------------------------------------------------------------


def copied(engine: AnyEngine) -> AnyEngine:
    """A copy of an engine, in arrays that can be written to."""
    return copy.deepcopy(engine)


@dataclass
class OnTheWay:
    """The travelling state of an engine within an epoch."""

    engine: Engine
    #: the step that comes next, and the rows of the epoch that have been visited
    t: int
    n_rows: int = 0
    loss: float = 0.0
    chunk: OpenChunk = field(default_factory=OpenChunk)

    def at_next_epoch(self) -> OnTheWay:
        """The state with which the next epoch begins."""
        return OnTheWay(self.engine, self.t)


@dataclass(frozen=True)
class OnlineVisitor:
    """Lets an engine take a step on every row of a block, in the order of the rows."""

    plan: Plan
    #: the outputs that the engine learns
    outputs: range
    #: rows of a chunk, over which a loss is summed first; rows of an epoch
    length: int
    n_rows: int

    def visit(self, block: Block, travelling: OnTheWay, resident: None) -> tuple[OnTheWay, None]:
        """Visit the rows once."""
        state, plan = replace(travelling, engine=copied(travelling.engine)), self.plan
        if state.n_rows == self.n_rows:
            state = state.at_next_epoch()
        X = block.rows()
        problems = block.problems().part(self.outputs)
        sizes = block.sizes(plan.sizes, X)
        (learner,) = new_learners([state.engine], X, problems, plan, sizes)
        merger, first, n_rows = Merger(), 0, X.shape[0]
        while first < n_rows:
            stop = min(first + self.length - state.chunk.n_rows, n_rows)
            rows = np.arange(first, stop)
            if stop - first == self.length:
                steps = plan.steps(rows, state.t)
                state.loss += learner.visit(steps, state.t, True, merger)
            else:
                state.chunk = _visit_part(learner, problems, rows, state.t, state.chunk)
            state.t += plan.n_steps(stop - first)
            state.n_rows += stop - first
            first = stop
            if state.chunk.n_rows and (
                state.chunk.n_rows == self.length or state.n_rows == self.n_rows
            ):
                state.loss += _loss_of(state.chunk, plan)
                state.chunk = OpenChunk()
        return state, None


@sizeof.register(OnTheWay)
def _bytes_of_state(state: OnTheWay) -> int:
    """What Dask is told of the size of a state."""
    parts = state.engine.state()
    return sum(a.nbytes for part in parts for a in part.values())


@sizeof.register(Problems)
def _bytes_of_problems(problems: Problems) -> int:
    return sum(int(sizeof(value)) for value in vars(problems).values())


# --- what the defaults ask of all rows -----------------------------------------------------------


@dataclass
class Surveyed:
    """What the defaults ask of the rows so far."""

    sums: Survey
    #: the largest squared norm of a row, without and with its weight
    largest: float = 0.0
    largest_weighted: float = 0.0
    #: rows that are not in the sums yet: their squared norms, targets and importances
    waiting: tuple[Any, Any, Any] | None = None


@dataclass(frozen=True)
class SurveyVisitor:
    """Adds up sizes, targets and importances in the blocks of rows in which a serial fit does."""

    of_targets: bool
    #: what the intercept adds to the squared norm of a row
    extra: float
    n_rows: int

    def visit(self, block: Block, travelling: Surveyed, resident: None) -> tuple[Surveyed, None]:
        """Survey the rows of a block."""
        state, problems = copy.deepcopy(travelling), block.problems()
        norms, weights = block.prepared.squared_norms, problems.importances
        weighted = norms + self.extra if weights is None else (norms + self.extra) * weights
        state.largest = max(state.largest, float(norms.max(initial=0.0)) + self.extra)
        state.largest_weighted = max(state.largest_weighted, float(weighted.max(initial=0.0)))
        targets = problems.numbers_of_targets() if self.of_targets else None
        rows = (norms, targets, weights)
        if state.waiting is not None:
            rows = _below(state.waiting, rows)
        n, done = len(rows[0]), 0
        # The last block of rows may be shorter: it waits for the end.
        while n - done >= ROWS_OF_A_BLOCK:
            state.sums.add(*(_part(each, done, done + ROWS_OF_A_BLOCK) for each in rows))
            done += ROWS_OF_A_BLOCK
        state.waiting = tuple(_part(each, done, n) for each in rows)  # type: ignore[assignment]
        if state.sums.n_rows + n - done == self.n_rows:
            if n > done:
                state.sums.add(*state.waiting)
            state.waiting = None
        return state, None


def _part(numbers: Any, start: int, stop: int) -> Any:
    return None if numbers is None else numbers[start:stop].copy()


def _below(above: tuple[Any, Any, Any], rows: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """The numbers of more rows behind those of some; a block without weights has weights of 1."""
    (norms, targets, weights), (more_norms, more_targets, more_weights) = above, rows
    if weights is None and more_weights is not None:
        weights = np.ones(len(norms))
    elif weights is not None and more_weights is None:
        more_weights = np.ones(len(more_norms))
    return (
        np.concatenate([norms, more_norms]),
        None if targets is None else np.concatenate([targets, more_targets]),
        None if weights is None else np.concatenate([weights, more_weights]),
    )
