"""cyanure: incremental methods with variance reduction and acceleration; it chooses which."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.base import LASSO, NET, RANDOM, RIDGE, How, Peer, Setting, by_cost, kind
from paper_repro.minima import LOGISTIC, SQUARED_HINGE, Task

_LOSSES = {LOGISTIC: "logistic", SQUARED_HINGE: "sqhinge"}
_NAMES = {LASSO: "l1", RIDGE: "l2", NET: "elasticnet"}


class Cyanure(Peer):
    name = "cyanure"
    package, module = "cyanure", "cyanure.estimators"
    losses = (LOGISTIC,)
    penalties = (LASSO, RIDGE, NET)
    orders = (RANDOM,)
    tuned = "lambda_1"

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        from cyanure.estimators import Classifier

        strengths: dict[str, Any] = dict(lambda_1=task.l1 or task.l2)
        if task.l1 and task.l2:
            strengths["lambda_2"] = task.l2
        if how.passes is None:
            ends: dict[str, Any] = dict(max_iter=5000, tol=1e-3 if how.tol is None else how.tol)
        else:
            # Its gap is looked at more seldom than there are passes.
            ends = dict(max_iter=how.passes, tol=1e-300, duality_gap_interval=how.passes + 1)
        return Classifier(
            loss=_LOSSES[task.loss],
            penalty=_NAMES[kind(task.penalty)],
            fit_intercept=False,
            random_state=how.seed,
            n_threads=1,
            verbose=False,
            **strengths,
            **ends,
        ).fit(rows, task.y)

    def settings(self, task: Task) -> list[Setting]:
        return by_cost(task)
