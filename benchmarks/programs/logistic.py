"""scikit-learn's LogisticRegression with the solver saga."""

from __future__ import annotations

from typing import Any

from benchmarks.minima import Task
from benchmarks.programs.base import LASSO, NET, RANDOM, RIDGE, How, Peer
from benchmarks.solvers import logistic


class Saga(Peer):
    name = "LogisticRegression saga"
    package, module = "scikit-learn", "sklearn"
    penalties = (LASSO, RIDGE, NET)
    orders = (RANDOM,)

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        return logistic("saga", rows, task, 0.0, how.passes)

    def weights(self, model: Any, task: Task) -> Any:
        return model.coef
