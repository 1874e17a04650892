"""A grid of settings in training: a setting is a column of one matrix of weights.

Settings share the rows and their order, and differ in l1 and l2.  Every fold has a matrix for each
output.  A fold does not visit its held-out rows: a column takes the same steps as a fit of this
setting on the other rows in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.data.statistics import RowStatistics
from lazynet.data.targets import Targets
from lazynet.engines.catalogue import ALGORITHMS, new_engine
from lazynet.engines.outputs import OutputsEngine, OutputsOnClock, OwnSteps
from lazynet.engines.threads import Workers
from lazynet.kernels.steps import OutputTargets, Steps
from lazynet.rules.base import Rule
from lazynet.training.folds import Fold, weights_of_folds
from lazynet.training.plan import Plan
from lazynet.training.settings import Settings

#: Steps of a chunk: its rows stay in the cache while every fold visits them.
STEPS_AT_ONCE = 2**11


def check_rule_of_grid(rule: Rule) -> None:
    """Refuse a rule that cannot train a grid.

    >>> from lazynet import SAGA
    >>> check_rule_of_grid(SAGA())
    Traceback (most recent call last):
    ...
    ValueError: rule=SAGA() cannot learn a grid of settings in one pass; accepted are 'fobos', \
'sgd', 'truncated_gradient' without a threshold, 'rda', 'ftrl' and 'adagrad'
    """
    if not rule.is_affine and ALGORITHMS[rule.name].outputs is None:
        raise ValueError(
            f"rule={rule!r} cannot learn a grid of settings in one pass; accepted are 'fobos', "
            f"'sgd', 'truncated_gradient' without a threshold, 'rda', 'ftrl' and 'adagrad'"
        )
    if rule.group is not None:
        raise ValueError(
            f"rule={rule!r} cannot learn a grid of settings in one pass, because a group joins all "
            f"outputs of one model: write group=None, or search with GridSearchCV"
        )


def grid_plans(
    plan: Plan,
    base: Settings,
    settings: Sequence[tuple[float, float]],
    statistics: RowStatistics | None,
) -> list[Plan]:
    """The plan of one output for every setting: that of a fit of this setting.

    ``plan`` is the plan of a fit with the parameters ``base``; the settings have its epochs, and
    its rates if these follow the rows.  ``statistics`` are those of all rows, for rates without a
    scale.
    """
    shared: dict[str, Any] = {"max_iter": plan.max_iter, "falls": plan.falls}
    if plan.rates_from_data:
        shared["schedule"] = plan.schedule
    return [
        replace(base, l1=l1, l2=l2).plan(1, l1, base.eta0, statistics, **shared)
        for l1, l2 in settings
    ]


class _Matrix(NamedTuple):
    """All settings of one output in one fold."""

    fold: int
    output: int
    engine: OutputsEngine


class GridTraining:
    """The matrices of weights of all folds and outputs, and their passes over the rows."""

    def __init__(
        self,
        plans: Sequence[Plan],
        X: sparse.csr_matrix,
        targets: Targets,
        folds: Sequence[Fold],
        row_sizes: NDArray[np.float64] | None,
        dtype: str = "float64",
    ) -> None:
        self.plans, self.folds, self.n_outputs = plans, folds, targets.n_outputs
        self.examples = as_examples(X, None, targets.importances, row_sizes)
        self.blocks = [
            OutputTargets(
                0, len(plans), numbers=np.require(numbers, np.float64, ["C", "A"])[:, None]
            )
            for numbers, _ in targets
        ]
        #: the matrices, those of a fold side by side
        self.matrices = [
            _Matrix(fold, output, _new_matrix(plans, X.shape[1], dtype))
            for fold in range(len(folds))
            for output in range(self.n_outputs)
        ]
        self.task = plans[0].task(self.matrices[0].engine)
        #: the number of steps that every fold has taken
        self.taken = [0] * len(folds)
        self.weights_of_folds = weights_of_folds(folds, targets.importances)
        #: which rows every fold learns from
        self._learned = np.zeros((len(folds), X.shape[0]), dtype=bool)
        for mask, fold in zip(self._learned, folds, strict=True):
            mask[fold.train] = True

    def train(self, generator: np.random.RandomState, workers: Workers) -> None:
        """Train all settings for the epochs of their plan, with its rates."""
        n_rows = self._learned.shape[1]
        for epoch in range(self.plans[0].max_iter):
            plans = [plan.in_epoch(epoch) for plan in self.plans]
            self.task = plans[0].task(self.matrices[0].engine)
            for matrix in self.matrices:
                matrix.engine.set_constants([plan.constants for plan in plans])
            self.epoch(generator.permutation(n_rows).astype(np.int64, copy=False), workers)

    def epoch(self, order: NDArray[np.int64], workers: Workers) -> None:
        """Visit the rows once, in ``order``; raises an error if a setting overflows."""
        for start in range(0, len(order), STEPS_AT_ONCE):
            self._visit(order[start : start + STEPS_AT_ONCE], workers)

    def _visit(self, visited: NDArray[np.int64], workers: Workers) -> None:
        """Let every fold take steps on its training rows among the rows ``visited``."""
        plan, width = self.plans[0], self.matrices[0].engine.width
        scheduled = plan.rule.is_affine and not plan.rates_from_data
        rows = [visited[mask[visited]] for mask in self._learned]
        steps = [_plain_steps(of_fold) for of_fold in rows]
        rates = [
            own_steps(self.plans, width, t, len(of_fold)) if scheduled and len(of_fold) else None
            for t, of_fold in zip(self.taken, rows, strict=True)
        ]

        def learn(matrix: _Matrix) -> None:
            fold, output, engine = matrix
            if isinstance(engine, OutputsOnClock):
                engine.own_steps = rates[fold]
            if len(steps[fold]):
                losses = np.zeros(engine.n_outputs)
                block = self.blocks[output]
                engine.learn(self.examples, block, steps[fold], self.task, self.taken[fold], losses)

        workers.map(learn, self.matrices)
        self.taken = [t + len(of_fold) for t, of_fold in zip(self.taken, rows, strict=True)]

    def held_out(self, workers: Workers) -> NDArray[np.float64]:
        """The mean losses of the held-out rows: a row per setting, a column per fold.

        Over several outputs they are the means; a loss that is not a finite number is infinite.
        """

        def losses_of(matrix: _Matrix) -> NDArray[np.float64]:
            block, rows = self.blocks[matrix.output], self.folds[matrix.fold].test
            steps = _plain_steps(rows)
            losses = np.zeros(matrix.engine.n_outputs)
            matrix.engine.learn(self.examples, block, steps, self.task, 0, losses, learns=False)
            return losses

        sums = self._by_fold(workers.map(losses_of, self.matrices))
        means = sums / (self.weights_of_folds * self.n_outputs)
        return np.where(np.isfinite(means), means, np.inf)

    def nonzeros(self, workers: Workers) -> NDArray[np.int64]:
        """The number of weights that are not 0, of all outputs together, by setting and fold."""
        counts = workers.map(lambda matrix: matrix.engine.nonzeros(), self.matrices)
        return self._by_fold(counts)

    def _by_fold(self, numbers: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The sums over the outputs, by setting and fold."""
        shape = len(self.folds), self.n_outputs, len(self.plans)
        return np.reshape(numbers, shape).sum(axis=1).T


def _new_matrix(plans: Sequence[Plan], n_features: int, dtype: str) -> OutputsEngine:
    """An engine with an output for each plan; the plans differ in penalties and rates alone."""
    plan, penalties = plans[0], [member.penalty for member in plans]
    kind = plan.engine_kind._replace(average=None, own_clocks=True, dtype=dtype)
    constants = None if plan.rule.is_affine else [member.constants for member in plans]
    engine = new_engine(kind, n_features, len(plans), constants)
    assert isinstance(engine, OutputsEngine)
    if plan.rates_from_data:
        engine.strengths = np.array(
            [(p.l1, p.l2, plan.rule.largest_rate(p) / 2) for p in penalties]
        )
    return engine


def _plain_steps(rows: NDArray[np.int64]) -> Steps:
    """Steps on the rows; their rates and shrinks are not used."""
    ones, zeros = np.ones(len(rows)), np.zeros(len(rows))
    return Steps(np.ascontiguousarray(rows), ones, ones, zeros, zeros)


def own_steps(plans: Sequence[Plan], width: int, t: int, n: int) -> OwnSteps:
    """The rates and shrinks of ``n`` steps from step ``t`` on: a column for every setting.

    Rates, keep and its low digits have one column if they are the same for all settings.  The
    columns after the settings, up to ``width``, only complete a cache line.
    """
    columns = [plan.rates_and_shrinks(t, t + n) for plan in plans]
    rates, keep, low, pull = (np.array(numbers).T for numbers in zip(*columns, strict=True))
    shared = all((numbers == numbers[:, :1]).all() for numbers in (rates, keep, low))
    upto, room = (1, 1) if shared else (len(plans), width)
    return OwnSteps(
        _filled_up(rates[:, :upto], room),
        _filled_up(keep[:, :upto], room, 1.0),
        _filled_up(low[:, :upto], room),
        _filled_up(pull, width),
    )


def _filled_up(
    numbers: NDArray[np.float64], width: int, filling: float = 0.0
) -> NDArray[np.float64]:
    """The same columns, and others behind them."""
    result = np.full((len(numbers), width), filling)
    result[:, : numbers.shape[1]] = numbers
    return result
