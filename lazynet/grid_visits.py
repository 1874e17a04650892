"""Matrices of weights in which a column is a setting of a grid, and the rows that they visit.

A setting whose prediction or step is not a finite number leaves its matrix before this step, and
its loss is infinite from then on.  The other settings go on with the same step.  They have the
weights that they have in a grid without this setting: the same bits, unless its clock has made the
matrix bring all weights current earlier, which rounds every weight once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data import as_examples, only_named_columns
from lazynet.engines.grid import (
    GridOnClock,
    add_losses,
    forget_row,
    forget_slopes,
    learn_until_overflow,
    picked,
    set_sums,
    sums_of,
    would_overflow,
)
from lazynet.engines.outputs import OutputsEngine, width_of
from lazynet.kernels.examples import Examples, Steps, Task
from lazynet.kernels.outputs import OwnSteps, Targets
from lazynet.plan import Plan
from lazynet.rules.base import collected, lost_digits
from lazynet.schedules import Formula, Schedule, checked_rates
from lazynet.validation import copied_rows


class Matrix(NamedTuple):
    """Some settings of one problem in one fold: one matrix of weights."""

    fold: int
    problem: int
    columns: slice
    #: which of these settings have not overflowed: their places among the columns
    live: NDArray[np.int64]
    #: None after all have overflowed
    engine: OutputsEngine | None

    @property
    def zeros(self) -> NDArray[np.float64]:
        """An entry per setting: 0, and infinity after an overflow."""
        losses = np.full(self.columns.stop - self.columns.start, np.inf)
        losses[self.live] = 0.0
        return losses

    def place_of(self, setting: int) -> int:
        """Where the engine has this setting."""
        return int(np.searchsorted(self.live, setting - self.columns.start))

    def left_to(self, live: NDArray[np.int64]) -> Matrix:
        """The matrix with these of its settings alone, which it has."""
        assert self.engine is not None, "no setting has left the matrix"
        engine = picked(self.engine, live, slice(None)) if len(live) else None
        return self._replace(live=live, engine=engine)


class ProblemRows(NamedTuple):
    """Rows as the matrices of one problem see them."""

    X: sparse.csr_matrix
    sizes: NDArray[np.float64] | None
    importances: NDArray[np.float64] | None
    examples: Examples
    #: the target of every row
    targets: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        X: sparse.csr_matrix,
        sizes: NDArray[np.float64] | None,
        importances: NDArray[np.float64] | None,
        targets: NDArray[np.float64],
    ) -> Self:
        """The rows of X with their sizes, importances and targets."""
        examples = as_examples(X, None, importances, sizes)
        return cls(X, sizes, importances, examples, np.require(targets, np.float64, ["C", "A"]))

    def targets_for(self, matrix: Matrix) -> Targets:
        """The targets that the settings of a matrix share."""
        return Targets(0, len(matrix.live), shared=self.targets)


class OwnShrinks(NamedTuple):
    """The rates and shrinks of a chunk: a row for every step, a column for every setting.

    ``rates``, ``keep`` and ``keep_low`` have one column where they are the same for all settings.
    """

    rates: NDArray[np.float64]
    keep: NDArray[np.float64]
    keep_low: NDArray[np.float64]
    pull: NDArray[np.float64]

    def of(self, columns: NDArray[np.int64], width: int, steps: slice) -> OwnSteps:
        """Those of some settings in some steps."""
        found = []
        # What only fills up a line of outputs does not shrink.
        for array, filling in zip(self, (0.0, 1.0, 0.0, 0.0), strict=True):
            part = array[steps]
            if array.shape[1] > 1:
                part = np.full((len(part), width), filling)
                part[:, : len(columns)] = array[steps, columns]
            found.append(part)
        return OwnSteps(*found)


class Own(NamedTuple):
    """What the settings of a matrix have for themselves in a chunk."""

    shrinks: OwnShrinks
    #: the same for the kernel, of all settings
    steps: OwnSteps


class Chunk(NamedTuple):
    """Some consecutive steps of a matrix."""

    #: the number of the first step in the whole run
    t: int
    rows: NDArray[np.int64]
    #: what all settings share
    steps: Steps
    #: where a schedule gives the rates
    own: Own | None


def chunks_of(rows: NDArray[np.int64], t: int, rates: Sequence[Rates | None]) -> list[Chunk]:
    """The steps on these rows from step ``t`` on, a chunk for each of the ``rates``."""
    steps, found = plain_steps(rows), []
    for each in rates:
        own = None
        if each is not None:
            shrinks = each.steps(t, len(rows))
            own = Own(shrinks, OwnSteps(*shrinks))
        found.append(Chunk(t, rows, steps, own))
    return found


def plain_steps(rows: NDArray[np.int64]) -> Steps:
    """Steps on these rows, whose rates and shrinks are not those of the steps."""
    ones, zeros = np.ones(len(rows)), np.zeros(len(rows))
    return Steps(np.ascontiguousarray(rows), ones, ones, zeros, zeros)


class Rates:
    """The rates and shrinks of the settings that share a matrix of weights."""

    def __init__(self, plans: Sequence[Plan], width: int) -> None:
        self.rule: Any = plans[0].rule
        self.width = width
        self.l1s = np.array([plan.penalty.l1 for plan in plans])
        #: settings side by side that have the schedule and the l2 in common, and so a and 1 - a of
        #: their shrinks
        self.groups: list[tuple[Schedule, float, slice]] = []
        for column, plan in enumerate(plans):
            if self.groups:
                schedule, l2, columns = self.groups[-1]
                if l2 == plan.penalty.l2 and _alike(schedule, plan.schedule):
                    self.groups[-1] = schedule, l2, slice(columns.start, column + 1)
                    continue
            self.groups.append((plan.schedule, plan.penalty.l2, slice(column, column + 1)))
        #: what only fills up a line of outputs
        self.rest = slice(len(plans), None)
        self.penalties = [plan.penalty for plan in plans]
        #: no setting refuses a rate up to this one
        self.harmless = min(self.rule.largest_rate(penalty) for penalty in self.penalties) / 2

    def steps(self, t: int, n: int) -> OwnShrinks:
        """The ``n`` steps from step ``t`` on: a row for every step, a column for every setting."""
        found = [
            (rates, self.rule.shrink(rates, self.l1s[columns], l2), columns)
            for rates, l2, columns in self._rates(t, n)
        ]
        shared = len(found) == 1 and np.size(found[0][1].keep) <= n
        rates, keep, low = (np.empty((n, 1 if shared else self.width)) for _ in range(3))
        pull = np.empty((n, self.width))
        if not shared:
            # What only fills up a line of outputs does not shrink.
            rates[:, self.rest], keep[:, self.rest], low[:, self.rest] = 0.0, 1.0, 0.0
        pull[:, self.rest] = 0.0
        for given, shrink, columns in found:
            pull[:, columns] = shrink.pull
            to = slice(1) if shared else columns
            rates[:, to], keep[:, to], low[:, to] = given, shrink.keep, lost_digits(shrink)
        if self.rule.period > 1:
            pull = np.ascontiguousarray(collected(pull.T, self.rule.period, t).T)
        return OwnShrinks(rates, keep, low, pull)

    def _rates(self, t: int, n: int) -> Iterator[tuple[NDArray[np.float64], float, slice]]:
        """The checked rates of every group, in a column, and its l2 and settings."""
        for schedule, l2, columns in self.groups:
            rates = checked_rates(schedule, t, t + n)
            if rates.max(initial=0.0) > self.harmless:
                for penalty in self.penalties[columns]:
                    self.rule.check_rates(rates, penalty, t)
            yield rates[:, None], l2, columns


def _alike(left: Schedule, right: Schedule) -> bool:
    return left is right or (isinstance(left, Formula) and bool(left == right))


def rates_of(plans: Sequence[Plan], dtype: Any) -> Rates | None:
    """The rates of the settings of a matrix, where a schedule gives them."""
    if plans[0].rule.has_state or plans[0].adaptive:
        return None
    return Rates(plans, width_of(len(plans), np.dtype(dtype)))


def learned(
    matrix: Matrix, rows: ProblemRows, task: Task, chunk: Chunk, losses: NDArray[np.float64]
) -> Matrix:
    """The matrix after the steps of a chunk, without the settings that overflow in them.

    The engine takes the steps in place.  The losses before the updates are added to ``losses``, an
    entry per setting.
    """
    done, n = 0, len(chunk.rows)
    while done < n and matrix.engine is not None:
        engine = matrix.engine
        if isinstance(engine, GridOnClock) and chunk.own is not None:
            whole = done == 0 and len(matrix.live) == len(losses)
            engine.own_steps = (
                chunk.own.steps
                if whole
                else chunk.own.shrinks.of(matrix.live, engine.width, slice(done, n))
            )
        sums = losses[matrix.live]
        done += learn_until_overflow(
            engine, rows.examples, rows.targets_for(matrix),
            plain_steps(chunk.rows[done:]) if done else chunk.steps, task, chunk.t + done, sums,
        )  # fmt: skip
        losses[matrix.live] = sums
        if done < n:
            matrix = _left_by_overflowing(matrix, rows, task, chunk, done, losses)
            done += 1
    return matrix


def _left_by_overflowing(
    matrix: Matrix,
    rows: ProblemRows,
    task: Task,
    chunk: Chunk,
    step: int,
    losses: NDArray[np.float64],
) -> Matrix:
    """Take a step without the settings that overflow in it, which leave the matrix.

    Which ones they are, the kernel says of every setting alone.
    """
    engine = matrix.engine
    assert engine is not None
    row = chunk.rows[step]
    here = copied_rows(rows.X, np.array([row]))
    importances = None if rows.importances is None else rows.importances[[row]]
    sizes = None if rows.sizes is None else rows.sizes[[row]]
    if sizes is not None and forget_row(engine):
        sizes = np.zeros(1)
    target, steps = rows.targets[[row]], plain_steps(np.zeros(1, dtype=np.int64))
    features, reduced = only_named_columns(here)
    alone = as_examples(reduced, None, importances, sizes)

    def prepared(columns: NDArray[np.int64], which: Any) -> OutputsEngine:
        some = picked(engine, columns, which)
        if isinstance(some, GridOnClock) and chunk.own is not None:
            one_step = slice(step, step + 1)
            some.own_steps = chunk.own.shrinks.of(matrix.live[columns], some.width, one_step)
        return some

    def one(place: int) -> OutputsEngine:
        return prepared(np.array([place]), features)

    def overflows(some: OutputsEngine) -> bool:
        return would_overflow(some, alone, Targets(0, 1, shared=target), steps, task)

    bad = np.array([overflows(one(place)) for place in range(engine.n_outputs)])
    for place in np.flatnonzero(~bad).tolist():

        def sums_after(sums: NDArray[np.float64], place: int = place) -> NDArray[np.float64]:
            some = one(place)
            set_sums(some, sums)
            overflows(some)
            return sums_of(some)

        forget_slopes(engine, place, sums_after)
    live, rest = matrix.live[~bad], None
    losses[matrix.live[bad]] = np.inf
    if len(live):
        rest = prepared(np.flatnonzero(~bad), slice(None))
        # This raises if a step still overflows.
        sums = losses[live]
        examples = as_examples(here, None, importances, sizes)
        targets = Targets(0, len(live), shared=target)
        rest.learn(examples, targets, steps, task, chunk.t + step, sums)
        losses[live] = sums
    return matrix._replace(live=live, engine=rest)


def judged(
    matrix: Matrix,
    rows: ProblemRows,
    task: Task,
    some: NDArray[np.int64],
    losses: NDArray[np.float64],
) -> None:
    """Add the losses of the settings on ``some`` rows to ``losses``, an entry per setting."""
    if matrix.engine is None:
        return
    sums = losses[matrix.live]
    add_losses(matrix.engine, rows.examples, rows.targets_for(matrix), some, task, sums)
    losses[matrix.live] = sums
