"""cyanure: incremental methods with variance reduction and acceleration; it chooses which."""

from __future__ import annotations

from typing import Any

from benchmarks.minima import Task
from benchmarks.programs.base import LASSO, NET, RANDOM, RIDGE, How, Peer, kind

_NAMES = {LASSO: "l1", RIDGE: "l2", NET: "elasticnet"}


class Cyanure(Peer):
    name = "cyanure"
    package, module = "cyanure", "cyanure.estimators"
    penalties = (LASSO, RIDGE, NET)
    orders = (RANDOM,)

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        from cyanure.estimators import Classifier

        strengths: dict[str, Any] = dict(lambda_1=task.l1 or task.l2)
        if task.l1 and task.l2:
            strengths["lambda_2"] = task.l2
        return Classifier(
            loss="logistic",
            penalty=_NAMES[kind(task.penalty)],
            fit_intercept=False,
            max_iter=how.passes,
            tol=1e-300,
            # Its gap is looked at more seldom than there are passes.
            duality_gap_interval=how.passes + 1,
            random_state=0,
            n_threads=1,
            verbose=False,
            **strengths,
        ).fit(rows, task.y)
