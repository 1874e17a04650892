"""The base of all engines that keep a cell of numbers for each weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Engine, advice_on_overflow
from lazynet.engines.wear import Wear
from lazynet.kernels import cells as kernel
from lazynet.kernels.averages import Average
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task
from lazynet.losses import Loss
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule

# What the field `loaded` says of weights that were loaded, see kernels/rules/mean_size.pxd.
_LOADED, _RESTATED = -1.0, -2.0


class CellEngine(Engine):
    """An engine that computes each weight from its cell, the fields and the constants.

    ``fields`` are the scalars that change with every step; the kernel names them.
    """

    #: which row of ``KINDS`` (kernels/cells.pyx) describes the cells
    kind: ClassVar[str]
    _per_weight = ("cells",)
    _scalars: ClassVar[tuple[str, ...]] = ("fields", "constants")

    def __init__(
        self, n_features: int, wear: Wear | None = None, constants: Sequence[float] = ()
    ) -> None:
        super().__init__(n_features, wear)
        self.constants = np.array(constants, dtype=np.float64)
        self.cells = _aligned_zeros(n_features, kernel.numbers(self.kind))
        self.fields = np.zeros(len(kernel.fields(self.kind)))
        self._start()

    def _start(self) -> None:
        """Set the fields to those of the first step."""
        self.fields[:] = 0.0

    def _zeros(self, name: str, n_features: int) -> NDArray[Any]:
        return _aligned_zeros(n_features, kernel.numbers(self.kind))

    def field(self, name: str) -> float:
        """The field called ``name``."""
        return float(self.fields[kernel.fields(self.kind).index(name)])

    def set_field(self, name: str, value: float) -> None:
        """Set the field called ``name``."""
        self.fields[kernel.fields(self.kind).index(name)] = value

    @property
    def _memory(self) -> NDArray[np.float64] | None:
        """What the kind keeps beside the cells (kernels/cells.pyx)."""
        return None

    def _past(self) -> Average | None:
        """The past of the clock, where iterates are averaged."""
        return None

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return kernel.run(
            self.kind, examples, steps, task, self.constants, self.cells, self.fields, first,
            self._memory, self._past(),
        )  # fmt: skip

    def _read(self, cells: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        kernel.read(self.kind, cells, self.fields, self.constants, out, self._memory)

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        self._read(self.cells, out)
        return out

    def weights_at(self, which: Any) -> NDArray[np.float64]:
        cells = self.cells[which]
        current = np.empty(len(cells))
        self._read(cells, current)
        return current

    @property
    def intercept(self) -> float:
        return kernel.intercept(self.kind, self.fields, self.constants)

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        self.cells[:, 0], self.cells[:, 1:] = weights, 0.0
        self._start()
        self.set_field("intercept", intercept)


class RuleEngine(CellEngine):
    """An engine of a rule with a state of its own.

    ``constants`` are the numbers that the rule and the penalty give (``Rule.constants``).
    """

    def __init__(
        self,
        n_features: int,
        rule: Rule,
        penalty: ElasticNet,
        wear: Wear | None = None,
        loss: Loss = LOG_LOSS,
    ) -> None:
        rule = rule.settled()
        super().__init__(n_features, wear, rule.constants(penalty, loss))
        self.advice = advice_on_overflow(rule.remedy)


class LeadingEngine(RuleEngine):
    """An engine whose weights are a function of all gradients so far, the penalty and the rates."""

    #: how many constants, the first ones, describe the penalty: l1, l2 and how often they count
    _penalties: ClassVar[int] = 2

    def retune(self, constants: tuple[float, ...]) -> None:
        """Go on with another penalty, which acts on all gradients, and with other rates.

        New rates concern only the steps to come: the cells change so that the weights under the
        new penalty and the new rates equal the weights under the new penalty and the old rates.
        Where the new rates follow the data, the weights count as loaded: they have been learned
        at rates that were not in proportion to the present scale.
        """
        wanted = np.array(constants, dtype=np.float64)
        self.constants[: self._penalties] = wanted[: self._penalties]
        if np.array_equal(wanted, self.constants):
            return
        self.sweep()
        weights, intercept = self.weights(), self.intercept
        followed = self.follows
        self.constants[:] = wanted
        if self.follows and not followed:
            self._are_loaded(weights, intercept)
        self._restate(weights, intercept)

    @property
    def follows(self) -> bool:
        """Whether the rates follow the sizes of the rows."""
        raise NotImplementedError

    @property
    def unit(self) -> float:
        """The mean size of the rows as of the last refresh; 1 before the first row with a size."""
        return self.field("mean") or 1.0

    def _are_loaded(self, weights: NDArray[np.float64], intercept: float) -> float:
        """1 for a model that is not zero, whose weights a new scale will leave what they are."""
        loaded = bool(intercept or np.any(weights))
        if self.follows:
            self.set_field("loaded", _LOADED if loaded else 0.0)
        return float(loaded)

    def _sweep(self) -> None:
        """Let loaded weights stay what they are at a new scale, if the kernel asks for it."""
        wanted = self.field("loaded")
        if wanted > 0.0:
            weights, intercept = self.weights(), self.intercept
            self.set_field("mean", wanted)
            self.set_field("loaded", _RESTATED)
            self._restate(weights, intercept)

    def _restate(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Change the cells so that they give these weights under the present constants."""
        raise NotImplementedError


class LaggingEngine(RuleEngine):
    """An engine whose weights miss shrinks until an example touches them or they are read."""

    def retune(self, constants: tuple[float, ...]) -> None:
        """Apply the missed shrinks with the old constants, then switch."""
        if not np.array_equal(np.array(constants), self.constants):
            self.sweep()
            self.constants[:] = constants

    def _sweep(self) -> None:
        """Bring every weight current; the last number of a cell is the steps taken when it was."""
        self.cells[:, 0], self.cells[:, -1] = self.weights(), self.field("steps")


def _aligned_zeros(rows: int, columns: int) -> NDArray[np.float64]:
    """An array of zeros that begins where a cache line of 64 bytes begins.

    So a row of 32 or 64 bytes never lies in two cache lines.
    """
    if columns <= 2:
        # NumPy aligns arrays to 16 bytes, which is enough for rows of 8 or 16 bytes.
        return np.zeros((rows, columns))
    line = 64 // 8
    room = np.zeros(rows * columns + line)
    start = -(room.ctypes.data // 8) % line
    return room[start : start + rows * columns].reshape(rows, columns)
