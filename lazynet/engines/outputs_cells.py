"""Engines of several outputs of the rules with a state of their own: RDA, FTRL and AdaGrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.adagrad import FOLLOWS, AdaGradEngine
from lazynet.engines.base import Engine, advice_on_overflow
from lazynet.engines.cells import CellEngine
from lazynet.engines.ftrl import FTRLEngine
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.rda import RDAEngine
from lazynet.engines.wear import Wear
from lazynet.kernels import cells as cells_kernel
from lazynet.kernels import outputs as kernel
from lazynet.losses import Loss
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LOG_LOSS, Rule


class CellOutputs(OutputsEngine):
    """The rules with a state of their own.  ``constants`` and ``fields`` have a row per output."""

    _scalars = _beside = ("constants", "fields")
    #: the engine of one output
    single: ClassVar[type[CellEngine]]

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        rule: Rule,
        penalties: Sequence[ElasticNet],
        dtype: Any = np.float64,
        wear: Wear | None = None,
        loss: Loss = LOG_LOSS,
    ) -> None:
        super().__init__(n_features, n_outputs, dtype, wear)
        rule = rule.settled()
        self.advice = advice_on_overflow(rule.remedy)
        given = [rule.constants(penalty, loss) for penalty in penalties]
        # An output that only fills up a line has the constants of the first.
        given += [given[0]] * (self.width - len(given))
        self.constants = np.array(given, dtype=np.float64)
        self.fields = np.zeros((self.width, len(cells_kernel.fields(self.kind))))

    def output(self, number: int, which: Any = slice(None)) -> CellEngine:
        """An engine of one output with the state of output ``number``, for some features."""
        engine: CellEngine = object.__new__(self.single)
        Engine.__init__(engine, len(self.cells[which]), self.wear)
        engine.advice = self.advice
        engine.constants, engine.fields = self.constants[number].copy(), self.fields[number].copy()
        engine.cells = self._cells_of(number, which)
        return engine

    def _cells_of(self, number: int, which: Any) -> NDArray[np.float64]:
        """The cells of one output in the form of the engine of one output."""
        return np.ascontiguousarray(self.cells[which][:, number :: self.width], dtype=np.float64)

    def set_output(self, number: int, single: CellEngine) -> None:
        """Make the state of an engine of one output the state of output ``number``."""
        self.constants[number], self.fields[number] = single.constants, single.fields
        self.cells[:, number :: self.width] = single.cells
        if number == 0:
            # What only fills up a line counts the same steps.
            self.constants[self.n_outputs :] = single.constants
            self.fields[self.n_outputs :] = single.fields

    @property
    def intercepts(self) -> NDArray[np.float64]:
        nothing = slice(0, 0)
        return np.array([self.output(k, nothing).intercept for k in range(self.n_outputs)])

    @property
    def model_intercepts(self) -> NDArray[np.float64]:
        nothing = slice(0, 0)
        return np.array([self.output(k, nothing).model_intercept for k in range(self.n_outputs)])

    def load_coefficients(
        self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
    ) -> None:
        for number in range(self.n_outputs):
            single = self.output(number)
            single.load(weights[number], float(intercepts[number]))
            self.set_output(number, single)

    def go_on_from(self, other: Engine) -> None:
        assert isinstance(other, CellOutputs)
        for number in range(self.n_outputs):
            single = self.output(number)
            single.go_on_from(other.output(number))
            self.set_output(number, single)

    def _sweep(self) -> None:
        """Let every output do what the kernel has asked for."""
        for number in range(self.n_outputs):
            single = self.output(number)
            single._sweep()
            self.set_output(number, single)

    def retune(self, constants: tuple[float, ...]) -> None:
        if np.array_equal(self.constants, np.broadcast_to(constants, self.constants.shape)):
            return
        for number in range(self.n_outputs):
            single = self.output(number)
            single.retune(constants)
            self.set_output(number, single)

    def warning_about(self, constants: tuple[float, ...]) -> str | None:
        texts = (self.output(number).warning_about(constants) for number in range(self.n_outputs))
        return next((text for text in texts if text is not None), None)

    @property
    def present_rate(self) -> float | None:
        return self.output(0, slice(0, 0)).present_rate


class RDAOutputs(CellOutputs):
    """Regularised dual averaging: a number per weight."""

    name = kind = "rda"
    single = RDAEngine


class FTRLOutputs(CellOutputs):
    """FTRL-Proximal: two numbers per weight."""

    name = kind = "ftrl"
    single = FTRLEngine


class AdaGradOutputs(CellOutputs):
    """AdaGrad: two numbers per weight, and a stamp per feature: every step touches whole rows."""

    name = kind = "adagrad"
    single = AdaGradEngine
    _per_weight = ("cells", "stamps")

    def _cells_of(self, number: int, which: Any) -> NDArray[np.float64]:
        pairs = super()._cells_of(number, which)
        cells = np.zeros((len(pairs), 4))
        cells[:, :2], cells[:, 3] = pairs, self.stamps[which]
        cells_kernel.retune(self.kind, cells, self.fields[number], self.constants[number])
        return cells

    def set_output(self, number: int, single: CellEngine) -> None:
        # A row of weights has one stamp: bring the weights of the output current.
        cells_kernel.sweep(self.kind, single.cells, single.fields, single.constants)
        pairs = object.__new__(type(single))
        pairs.constants, pairs.fields, pairs.cells = (
            single.constants, single.fields, single.cells[:, :2],
        )  # fmt: skip
        super().set_output(number, pairs)
        self.stamps[:] = single.field("steps")

    def load_coefficients(
        self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
    ) -> None:
        self.stamps[:] = 0.0
        self.fields[...] = 0.0
        super().load_coefficients(weights, intercepts)

    def retune(self, constants: tuple[float, ...]) -> None:
        """Apply the missed shrinks with the old constants, then switch."""
        if np.array_equal(self.constants, np.broadcast_to(constants, self.constants.shape)):
            return
        self.sweep()
        if all(constants[FOLLOWS] == own for own in self.constants[:, FOLLOWS]):
            self.constants[:] = constants  # no other number depends on them
        else:
            super().retune(constants)

    def _sweep(self) -> None:
        kernel.sweep(self._block())
