"""Snap ML: dual coordinate ascent for l2, primal coordinate descent for l1."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.base import LASSO, RANDOM, RIDGE, How, Peer, Setting, by_cost, kind
from paper_repro.minima import Task

_MOST = 10_000


class SnapML(Peer):
    name = "Snap ML"
    package, module = "snapml", "snapml"
    penalties = (LASSO, RIDGE)
    orders = (RANDOM,)
    tuned = "regularizer"

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        from snapml import LogisticRegression

        lasso = kind(task.penalty) == LASSO
        tol = 1e-3 if how.tol is None else how.tol
        return LogisticRegression(
            regularizer=task.strength * len(task.y),
            penalty="l1" if lasso else "l2",
            dual=not lasso,
            max_iter=_MOST if how.passes is None else how.passes,
            tol=tol if how.passes is None else 0.0,
            fit_intercept=False,
            n_jobs=1,
            random_state=how.seed,
        ).fit(rows, task.y)

    def settings(self, task: Task) -> list[Setting]:
        return by_cost(task)
