"""The clock: two running scalars, and one number per weight, or two where iterates are averaged."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Arrays, Engine
from lazynet.engines.cells import CellEngine
from lazynet.engines.wear import Wear
from lazynet.kernels import averages as averages_kernel
from lazynet.kernels import cells as kernel
from lazynet.losses import Loss
from lazynet.schedules import FromData

# scale, scale_low, inverse, shift and shift_low of a clock at its start.
_START = 1.0, 0.0, 1.0, 0.0, 0.0


class CellsOnClock(CellEngine):
    """Cells whose fields begin with the scalars of a clock, the intercept behind them."""

    def _start(self) -> None:
        super()._start()
        self._set_clock()

    def _set_clock(self) -> None:
        """Set the clock to its start, for weights that are current; the intercept stays."""
        self.fields[: len(_START)] = _START
        self.set_field("work", 0.0)


class OnTheClock(CellsOnClock):
    """The clock of SGD and FoBoS; ``rates`` is the state of rates computed from the rows."""

    _scalars: ClassVar[tuple[str, ...]] = ("fields", "rates")

    def __init__(self, n_features: int, wear: Wear | None = None) -> None:
        self.rates = np.zeros(kernel.FROM_DATA_FIELDS)
        super().__init__(n_features, wear)

    @property
    def _memory(self) -> NDArray[np.float64]:
        return self.rates

    @property
    def present_rate(self) -> float | None:
        if not self.rates[kernel.ROWS_SEEN_FIELD]:
            return None
        return float(self.rates[kernel.LAST_RATE_FIELD])

    def continue_rates(self, other: Engine) -> None:
        if isinstance(other, OnTheClock):
            self.rates[:] = other.rates

    def calm(self) -> None:
        lower_rates(self.rates)

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        super().load(weights, intercept)
        # No mean size of rows rescales weights that were not learned from these rows.
        self.rates[kernel.LOADED_FIELD] = float(weights.any())


# The scale C of the rates, for losses of a margin and of numbers.
_MARGINS, _NUMBERS = 32.0, 16.0
# Rows of a size |x|^2 beyond this many mean sizes m have a smaller rate.
_SLACK = 8.0
# The squared size of the intercept's feature, beside rows of the mean norm.
_INTERCEPT_OF_MARGINS, _INTERCEPT_OF_NUMBERS = 2.0**-5, 1.0
# A lack of progress multiplies the rates of the weights and of the intercept by these numbers, for
# losses of numbers.
_LOWERING, _INTERCEPT_LOWERING = 0.5**0.5, 0.25


def tuning_of(
    schedule: FromData, loss: Loss, l1: float, l2: float, largest_rate: float, proximal: bool
) -> tuple[float, ...]:
    """The numbers of automatic rates, in the order of ``Tuning`` (kernels/from_data.pxd).

    >>> from lazynet.losses import get_loss
    >>> tuning_of(FromData(), get_loss("hinge"), 0.1, 0.0, 1.0, True)
    (32.0, 8.0, 0.1, 0.0, 1.0, 1.0, 0.0, 0.03125, 1.0, 1.0, False, False, False, True)
    """
    numbers = not loss.margin
    smooth = numbers and loss.curvature is not None
    bounded = 1.0 if not smooth else np.inf if loss.unbounded_slope else loss.epsilon
    return (
        schedule.factor * (_NUMBERS if numbers else _MARGINS),
        _SLACK,
        l1,
        l2,
        largest_rate,
        bounded,
        (loss.curvature or 0.0) if loss.unbounded_slope else 0.0,
        _INTERCEPT_OF_NUMBERS if numbers else _INTERCEPT_OF_MARGINS,
        _LOWERING if numbers else 1.0,
        _INTERCEPT_LOWERING if numbers else 1.0,
        numbers,
        smooth,
        loss.unbounded_slope,
        proximal,
    )


def lower_rates(rates: NDArray[np.float64]) -> None:
    """Quarter the rates of weights that predict numbers, and halve the rate of the intercept.

    ``rates`` is the state of one output, or has a row for each output.  One lack of progress
    multiplies the rate of the weights by the root of a half, and the rate of the intercept by a
    quarter (``FromData``): an epoch without progress counts as four for the weights, and as half a
    one for the intercept.

    >>> rates = np.zeros(kernel.FROM_DATA_FIELDS)
    >>> lower_rates(rates)
    >>> rates[[kernel.STALLS_FIELD, kernel.LOWERINGS_FIELD]].tolist()
    [0.5, 4.0]
    """
    rates[..., kernel.STALLS_FIELD] += 0.5
    rates[..., kernel.LOWERINGS_FIELD] += 4.0


class ClockEngine(OnTheClock):
    """One number per weight and two running scalars; exact, and the fastest engine.

    >>> engine = ClockEngine(2)
    >>> engine.weights()
    array([0., 0.])
    """

    name = kind = "clock"

    def _sweep(self) -> None:
        self._read(self.cells, self.cells.reshape(-1))
        self._set_clock()


class AveragedClockEngine(OnTheClock):
    """The clock with a second number per weight, from which the exact average is read.

    The past of the clock is a block of three numbers per step.  When the block is full, all weights
    are brought current, at a cost that is small beside the steps that filled the block.
    """

    name, kind = "clock", "averaged clock"
    _scalars = ("fields", "rates", "totals")
    _tables = ("shifts", "scales", "pulls")

    def __init__(
        self, n_features: int, wear: Wear | None = None, steps_per_block: int | None = None
    ) -> None:
        room = _steps_per_block(n_features) if steps_per_block is None else steps_per_block
        # The system maps these pages as the block fills, not before.
        self.shifts = np.empty(room)
        self.scales, self.pulls = np.empty(room + 1), np.empty(room + 1)
        self.totals = np.zeros(averages_kernel.AVERAGE_FIELDS)
        super().__init__(n_features, wear)

    def _past(self) -> averages_kernel.Average:
        return averages_kernel.Average(self.shifts, self.scales, self.pulls, self.totals)

    def _set_clock(self) -> None:
        super()._set_clock()
        averages_kernel.begin(self._past())

    def _sweep(self) -> None:
        sums = np.empty(self.n_features)
        self._sums(sums)
        self.cells[:, 0] = self.weights()
        self._set_sums(sums)
        self._set_clock()

    def _lengths(self, arrays: Arrays) -> dict[str, int]:
        n = int(arrays["totals"][averages_kernel.COUNTED_FIELD])
        return {"shifts": n, "scales": n + 1, "pulls": n + 1}

    def _is_finite_at(self, indices: NDArray[Any]) -> bool:
        return bool(np.isfinite(self.cells[indices]).all())

    def _sums(self, out: NDArray[np.float64]) -> None:
        averages_kernel.sums(self.cells, self._past(), out)

    def _sums_at(self, which: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.empty(len(which))
        averages_kernel.sums(self.cells[which], self._past(), sums)
        return sums

    def _set_sums(self, sums: NDArray[np.float64]) -> None:
        np.negative(sums, out=self.cells[:, 1])

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        super().load(weights, intercept)
        self.totals[:] = 0.0


def _steps_per_block(n_features: int) -> int:
    """Steps in a block, 24 bytes each; beside them a visit to every weight costs little."""
    return max(min(4 * n_features, 2**18), n_features // 4, 2**12)
