"""The truncated gradient with a threshold: a weight and a stamp of when it was stored."""

from __future__ import annotations

from lazynet.engines.cells import LaggingEngine


class TruncatedGradientEngine(LaggingEngine):
    """A cell is {w, stamp}: the weight, and the sum of gravity when the weight was stored.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.truncated_gradient import TruncatedGradient
    >>> engine = TruncatedGradientEngine(2, TruncatedGradient(threshold=0.5), ElasticNet())
    >>> engine.weights()
    array([0., 0.])
    """

    name = kind = "truncated_gradient"

    def _sweep(self) -> None:
        """Bring every weight current, and sum up gravity anew."""
        self.load(self.weights(), self.intercept)
