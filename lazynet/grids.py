"""A grid of settings that learns in one pass over X: a column of one matrix of weights for each.

Settings share the rows and their order, and differ in l1, l2 and the scale of the rates.  A fold
has a matrix of its own, whose steps leave the held-out rows out: its columns take the steps that a
fit on the other rows, in the same order, would take.  So has each class of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.choice import Fold
from lazynet.engines.base import Engine
from lazynet.engines.grid import GridOnClock, column_of, present_rate_of
from lazynet.engines.kept import Kept, places, put
from lazynet.engines.outputs import (
    AdaGradOutputs,
    CellOutputs,
    FTRLOutputs,
    OutputsEngine,
    RDAOutputs,
)
from lazynet.grid_visits import (
    Chunk,
    Matrix,
    ProblemRows,
    chunks_of,
    judged,
    learned,
    rates_of,
)
from lazynet.kernels import cells as cells_kernel
from lazynet.learners import spans
from lazynet.plan import Plan
from lazynet.problems import Problems
from lazynet.rules.base import Rule
from lazynet.schedules import Adaptive, Schedule, needs_scale
from lazynet.threads import Workers

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


class GridMatrices:
    """The matrices of weights of all folds and problems, and how far they have learned."""

    def __init__(
        self,
        plans: Sequence[Plan],
        settings: Sequence[Setting],
        n_features: int,
        n_folds: int,
        n_problems: int,
        dtype: Any,
    ) -> None:
        self.plans, self.n_settings = plans, len(plans)
        self.n_features, self.n_folds, self.n_problems = n_features, n_folds, n_problems
        self.dtype = dtype
        #: the number of steps that every fold has taken
        self.taken = [0] * n_folds
        #: the rows of the present epoch that have been visited
        self.at = 0
        self.parts = [slice(*span) for span in spans(self.n_settings, WIDEST)]
        self.matrices = [
            Matrix(fold, problem, part, np.arange(part.stop - part.start), engine)
            for fold in range(n_folds)
            for problem in range(n_problems)
            for part in self.parts
            for engine in [self._engine(part, settings[part])]
        ]
        self._begin_epoch()
        first = self.matrices[0].engine
        assert first is not None, "no setting has left its matrix"
        #: what to do about an overflow
        self.advice = first.advice

    def _engine(self, part: slice, settings: Sequence[Setting]) -> OutputsEngine:
        plans = self.plans[part]
        plan, n = plans[0], len(plans)
        if not plan.rule.has_state:
            return GridOnClock(self.n_features, n, self.dtype, strengths=_strengths(plans))
        engine = _OUTPUTS[plan.rule.name](
            self.n_features,
            n,
            plan.rule,
            [each.penalty for each in plans],
            self.dtype,
            loss=plan.loss,
        )
        for row, setting in zip(engine.settings, settings, strict=False):
            scale_rates(plan.rule, row, setting.factor)
        # An output that only fills up a line has the settings of the first.
        engine.settings[n:] = engine.settings[0]
        return engine

    # --- passes over the rows ---

    #: what every fold counts in a mean over the folds: the weight of its held-out rows
    counts: NDArray[np.float64]

    def epoch(
        self,
        order: NDArray[np.int64] | None,
        workers: Workers,
        after: Callable[[], None] | None = None,
    ) -> NDArray[np.float64]:
        """Visit the rows in ``order``, those that are left; returns the losses before the updates.

        ``order`` is None for the rows as they stand.  ``after`` is called where the training may be
        kept.  The losses are means.

        The result has a row per setting and a column per fold; over several problems it is the
        mean.  It is infinite after an overflow.
        """
        raise NotImplementedError

    def held_out(self, workers: Workers) -> NDArray[np.float64]:
        """The mean losses of the held-out rows: a row per setting, a column per fold.

        They are infinite after an overflow.
        """
        raise NotImplementedError

    def _begin_epoch(self) -> None:
        self.sums = [matrix.zeros for matrix in self.matrices]
        self.counted = [0] * self.n_folds

    def _gathered(self, losses: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The sums of losses by setting and fold, as means over the problems."""
        found = np.zeros((self.n_settings, self.n_folds))
        for matrix, sums in zip(self.matrices, losses, strict=True):
            found[matrix.columns, matrix.fold] += sums
        return found / self.n_problems

    # --- the training in a file ---

    def kept(self) -> Kept:
        """The training between two chunks of rows; its arrays are not copied."""
        matrices: list[Kept] = []
        for matrix in self.matrices:
            state = None if matrix.engine is None else matrix.engine.state()
            arrays = {} if state is None else {**state.per_weight, **state.scalars}
            matrices.append({"live": matrix.live, "arrays": arrays})
        return {
            "at": self.at,
            "taken": list(self.taken),
            "counted": list(self.counted),
            "sums": list(self.sums),
            "matrices": matrices,
        }

    def keep(self, kept: Kept) -> None:
        """Take over another training of the same settings, which no step has been taken in."""
        self.at, self.taken = kept["at"], list(kept["taken"])
        self.counted = list(kept["counted"])
        for sums, target in zip(kept["sums"], self.sums, strict=True):
            put(target, "sums", {"sums": sums})
        for number, part in enumerate(kept["matrices"]):
            live = places("live", part, self.matrices[number].columns.stop)
            if len(live) < len(self.matrices[number].live):
                self.matrices[number] = self.matrices[number].left_to(live)
            engine = self.matrices[number].engine
            if engine is not None:
                state = engine.state()
                for name, array in {**state.per_weight, **state.scalars}.items():
                    put(array, name, part["arrays"])

    # --- what has been learned ---

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Whether a setting has overflowed in no fold and no problem."""
        found = np.ones(self.n_settings, dtype=bool)
        for matrix in self.matrices:
            found[matrix.columns] &= np.isfinite(matrix.zeros)
        return found

    def nonzeros(self, workers: Workers) -> NDArray[np.int64]:
        """The number of weights that are not 0, of all problems together, by setting and fold.

        Weights that have overflowed are not counted.
        """

        def count(matrix: Matrix) -> NDArray[np.int64]:
            workers.check()
            return np.zeros(0, np.int64) if matrix.engine is None else matrix.engine.nonzeros()

        found = np.zeros((self.n_settings, self.n_folds), dtype=np.int64)
        counted = workers.results(self.matrices, count)
        for matrix, counts in zip(self.matrices, counted, strict=True):
            found[matrix.columns.start + matrix.live, matrix.fold] += counts
        return found

    def model(self, setting: int, fold: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of a setting, a row for every problem, and the intercepts."""
        columns = [
            column_of(matrix.engine, matrix.place_of(setting))
            for matrix in self.matrices
            if matrix.fold == fold
            and matrix.columns.start <= setting < matrix.columns.stop
            and matrix.engine is not None
        ]
        return np.vstack([weights for weights, _ in columns]), np.array([b for _, b in columns])

    def present_rate(self, setting: int) -> float | None:
        """The scale of the rates of a setting as of now, where they follow the rows; else None."""
        matrix = self.matrices[setting // WIDEST]
        assert matrix.engine is not None
        return present_rate_of(matrix.engine, matrix.place_of(setting))


class GridTraining(GridMatrices):
    """The matrices of weights, and the passes over rows in memory that they learn in."""

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
        super().__init__(plans, settings, X.shape[1], len(folds), len(problems), dtype)
        self.folds, weights, n = folds, problems.importances, X.shape[0]
        self.n_rows = n
        self.rows = [ProblemRows.of(X, sizes, weights, targets) for targets, _ in problems]
        #: which rows every fold learns from; None for all rows
        self.learned: list[NDArray[np.bool_] | None] = []
        for fold in folds:
            mask = np.zeros(n, dtype=bool)
            mask[fold.train] = True
            self.learned.append(None if mask.all() else mask)
        tests = [fold.test for fold in folds]
        self.counts = np.array(
            [float(len(test) if weights is None else weights[test].sum()) for test in tests]
        )
        self.rates = [rates_of(plans[part], dtype) for part in self.parts]
        self.tasks = [
            plans[matrix.columns.start].task(matrix.engine)
            for matrix in self.matrices
            if matrix.engine is not None
        ]

    def epoch(
        self,
        order: NDArray[np.int64] | None,
        workers: Workers,
        after: Callable[[], None] | None = None,
    ) -> NDArray[np.float64]:
        if not self.at:
            self._begin_epoch()
        for start, stop in spans(
            self.n_rows if order is None else len(order), STEPS_AT_ONCE, self.at
        ):
            visited = np.arange(start, stop) if order is None else order[start:stop]
            chunks: list[list[Chunk]] = []
            for fold, learns in enumerate(self.learned):
                rows = visited if learns is None else visited[learns[visited]]
                chunks.append(chunks_of(rows, self.taken[fold], self.rates) if len(rows) else [])
                self.taken[fold] += len(rows)
                self.counted[fold] += len(rows)

            def visit(number: int, chunks: list[list[Chunk]] = chunks) -> None:
                matrix = self.matrices[number]
                if chunks[matrix.fold]:
                    self.matrices[number] = learned(
                        matrix, self.rows[matrix.problem], self.tasks[number],
                        chunks[matrix.fold][self.parts.index(matrix.columns)], self.sums[number],
                    )  # fmt: skip

            workers.each(range(len(self.matrices)), visit)
            self.at = stop
            if after is not None:
                after()
        self.at = 0
        return self._gathered(self.sums) / np.maximum(self.counted, 1)

    def held_out(self, workers: Workers) -> NDArray[np.float64]:
        losses = [matrix.zeros for matrix in self.matrices]

        def judge(number: int) -> None:
            matrix = self.matrices[number]
            rows, some = self.rows[matrix.problem], self.folds[matrix.fold].test
            judged(matrix, rows, self.tasks[number], some, losses[number])

        workers.each(range(len(self.matrices)), judge)
        return self._gathered(losses) / self.counts


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
