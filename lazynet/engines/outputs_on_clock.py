"""Engines of several outputs on clocks: one by one, averaged, or in groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import ALL, Arrays, Engine, Wear
from lazynet.engines.clock import average_of, columns_of_past, lower_rates, past_of_clock
from lazynet.engines.outputs import OutputsEngine
from lazynet.kernels import averages as averages_kernel
from lazynet.kernels import cells as cells_kernel
from lazynet.kernels import outputs as kernel

# Above this scale the squares of stored weights are in the range of doubles.
_SMALLEST_SCALE_OF_GROUPS = 2.0**-200


class OutputsOnClock(OutputsEngine):
    """The clock: one number per weight; one clock for all outputs, or a clock for each.

    >>> engine = OutputsOnClock(3, 2)
    >>> engine.load(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([0.5, 0.0]))
    >>> engine.coefficients(np.array([2])), engine.intercepts()
    (array([[3.],
           [6.]]), array([0.5, 0. ]))
    """

    name = "clock"
    kind = "clock"
    _beside = ("clocks", "own", "scalars", "rates")
    _others: ClassVar[tuple[str, ...]] = _beside

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        dtype: Any = np.float64,
        wear: Wear | None = None,
        own_clocks: bool = False,
    ) -> None:
        super().__init__(n_features, n_outputs, dtype, wear)
        self.clocks = np.zeros((kernel.CLOCK_ROWS, self.width if own_clocks else 1))
        self.own = np.zeros((kernel.OWN_ROWS, self.width))
        self.scalars = np.zeros(kernel.SCALARS)
        self.rates = np.zeros((n_outputs, cells_kernel.FROM_DATA_FIELDS))
        self._set_clocks()

    def _set_clocks(self) -> None:
        """Set the clocks to their start; a pending step is kept."""
        self.clocks[0], self.clocks[1:] = 1.0, 0.0
        self.scalars[kernel.WORK_SCALAR] = 0.0

    def _sweep(self) -> None:
        kernel.sweep(self._block())
        self._set_clocks()

    def _block_to_read(self, which: Any) -> kernel.Block:
        first_numbers = np.ascontiguousarray(self.cells[which][:, : self.width], np.float64)
        return self._block_of(first_numbers, which, "clock")

    def intercepts(self, *, last: bool = False) -> NDArray[np.float64]:
        return self.own[kernel.INTERCEPT_ROW, : self.n_outputs].copy()

    def load(self, coefficients: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        self.cells[...] = 0.0
        self.cells[:, : self.n_outputs] = coefficients.T
        self.rates[:, cells_kernel.LOADED_FIELD] = coefficients.any(axis=1)
        self.own[...] = 0.0
        self.own[kernel.INTERCEPT_ROW, : self.n_outputs] = intercepts
        self._set_clocks()
        self.scalars[:] = 0.0

    @property
    def present_rate(self) -> float | None:
        if not self.rates[0, cells_kernel.ROWS_SEEN_FIELD]:
            return None
        return float(self.rates[0, cells_kernel.LAST_RATE_FIELD])

    def continue_rates(self, other: Engine) -> None:
        if isinstance(other, OutputsOnClock) and other.rates.shape == self.rates.shape:
            self.rates[:] = other.rates

    def lower_rates(self) -> None:
        lower_rates(self.rates)


class AveragedOutputs(OutputsOnClock):
    """One clock for all outputs, with a second number per weight for the average."""

    kind = "averaged clock"
    _others = (*OutputsOnClock._beside, "totals", "past")
    _table = "past"

    def __init__(self, n_features: int, n_outputs: int, wear: Wear | None = None) -> None:
        self.past = past_of_clock(n_features)
        self.totals = np.zeros(averages_kernel.AVERAGE_FIELDS)
        super().__init__(n_features, n_outputs, np.float64, wear)

    @property
    def average(self) -> averages_kernel.Average:  # type: ignore[override]
        """The past of the clock as the kernel takes it."""
        return average_of(self.past, self.totals)

    def _written(self, arrays: Arrays) -> float:
        return columns_of_past(arrays)

    def _set_clocks(self) -> None:
        super()._set_clocks()
        averages_kernel.begin(self.average)

    def _sweep(self) -> None:
        befores = self.cells[:, self.width : self.width + self.n_outputs]
        np.negative(self._sums(ALL), out=befores)
        self.cells[:, : self.n_outputs] = self._by_feature(ALL, last=True)
        self._set_clocks()

    def _sums(self, which: Any) -> NDArray[np.float64]:
        """The sum of omega * w over the iterates for the weights w, a row per feature."""
        cells = self.cells[which]
        sums = np.empty((self.n_outputs, len(cells)))
        for number in range(self.n_outputs):
            pairs = np.ascontiguousarray(cells[:, number :: self.width])
            averages_kernel.sums(pairs, self.average, sums[number])
        return sums.T

    def _by_feature(self, which: Any, last: bool) -> NDArray[np.float64]:
        if last or not self.counted:
            return super()._by_feature(which, last)
        return self._sums(which) / self.counted

    def intercepts(self, *, last: bool = False) -> NDArray[np.float64]:
        if last or not self.counted:
            return super().intercepts()
        return self.own[kernel.INTERCEPT_SUM_ROW, : self.n_outputs] / self.counted

    def load(self, coefficients: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        super().load(coefficients, intercepts)
        self.totals[:] = 0.0


class GroupedOutputs(OutputsOnClock):
    """One clock for all outputs, and rows of weights that FoBoS shrinks as a whole.

    The penalty of the row v of a feature is l1 ||v||_2 + (l2 / 2) ||v||_2^2: a feature is kept or
    dropped for all outputs together.
    """

    kind = "groups"
    # The norm of a row may overflow where its entries do not.
    _cells_show_overflow = False

    def __init__(
        self, n_features: int, n_outputs: int, dtype: Any = np.float64, wear: Wear | None = None
    ) -> None:
        wear = wear if wear is not None else Wear()
        smallest = max(wear.smallest_scale, _SMALLEST_SCALE_OF_GROUPS)
        super().__init__(n_features, n_outputs, dtype, replace(wear, smallest_scale=smallest))

    def _block_to_read(self, which: Any) -> kernel.Block:
        return self._block_of(np.ascontiguousarray(self.cells[which]), which)
