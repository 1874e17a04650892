"""Carpenter's lazy SGD of one output, a baseline."""

from __future__ import annotations

from lazynet.engines.cells import LaggingWeights


class CarpenterEngine(LaggingWeights):
    """INEXACT for l2 > 0: a cell is {w, psi}, psi the steps taken when w was brought current."""

    name = "carpenter_inexact"
    kind = "carpenter"
