"""The base of the engines of several outputs for rules with their own kinds of cells.

An engine of one output does rare operations (loading weights, other constants) for one output after
the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lazynet.engines.base import ALL, Floats
from lazynet.engines.cells import CellEngine
from lazynet.engines.outputs import OutputsEngine
from lazynet.kernels.table import RULES

# The index of no feature.
_NONE = slice(0, 0)


class RuleOutputs(OutputsEngine):
    """The base; the arrays ``constants`` and ``fields`` have a row for each output.

    The argument ``constants`` has a row for each output too, or is one row for all outputs.
    """

    _others = _other_arrays = ("constants", "fields")
    #: the engine of one output
    single: ClassVar[type[CellEngine]]

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        dtype: Any = np.float64,
        constants: ArrayLike | None = None,
    ) -> None:
        super().__init__(n_features, n_outputs, dtype)
        row = RULES[self.kind]
        self.constants = self._rows_of(
            np.zeros(len(row.constants)) if constants is None else constants
        )
        self.fields = np.zeros((self.width, len(row.fields)))

    def output(self, number: int, which: Any = ALL) -> CellEngine:
        """An engine of one output with the state of output ``number``, for some features."""
        engine = self.single(0, self.constants[number])
        engine.remedy, engine.fields = self.remedy, self.fields[number].copy()
        engine.cells = self._cells_of(number, which)
        engine.n_features = len(engine.cells)
        return engine

    def _cells_of(self, number: int, which: Any) -> Floats:
        """The cells of one output in the form of the engine of one output."""
        return np.ascontiguousarray(self.cells[which][:, number :: self.width], dtype=np.float64)

    def set_output(self, number: int, single: CellEngine) -> None:
        """Make the state of an engine of one output the state of output ``number``."""
        self.constants[number], self.fields[number] = single.constants, single.fields
        columns = self.cells[:, number :: self.width]
        columns[...] = single.cells[:, : columns.shape[1]]
        if number == 0:
            # The columns that complete a cache line count the same steps.
            self.constants[self.n_outputs :] = single.constants
            self.fields[self.n_outputs :] = single.fields

    def intercepts(self, *, last: bool = False) -> Floats:
        return np.array([self.output(k, _NONE).intercept for k in range(self.n_outputs)])

    def _change(self, change: Callable[[CellEngine, slice], None]) -> None:
        """Let ``change`` act on every output as an engine of one output, and on its number."""
        for number in range(self.n_outputs):
            single = self.output(number)
            change(single, slice(number, number + 1))
            self.set_output(number, single)

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        self._change(
            lambda single, number: single.set_coefficients(coefficients[number], intercepts[number])
        )

    def _sweep(self) -> None:
        """Sweep every output, as the kernel has asked."""
        self._change(lambda single, _: single._sweep())

    def _rows_of(self, constants: ArrayLike) -> Floats:
        """A row of constants for each output, from such rows or from one row for all.

        The rows after the outputs, which complete a cache line, are like the first output.
        """
        rows = np.atleast_2d(np.asarray(constants, dtype=np.float64))
        return rows[np.arange(self.width) * (np.arange(self.width) < len(rows))]

    def set_constants(self, constants: ArrayLike) -> None:
        rows = self._rows_of(constants)
        if not np.array_equal(self.constants, rows):
            if self.before_sweep is not None:  # the cells of all features may change
                self.before_sweep()
            self._change(lambda single, number: single.set_constants(rows[number][0]))

    def warning_about(self, constants: tuple[float, ...]) -> str | None:
        texts = (self.output(number).warning_about(constants) for number in range(self.n_outputs))
        return next((text for text in texts if text is not None), None)

    @property
    def present_rate(self) -> float | None:
        return self.output(0, _NONE).present_rate
