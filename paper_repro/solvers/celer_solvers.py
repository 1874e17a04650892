"""celer: working sets with extrapolated dual points; logistic regression with l1 alone."""

from __future__ import annotations

from paper_repro.minima import LOGISTIC, SQUARED, Task
from paper_repro.solvers.base import Answer, Solver, tolerances

_MOST_SETS = 500


def _fit(task: Task, tol: float) -> Answer:
    import celer

    if task.loss == SQUARED:
        model = celer.ElasticNet(
            alpha=task.strength,
            l1_ratio=task.l1_ratio,
            fit_intercept=False,
            tol=tol,
            max_iter=_MOST_SETS,
        )
    else:
        strength = 1.0 / (task.l1 * len(task.y))
        model = celer.LogisticRegression(C=strength, tol=tol, max_iter=_MOST_SETS)
    return Answer(model.fit(task.by_columns, task.y).coef_.ravel())


CELER = "celer"

SOLVERS = (
    Solver(
        CELER,
        "celer",
        lambda task: (
            task.l1 > 0 and (task.loss == SQUARED or (task.loss == LOGISTIC and not task.l2))
        ),
        _fit,
        tolerances(3.0, 3e-10),
        by_columns=True,
    ),
)
