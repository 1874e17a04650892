"""celer: working sets with extrapolated dual points; l1 alone."""

from __future__ import annotations

from benchmarks.programs.base import LASSO
from benchmarks.programs.solved import Solved
from paper_repro.solvers import PEERS
from paper_repro.solvers.celer_solvers import CELER


class Celer(Solved):
    name = "celer"
    package, module = "celer", "celer"
    penalties = (LASSO,)
    solver = PEERS[CELER]
