"""The programs that race to the minimum: one file for a library, one row here.

A program that is not installed says so, and is left out with that reason.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from scipy import sparse

from lazynet.penalties import ElasticNet
from paper_repro.minima import LOGISTIC, SQUARED, Task
from paper_repro.rows import Rows
from paper_repro.solvers import celer_solvers, own, scikit_learn, skglm_solvers
from paper_repro.solvers.base import Answer, Solver

OURS = own.SOLVERS[0]
PEERS: dict[str, Solver] = {
    solver.name: solver
    for module in (scikit_learn, skglm_solvers, celer_solvers)
    for solver in module.SOLVERS
}


@cache
def warm_up() -> None:
    """Let every program solve small problems once, so that no timed run compiles anything."""
    generator = np.random.default_rng(0)
    X = sparse.random(60, 30, 0.3, "csr", random_state=0)
    y = np.where(generator.random(60) < 0.5, 1.0, -1.0)
    rows = Rows(X, y, X, y, "warming up")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for loss in (LOGISTIC, SQUARED):
            for penalty in (ElasticNet(0.01), ElasticNet(0.01, 0.01)):
                task = Task(rows, loss, penalty)
                for solver in PEERS.values():
                    if solver.missing is None and solver.solves(task):
                        solver.fit(task, solver.dials[len(solver.dials) // 2])


__all__ = ["OURS", "PEERS", "Answer", "Solver", "warm_up"]
