"""A peer made of a solver of the race to the minimum (``paper_repro/solvers``)."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.base import Array, How, Peer, Setting, by_share
from paper_repro.minima import Task
from paper_repro.solvers.base import Solver


class Solved(Peer):
    """Whatever the solver learns, at a tolerance of its own."""

    to_minimum = True
    tuned = "l1"
    solver: Solver
    #: The tolerance where none is asked for.
    usual = 1e-4

    @property
    def most_exact(self) -> How:  # type: ignore[override]
        return How(tol=min(self.solver.dials))

    def prepare(self, task: Task) -> Any:
        return task.by_columns if self.solver.by_columns else task.X

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        return self.solver.fit(task, self.usual if how.tol is None else how.tol)

    def weights(self, model: Any, task: Task) -> Array:
        return model.coef

    def settings(self, task: Task) -> list[Setting]:
        return by_share(task)
