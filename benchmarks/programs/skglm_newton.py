"""skglm: prox-Newton on working sets."""

from __future__ import annotations

from benchmarks.programs.base import LASSO, NET
from benchmarks.programs.solved import Solved
from paper_repro.solvers import PEERS
from paper_repro.solvers.skglm_solvers import PROX_NEWTON


class Skglm(Solved):
    name = "skglm"
    package, module = "skglm", "skglm"
    penalties = (LASSO, NET)
    solver = PEERS[PROX_NEWTON]
