"""scikit-learn: liblinear, saga, lbfgs, newton-cholesky; coordinate descent for least squares."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.svm import LinearSVC

from paper_repro.minima import LOGISTIC, SQUARED, SQUARED_HINGE, Task
from paper_repro.solvers.base import Answer, Solver, tolerances

_MOST = 1_000_000
#: Features beyond which newton-cholesky's square matrix takes more than a gigabyte.
MOST_SQUARED = 10_000


def logistic(solver: str, task: Task, tol: float, max_iter: int = _MOST) -> Answer:
    options: dict[str, Any] = dict(
        solver=solver,
        C=1.0 / (task.strength * len(task.y)),
        l1_ratio=task.l1_ratio,
        fit_intercept=False,
        tol=tol,
        max_iter=max_iter,
        random_state=0,
    )
    # Before version 1.8 the kind of the penalty was told by its name.
    if inspect.signature(LogisticRegression).parameters["penalty"].default != "deprecated":
        kinds = {0.0: "l2", 1.0: "l1"}
        options["penalty"] = kinds.get(task.l1_ratio, "elasticnet")
        if options["penalty"] != "elasticnet":
            del options["l1_ratio"]
    return Answer(LogisticRegression(**options).fit(task.X, task.y).coef_.ravel())


def _passes_of_saga(task: Task, passes: float) -> Answer:
    return logistic("saga", task, 1e-12, round(passes))


def _support_vectors(task: Task, tol: float) -> Answer:
    model = LinearSVC(
        penalty="l1",
        loss="squared_hinge",
        dual=False,
        C=1.0 / (task.l1 * len(task.y)),
        fit_intercept=False,
        tol=tol,
        max_iter=_MOST,
        random_state=0,
    )
    return Answer(model.fit(task.X, task.y).coef_.ravel())


def _liblinear(task: Task, tol: float) -> Answer:
    fit = _support_vectors if task.loss == SQUARED_HINGE else partial(logistic, "liblinear")
    return fit(task, tol)


def _by_liblinear(task: Task) -> bool:
    """l1 alone or l2 alone; of the squared hinge l1 alone is asked for here."""
    if task.loss == SQUARED_HINGE:
        return not task.l2
    return task.loss == LOGISTIC and not (task.l1 and task.l2)


def _least_squares(task: Task, tol: float) -> Answer:
    model = ElasticNet(
        alpha=task.strength,
        l1_ratio=task.l1_ratio,
        fit_intercept=False,
        tol=tol,
        max_iter=_MOST,
    )
    return Answer(model.fit(task.by_columns, task.y).coef_)


LIBLINEAR, SAGA = "liblinear", "scikit-learn saga"

SOLVERS = (
    Solver(LIBLINEAR, "sklearn", _by_liblinear, _liblinear, tolerances(1.0, 1e-8)),
    Solver(
        SAGA,
        "sklearn",
        lambda task: task.loss == LOGISTIC,
        _passes_of_saga,
        (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000),
        "passes",
    ),
    *(
        Solver(
            f"scikit-learn {solver}",
            "sklearn",
            lambda task, most=most: (  # type: ignore[misc]
                task.loss == LOGISTIC and not task.l1 and task.X.shape[1] <= most
            ),
            partial(logistic, solver),
            tolerances(1e-1, 1e-9),
        )
        for solver, most in (("lbfgs", _MOST), ("newton-cholesky", MOST_SQUARED))
    ),
    Solver(
        "scikit-learn ElasticNet",
        "sklearn",
        lambda task: task.loss == SQUARED and task.l1 > 0,
        _least_squares,
        tolerances(1e-1, 1e-9),
        by_columns=True,
    ),
)
