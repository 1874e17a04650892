"""Snap ML: dual coordinate ascent for l2, primal coordinate descent for l1."""

from __future__ import annotations

from typing import Any

from benchmarks.minima import Task
from benchmarks.programs.base import LASSO, RANDOM, RIDGE, How, Peer, kind


class SnapML(Peer):
    name = "Snap ML"
    package, module = "snapml", "snapml"
    penalties = (LASSO, RIDGE)
    orders = (RANDOM,)

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        from snapml import LogisticRegression

        lasso = kind(task.penalty) == LASSO
        return LogisticRegression(
            regularizer=task.strength * len(task.y),
            penalty="l1" if lasso else "l2",
            dual=not lasso,
            max_iter=how.passes,
            tol=0.0,
            fit_intercept=False,
            n_jobs=1,
            random_state=0,
        ).fit(rows, task.y)
