"""Chains of tasks: a model visits one block after the other, and a visit is a pure function.

    state = visit(blocks, numbers, state)

A visit changes a copy of the state, so that Dask can repeat it after the loss of a worker, with the
same bits.  The chain of an epoch begins with a state on the client, so that only this epoch must be
repeated.  The chains of several models run in parallel.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from distributed import Future
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.blocks import Blocks, Layout, aligned
from lazynet.data.arrays import as_examples, check_any_weight
from lazynet.data.chunks import Chunk
from lazynet.data.statistics import ROWS_OF_A_BLOCK, FeatureMoments, RowStatistics, Units
from lazynet.data.targets import Targets
from lazynet.engines.base import Engine
from lazynet.engines.outputs import OutputsEngine
from lazynet.kernels.objective import loss_of_predictions
from lazynet.kernels.steps import Steps
from lazynet.training.loop import Training
from lazynet.training.passes import length_of_chunks, new_learners
from lazynet.training.plan import Plan
from lazynet.training.rows import Prepare, SourceRows
from lazynet.training.settings import Settings

Numbers = NDArray[np.float64]


def checks_by(serial: type[Any], settings: Settings, n_features: int, classes: Any) -> Prepare:
    """A function that checks a chunk, as the serial estimator checks the rows of a fit."""
    probe = serial()
    probe.n_features_in_ = n_features
    if classes is not None:
        probe.classes_ = classes
    # Only the settings that the checks use: then fits with other settings share the result.
    used = SimpleNamespace(class_weight=settings.class_weight, softmax=settings.softmax)
    return partial(probe._rows_of_chunk, used)


class State:
    """The state that a visit passes to the next visit.

    ``block`` returns a function that visits some rows of a block and returns numbers of each
    row.  ``add`` adds the numbers of all rows of a chunk.
    """

    n_rows = 0
    #: the numbers of the rows of a chunk that continues in the next block
    parts: tuple[tuple[Numbers, ...], ...] = ()


class Trained(State):
    """An engine, which learns the outputs from ``first`` on, in an epoch that begins at step t."""

    def __init__(self, engine: Engine, plan: Plan, first: int, t: int) -> None:
        self.engine, self.plan, self.first, self.t = engine, plan, first, t
        self.loss, self.sums = 0.0, np.zeros(engine.n_outputs)

    def block(self, X: sparse.csr_matrix, targets: Targets) -> Any:
        plan, engine = self.plan, self.engine
        (learner,) = new_learners([engine], X, targets, plan, None, self.first)
        y: Any = None if isinstance(engine, OutputsEngine) else targets[self.first][0]
        weights = targets.importances_or_ones

        def take(rows: NDArray[np.int64]) -> tuple[Numbers, ...]:
            t = self.t + self.n_rows
            steps, task = plan.steps(rows, t), plan.task(engine)
            if isinstance(engine, OutputsEngine):
                examples, block = learner.examples, learner.block
                engine.learn(examples, block, steps, task, t, self.sums, plan.softmax)
                return ()
            predictions = np.empty(len(rows))
            engine.take(learner.examples, steps.with_predictions(predictions), task, t)
            return predictions, y[rows], weights[rows]

        return take

    def add(self, *parts: Numbers) -> None:
        """Add the loss of a chunk, bit-identical to a serial fit."""
        with np.errstate(over="ignore"):
            if not parts:
                self.loss += float(self.sums.sum())
                self.sums[:] = 0.0
                return
            predictions, *targets = parts
            n, loss = len(predictions), self.plan.loss
            examples = as_examples(sparse.csr_matrix((n, 0)), *targets)
            steps = Steps(np.arange(n), *np.ones((2, n)), *np.zeros((2, n)), None, predictions)
            self.loss += loss_of_predictions(examples, steps, loss.code, loss.epsilon)


class Counted(State):
    """Statistics of the rows, and of their targets if asked."""

    def __init__(self, statistics: RowStatistics, of_targets: bool) -> None:
        self.statistics, self.of_targets = statistics, of_targets

    def block(self, X: sparse.csr_matrix, targets: Targets) -> Any:
        columns = [as_examples(X).squared_norms(), targets.importances_or_ones]
        columns += [targets.in_columns()] if self.of_targets else []
        return lambda rows: tuple(column[rows] for column in columns)

    def add(self, *parts: Numbers) -> None:
        norms, weights, *targets = parts
        self.statistics.add(norms, targets[0] if targets else None, weights)


class CountedFeatures(State):
    """The moments of the features."""

    def __init__(self, moments: FeatureMoments) -> None:
        self.moments = moments

    def block(self, X: sparse.csr_matrix, targets: Targets) -> Any:
        def take(rows: NDArray[np.int64]) -> tuple[Numbers, ...]:
            self.moments.count(X, rows)
            return ()

        return take

    def add(self, *parts: Numbers) -> None:
        """Do nothing: the rows are counted one by one."""


def _in_units(check: Prepare, units: Units, *arguments: Any) -> tuple[sparse.csr_matrix, Targets]:
    """The checked rows of a chunk in these units, and their targets."""
    X, targets = check(*arguments)
    return units.rows(X), targets


# Dask moves and spills data by their size, and cannot measure these classes by itself.
@sizeof.register(Targets)
def _bytes_of_targets(targets: Targets) -> int:
    return sum(int(sizeof(value)) for value in vars(targets).values())


@sizeof.register(State)
def _bytes_of_state(state: State) -> int:
    arrays = [numbers for part in state.parts for numbers in part]
    if isinstance(state, Trained):
        arrays += state.engine.state().values()
    if isinstance(state, CountedFeatures):
        arrays += state.moments.state().values()
    return 1000 + sum(array.nbytes for array in arrays)


@dataclass(frozen=True)
class Visit:
    """Visits the checked rows of some blocks, in the chunks of a serial fit."""

    check: Prepare
    layout: Layout
    epoch: int
    #: the rows of a chunk, and all rows
    length: int
    n_rows: int

    def __call__(self, blocks: Sequence[Chunk], numbers: range, state: Any) -> Any:
        """The state after a visit to each of ``blocks``, which have these numbers."""
        state = copy.deepcopy(state)
        for chunk, number in zip(blocks, numbers, strict=True):
            take = state.block(*self.check(aligned(chunk), True))
            order = self.layout.order(chunk, number, self.epoch)
            while len(order):
                rows, order = np.split(order, [self.length - state.n_rows % self.length])
                state.parts += (take(rows),)
                state.n_rows += len(rows)
                if state.n_rows % self.length == 0 or state.n_rows == self.n_rows:
                    state.add(*map(np.concatenate, zip(*state.parts, strict=True)))
                    state.parts = ()
        return state


def _has_weight(check: Prepare, chunk: Chunk) -> bool:
    """Whether a row of a block has a weight above 0; the rows are checked."""
    return bool(check(chunk)[1].importances_or_ones.any())


class BlockRows(SourceRows):
    """The rows of blocks, which chains of tasks visit on the workers of the blocks."""

    def __init__(self, blocks: Blocks, check: Prepare, label: str) -> None:
        self.blocks, self.label = blocks, label
        super().__init__(blocks, check)
        check_any_weight(any(blocks.gathered(blocks.prepared(partial(_has_weight, check)))))

    def _first(self) -> tuple[sparse.csr_matrix, Targets]:
        _, first = self.blocks.block_facts()[0]
        return self._prepare(aligned(first))

    def identity(self) -> dict[str, Any]:
        return {"the facts of X": vars(self.facts), "the seed of blocks": self.blocks.seed}

    def _chain(self, key: str, state: Any, epoch: int, length: int) -> Future:
        """The last of a chain of tasks, one per group of blocks."""
        blocks = self.blocks
        check = self._prepare
        if self._units is not None:
            check = partial(_in_units, check, self._units)
        visit = Visit(check, blocks.layout, epoch, length, self.facts.n_rows)
        for group, home in blocks.groups():
            rows, name = [blocks.futures[k] for k in group], f"{key}-block{group.start}"
            state = blocks.submitted(name, visit, rows, group, state, home=home)
        return state  # type: ignore[no-any-return]

    def statistics(self, settings: Settings, of_targets: bool) -> RowStatistics:
        """The sums over the same pieces of rows as in a serial fit."""
        state = Counted(RowStatistics(float(settings.fit_intercept)), of_targets)
        end = self._chain("lazynet-statistics", state, 0, ROWS_OF_A_BLOCK)
        statistics: RowStatistics = self.blocks.gathered([end])[0].statistics
        return statistics

    def count(self, moments: FeatureMoments) -> None:
        end = self._chain("lazynet-moments", CountedFeatures(moments), 0, ROWS_OF_A_BLOCK)
        moments.set_state(self.blocks.gathered([end])[0].moments.state())

    def visit(self, training: Training) -> None:
        n_rows, epoch, ends, first = self.facts.n_rows, training.epoch, [], 0
        length = length_of_chunks(len(training.engines), n_rows, self.facts.n_values)
        for number, engine in enumerate(training.engines):
            key = f"lazynet-visit-{self.label}-{number}-epoch{epoch}"
            state = Trained(copy.deepcopy(engine), training.plan_now, first, training.t)
            ends.append(self._chain(key, state, epoch, length))
            first += engine.n_outputs
        # The engines change together: a pass that fails changes none of them.
        states = self.blocks.gathered(ends)
        for engine, state in zip(training.engines, states, strict=True):
            engine.set_state(state.engine.state())
        training.t += n_rows
        training.losses[:] += [state.loss for state in states]
        if training.after is not None:
            training.after(n_rows)
