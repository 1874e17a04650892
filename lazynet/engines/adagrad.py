"""AdaGrad, of one output and of several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lazynet.engines.base import Floats
from lazynet.engines.cells import CellEngine, LaggingWeights
from lazynet.engines.outputs_of_rules import RuleOutputs
from lazynet.kernels import many_outputs, one_output
from lazynet.kernels.table import RULES

# The place of a constant.
_FOLLOWS = RULES["adagrad"].constants.index("follows")
# A warning is due if one step takes at least this share of a weight that no row touches.
_NOTICEABLE = 0.01


class AdaGradEngine(LaggingWeights):
    """A cell is {w, s, c, psi}: the weight, the root of its squared gradients, its decay c in a
    shrink, and the steps taken when it was stored.
    """

    name = kind = "adagrad"
    _cells_show_overflow = True

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        """Start with these weights and no gradients seen."""
        super().set_coefficients(coefficients, intercepts)
        one_output.retune(self.kind, self.cells, self.fields, self.constants)

    def set_constants(self, constants: tuple[float, ...]) -> None:
        """Apply the missed shrinks with the old constants, then switch.

        If rates begin to follow the data, the sizes of earlier rows do not count.
        """
        if np.array_equal(constants, self.constants):
            return
        self.sweep()
        if constants[_FOLLOWS] != self.constants[_FOLLOWS]:
            for name in ("rows", "sum_of_sizes", "mean", "waiting"):
                self.set_field(name, 0.0)
        self.constants[:] = constants
        one_output.retune(self.kind, self.cells, self.fields, self.constants)

    def _sweep(self) -> None:
        """Bring every weight current, and recompute alpha if this is due."""
        one_output.sweep(self.kind, self.cells, self.fields, self.constants)

    @property
    def present_rate(self) -> float | None:
        """The present alpha if it follows the data; None if the user gives it."""
        _, _, alpha, _, follows, _ = self.constants.tolist()
        return alpha / (self.field("mean") or 1.0) if follows else None

    def warning_about(self, constants: tuple[float, ...]) -> str | None:
        """A warning if the next step would remove large weights that AdaGrad did not train.

        A coordinate without a gradient so far has the rate alpha / delta.  Therefore one step
        shrinks a weight from another rule by alpha / delta * l1, and divides it by
        1 + alpha / delta * l2.  The weights are examined only if another rule trained them, or if
        the constants have changed.
        """
        l1, l2, alpha, delta, follows, _ = constants
        if not (l1 or l2):
            return None
        if self.field("steps") and np.array_equal(constants, self.constants):
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
            f"rule='adagrad' continues with weights that it has not trained, and shrinks them "
            f"fast: the rate of a coordinate without a gradient so far is alpha / delta = "
            f"{rate:.3g}, so that one step with l1={l1:g} and l2={l2:g} shrinks the largest weight "
            f"from {largest:.3g} to {left:.3g} unless a row touches it. Raise delta, or set "
            f"{' and '.join(strengths)}."
        )


class AdaGradOutputs(RuleOutputs):
    """AdaGrad: two numbers per weight, and a stamp per feature: every step touches whole rows."""

    name = kind = "adagrad"
    single = AdaGradEngine
    _per_feature = ("cells", "stamps")

    def _cells_of(self, number: int, which: Any) -> Floats:
        pairs = super()._cells_of(number, which)
        cells = np.zeros((len(pairs), 4))
        cells[:, :2], cells[:, 3] = pairs, self.stamps[which]
        one_output.retune(self.kind, cells, self.fields[number], self.constants[number])
        return cells

    def set_output(self, number: int, single: CellEngine) -> None:
        # A row of weights has one stamp: bring the weights of the output current.
        single._sweep()
        super().set_output(number, single)
        self.stamps[:] = single.field("steps")

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        self.stamps[:] = 0.0
        self.fields[...] = 0.0
        super().set_coefficients(coefficients, intercepts)

    def set_constants(self, constants: ArrayLike) -> None:
        """Apply the missed shrinks with the old constants, then switch."""
        rows = self._rows_of(constants)
        if np.array_equal(self.constants, rows):
            return
        self.sweep()
        if np.array_equal(rows[:, _FOLLOWS], self.constants[:, _FOLLOWS]):
            self.constants[:] = rows  # no other number depends on them
        else:
            super().set_constants(constants)

    def _sweep(self) -> None:
        many_outputs.sweep(self._block())
