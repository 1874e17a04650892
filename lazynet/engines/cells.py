"""Engines of one output that keep a cell of numbers for each weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import ALL, Engine, Wear
from lazynet.kernels import cells as kernel
from lazynet.kernels.averages import Average
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task


class CellEngine(Engine):
    """An engine that computes each weight from its cell, the fields and the constants.

    ``fields`` are the scalars that change with every step, and ``constants`` those of the rule; the
    kernel names both.  ``memory`` is what some kinds keep beside the cells (kernels/cells.pyx).
    """

    #: which row of ``KINDS`` (kernels/cells.pyx) describes the cells
    kind: ClassVar[str]
    _per_feature = ("cells",)
    _others: ClassVar[tuple[str, ...]] = ("fields", "constants")
    memory: NDArray[np.float64] | None = None

    def __init__(
        self, n_features: int, wear: Wear | None = None, constants: Sequence[float] = ()
    ) -> None:
        super().__init__(n_features, wear)
        self.constants = np.array(constants, dtype=np.float64)
        self.cells = on_lines(n_features, kernel.numbers(self.kind), np.float64)
        self.fields = np.zeros(len(kernel.fields(self.kind)))
        self._start()

    def _start(self) -> None:
        """Set the fields to those of the first step."""
        self.fields[:] = 0.0

    def field(self, name: str) -> float:
        """The field called ``name``."""
        return float(self.fields[kernel.fields(self.kind).index(name)])

    def set_field(self, name: str, value: float) -> None:
        """Set the field called ``name``."""
        self.fields[kernel.fields(self.kind).index(name)] = value

    def _past(self) -> Average | None:
        """The past of the clock, where iterates are averaged."""
        return None

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return kernel.run(
            self.kind, examples, steps, task, self.constants, self.cells, self.fields, first,
            self.memory, self._past(),
        )  # fmt: skip

    def _read(self, cells: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        kernel.read(self.kind, cells, self.fields, self.constants, out, self.memory)

    def weights(
        self, which: Any = ALL, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        cells = self.cells[which]
        out = np.empty(len(cells)) if out is None else out
        self._read(cells, out)
        return out

    @property
    def intercept(self) -> float:
        return kernel.intercept(self.kind, self.fields, self.constants)

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        self.cells[:, 0], self.cells[:, 1:] = weights, 0.0
        self._start()
        self.set_field("intercept", intercept)


def on_lines(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """An array of zeros that begins where a cache line of 64 bytes begins.

    So a row of 32 or 64 bytes never lies in two cache lines.
    """
    size, line = rows * columns, 64 // np.dtype(dtype).itemsize
    room = np.zeros(size + line, dtype=dtype)
    start = -(room.ctypes.data // room.itemsize) % line
    return room[start : start + size].reshape(rows, columns)
