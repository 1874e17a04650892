"""A grid of settings over blocks: the matrices of weights of all folds go round the ring.

A fold holds out the rows whose numbers, counted over all blocks, leave the remainder k when they
are divided by the number of folds.  A matrix of weights visits the blocks twice in an epoch: it
learns from the rows of its fold in their order, and then judges the rows that are held out.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray

from lazynet.choice import refuse_lost_class, refuse_side
from lazynet.dask.blocks import Blocks
from lazynet.dask.checked import check_rows_for_folds
from lazynet.dask.fits import BlockRows
from lazynet.dask.held import Prepare, Prepared
from lazynet.dask.ring import Traveller
from lazynet.dask.visits import Block, copied
from lazynet.data import count_of_values, sizes_of
from lazynet.defaults import is_table
from lazynet.engines.base import Engine
from lazynet.engines.grid import GridOnClock
from lazynet.estimators.doubts import Rate
from lazynet.estimators.grid_course import Search
from lazynet.estimators.grid_rows import Visit, late
from lazynet.grid_visits import Matrix, ProblemRows, chunks_of, judged, learned, rates_of
from lazynet.grids import STEPS_AT_ONCE, GridMatrices, Setting
from lazynet.importances import total_of
from lazynet.learners import AnyLearner, new_learners, spans
from lazynet.plan import Plan
from lazynet.problems import Classes
from lazynet.progress import Progress
from lazynet.streams.chunks import Chunk
from lazynet.threads import Workers

# --- what a matrix does on a block ---------------------------------------------------------------


@dataclass(frozen=True)
class GridOnTheWay:
    """A matrix on its way, with the sums of the losses of its settings in this round."""

    matrix: Matrix
    #: the number of the step that comes next
    t: int
    #: whether it judges rows that are held out, and learns from none
    judging: bool
    sums: NDArray[np.float64]
    #: the rows that it has passed in this round
    n_rows: int = 0

    def at_next_round(self, judging: bool) -> GridOnTheWay:
        """The state with which the next round begins."""
        return GridOnTheWay(self.matrix, self.t, judging, self.matrix.zeros)


@sizeof.register(GridOnTheWay)
def _bytes_of_matrix(state: GridOnTheWay) -> int:
    """What Dask is told of the size of a state."""
    if state.matrix.engine is None:
        return 0
    parts = state.matrix.engine.state()
    return sum(a.nbytes for part in parts for a in part.values())


def copied_matrix(matrix: Matrix) -> Matrix:
    """A copy of a matrix, in arrays that can be written to."""
    if matrix.engine is None:
        return matrix
    return matrix._replace(engine=copied(matrix.engine))


@dataclass(frozen=True)
class GridVisitor:
    """Lets a matrix learn from the rows of its fold in a block, or judge those that are held out.

    In rounds that alternate, where there is something to judge.
    """

    #: the plans of the settings of the matrix, and the type of its weights
    plans: Sequence[Plan]
    dtype: Any
    #: 1: no row is held out
    n_folds: int
    #: the rows of all blocks
    n_rows: int

    def visit(
        self, block: Block, travelling: GridOnTheWay, resident: None
    ) -> tuple[GridOnTheWay, None]:
        """Visit the rows of a block."""
        state = travelling
        if state.n_rows == self.n_rows:
            state = state.at_next_round(not state.judging and self.n_folds > 1)
        n = block.chunk.X.shape[0]
        state = replace(state, n_rows=state.n_rows + n)
        if state.matrix.engine is None:
            return state, None
        numbers = np.arange(state.n_rows - n, state.n_rows)
        held_out = (self.n_folds > 1) & (numbers % self.n_folds == state.matrix.fold)
        some = np.flatnonzero(held_out == state.judging)
        X, plan = block.rows(), self.plans[0]
        targets, importances = block.problems()[state.matrix.problem]
        sizes = block.sizes(plan.sizes, X)
        rows = ProblemRows.of(X, sizes, importances, targets)
        matrix, sums = copied_matrix(state.matrix), state.sums.copy()
        assert matrix.engine is not None, "it is that of the state"
        task = plan.task(matrix.engine)
        if state.judging:
            # This may bring weights current, which rounds them.
            judged(matrix, rows, task, some, sums)
            return replace(state, matrix=matrix, sums=sums), None
        rates, t = rates_of(self.plans, self.dtype), state.t
        for start, stop in spans(len(some), STEPS_AT_ONCE):
            (chunk,) = chunks_of(some[start:stop], t, [rates])
            matrix = learned(matrix, rows, task, chunk, sums)
            t += stop - start
        if isinstance(matrix.engine, GridOnClock):
            # They belong to the last chunk alone, and do not travel.
            matrix.engine.own_steps = None
        return replace(state, matrix=matrix, t=t, sums=sums), None


# --- the matrices on the client ------------------------------------------------------------------


class GridOnWorkers(GridMatrices):
    """The matrices of weights, which learn from blocks of rows on workers."""

    def __init__(
        self,
        plans: Sequence[Plan],
        settings: Sequence[Setting],
        n_features: int,
        n_problems: int,
        n_rows: int,
        held_out: Sequence[int],
        counts: NDArray[np.float64],
        p: SimpleNamespace,
        traveller: Callable[[str], Traveller],
    ) -> None:
        super().__init__(plans, settings, n_features, len(held_out), n_problems, p.dtype)
        #: the rows of all blocks, those that every fold learns from, and the weight of the others
        self.n_rows, self.counts = n_rows, counts
        self.lengths = [n_rows - n for n in held_out]
        #: the epochs that have not begun, and the number of the next round
        self._left, self._round = p.max_iter, 0
        self.travellers = [traveller(f"matrix{k}") for k in range(len(self.matrices))]
        self._visitors = [
            GridVisitor(plans[matrix.columns], p.dtype, self.n_folds, self.n_rows)
            for matrix in self.matrices
        ]

    def _go_round(self, *, judging: bool, goes_on: bool) -> list[GridOnTheWay]:
        """Let every matrix visit all blocks once, and begin the next round if there is one.

        The matrices change together: a round that fails changes none of them.
        """
        trips = list(zip(self.travellers, self._visitors, self.matrices, strict=True))
        for traveller, visitor, matrix in trips:
            state = GridOnTheWay(matrix, self.taken[matrix.fold], judging, matrix.zeros)
            traveller.begin(self._round, visitor, state)
        self._round += 1
        if goes_on:
            for traveller in self.travellers:
                traveller.go_on(self._round)
        found = [traveller.end(self._round - 1)[0] for traveller in self.travellers]
        self.matrices = [copied_matrix(state.matrix) for state in found]
        return found

    def epoch(
        self,
        order: NDArray[np.int64] | None,
        workers: Workers,
        after: Callable[[], None] | None = None,
    ) -> NDArray[np.float64]:
        if not self.at:
            self._begin_epoch()
            self._left -= 1
            found = self._go_round(judging=False, goes_on=self.n_folds > 1 or self._left > 0)
            self.sums = [state.sums for state in found]
            self.taken = [t + n for t, n in zip(self.taken, self.lengths, strict=True)]
            self.counted, self.at = list(self.lengths), self.n_rows
            if after is not None:
                after()
        self.at = 0
        return self._gathered(self.sums) / np.maximum(self.counted, 1)

    def held_out(self, workers: Workers) -> NDArray[np.float64]:
        found = self._go_round(judging=True, goes_on=self._left > 0)
        return self._gathered([state.sums for state in found]) / self.counts


# --- the rows ------------------------------------------------------------------------------------


class FoldFacts(NamedTuple):
    """What the client is told of the rows of a block and their folds."""

    #: the stored values that are not 0
    n_values: int
    #: the weights of the rows, where there are any
    importances: NDArray[np.float64] | None
    #: the rows of a weight above 0 by the fold that holds them out, and by class
    counts: NDArray[np.int64]


def fold_facts(
    chunk: Chunk, prepared: Prepared, first: int, n_folds: int, n_classes: int
) -> FoldFacts:
    """The facts of a block whose first row has the number ``first``."""
    block = Block(chunk, prepared)
    problems = block.problems()
    weights, counts = problems.importances, np.zeros((n_folds, n_classes), dtype=np.int64)
    codes = problems.codes if isinstance(problems, Classes) else np.zeros(len(block.order), int)
    folds = np.arange(first, first + len(codes)) % n_folds
    np.add.at(counts, (folds, codes), 1 if weights is None else weights > 0)
    return FoldFacts(count_of_values(block.rows()), weights, counts)


class BlockGridRows:
    """``lazynet.estimators.grid_rows.GridRows`` that lie in blocks on workers."""

    def __init__(
        self,
        blocks: Blocks,
        prepare: Prepare,
        p: SimpleNamespace,
        classes: NDArray[Any] | None,
        label: str,
    ) -> None:
        self.rows = BlockRows(blocks, prepare, p, label)
        self.n_rows, self.classes = self.rows.n_rows, classes
        self.n_folds = 1 if p.progressive else int(p.cv)
        self._facts: list[FoldFacts] = []
        self._training: GridOnWorkers | None = None

    @property
    def travellers(self) -> list[Traveller]:
        """Whatever has gone round."""
        search = [] if self._training is None else self._training.travellers
        return [*search, *getattr(self.rows, "travellers", [])]

    def find_folds(self, p: SimpleNamespace, generator: np.random.RandomState | None) -> None:
        """Look at the rows of every fold; refuse folds that cannot be learned from or judged by."""
        blocks = self.rows.blocks
        client, lengths = blocks.client, blocks.lengths
        check_rows_for_folds(self.n_folds, self.n_rows)
        n_classes = 1 if self.classes is None else len(self.classes)
        key = f"lazynet-folds-{uuid.uuid4().hex}"
        starts = np.cumsum([0, *lengths]).tolist()
        self._facts = blocks.ring.gathered(
            [
                client.submit(
                    fold_facts, *held, start, self.n_folds, n_classes, key=f"{key}-{k}", pure=False
                )
                for k, (held, start) in enumerate(zip(self.rows.held(), starts, strict=False))
            ]
        )
        weights = self._importances()
        if self.n_folds == 1:
            return
        if weights is not None:
            total_of(weights)
        counts = np.sum([each.counts for each in self._facts], axis=0)
        for number, out in enumerate(counts):
            kept = counts.sum(axis=0) - out
            for side, given in (("learn from", kept), ("hold out", out)):
                if not given.any():
                    refuse_side(number, side)
            if self.classes is not None and not kept.all():
                refuse_lost_class(number, self.classes[kept == 0][0])

    def _importances(self) -> NDArray[np.float64] | None:
        """The weight of every row; None where all count the same."""
        given = [each.importances for each in self._facts]
        if all(each is None for each in given):
            return None
        pairs = zip(given, self.rows.blocks.lengths, strict=True)
        return np.concatenate([np.ones(n) if each is None else each for each, n in pairs])

    def told(self) -> dict[str, Any]:
        return self.rows.told()

    def shape(self) -> tuple[int, int, int]:
        facts = self.rows.facts
        sizes, n_values = (self.n_rows, facts.n_features), facts.n_values
        if is_table(*sizes, n_values):
            n_values = sum(each.n_values for each in self._facts)
        return *sizes, n_values

    def find_units(self, p: SimpleNamespace) -> None:
        # As in every fit from a source, features are learned from as they are.
        return None

    def find_l1(self, p: SimpleNamespace, shape: tuple[int, int, int]) -> None:
        if p.one.finds_l1 and p.one.engine.takes_l1:
            p.model._take_l1(p.one, self.rows.surveyed(p.one).sums, shape)

    def scale_of_rates(self, model: Any, p: SimpleNamespace) -> float:
        def largest_norm(weighted: bool) -> float:
            found = self.rows.surveyed(p)
            return float(found.largest_weighted if weighted else found.largest)

        return float(model._scale_of_rates(p, largest_norm, np.ones(1)))

    def training(
        self, p: SimpleNamespace, plans: Sequence[Plan], settings: Sequence[Setting]
    ) -> GridMatrices:
        weights, folds = self._importances(), range(self.n_folds if self.n_folds > 1 else 0)
        held = [slice(number, self.n_rows, self.n_folds) for number in folds] or [slice(0, 0)]
        lengths = [len(range(self.n_rows)[each]) for each in held]
        # The sum over a copy has the digits of the sum over chosen rows in memory.
        counts = lengths if weights is None else [weights[each].copy().sum() for each in held]
        self._training = GridOnWorkers(
            plans, settings, self.rows.facts.n_features, len(self.rows.first()[1]), self.n_rows,
            lengths, np.array(counts, dtype=np.float64), p, self.rows.traveller,
        )  # fmt: skip
        return self._training

    def learners(self, engines: Sequence[Engine], plan: Plan) -> list[AnyLearner]:
        X, problems = self.rows.first()
        return new_learners(engines, X, problems, plan, sizes_of(X, plan.sizes))

    def passes(self, learners: Sequence[AnyLearner], plan: Plan, epochs: int) -> Visit:
        self.rows.p = SimpleNamespace(max_iter=epochs)
        pass_over = self.rows.passes(list(learners), plan)
        silent = Progress(0, False, "")

        def visit(
            order: NDArray[np.int64] | None,
            epoch: int,
            losses: NDArray[np.float64] | None,
            workers: Workers,
            begin: int,
            after: Callable[[int], None],
        ) -> int:
            sums = np.zeros(len(learners)) if losses is None else losses
            return pass_over(epoch, epoch * self.n_rows, silent, sums, workers, begin, after)

        return visit

    def doubts(
        self,
        p: SimpleNamespace,
        rate: Rate,
        learners: Sequence[AnyLearner],
        found: Search,
        curve: list[float],
        kept: float,
    ) -> list[Warning]:
        # As in every fit from a source, the first epoch stands for a constant prediction.
        return late(p, rate, found, curve, curve[0])

    def give_up(self) -> None:
        """Give up what is on its way."""
        for traveller in self.travellers:
            traveller.give_up()
