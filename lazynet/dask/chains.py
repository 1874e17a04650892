"""Chains of tasks: a model visits one block after the other, and a visit is a pure function.

    state = visit(step, blocks, state)

A visit changes a copy of the state, so that Dask can repeat it after a loss, with the same bits.
The chain of an epoch begins with a state that the client has, so that no more than this epoch is
repeated.  The chains of several models run side by side.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof
from distributed import Future
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.blocks import Blocks, as_wide, order_of
from lazynet.data.arrays import as_examples, plain, plain_arrays, sizes_of
from lazynet.data.chunks import Chunk, joined, part, taken
from lazynet.data.row_statistics import ROWS_OF_A_BLOCK, Survey
from lazynet.data.source import ROWS
from lazynet.data.targets import Problems
from lazynet.data.weights import check_any_counts
from lazynet.engines.base import Engine
from lazynet.engines.threads import Workers
from lazynet.engines.undo import UndoLog
from lazynet.kernels.batches import Merger
from lazynet.kernels.examples import Steps
from lazynet.kernels.objective import loss_of_predictions
from lazynet.training.learners import AnyLearner, OutputsLearner, length_of_chunks, new_learners
from lazynet.training.loop import PassOver
from lazynet.training.plan import Plan
from lazynet.training.progress import Progress
from lazynet.training.settings import Settings
from lazynet.training.stream_rows import Prepare, SourceRows

Numbers = NDArray[np.float64]


# --- a block, as a visit finds it ---------------------------------------------------------------


class Prepared(NamedTuple):
    """What the rows of a block are for a fit, beside the chunk itself."""

    #: X, where the checks of the estimator have copied it
    copied: sparse.csr_matrix | None
    problems: Problems
    squared_norms: Numbers


@dataclass(frozen=True)
class Prepares:
    """Makes ``Prepared`` of a chunk, by the checks of a serial estimator without a model."""

    check: Prepare

    def __call__(self, chunk: Chunk) -> Prepared:
        X, problems = self.check(chunk)
        norms = sizes_of(X, "squared_norms")
        assert norms is not None, "a kind of size is named"
        is_own = X.data is not chunk.X.data or X.indices is not chunk.X.indices
        return Prepared(X if is_own else None, problems, norms)


class Rows:
    """The rows of a block on its worker, in arrays that kernels can read."""

    def __init__(self, chunk: Chunk, prepared: Prepared, n_features: int) -> None:
        # Arrays from a wire or a disk may not be aligned.
        X = prepared.copied if prepared.copied is not None else as_wide(chunk, n_features, None).X
        self.X = plain_arrays(X)
        self.problems = copy.copy(prepared.problems)
        for name, value in vars(self.problems).items():
            if isinstance(value, np.ndarray):
                setattr(self.problems, name, plain(value, value.dtype))
        self.squared_norms = plain(prepared.squared_norms, prepared.squared_norms.dtype)


@sizeof.register(Problems)
def _bytes_of_problems(problems: Problems) -> int:
    return sum(int(sizeof(value)) for value in vars(problems).values())


# --- chains -------------------------------------------------------------------------------------


def _visit(
    step: Any, blocks: Sequence[Any], numbers: range, seed: int | None, epoch: int, state: Any
) -> Any:
    """The state after a step on each of some blocks."""
    state = copy.deepcopy(state)
    for number, block in zip(numbers, blocks, strict=True):
        chunk = block[0] if isinstance(block, list) else block
        step(state, block, order_of(seed, epoch, number, chunk.X.shape[0]))
    return state


def chain(
    blocks: Blocks, step: Any, rows: Sequence[Any], state: Any, label: str, epoch: int = 0
) -> Future:
    """The future of the state after steps on all blocks; ``rows``: what a step finds of each."""
    for numbers, home in blocks.groups():
        key = f"lazynet-visit-{label}-epoch{epoch}-block{numbers.start}"
        some = [rows[k] for k in numbers]
        state = blocks.submitted(key, _visit, home, step, some, numbers, blocks.seed, epoch, state)
    return state  # type: ignore[no-any-return]


@dataclass
class Visiting:
    """The state of an engine within an epoch."""

    engine: Engine
    #: the step that comes next, and the rows of the epoch that have been visited
    t: int
    n_rows: int = 0
    loss: float = 0.0
    #: the rows of a chunk that the next block goes on with, over which a loss is summed first: the
    #: predictions, targets and importances, or the sums of several outputs
    open_rows: int = 0
    parts: list[tuple[Numbers, Numbers, Numbers]] = field(default_factory=list)
    sums: Numbers | None = None


@sizeof.register(Visiting)
def _bytes_of_state(state: Visiting) -> int:
    return 1000 + sum(array.nbytes for array in state.engine.state().values())


@dataclass(frozen=True)
class Learns:
    """Lets an engine take a step on every row of a block."""

    plan: Plan
    #: the outputs that the engine learns
    outputs: range
    #: rows of a chunk; rows of an epoch; columns
    length: int
    n_rows: int
    n_features: int

    def __call__(self, state: Visiting, block: Any, order: NDArray[np.int64]) -> None:
        rows, plan, done = Rows(block[0], block[1], self.n_features), self.plan, 0
        norms = plan.sizes == "squared_norms"
        sizes = rows.squared_norms if norms else sizes_of(rows.X, plan.sizes)
        problems = rows.problems.part(self.outputs)
        (learner,) = new_learners([state.engine], rows.X, problems, plan, sizes)
        while done < len(order):
            some = order[done : done + self.length - state.open_rows]
            done += len(some)
            self._take(learner, problems, some, state)
            state.t += plan.n_steps(len(some))
            state.n_rows += len(some)
            state.open_rows += len(some)
            if state.open_rows == self.length or state.n_rows == self.n_rows:
                state.loss += self._loss(state)
                state.open_rows, state.parts, state.sums = 0, [], None

    def _take(
        self, learner: AnyLearner, problems: Problems, rows: NDArray[np.int64], state: Visiting
    ) -> None:
        """Take the steps on some rows of a chunk."""
        steps, found = self.plan.steps(rows, state.t), np.empty(len(rows))
        if isinstance(learner, OutputsLearner):
            assert isinstance(steps, Steps), "outputs in batches have an engine each"
            if state.sums is None:
                state.sums = np.zeros(learner.engine.n_outputs)
            learner.engine.learn(
                learner.examples, learner.targets, steps, learner.task, state.t, state.sums,
                self.plan.softmax,
            )  # fmt: skip
            return
        if isinstance(steps, Steps):
            steps = steps.with_predictions(found)
        else:
            steps = steps.with_predictions(found, Merger())
        learner.engine.take(learner.examples, steps, learner.task, state.t)
        state.parts.append((found, problems.targets_of(0)[rows], problems.weights[rows]))

    def _loss(self, state: Visiting) -> float:
        """The loss of a whole chunk, with the digits that it has in a serial fit."""
        with np.errstate(over="ignore"):
            if state.sums is not None:
                return float(state.sums.sum())
            found, targets, importances = map(np.concatenate, zip(*state.parts, strict=True))
            n = len(found)
            examples = as_examples(sparse.csr_matrix((n, 0)), targets, importances)
            steps = Steps(np.arange(n), *np.ones((2, n)), *np.zeros((2, n)), None, found)
            return loss_of_predictions(examples, steps, self.plan.loss.code, self.plan.loss.epsilon)


# --- what the defaults ask of all rows ----------------------------------------------------------


@dataclass
class Surveyed:
    """What the defaults ask of the rows so far."""

    sums: Survey
    #: the largest squared norm of a row, without and with its weight
    largest: float = 0.0
    largest_weighted: float = 0.0
    n_rows: int = 0
    #: rows that are not in the sums yet: norms, importances and targets, a column each
    waiting: Numbers | None = None


@dataclass(frozen=True)
class Surveys:
    """Adds up norms, importances and targets over the same pieces of rows as a serial fit."""

    of_targets: bool
    #: what the intercept adds to a squared norm; rows of the survey; columns
    extra: float
    n_rows: int
    n_features: int

    def __call__(self, state: Surveyed, block: Any, order: NDArray[np.int64]) -> None:
        rows = Rows(block[0], block[1], self.n_features)
        columns = [rows.squared_norms[:, None], rows.problems.weights[:, None]]
        if self.of_targets:
            columns.append(rows.problems.numbers_of_targets())
        table = np.hstack(columns)[order]
        sizes = table[:, 0] + self.extra
        state.largest = max(state.largest, float(sizes.max(initial=0.0)))
        with np.errstate(over="ignore"):
            weighted = float((sizes * table[:, 1]).max(initial=0.0))
        state.largest_weighted = max(state.largest_weighted, weighted)
        state.n_rows += len(table)
        if state.waiting is not None:
            table = np.vstack([state.waiting, table])
        ends = state.n_rows == self.n_rows
        n = len(table) if ends else len(table) // ROWS_OF_A_BLOCK * ROWS_OF_A_BLOCK
        for start in range(0, n, ROWS_OF_A_BLOCK):
            norms, counts, *targets = table[start : min(start + ROWS_OF_A_BLOCK, n)].T.copy()
            state.sums.add(norms, np.array(targets).T if targets else None, counts)
        state.waiting = table[n:].copy()


# --- rows that are learned from once ------------------------------------------------------------


@dataclass
class Online:
    """A serial estimator in a pass of ``partial_fit``."""

    model: Any
    n_rows: int = 0
    waiting: Chunk | None = None


@dataclass(frozen=True)
class GoesOn:
    """Lets a serial estimator learn from a block by ``partial_fit``, ``ROWS`` rows at a time."""

    options: dict[str, Any]
    n_rows: int
    wide: tuple[int, int | None]

    def __call__(self, state: Online, block: Chunk, order: NDArray[np.int64]) -> None:
        rows = taken(as_wide(block, *self.wide), order)
        state.n_rows += len(order)
        rows = rows if state.waiting is None else joined([state.waiting, rows])
        n = rows.X.shape[0]
        whole = n if state.n_rows == self.n_rows else n // ROWS * ROWS
        for start in range(0, whole, ROWS):
            self.learn(state.model, part(rows, start, min(start + ROWS, whole)))
        state.waiting = part(rows, whole, n)

    def learn(self, model: Any, rows: Chunk) -> None:
        """Learn as in a pass of the serial ``partial_fit``, on a model that nobody else has."""
        log = model._undo = UndoLog(model)
        model._learn_rows(*rows[:2], rows.weight, of_pass=True, **self.options)
        log.end(keep=True)
        del model._undo


# --- a fit ----------------------------------------------------------------------------------------


class BlockRows(SourceRows):
    """The rows of blocks, which chains of tasks visit where they are."""

    def __init__(self, blocks: Blocks, check: Prepare, label: str) -> None:
        self.blocks, self._prepare, self.label = blocks, check, label
        self.facts, self._survey = blocks.facts(), None
        self.n_visits = self.facts.n_rows
        check_any_rows(blocks)
        self.X, self.problems = self._first()
        futures = blocks.prepared(Prepares(check))
        self.rows = [[*each] for each in zip(blocks.futures, futures, strict=True)]

    def hold_out(self, *_: Any) -> Any:
        raise ValueError("early_stopping must be False over blocks, which hold no rows out")

    def held_out(self, plan: Plan) -> None:
        return None

    def _first(self) -> tuple[sparse.csr_matrix, Problems]:
        first = next(each.first for each in self.blocks.known() if each.tally.n_rows)
        return self._prepare(as_wide(first, self.facts.n_features, self.facts.n_labels))

    def identity(self) -> dict[str, Any]:
        return {"the facts of X": vars(self.facts), "the blocks": self.blocks.identity()}

    def _take_survey(self, settings: Settings, of_targets: bool) -> Any:
        n_targets = self.problems.numbers_of_targets().shape[1] if of_targets else 0
        shape = self.n_visits, self.facts.n_features
        step = Surveys(of_targets, float(settings.fit_intercept), *shape)
        end = chain(self.blocks, step, self.rows, Surveyed(Survey(n_targets)), "survey")
        return self.blocks.gathered([end])[0]

    def passes(self, learners: list[AnyLearner], plan: Plan) -> PassOver:
        facts, first, outputs = self.facts, 0, []
        length = length_of_chunks(len(learners), facts.n_rows, facts.n_values, plan.batch_size)
        self._check_batches(length, plan.batch_size)
        for learner in learners:
            outputs.append(range(first, first := first + learner.engine.n_outputs))

        def begun(number: int, epoch: int, t: int) -> Future:
            """The future of an engine after an epoch."""
            learner = learners[number]
            shape = length, facts.n_rows, facts.n_features
            step = Learns(learner.plan, outputs[number], *shape)
            state = Visiting(copy.deepcopy(learner.engine), t)
            return chain(self.blocks, step, self.rows, state, f"{self.label}-{number}", epoch)

        def pass_over(
            epoch: int,
            t: int,
            progress: Progress,
            losses: NDArray[np.float64],
            workers: Workers | None,
            begin: int,
            after: Callable[[int], None],
        ) -> int:
            if begin == facts.n_rows:
                return t + plan.n_steps(facts.n_rows)
            # The engines change together: a pass that fails changes none of them.
            ends = [begun(number, epoch, t) for number in range(len(learners))]
            found = self.blocks.gathered(ends)
            for learner, state in zip(learners, found, strict=True):
                learner.engine.set_state(state.engine.state())
            losses += [state.loss for state in found]
            progress.advance(facts.n_rows)
            after(facts.n_rows)
            return int(found[0].t)

        return pass_over

    def _check_batches(self, length: int, size: int) -> None:
        """Refuse batches of rows that cross the border of two blocks."""
        end = 0
        for name, each in zip(self.blocks.names, self.blocks.known(), strict=True):
            end += each.tally.n_rows
            if end % length % size and end < self.n_visits:
                raise ValueError(
                    f"batch_size={size} needs blocks whose numbers of rows it divides, except for "
                    f"the last, and {name} has {each.tally.n_rows} rows"
                )


def check_any_rows(blocks: Blocks) -> None:
    """Refuse blocks without a row that counts."""
    if not blocks.facts().n_rows:
        raise ValueError("X must have at least one row, and the blocks have none")
    if not any(each.counts for each in blocks.known()):
        check_any_counts(np.zeros(1))
