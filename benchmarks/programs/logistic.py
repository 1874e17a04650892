"""scikit-learn's LogisticRegression: saga, liblinear, newton-cholesky, lbfgs."""

from __future__ import annotations

from typing import Any, ClassVar

from benchmarks.programs.base import LASSO, NET, RANDOM, RIDGE, How, Peer, Setting, by_cost
from benchmarks.solvers import MOST_SQUARED, logistic
from paper_repro.minima import Task

#: Its own tolerance, and its own number of iterations.
_OWN = (1e-4, 100)


class _Logistic(Peer):
    package, module = "scikit-learn", "sklearn"
    tuned = "C"
    solver: ClassVar[str]

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        if how.passes is not None:
            return logistic(self.solver, rows, task, 0.0, how.passes)
        if how.tol is not None:
            return logistic(self.solver, rows, task, how.tol)
        return logistic(self.solver, rows, task, *_OWN)

    def weights(self, model: Any, task: Task) -> Any:
        return model.coef

    def settings(self, task: Task) -> list[Setting]:
        return by_cost(task)


class Saga(_Logistic):
    name, solver = "LogisticRegression saga", "saga"
    penalties = (LASSO, RIDGE, NET)
    orders = (RANDOM,)


class Liblinear(_Logistic):
    name, solver = "LogisticRegression liblinear", "liblinear"
    penalties = (LASSO, RIDGE)


class Lbfgs(_Logistic):
    name, solver = "LogisticRegression lbfgs", "lbfgs"
    penalties = (RIDGE,)


class NewtonCholesky(_Logistic):
    name, solver = "LogisticRegression newton-cholesky", "newton-cholesky"
    penalties = (RIDGE,)

    def refuses(self, task: Task) -> str | None:
        """Its square matrix of the features must fit into memory."""
        if task.X.shape[1] > MOST_SQUARED:
            return f"a square matrix of more than {MOST_SQUARED:,} features"
        return super().refuses(task)
