"""Engines of one output that keep a cell of numbers for each weight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import ALL, Engine, Wear, take_until_done
from lazynet.kernels import cells as kernel
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task


class CellEngine(Engine):
    """An engine that computes each weight from its cell, the fields and the constants.

    ``fields`` are the scalars that change with every step, and ``constants`` those of the rule; the
    kernel names both.  ``memory`` is what some kinds keep beside the cells (kernels/cells.pyx), and
    ``average`` is the past of the clock where iterates are averaged.
    """

    #: which row of ``KINDS`` (kernels/cells.pyx) describes the cells
    kind: ClassVar[str]
    _others: ClassVar[tuple[str, ...]] = ("fields", "constants")
    memory: NDArray[np.float64] | None = None
    average: Any = None

    def __init__(
        self, n_features: int, wear: Wear | None = None, constants: Sequence[float] = ()
    ) -> None:
        super().__init__(n_features, wear)
        self.constants = np.array(constants, dtype=np.float64)
        self.cells = on_lines(n_features, kernel.numbers(self.kind), np.float64)
        self.fields = np.zeros(len(kernel.fields(self.kind)))

    def field(self, name: str) -> float:
        """The field called ``name``."""
        return float(self.fields[kernel.fields(self.kind).index(name)])

    def set_field(self, name: str, value: float) -> None:
        """Set the field called ``name``."""
        self.fields[kernel.fields(self.kind).index(name)] = value

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        run = partial(
            kernel.run, self.kind, examples, steps, task, self.constants, self.cells, self.fields,
            memory=self.memory, average=self.average,
        )  # fmt: skip
        take_until_done(
            run, len(steps), t, examples,
            row_of=steps.row, remedy=self.remedy, sweep=self.sweep,
        )  # fmt: skip

    def coefficients(
        self, which: Any = ALL, out: NDArray[np.float64] | None = None, *, last: bool = False
    ) -> NDArray[np.float64]:
        cells = self.cells[which]
        out = np.empty((1, len(cells))) if out is None else out
        kernel.read(self.kind, cells, self.fields, self.constants, out[0], self.memory)
        return out

    def intercepts(self, *, last: bool = False) -> NDArray[np.float64]:
        return np.array([kernel.intercept(self.kind, self.fields, self.constants)])

    def load(self, coefficients: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        self.cells[:, 0], self.cells[:, 1:] = coefficients[0], 0.0
        self.fields[:] = 0.0
        self.set_field("intercept", intercepts[0])


def on_lines(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """An array of zeros that begins where a cache line of 64 bytes begins.

    So a row of 32 or 64 bytes never lies in two cache lines.
    """
    size, line = rows * columns, 64 // np.dtype(dtype).itemsize
    room = np.zeros(size + line, dtype=dtype)
    start = -(room.ctypes.data // room.itemsize) % line
    return room[start : start + size].reshape(rows, columns)
