"""scikit-learn's LinearSVC: support vectors by liblinear, without probabilities."""

from __future__ import annotations

from typing import Any

from sklearn.svm import LinearSVC as Estimator

from benchmarks.programs.base import LASSO, RIDGE, How, Peer, Setting, by_cost, kind
from paper_repro.minima import SQUARED_HINGE, Task

_MOST = 1_000_000


class LinearSVC(Peer):
    name = "LinearSVC"
    package, module = "scikit-learn", "sklearn"
    losses = (SQUARED_HINGE,)
    penalties = (LASSO, RIDGE)
    tuned = "C"

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        lasso = kind(task.penalty) == LASSO
        # liblinear's l2 term is |w|^2 / 2, and C multiplies the sum of the losses.
        return Estimator(
            penalty="l1" if lasso else "l2",
            dual=False,
            C=1.0 / (task.strength * len(task.y)),
            fit_intercept=False,
            tol=1e-4 if how.tol is None else how.tol,
            max_iter=_MOST,
            random_state=how.seed,
        ).fit(rows, task.y)

    def settings(self, task: Task) -> list[Setting]:
        return by_cost(task)
