"""skglm and celer, as the race to the minimum calls them."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.base import LASSO, NET, Array, How, Peer, Setting, by_share
from paper_repro.minima import Task
from paper_repro.solvers import PEERS
from paper_repro.solvers.base import Solver
from paper_repro.solvers.celer_solvers import CELER
from paper_repro.solvers.skglm_solvers import PROX_NEWTON

#: The tolerance where none is asked for.
_USUAL = 1e-4


class _Solved(Peer):
    tuned = "l1"
    solver: Solver

    def prepare(self, task: Task) -> Any:
        return task.by_columns if self.solver.by_columns else task.X

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        return self.solver.fit(task, _USUAL if how.tol is None else how.tol)

    def weights(self, model: Any, task: Task) -> Array:
        return model.coef

    def settings(self, task: Task) -> list[Setting]:
        return by_share(task)


class Skglm(_Solved):
    """Prox-Newton on working sets."""

    name = package = module = "skglm"
    penalties = (LASSO, NET)
    solver = PEERS[PROX_NEWTON]


class Celer(_Solved):
    """Working sets with extrapolated dual points; l1 alone."""

    name = package = module = "celer"
    penalties = (LASSO,)
    solver = PEERS[CELER]
