"""skglm: prox-Newton and coordinate descent with Anderson's extrapolation, on working sets.

The tolerance is the largest violation of a condition for the minimum; it is given in units of l1.
"""

from __future__ import annotations

from functools import partial

from paper_repro.minima import LOGISTIC, SQUARED, Task
from paper_repro.solvers.base import Answer, Solver, tolerances

#: Working sets, more than skglm's default of 20 or 50: a limit must not end a run early.
_MOST_SETS = 500


def _fit(kind: str, task: Task, tol: float) -> Answer:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic, Quadratic
    from skglm.penalties import L1, L1_plus_L2
    from skglm.solvers import AndersonCD, ProxNewton

    model = GeneralizedLinearEstimator(
        Quadratic() if task.loss == SQUARED else Logistic(),
        L1_plus_L2(task.strength, task.l1_ratio) if task.l2 else L1(task.l1),
        {"pn": ProxNewton, "cd": AndersonCD}[kind](
            max_iter=_MOST_SETS, tol=tol * task.l1, fit_intercept=False
        ),
    )
    return Answer(model.fit(task.by_columns, task.y).coef_.ravel())


PROX_NEWTON, COORDINATES = "skglm prox-Newton", "skglm Anderson"

SOLVERS = tuple(
    Solver(
        name,
        "skglm",
        lambda task, losses=losses: task.loss in losses and task.l1 > 0,  # type: ignore[misc]
        partial(_fit, kind),
        tolerances(100.0, 1e-8),
        by_columns=True,
    )
    for name, kind, losses in (
        (PROX_NEWTON, "pn", (LOGISTIC,)),
        (COORDINATES, "cd", (LOGISTIC, SQUARED)),
    )
)
