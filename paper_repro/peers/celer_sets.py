"""celer: working sets with extrapolated dual points; l1 alone."""

from __future__ import annotations

from paper_repro.peers.base import LASSO
from paper_repro.peers.solved import Solved
from paper_repro.solvers import PEERS
from paper_repro.solvers.celer_solvers import CELER


class Celer(Solved):
    name = "celer"
    package, module = "celer", "celer"
    penalties = (LASSO,)
    solver = PEERS[CELER]
