"""INEXACT for l2 > 0: Carpenter's scheme, a weight and the step at which it was brought current."""

from __future__ import annotations

from lazynet.engines.cells import LaggingEngine


class CarpenterEngine(LaggingEngine):
    """INEXACT for l2 > 0: a cell is {w, seen}, seen the steps taken when w was brought current.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.carpenter import Carpenter
    >>> engine = CarpenterEngine(2, Carpenter(), ElasticNet(l1=0.1))
    >>> engine.weights()
    array([0., 0.])
    """

    name = "carpenter_inexact"
    kind = "carpenter"
