"""lazynet: the dual solver, which certifies its gap, and the rules that learn row by row."""

from __future__ import annotations

from functools import partial
from typing import Any

import lazynet
from lazynet import LazyNetClassifier, StabilisedSGDClassifier
from paper_repro.minima import SQUARED, Task
from paper_repro.solvers.base import Answer, Solver

#: The tolerance at which the dual solver's objective counts as the least one.
EXACT = 1e-7
_MOST_EPOCHS = 100_000
DUAL = "lazynet"


def dual_fit(task: Task, tol: float) -> Answer:
    model = dual_net(task, tol).fit(task.X, task.y)
    return Answer(model.coef_.ravel(), float(model.duality_gap_))


def dual_net(task: Task, tol: float) -> Any:
    """The estimator for a task, not fitted."""
    options = dict(l1=task.l1, l2=task.l2, tol=tol, max_iter=_MOST_EPOCHS, random_state=0)
    if task.loss == SQUARED:
        return lazynet.DualNetRegressor(task.loss, fit_intercept=False, **options)
    return lazynet.DualNetClassifier(task.loss, fit_intercept=False, **options)


def _by_rows(rule: Any, passes: float, task: Task, **options: Any) -> Answer:
    """``passes`` passes of a rule that learns row by row, the last iterate."""
    model = LazyNetClassifier(
        task.loss,
        rule=rule,
        l1=task.l1,
        l2=task.l2,
        fit_intercept=False,
        max_iter=round(passes),
        tol=None,
        random_state=0,
        **options,
    )
    return Answer(model.fit(task.X, task.y).coef_.ravel())


def _row_norm(task: Task) -> float:
    """The mean squared length of a row; its inverse is the unit of all rates."""
    return float(task.X.multiply(task.X).sum() / task.X.shape[0])


#: Rates in the unit 1 / (mean squared length of a row); the best one is shown.
RATES = (30.0, 300.0, 3_000.0, 30_000.0)
PASSES = (1, 3, 10, 30, 100)
#: Shares of the features that stabilised SGD drops; the best one is shown.
REJECTION_RATES = (0.9, 0.99)
FOBOS, RDA, SAGA = "FoBoS, online", "RDA, online", "SAGA (lazynet)"
AVERAGED, STABILISED = "FoBoS, averaged", "stabilised SGD"


def _fobos(rate: float, task: Task, passes: float) -> Answer:
    eta0 = rate / _row_norm(task)
    return _by_rows("fobos", passes, task, schedule="inverse_sqrt", eta0=eta0)


def _averaged(rate: float, task: Task, passes: float) -> Answer:
    eta0 = rate / _row_norm(task)
    return _by_rows("fobos", passes, task, schedule="inverse_sqrt", eta0=eta0, average=True)


def _stabilised(rejection_rate: float, task: Task, passes: float) -> Answer:
    """Another problem's program: the features that it keeps, and their weights, judged here."""
    model = StabilisedSGDClassifier(
        task.loss,
        n_paths=1,
        max_iter=round(passes),
        rejection_rate=rejection_rate,
        fit_intercept=False,
        random_state=0,
    )
    return Answer(model.fit(task.X, task.y).coef_.ravel())


def _rda(rate: float, task: Task, passes: float) -> Answer:
    return _by_rows(lazynet.RDA(gamma=_row_norm(task) / rate), passes, task)


def _saga(task: Task, passes: float) -> Answer:
    return _by_rows("saga", passes, task)


def _classifies(task: Task) -> bool:
    return task.loss != SQUARED


SOLVERS = (Solver(DUAL, "lazynet", lambda task: True, dual_fit, (1e-2, 1e-3, 1e-4, 1e-6, EXACT)),)


def by_rows() -> dict[str, list[Solver]]:
    """The rules that learn row by row, each at all of its rates."""
    found = {
        name: [
            Solver(name, "lazynet", _classifies, partial(fit, setting), PASSES, "passes")
            for setting in settings
        ]
        for name, fit, settings in (
            (FOBOS, _fobos, RATES),
            (RDA, _rda, RATES),
            (AVERAGED, _averaged, RATES),
            (STABILISED, _stabilised, REJECTION_RATES),
        )
    }
    return found | {SAGA: [Solver(SAGA, "lazynet", _classifies, _saga, PASSES, "passes")]}
