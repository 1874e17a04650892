"""A grid of settings that learns in one pass over X: a column of one matrix of weights for each.

Settings share the rows and their order, and differ in l1, l2 and the scale of the rates.  A fold
has a matrix of its own, whose steps leave the held-out rows out: its columns take the steps that a
fit on the other rows, in the same order, would take.  So has each class of several.

A setting whose prediction or step is not a finite number leaves its matrix before this step, and
its loss is infinite from then on.  The other settings go on with the same step.  They have the
weights that they have in a grid without this setting: the same bits, unless its clock has made the
matrix bring all weights current earlier, which rounds every weight once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.choice import Fold
from lazynet.data import as_examples, only_named_columns
from lazynet.engines.base import Engine
from lazynet.engines.grid import (
    GridOnClock,
    add_losses,
    column_of,
    forget_row,
    forget_slopes,
    learn_until_overflow,
    picked,
    present_rate_of,
    set_sums,
    sums_of,
    would_overflow,
)
from lazynet.engines.kept import Kept, places, put
from lazynet.engines.outputs import (
    AdaGradOutputs,
    CellOutputs,
    FTRLOutputs,
    OutputsEngine,
    RDAOutputs,
    width_of,
)
from lazynet.kernels import cells as cells_kernel
from lazynet.kernels.examples import Steps, Task
from lazynet.kernels.outputs import OwnSteps, Targets
from lazynet.learners import spans
from lazynet.plan import Plan
from lazynet.problems import Problems
from lazynet.rules.base import Rule, collected, lost_digits
from lazynet.schedules import Adaptive, Formula, Schedule, checked_rates, needs_scale
from lazynet.threads import Workers
from lazynet.validation import copied_rows

#: Steps of a chunk: their rows stay in the cache while every fold visits them.
STEPS_AT_ONCE = 2**11
#: Settings side by side in one matrix at most, so that threads can share a large grid.  The number
#: must not depend on the threads: the clocks of one matrix are set to their start together.
WIDEST = 32

_OUTPUTS: dict[str, type[CellOutputs]] = {
    kind.name: kind for kind in (AdaGradOutputs, FTRLOutputs, RDAOutputs)
}
# The setting of a rule that is the scale of its rates, and the power of a factor that scales it.
_RATES = {"adagrad": ("alpha", 1), "ftrl": ("alpha", 1), "rda": ("gamma", -1)}


class Setting(NamedTuple):
    """What one column learns with; ``factor`` multiplies the rates of the rule.

    >>> Setting(l1=0.1, l2=0.0)
    Setting(l1=0.1, l2=0.0, factor=1.0)
    """

    l1: float
    l2: float
    factor: float = 1.0


def check_offered(plan: Plan, factors: Sequence[float]) -> None:
    """Refuse a rule or a schedule that a grid cannot have, and factors that nothing would use.

    >>> from lazynet import SAGA, LazyNetClassifier
    >>> check_offered(LazyNetClassifier(rule=SAGA())._settle().plan, [1.0])
    Traceback (most recent call last):
    ...
    ValueError: rule=SAGA() cannot learn a grid of settings in one pass; accepted are 'fobos', \
'sgd', 'truncated_gradient' without a threshold, 'rda', 'ftrl' and 'adagrad'
    """
    rule, schedule = plan.rule, plan.schedule
    if rule.has_state and rule.name not in _OUTPUTS:
        raise ValueError(
            f"rule={rule!r} cannot learn a grid of settings in one pass; accepted are 'fobos', "
            f"'sgd', 'truncated_gradient' without a threshold, 'rda', 'ftrl' and 'adagrad'"
        )
    if rule.scheduled and isinstance(schedule, Adaptive):
        raise ValueError(
            f"schedule={schedule!r} cannot be used for a grid of settings: it lowers the rates "
            f"when one setting stalls, and settings stall at different times"
        )
    if all(factor == 1 for factor in factors):
        return
    if rule.scheduled and (plan.adaptive or not hasattr(schedule, "eta0")):
        what = "computes its rates from the rows" if plan.adaptive else "has no eta0"
        raise ValueError(
            f"rate_factors must be 1.0 with schedule={schedule!r}, which {what}: give eta0, or "
            f"another schedule"
        )


def planned(p: SimpleNamespace, settings: Sequence[Setting], eta0: float) -> list[Plan]:
    """The plan of every setting; ``eta0`` is the largest rate that suits all rows, or the given.

    Where no eta0 is given, a setting has no rate that its rule refuses, as in a fit of this setting
    alone.
    """
    plans = []
    for setting in settings:
        plan = Plan.of(SimpleNamespace(**{**vars(p), "l1": setting.l1, "l2": setting.l2}))
        own = eta0
        if plan.rule.scheduled:
            if p.eta0 is None and needs_scale(p.schedule):
                own = min(own, plan.rule.largest_rate(plan.penalty) / 2)
            if getattr(plan.schedule, "eta0", None) is not None and setting.factor != 1:
                plan = plan.with_schedule(_scaled(plan.schedule, setting.factor))
            own *= setting.factor
        plans.append(plan.known(own, None))
    return plans


def _scaled(schedule: Any, factor: float) -> Schedule:
    scaled: Schedule = replace(schedule, eta0=schedule.eta0 * factor).settled()
    return scaled


def scale_rates(rule: Rule, settings: NDArray[np.float64], factor: float) -> None:
    """Multiply the rates that a rule's ``settings`` (of one output) stand for by ``factor``."""
    name, power = _RATES[rule.name]
    settings[cells_kernel.settings(rule.name).index(name)] *= factor**power


def single_engine(plan: Plan, n_features: int, factor: float) -> Engine:
    """The engine of one setting alone."""
    engine = plan.new_engine(n_features)
    if not plan.rule.scheduled:
        scale_rates(plan.rule, engine.settings, factor)  # type: ignore[attr-defined]
    return engine


class _Block(NamedTuple):
    """Some settings of one problem in one fold: one matrix of weights."""

    fold: int
    problem: int
    columns: slice
    #: which of these settings have not overflowed: their places among the columns
    live: NDArray[np.int64]
    #: None after all have overflowed
    engine: OutputsEngine | None
    task: Task
    #: the target of every row
    numbers: NDArray[np.float64]
    targets: Targets

    @property
    def zeros(self) -> NDArray[np.float64]:
        """An entry per setting: 0, and infinity after an overflow."""
        losses = np.full(self.columns.stop - self.columns.start, np.inf)
        losses[self.live] = 0.0
        return losses

    def place_of(self, setting: int) -> int:
        """Where the engine has this setting."""
        return int(np.searchsorted(self.live, setting - self.columns.start))


class _OwnShrinks(NamedTuple):
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


class _Own(NamedTuple):
    """What the settings of a part have for themselves in a chunk."""

    shrinks: _OwnShrinks
    #: the same for the kernel, of all settings
    steps: OwnSteps


class _Chunk(NamedTuple):
    """Some consecutive steps of a fold."""

    #: the number of the first step in the whole run
    t: int
    rows: NDArray[np.int64]
    #: what all settings share
    steps: Steps
    #: by part, where a schedule gives the rates
    own: list[_Own | None]


class GridTraining:
    """The matrices of weights of all folds and problems, and the passes that they learn in."""

    def __init__(
        self,
        plans: Sequence[Plan],
        settings: Sequence[Setting],
        X: sparse.csr_matrix,
        problems: Problems,
        folds: Sequence[Fold],
        sizes: NDArray[np.float64] | None,
        dtype: Any = np.float64,
    ) -> None:
        self.plans, self.folds, self.n_settings = plans, folds, len(plans)
        self.n_problems = len(problems)
        self.importances = problems.importances
        self.examples = as_examples(X, None, self.importances, sizes)
        self.X, self.sizes = X, sizes
        #: which rows every fold learns from; None for all rows
        self.learned: list[NDArray[np.bool_] | None] = []
        for fold in folds:
            mask = np.zeros(X.shape[0], dtype=bool)
            mask[fold.train] = True
            self.learned.append(None if mask.all() else mask)
        #: the number of steps that every fold has taken
        self.taken = [0] * len(folds)
        #: the rows of the present epoch that have been visited
        self.at = 0
        self.parts = [slice(*span) for span in spans(self.n_settings, WIDEST)]
        self.blocks = [
            self._block(number, problem, targets, part, settings, X.shape[1], dtype)
            for number in range(len(folds))
            for problem, (targets, _) in enumerate(problems)
            for part in self.parts
        ]
        scheduled = not (plans[0].rule.has_state or plans[0].adaptive)
        #: the rates of every part, where a schedule gives them
        self.rates = [
            _Rates(plans[part], width_of(part.stop - part.start, np.dtype(dtype)))
            if scheduled
            else None
            for part in self.parts
        ]
        self._begin_epoch()
        assert self.blocks[0].engine is not None
        #: what to do about an overflow
        self.advice = self.blocks[0].engine.advice

    def _block(
        self,
        fold: int,
        problem: int,
        targets: NDArray[np.float64],
        part: slice,
        settings: Sequence[Setting],
        n_features: int,
        dtype: Any,
    ) -> _Block:
        plans = self.plans[part]
        plan, n = plans[0], len(plans)
        engine: OutputsEngine
        if plan.rule.has_state:
            engine = _OUTPUTS[plan.rule.name](
                n_features, n, plan.rule, [each.penalty for each in plans], dtype, loss=plan.loss
            )
            for row, setting in zip(engine.settings, settings[part], strict=False):
                scale_rates(plan.rule, row, setting.factor)
            # An output that only fills up a line has the settings of the first.
            engine.settings[n:] = engine.settings[0]
        else:
            engine = GridOnClock(n_features, n, dtype, strengths=_strengths(plans))
        aligned = np.require(targets, np.float64, ["C", "A"])
        return _Block(
            fold, problem, part, np.arange(n), engine, plan.task(engine), aligned,
            Targets(0, n, shared=aligned),
        )  # fmt: skip

    def epoch(
        self,
        order: NDArray[np.int64],
        workers: Workers,
        after: Callable[[], None] | None = None,
    ) -> NDArray[np.float64]:
        """Visit the rows in ``order``, those that are left; returns the losses before the updates.

        ``after`` is called after every chunk of rows.  The losses are means.

        The result has a row per setting and a column per fold; over several problems it is the
        mean.  It is infinite after an overflow.
        """
        if not self.at:
            self._begin_epoch()
        for start, stop in spans(len(order), STEPS_AT_ONCE, self.at):
            chunks: list[_Chunk | None] = []
            for fold, learned in enumerate(self.learned):
                rows = order[start:stop]
                rows = rows if learned is None else rows[learned[rows]]
                chunks.append(self._chunk(rows, self.taken[fold]) if len(rows) else None)
                self.taken[fold] += len(rows)
                self.counted[fold] += len(rows)

            def visit(number: int, chunks: list[_Chunk | None] = chunks) -> None:
                chunk = chunks[self.blocks[number].fold]
                if chunk is not None:
                    self._learn(number, chunk, self.sums[number])

            workers.each(range(len(self.blocks)), visit)
            self.at = stop
            if after is not None:
                after()
        self.at = 0
        return self._gathered(self.sums) / np.maximum(self.counted, 1)

    def _begin_epoch(self) -> None:
        self.sums = [block.zeros for block in self.blocks]
        self.counted = [0] * len(self.folds)

    def kept(self) -> Kept:
        """The training between two chunks of rows; its arrays are not copied."""
        blocks: list[Kept] = []
        for block in self.blocks:
            state = None if block.engine is None else block.engine.state()
            arrays = {} if state is None else {**state.per_weight, **state.scalars}
            blocks.append({"live": block.live, "arrays": arrays})
        return {
            "at": self.at,
            "taken": list(self.taken),
            "counted": list(self.counted),
            "sums": list(self.sums),
            "blocks": blocks,
        }

    def keep(self, kept: Kept) -> None:
        """Take over another training of the same settings, which no step has been taken in."""
        self.at, self.taken = kept["at"], list(kept["taken"])
        self.counted = list(kept["counted"])
        for sums, target in zip(kept["sums"], self.sums, strict=True):
            put(target, "sums", {"sums": sums})
        for number, part in enumerate(kept["blocks"]):
            live = places("live", part, self.blocks[number].columns.stop)
            if len(live) < len(self.blocks[number].live):
                self._leave_alone(number, live)
            engine = self.blocks[number].engine
            if engine is not None:
                state = engine.state()
                for name, array in {**state.per_weight, **state.scalars}.items():
                    put(array, name, part["arrays"])

    def _leave_alone(self, number: int, live: NDArray[np.int64]) -> None:
        """Keep these of the settings of a block."""
        block, n = self.blocks[number], len(live)
        assert block.engine is not None, "no setting has left the block"
        engine = picked(block.engine, live, slice(None)) if n else None
        targets = Targets(0, max(n, 1), shared=block.numbers)
        self.blocks[number] = block._replace(live=live, engine=engine, targets=targets)

    def _chunk(self, rows: NDArray[np.int64], t: int) -> _Chunk:
        own: list[_Own | None] = [None] * len(self.parts)
        for part, rates in enumerate(self.rates):
            if rates is not None:
                shrinks = rates.steps(t, len(rows))
                own[part] = _Own(shrinks, OwnSteps(*shrinks))
        return _Chunk(t, rows, _plain_steps(rows), own)

    def _learn(self, number: int, chunk: _Chunk, losses: NDArray[np.float64]) -> None:
        """Let a block take the steps of a chunk, without the settings that overflow in them."""
        own = chunk.own[self.parts.index(self.blocks[number].columns)]
        done, n = 0, len(chunk.rows)
        while done < n:
            block = self.blocks[number]
            if block.engine is None:
                return
            begun = done == 0
            if isinstance(block.engine, GridOnClock) and own is not None:
                whole = begun and len(block.live) == len(losses)
                block.engine.own_steps = (
                    own.steps
                    if whole
                    else own.shrinks.of(block.live, block.engine.width, slice(done, n))
                )
            sums = losses[block.live]
            done += learn_until_overflow(
                block.engine, self.examples, block.targets,
                chunk.steps if begun else _plain_steps(chunk.rows[done:]), block.task,
                chunk.t + done, sums,
            )  # fmt: skip
            losses[block.live] = sums
            if done < n:
                self._leave_out(number, chunk, done, own, losses)
                done += 1

    def _leave_out(
        self,
        number: int,
        chunk: _Chunk,
        step: int,
        own: _Own | None,
        losses: NDArray[np.float64],
    ) -> None:
        """Take a step without the settings that overflow in it, which leave the block.

        Which ones they are, the kernel says of every setting alone.
        """
        block = self.blocks[number]
        engine = block.engine
        assert engine is not None
        row = chunk.rows[step]
        here = copied_rows(self.X, np.array([row]))
        importances = None if self.importances is None else self.importances[[row]]
        sizes = None if self.sizes is None else self.sizes[[row]]
        if sizes is not None and forget_row(engine):
            sizes = np.zeros(1)
        target, steps = block.numbers[[row]], _plain_steps(np.zeros(1, dtype=np.int64))
        features, reduced = only_named_columns(here)
        alone = as_examples(reduced, None, importances, sizes)

        def prepared(columns: NDArray[np.int64], which: Any) -> OutputsEngine:
            some = picked(engine, columns, which)
            if isinstance(some, GridOnClock) and own is not None:
                one_step = slice(step, step + 1)
                some.own_steps = own.shrinks.of(block.live[columns], some.width, one_step)
            return some

        def one(place: int) -> OutputsEngine:
            return prepared(np.array([place]), features)

        def overflows(some: OutputsEngine) -> bool:
            return would_overflow(some, alone, Targets(0, 1, shared=target), steps, block.task)

        bad = np.array([overflows(one(place)) for place in range(engine.n_outputs)])
        for place in np.flatnonzero(~bad).tolist():

            def sums_after(sums: NDArray[np.float64], place: int = place) -> NDArray[np.float64]:
                some = one(place)
                set_sums(some, sums)
                overflows(some)
                return sums_of(some)

            forget_slopes(engine, place, sums_after)
        live, rest = block.live[~bad], None
        losses[block.live[bad]] = np.inf
        n = len(live)
        if n:
            rest = prepared(np.flatnonzero(~bad), slice(None))
            # This raises if a step still overflows.
            sums = losses[live]
            examples = as_examples(here, None, importances, sizes)
            targets = Targets(0, n, shared=target)
            rest.learn(examples, targets, steps, block.task, chunk.t + step, sums)
            losses[live] = sums
        self.blocks[number] = block._replace(
            live=live, engine=rest, targets=Targets(0, max(n, 1), shared=block.numbers)
        )

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Whether a setting has overflowed in no fold and no problem."""
        found = np.ones(self.n_settings, dtype=bool)
        for block in self.blocks:
            found[block.columns] &= np.isfinite(block.zeros)
        return found

    def held_out(self, workers: Workers) -> NDArray[np.float64]:
        """The mean losses of the held-out rows: a row per setting, a column per fold.

        They are infinite after an overflow.
        """
        losses = [block.zeros for block in self.blocks]

        def judge(number: int) -> None:
            block = self.blocks[number]
            if block.engine is None:
                return
            rows, sums = self.folds[block.fold].test, np.zeros(len(block.live))
            add_losses(block.engine, self.examples, block.targets, rows, block.task, sums)
            losses[number][block.live] = sums

        workers.each(range(len(self.blocks)), judge)
        weights = self.importances
        counted = [
            float(len(fold.test) if weights is None else weights[fold.test].sum())
            for fold in self.folds
        ]
        return self._gathered(losses) / np.array(counted)

    def _gathered(self, losses: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The sums of losses by setting and fold, as means over the problems."""
        found = np.zeros((self.n_settings, len(self.folds)))
        for block, sums in zip(self.blocks, losses, strict=True):
            found[block.columns, block.fold] += sums
        return found / self.n_problems

    def nonzeros(self, workers: Workers) -> NDArray[np.int64]:
        """The number of weights that are not 0, of all problems together, by setting and fold.

        Weights that have overflowed are not counted.
        """

        def count(block: _Block) -> NDArray[np.int64]:
            workers.check()
            return np.zeros(0, np.int64) if block.engine is None else block.engine.nonzeros()

        found = np.zeros((self.n_settings, len(self.folds)), dtype=np.int64)
        for block, counts in zip(self.blocks, workers.results(self.blocks, count), strict=True):
            found[block.columns.start + block.live, block.fold] += counts
        return found

    def model(self, setting: int, fold: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of a setting, a row for every problem, and the intercepts."""
        columns = [
            column_of(block.engine, block.place_of(setting))
            for block in self.blocks
            if block.fold == fold
            and block.columns.start <= setting < block.columns.stop
            and block.engine is not None
        ]
        return np.vstack([weights for weights, _ in columns]), np.array([b for _, b in columns])

    def present_rate(self, setting: int) -> float | None:
        """The scale of the rates of a setting as of now, where they follow the rows; else None."""
        block = self.blocks[setting // WIDEST]
        assert block.engine is not None
        return present_rate_of(block.engine, block.place_of(setting))


def _plain_steps(rows: NDArray[np.int64]) -> Steps:
    """Steps on these rows, whose rates and shrinks are not those of the steps."""
    ones, zeros = np.ones(len(rows)), np.zeros(len(rows))
    return Steps(np.ascontiguousarray(rows), ones, ones, zeros, zeros)


def _strengths(plans: Sequence[Plan]) -> NDArray[np.float64] | None:
    """What the kernel is told of every setting where it computes the rates from the rows."""
    if not plans[0].adaptive:
        return None
    return np.array(
        [
            (each.penalty.l1, each.penalty.l2, each.rule.largest_rate(each.penalty) / 2)
            for each in plans
        ]
    )


class _Rates:
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

    def steps(self, t: int, n: int) -> _OwnShrinks:
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
        return _OwnShrinks(rates, keep, low, pull)

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


def settings_of(
    l1s: NDArray[np.float64], l2s: NDArray[np.float64], factors: Sequence[float]
) -> list[Setting]:
    """Every combination, the largest penalties first.

    >>> settings_of(np.array([0.1, 0.2]), np.array([0.0]), [1.0])
    [Setting(l1=0.2, l2=0.0, factor=1.0), Setting(l1=0.1, l2=0.0, factor=1.0)]
    """
    return [
        Setting(l1, l2, factor)
        for factor in factors
        for l2 in np.sort(l2s)[::-1].tolist()
        for l1 in np.sort(l1s)[::-1].tolist()
    ]
