"""Settings of a grid that learn side by side: a setting is a column of one matrix of weights.

Settings share the rows and their order, and differ in l1 and l2.  Every fold has a matrix for each
problem.  The steps of a fold leave its held-out rows out: a column takes the steps that a fit of
this setting on the other rows, in the same order, would take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.data.targets import Problems
from lazynet.engines.grid import add_losses, new_matrix
from lazynet.engines.outputs import OutputsEngine, OutputsOnClock
from lazynet.engines.threads import Workers
from lazynet.kernels.examples import Steps
from lazynet.kernels.outputs import OwnSteps, Targets
from lazynet.rules.base import collected, lost_digits
from lazynet.schedules import Adaptive, Formula, checked_rates, needs_scale
from lazynet.training.folds import Fold
from lazynet.training.learners import spans
from lazynet.training.plan import Plan
from lazynet.training.settings import Settings

#: Steps of a chunk: their rows stay in the cache while every fold visits them.
STEPS_AT_ONCE = 2**11

_RULES_WITH_STATE = ("adagrad", "ftrl", "rda")


class Setting(NamedTuple):
    """What one column learns with.

    >>> Setting(l1=0.1, l2=0.0)
    Setting(l1=0.1, l2=0.0)
    """

    l1: float
    l2: float


def check_offered(plan: Plan) -> None:
    """Refuse a rule or a schedule that a grid cannot have.

    >>> from lazynet import SAGA, LazyNetClassifier
    >>> check_offered(LazyNetClassifier(rule=SAGA())._read_settings().plan())
    Traceback (most recent call last):
    ...
    ValueError: rule=SAGA() cannot learn a grid of settings in one pass; accepted are 'fobos', \
'sgd', 'truncated_gradient' without a threshold, 'rda', 'ftrl' and 'adagrad'
    """
    rule, schedule = plan.rule, plan.schedule
    if rule.has_state and rule.name not in _RULES_WITH_STATE:
        raise ValueError(
            f"rule={rule!r} cannot learn a grid of settings in one pass; accepted are 'fobos', "
            f"'sgd', 'truncated_gradient' without a threshold, 'rda', 'ftrl' and 'adagrad'"
        )
    if rule.scheduled and isinstance(schedule, Adaptive):
        raise ValueError(
            f"schedule={schedule!r} cannot be used for a grid of settings: it lowers the rates "
            f"when one setting stalls, and settings stall at different times"
        )


def settings_of(l1s: NDArray[np.float64], l2s: NDArray[np.float64]) -> list[Setting]:
    """Every combination, the largest penalties first.

    >>> settings_of(np.array([0.1, 0.2]), np.array([0.0]))
    [Setting(l1=0.2, l2=0.0), Setting(l1=0.1, l2=0.0)]
    """
    return [
        Setting(l1, l2) for l2 in np.sort(l2s)[::-1].tolist() for l1 in np.sort(l1s)[::-1].tolist()
    ]


def planned(base: Settings, settings: Sequence[Setting], eta0: float) -> list[Plan]:
    """The plan of every setting; ``eta0`` is the largest rate that suits all rows, or the given.

    ``base`` has the other parameters.

    Where no eta0 is given, a setting has no rate that its rule refuses, as in a fit of this setting
    alone.
    """
    plans = []
    for setting in settings:
        plan = replace(base, l1=setting.l1, l2=setting.l2).plan()
        own = eta0
        if plan.rule.scheduled and base.eta0 is None and needs_scale(base.schedule):
            own = min(own, plan.rule.largest_rate(plan.penalty) / 2)
        plans.append(plan.known(own, None))
    return plans


class _Matrix(NamedTuple):
    """All settings of one problem in one fold."""

    fold: int
    problem: int
    engine: OutputsEngine


class GridTraining:
    """The matrices of weights of all folds and problems, and their passes over the rows."""

    def __init__(
        self,
        plans: Sequence[Plan],
        X: sparse.csr_matrix,
        problems: Problems,
        folds: Sequence[Fold],
        sizes: NDArray[np.float64] | None,
        dtype: Any = np.float64,
    ) -> None:
        self.plans, self.folds, self.n_rows = plans, folds, X.shape[0]
        self.n_problems, weights = len(problems), problems.importances
        self.examples = as_examples(X, None, weights, sizes)
        self.targets = [
            Targets(0, len(plans), shared=np.require(targets, np.float64, ["C", "A"]))
            for targets, _ in problems
        ]
        #: the matrices, those of a fold side by side
        self.matrices = [
            _Matrix(fold, problem, new_matrix(plans, X.shape[1], dtype))
            for fold in range(len(folds))
            for problem in range(self.n_problems)
        ]
        self.task = plans[0].task(self.matrices[0].engine)
        #: the number of steps that every fold has taken
        self.taken = [0] * len(folds)
        #: the weight of the held-out rows of every fold
        self.counts = np.array(
            [
                float(len(fold.test) if weights is None else weights[fold.test].sum())
                for fold in folds
            ]
        )
        #: which rows every fold learns from
        self._learned = np.zeros((len(folds), self.n_rows), dtype=bool)
        for mask, fold in zip(self._learned, folds, strict=True):
            mask[fold.train] = True

    def epoch(self, order: NDArray[np.int64], workers: Workers) -> None:
        """Visit the rows once, in ``order``; raises an error if a setting overflows."""
        scheduled = not (self.plans[0].rule.has_state or self.plans[0].adaptive)
        width = self.matrices[0].engine.width
        for start, stop in spans(len(order), STEPS_AT_ONCE):
            visited = order[start:stop]
            rows = [visited[mask[visited]] for mask in self._learned]
            steps = [_plain_steps(each) for each in rows]
            own = [
                own_steps(self.plans, width, t, len(each)) if scheduled and len(each) else None
                for t, each in zip(self.taken, rows, strict=True)
            ]

            def visit(
                matrix: _Matrix, steps: list[Steps] = steps, own: list[OwnSteps | None] = own
            ) -> None:
                fold, problem, engine = matrix
                if isinstance(engine, OutputsOnClock):
                    engine.own_steps = own[fold]
                if len(steps[fold]):
                    losses = np.zeros(engine.n_outputs)
                    engine.learn(
                        self.examples, self.targets[problem], steps[fold], self.task,
                        self.taken[fold], losses,
                    )  # fmt: skip

            workers.each(self.matrices, visit)
            self.taken = [t + len(each) for t, each in zip(self.taken, rows, strict=True)]

    def held_out(self, workers: Workers) -> NDArray[np.float64]:
        """The mean losses of the held-out rows: a row per setting, a column per fold.

        Over several problems they are the means; a loss that is not a finite number is infinite.
        """

        def judge(matrix: _Matrix) -> NDArray[np.float64]:
            fold, problem, engine = matrix
            losses, rows = np.zeros(engine.n_outputs), self.folds[fold].test
            add_losses(engine, self.examples, self.targets[problem], rows, self.task, losses)
            return losses

        sums = self._by_fold(workers.results(self.matrices, judge))
        found = sums / (self.counts * self.n_problems)
        return np.where(np.isfinite(found), found, np.inf)

    def nonzeros(self, workers: Workers) -> NDArray[np.int64]:
        """The number of weights that are not 0, of all problems together, by setting and fold."""
        return self._by_fold(workers.results(self.matrices, lambda each: each.engine.nonzeros()))

    def _by_fold(self, numbers: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The sums over the problems, by setting and fold."""
        shape = len(self.folds), self.n_problems, len(self.plans)
        return np.reshape(numbers, shape).sum(axis=1).T

    def model(self, setting: int, fold: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of a setting in a fold, a row for every problem, and the intercepts."""
        engines = [each.engine for each in self.matrices if each.fold == fold]
        return (
            np.stack([engine.model()[setting] for engine in engines]),
            np.array([engine.model_intercepts[setting] for engine in engines]),
        )


def _plain_steps(rows: NDArray[np.int64]) -> Steps:
    """Steps on these rows, whose rates and shrinks are not those of the steps."""
    ones, zeros = np.ones(len(rows)), np.zeros(len(rows))
    return Steps(np.ascontiguousarray(rows), ones, ones, zeros, zeros)


def own_steps(plans: Sequence[Plan], width: int, t: int, n: int) -> OwnSteps:
    """The rates and shrinks of ``n`` steps from step ``t`` on: a column for every setting.

    Rates, keep and its low digits have one column where they are the same for all settings.  The
    columns behind the settings, up to ``width``, only fill up a line of the cache.
    """
    rule: Any = plans[0].rule
    groups = _alike_side_by_side(plans)
    shrinks = []
    for some in groups:
        plan = plans[some.start]
        rates = checked_rates(plan.schedule, t, t + n)
        for each in plans[some]:
            rule.check_rates(rates, each.penalty, t)
        l1s = np.array([each.penalty.l1 for each in plans[some]])
        shrinks.append((rates[:, None], rule.shrink(rates[:, None], l1s, plan.penalty.l2)))
    shared = len(groups) == 1 and np.size(shrinks[0][1].keep) <= n
    columns = 1 if shared else width
    all_rates, keep, low = np.zeros((n, columns)), np.ones((n, columns)), np.zeros((n, columns))
    pull = np.zeros((n, width))
    for some, (rates, shrink) in zip(groups, shrinks, strict=True):
        to = slice(1) if shared else some
        all_rates[:, to], keep[:, to], low[:, to] = rates, shrink.keep, lost_digits(shrink)
        pull[:, some] = shrink.pull
    if rule.period > 1:
        pull = np.ascontiguousarray(collected(pull.T, rule.period, t).T)
    return OwnSteps(all_rates, keep, low, pull)


def _alike_side_by_side(plans: Sequence[Plan]) -> list[slice]:
    """Settings side by side that have the schedule and l2 in common, and so the rates and keeps."""
    starts = [0]
    for column in range(1, len(plans)):
        one, other = plans[starts[-1]], plans[column]
        same_rates = one.schedule is other.schedule or (
            isinstance(one.schedule, Formula) and bool(one.schedule == other.schedule)
        )
        if not same_rates or one.penalty.l2 != other.penalty.l2:
            starts.append(column)
    return [slice(*pair) for pair in zip(starts, [*starts[1:], len(plans)], strict=True)]
