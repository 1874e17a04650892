"""The base of the engines of one output that keep a cell of numbers for each weight.

The engine of a rule has the name of the rule; its file in kernels/rules/ describes the cell and the
constants.  A cell holds a weight that may have missed shrinks (``LaggingWeights``), or sums of
gradients from which the weight is computed (``GradientSums``).
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lazynet.engines.base import ALL, Engine, Floats, take_until_done
from lazynet.kernels import one_output
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task
from lazynet.kernels.table import RULES


class CellEngine(Engine):
    """An engine that computes each weight from its cell, the fields and the constants.

    ``fields`` are the scalars that change with every step, and ``constants`` the numbers of the
    rule; kernels/table.py names both.  ``memory`` is a further array of some kinds
    (kernels/one_output.pyx).
    """

    #: the name of the rule in kernels/table.py
    kind: ClassVar[str]
    _others: ClassVar[tuple[str, ...]] = ("fields", "constants")
    memory: Floats | None = None

    def __init__(self, n_features: int, constants: ArrayLike | None = None) -> None:
        self.n_features = n_features
        self.constants = np.zeros(len(RULES[self.kind].constants))
        if constants is not None:
            self.constants[:] = constants
        self.cells = zeros_on_cache_lines(n_features, RULES[self.kind].numbers, np.float64)
        self.fields = np.zeros(len(RULES[self.kind].fields))

    def field(self, name: str) -> float:
        """The field called ``name``."""
        return float(self.fields[RULES[self.kind].fields.index(name)])

    def set_field(self, name: str, value: float) -> None:
        """Set the field called ``name``."""
        self.fields[RULES[self.kind].fields.index(name)] = value

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        run = partial(
            one_output.run, self.kind, examples, steps, task, self.constants, self.cells,
            self.fields, memory=self.memory, average=self.average,
        )  # fmt: skip
        take_until_done(
            run, len(steps), t, examples,
            row_of=steps.row, remedy=self.remedy, sweep=self.sweep,
        )  # fmt: skip

    def coefficients(self, which: Any = ALL, *, last: bool = False) -> Floats:
        cells = self.cells[which]
        weights = np.empty((1, len(cells)))
        one_output.read(self.kind, cells, self.fields, self.constants, weights[0], self.memory)
        return weights

    def intercepts(self, *, last: bool = False) -> Floats:
        return np.array([one_output.intercept(self.kind, self.fields, self.constants)])

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        self.cells[:, 0], self.cells[:, 1:] = coefficients[0], 0.0
        self.fields[:] = 0.0
        self.set_field("intercept", intercepts[0])


def zeros_on_cache_lines(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """An array of zeros that starts at the start of a cache line of 64 bytes.

    So a row of 32 or 64 bytes never extends over two cache lines.
    """
    size, line = rows * columns, 64 // np.dtype(dtype).itemsize
    room = np.zeros(size + line, dtype=dtype)
    start = -(room.ctypes.data // room.itemsize) % line
    return room[start : start + size].reshape(rows, columns)


# --- weights that miss shrinks -------------------------------------------------------------------


class LaggingWeights(CellEngine):
    """An engine whose weights miss shrinks until an example touches them or they are read.

    The first number of a cell is the weight; the last number says when the weight was stored.
    """

    def set_constants(self, constants: tuple[float, ...]) -> None:
        """Apply the missed shrinks with the old constants, then switch."""
        if not np.array_equal(constants, self.constants):
            self.sweep()
            self.constants[:] = constants

    def _sweep(self) -> None:
        """Bring every weight current; the last number of a cell becomes the number of steps."""
        self.cells[:, 0], self.cells[:, -1] = self.weights(), self.field("steps")


# --- sums of gradients ---------------------------------------------------------------------------

# Values of the field `loaded`: the weights were loaded, and no step has trained them yet
# (NOT_LEARNED in kernels/from_data.pxd); the sums were changed for other constants.
_NOT_LEARNED, _RESTATED = -1.0, -2.0


class GradientSums(CellEngine):
    """An engine whose weights are a function of all gradients so far, the penalty and the rates."""

    #: the number of constants that describe the penalty; they are the first constants
    _n_penalties: ClassVar[int] = 2
    #: the name of the constant that is not 0 if the rates follow the sizes of the rows
    _follows: ClassVar[str]

    @property
    def follows(self) -> bool:
        """Whether the rates follow the sizes of the rows."""
        return bool(self.constants[RULES[self.kind].constants.index(self._follows)])

    @property
    def unit(self) -> float:
        """The mean size of the rows at its last computation; 1 before the first row with a size."""
        return self.field("mean") or 1.0

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        """Start from these weights; the count of gradients becomes 1 unless all of them are 0."""
        weights, intercept = coefficients[0], float(intercepts[0])
        self.cells[:], self.fields[:] = 0.0, 0.0
        self.set_field("steps", self._note_given_weights(weights, intercept))
        self._restate(weights, intercept)

    def set_constants(self, constants: tuple[float, ...]) -> None:
        """Continue with another penalty, which acts on all gradients, and with other rates.

        New rates concern only future steps: the cells change so that the weights under the new
        penalty and the new rates equal the weights under the new penalty and the old rates.  If the
        new rates follow the data, the weights count as loaded: they were trained at rates that were
        not in proportion to the present scale.
        """
        self.constants[: self._n_penalties] = constants[: self._n_penalties]
        if np.array_equal(constants, self.constants):
            return
        self.sweep()
        weights, intercept = self.weights(), self.intercept
        followed = self.follows
        self.constants[:] = constants
        if self.follows and not followed:
            self._note_given_weights(weights, intercept)
        self._restate(weights, intercept)

    def _note_given_weights(self, weights: Floats, intercept: float) -> float:
        """Record for ``_sweep`` whether any given weight is not 0; returns 1.0 if so, else 0.0."""
        loaded = bool(intercept or np.any(weights))
        if self.follows:
            self.set_field("loaded", _NOT_LEARNED if loaded else 0.0)
        return float(loaded)

    def _sweep(self) -> None:
        """Change the cells to a new scale such that given weights stay the same."""
        wanted = self.field("loaded")
        if wanted > 0.0:
            weights, intercept = self.weights(), self.intercept
            self.set_field("mean", wanted)
            self.set_field("loaded", _RESTATED)
            self._restate(weights, intercept)

    def _restate(self, weights: Floats, intercept: float) -> None:
        """Set the cells to values that give these weights under the present constants."""
        raise NotImplementedError
