"""The engine of several outputs on a clock whose iterates are averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Arrays, Engine
from lazynet.engines.clock import AveragedClockEngine
from lazynet.engines.outputs import OutputsOnClock
from lazynet.engines.wear import Wear
from lazynet.kernels import averages as averages_kernel
from lazynet.kernels import outputs as kernel


class AveragedOutputs(OutputsOnClock):
    """One clock for all outputs, with a second number per weight for the average."""

    kind = "averaged clock"
    _scalars = (*OutputsOnClock._beside, "totals")
    _tables = ("shifts", "scales", "pulls")

    def __init__(self, n_features: int, n_outputs: int, wear: Wear | None = None) -> None:
        super().__init__(n_features, n_outputs, np.float64, wear)
        single = AveragedClockEngine(n_features, self.wear)
        self.shifts, self.scales, self.pulls = single.shifts, single.scales, single.pulls
        self.totals = single.totals

    def _past(self) -> averages_kernel.Average:
        return averages_kernel.Average(self.shifts, self.scales, self.pulls, self.totals)

    def _lengths(self, arrays: Arrays) -> dict[str, int]:
        n = int(arrays["totals"][averages_kernel.COUNTED_FIELD])
        return {"shifts": n, "scales": n + 1, "pulls": n + 1}

    def _pairs(self, number: int, which: Any) -> NDArray[np.float64]:
        """The cells {z, before} of one output."""
        return np.ascontiguousarray(self.cells[which][:, number :: self.width])

    def _sweep(self) -> None:
        sums = np.empty(self.n_features)
        for number in range(self.n_outputs):
            averages_kernel.sums(self._pairs(number, slice(None)), self._past(), sums)
            self.cells[:, self.width + number] = -sums
        self.cells[:, : self.n_outputs] = self._by_feature(slice(None), False)
        self._start_clocks()
        averages_kernel.begin(self._past())

    def _by_feature(self, which: Any, model: bool) -> NDArray[np.float64]:
        if not (model and self.counted):
            return super()._by_feature(which, False)
        sums = np.empty((self.n_outputs, len(self.cells[which])))
        for number in range(self.n_outputs):
            averages_kernel.sums(self._pairs(number, which), self._past(), sums[number])
        return (sums / self.counted).T

    @property
    def model_intercepts(self) -> NDArray[np.float64]:
        if not self.counted:
            return self.intercepts
        return self.own[kernel.INTERCEPT_SUM_ROW, : self.n_outputs] / self.counted

    def load_coefficients(
        self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
    ) -> None:
        super().load_coefficients(weights, intercepts)
        self.totals[:] = 0.0
        averages_kernel.begin(self._past())

    def go_on_from(self, other: Engine) -> None:
        self.load_coefficients(other.weights(), other.intercepts)
        if other.averaging and other.counted:
            self.cells[:, self.width : self.width + self.n_outputs] = -(
                other.model() * other.counted
            ).T
            kept = averages_kernel.TOTAL_FIELD
            self.totals[kept] = other.totals[kept]
            self.own[kernel.INTERCEPT_SUM_ROW, : self.n_outputs] = (
                other.model_intercepts * other.counted
            )
