"""The truncated gradient of one output."""

from __future__ import annotations

from lazynet.engines.cells import LaggingWeights


class TruncatedGradientEngine(LaggingWeights):
    """A cell is {w, stamp}: the weight, and the sum of gravity when the weight was stored."""

    name = kind = "truncated_gradient"

    def _sweep(self) -> None:
        """Bring every weight current, and set the sum of gravity to 0."""
        self.set_coefficients(self.coefficients(), self.intercepts())
