"""skglm and celer, as the study ``optimum`` calls them."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.base import LASSO, NET, Array, How, Peer, Setting, by_share
from benchmarks.solvers import CELER, PEERS, SKGLM, Solver
from paper_repro.minima import Task

#: The tolerance where none is asked for.
_USUAL = 1e-4


class _Solved(Peer):
    tuned = "l1"
    solver: Solver

    def prepare(self, task: Task) -> Any:
        return self.solver.form(task)

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        return self.solver.fit(rows, task, _USUAL if how.tol is None else how.tol)

    def weights(self, model: Any, task: Task) -> Array:
        return model.coef

    def settings(self, task: Task) -> list[Setting]:
        return by_share(task)


class Skglm(_Solved):
    """Prox-Newton on working sets."""

    name = package = module = "skglm"
    penalties = (LASSO, NET)
    solver = PEERS[SKGLM]


class Celer(_Solved):
    """Working sets with extrapolated dual points; l1 alone."""

    name = package = module = "celer"
    penalties = (LASSO,)
    solver = PEERS[CELER]
