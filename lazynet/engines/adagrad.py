"""AdaGrad with a lazy elastic net: four numbers per weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.cells import LaggingEngine
from lazynet.kernels import cells as kernel

# The places of two constants.
_ALPHA, FOLLOWS = (kernel.constants("adagrad").index(name) for name in ("alpha", "follows"))
# A warning is due if one step takes at least this share of a weight that no row touches.
_NOTICEABLE = 0.01


class AdaGradEngine(LaggingEngine):
    """A cell is {w, s, c, psi}: the weight, the root of its squared gradients, its decay c in a
    shrink, and the steps taken when it was stored.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.adagrad import AdaGrad
    >>> engine = AdaGradEngine(2, AdaGrad(), ElasticNet(l1=0.1))
    >>> engine.weights()
    array([0., 0.])
    """

    name = kind = "adagrad"

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start with these weights and no gradients seen."""
        super().load(weights, intercept)
        kernel.retune(self.kind, self.cells, self.fields, self.constants)

    def retune(self, constants: tuple[float, ...]) -> None:
        """Apply the missed shrinks with the old constants, then switch.

        Rates that begin to follow the data know of no row yet.
        """
        wanted = np.array(constants, dtype=np.float64)
        if np.array_equal(wanted, self.constants):
            return
        self.sweep()
        if wanted[FOLLOWS] != self.constants[FOLLOWS]:
            for name in ("rows", "sizes", "mean", "waiting"):
                self.set_field(name, 0.0)
        self.constants[:] = wanted
        kernel.retune(self.kind, self.cells, self.fields, self.constants)

    def _sweep(self) -> None:
        """Bring every weight current, and compute alpha anew if that is due."""
        kernel.sweep(self.kind, self.cells, self.fields, self.constants)

    @property
    def present_rate(self) -> float | None:
        """alpha as of now where it follows the data; None where it was given."""
        if not self.constants[FOLLOWS]:
            return None
        return float(self.constants[_ALPHA]) / (self.field("mean") or 1.0)

    def _is_finite_at(self, indices: NDArray[Any]) -> bool:
        return bool(np.isfinite(self.cells[indices]).all())

    def warning_about(self, constants: tuple[float, ...]) -> str | None:
        """A warning if the next step would wipe weights that AdaGrad has not learned itself.

        A coordinate that has seen no gradient has the rate alpha / delta.  One step therefore
        shrinks a weight that another rule has trained by alpha / delta * l1, and divides the weight
        by 1 + alpha / delta * l2.  Weights are examined only if another rule has trained them, or
        if the constants have changed.
        """
        l1, l2, alpha, delta, follows, _ = constants
        if not (l1 or l2):
            return None
        if self.field("steps") and np.array_equal(np.array(constants), self.constants):
            return None
        unseen = self.weights()[self.cells[:, 1] == 0.0]
        largest = float(np.abs(unseen).max(initial=0.0))
        mean = (self.field("mean") or 1.0) if follows else 1.0
        rate = alpha / mean / (delta * mean)
        taken = rate * l1 if l1 else 0.0
        left = max(0.0, largest - taken) / (1.0 + (rate * l2 if l2 else 0.0))
        if left >= (1.0 - _NOTICEABLE) * largest:
            return None
        strengths = [f"{name}=0" for name, strength in (("l1", l1), ("l2", l2)) if strength]
        return (
            f"rule='adagrad' goes on with weights that it has not trained, and shrinks them fast: "
            f"the first rate of a coordinate that has seen no gradient is alpha / delta = "
            f"{rate:.3g}, so that one step with l1={l1:g} and l2={l2:g} takes the largest weight "
            f"from {largest:.3g} to {left:.3g} unless a row touches it. Raise delta, or set "
            f"{' and '.join(strengths)}."
        )
