"""The clock: two running scalars, and one number per weight, or two where iterates are averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Arrays, Engine
from lazynet.engines.wear import Wear
from lazynet.kernels import averages as averages_kernel
from lazynet.kernels import clock as clock_kernel
from lazynet.kernels.examples import Examples, Steps, Task
from lazynet.losses import Loss
from lazynet.schedules import FromData


class OnTheClock(Engine):
    """An engine with the clock's scalars, the intercept among them.

    ``rates`` is the state from which rates follow that are computed from the rows.
    """

    def __init__(self, n_features: int, wear: Wear | None = None) -> None:
        super().__init__(n_features, wear)
        self.fields = np.zeros(clock_kernel.CLOCK_FIELDS)
        clock_kernel.start(self.fields)
        self.rates = np.zeros(clock_kernel.FROM_DATA_FIELDS)

    @property
    def present_rate(self) -> float | None:
        if not self.rates[clock_kernel.ROWS_SEEN_FIELD]:
            return None
        return float(self.rates[clock_kernel.LAST_RATE_FIELD])

    def continue_rates(self, other: Engine) -> None:
        if isinstance(other, OnTheClock):
            self.rates[:] = other.rates

    def calm(self) -> None:
        lower_rates(self.rates)

    def _keep_scale_of(self, weights: NDArray[np.float64]) -> None:
        """Let no mean size of rows rescale weights that were not learned from these rows."""
        self.rates[clock_kernel.LOADED_FIELD] = float(weights.any())

    @property
    def intercept(self) -> float:
        return float(self.fields[clock_kernel.INTERCEPT_FIELD])

    @intercept.setter
    def intercept(self, value: float) -> None:
        self.fields[clock_kernel.INTERCEPT_FIELD] = value


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

    >>> rates = np.zeros(clock_kernel.FROM_DATA_FIELDS)
    >>> lower_rates(rates)
    >>> rates[[clock_kernel.STALLS_FIELD, clock_kernel.LOWERINGS_FIELD]].tolist()
    [0.5, 4.0]
    """
    rates[..., clock_kernel.STALLS_FIELD] += 0.5
    rates[..., clock_kernel.LOWERINGS_FIELD] += 4.0


class ClockEngine(OnTheClock):
    """One number per weight and two running scalars; exact, and the fastest engine.

    >>> engine = ClockEngine(2)
    >>> engine.weights()
    array([0., 0.])
    """

    name = "clock"
    _per_weight = ("stored",)
    _scalars = ("fields", "rates")

    def __init__(self, n_features: int, wear: Wear | None = None) -> None:
        super().__init__(n_features, wear)
        self.stored = np.zeros(n_features)

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return clock_kernel.run(
            examples, steps, task, self.stored, self.fields, first, None, self.rates
        )

    def _sweep(self) -> None:
        clock_kernel.rebase(self.stored, self.fields)

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        clock_kernel.read(self.stored, self.fields, out)
        return out

    def weights_at(self, which: Any) -> NDArray[np.float64]:
        current = self.stored[which]
        clock_kernel.read(current, self.fields, current)
        return current

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        np.copyto(self.stored, weights)
        self._keep_scale_of(weights)
        clock_kernel.start(self.fields)
        self.intercept = intercept


class AveragedClockEngine(OnTheClock):
    """The clock with a second number per weight, from which the exact average is read.

    The past of the clock is a block of three numbers per step.  When the block is full, all weights
    are brought current, at a cost that is small beside the steps that filled the block.
    """

    name = "clock"
    _per_weight = ("cells",)
    _scalars = ("fields", "rates", "totals")
    _tables = ("shifts", "scales", "pulls")

    def __init__(
        self, n_features: int, wear: Wear | None = None, steps_per_block: int | None = None
    ) -> None:
        super().__init__(n_features, wear)
        room = _steps_per_block(n_features) if steps_per_block is None else steps_per_block
        self.cells = np.zeros((n_features, 2))
        # The system maps these pages as the block fills, not before.
        self.shifts = np.empty(room)
        self.scales, self.pulls = np.empty(room + 1), np.empty(room + 1)
        self.totals = np.zeros(averages_kernel.AVERAGE_FIELDS)
        averages_kernel.begin(self._past())

    def _past(self) -> averages_kernel.Average:
        return averages_kernel.Average(self.shifts, self.scales, self.pulls, self.totals)

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        cells = self.cells.reshape(-1)
        return clock_kernel.run(
            examples, steps, task, cells, self.fields, first, self._past(), self.rates
        )

    def _sweep(self) -> None:
        averages_kernel.fold(self.cells, self.fields, self._past())

    def _lengths(self, arrays: Arrays) -> dict[str, int]:
        n = int(arrays["totals"][averages_kernel.COUNTED_FIELD])
        return {"shifts": n, "scales": n + 1, "pulls": n + 1}

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        averages_kernel.read(self.cells, self.fields, out)
        return out

    def weights_at(self, which: Any) -> NDArray[np.float64]:
        cells = self.cells[which]
        current = np.empty(len(cells))
        averages_kernel.read(cells, self.fields, current)
        return current

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
        self.cells[:, 0], self.cells[:, 1] = weights, 0.0
        self._keep_scale_of(weights)
        clock_kernel.start(self.fields)
        self.totals[:] = 0.0
        averages_kernel.begin(self._past())
        self.intercept = intercept


def _steps_per_block(n_features: int) -> int:
    """Steps in a block, 24 bytes each; beside them a visit to every weight costs little."""
    return max(min(4 * n_features, 2**18), n_features // 4, 2**12)
