"""Engines of the affine rules: the clock, its averages, tables, and the dense loop.

The clock is two running scalars and one number per weight; with an average, two numbers per weight.
Lipton & Elkan's tables hold every earlier value of the clock.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from lazynet.engines.base import ALL, Arrays, Engine, Floats, take_until_done
from lazynet.engines.cells import CellEngine
from lazynet.kernels import dense, one_output
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import AVERAGE_FIELDS, INTERCEPT_SUM_FIELD, Steps, Task
from lazynet.kernels.table import RULES
from lazynet.rules.storage import DEFAULT_BUDGET

# scale, scale_low, inverse, shift and shift_low of a clock at its start.
_START = 1.0, 0.0, 1.0, 0.0, 0.0


class ClockEngine(CellEngine):
    """One number per weight and two running scalars; exact, and the fastest engine.

    The fields begin with the scalars of the clock.  ``memory`` is the state of rates that are
    computed from the rows.
    """

    name = kind = "clock"
    memory: Floats
    _others: ClassVar[tuple[str, ...]] = ("fields", "memory")

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.memory = np.zeros(one_output.RATE_FIELDS)
        self._set_clock()

    def _set_clock(self) -> None:
        """Set the clock to its start, for weights that are current; the intercept stays."""
        self.fields[: len(_START)] = _START
        self.set_field("work", 0.0)

    def _sweep(self) -> None:
        one_output.read(self.kind, self.cells, self.fields, self.constants, self.cells.reshape(-1))
        self._set_clock()

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        super().set_coefficients(coefficients, intercepts)
        self._set_clock()
        # A change of the mean size must not rescale weights that were not trained on these rows.
        self.memory[one_output.LOADED_FIELD] = float(coefficients.any())

    @property
    def rates_from_rows(self) -> Floats:
        return self.memory


class AveragedClockEngine(ClockEngine):
    """The clock with a second number per weight, from which the exact average is read.

    The past of the clock is a table of three numbers per step.  When it is full, all weights are
    brought current, at a cost that is small compared with the steps that filled the table.
    """

    kind = "averaged clock"
    _others = ("fields", "memory", "totals", "past")
    _table = "past"
    _cells_show_overflow = True

    def __init__(self, n_features: int) -> None:
        self.past = past_of_clock(n_features)
        self.totals = np.zeros(AVERAGE_FIELDS)
        super().__init__(n_features)

    def _set_clock(self) -> None:
        super()._set_clock()
        self.average.begin()

    def _sweep(self) -> None:
        sums = self._sums(ALL)
        self.cells[:, 0] = self.weights()
        np.negative(sums, out=self.cells[:, 1])
        self._set_clock()

    def coefficients(self, which: Any = ALL, *, last: bool = False) -> Floats:
        if last or not self.counted:
            return super().coefficients(which)
        return self._sums(which)[None] / self.counted

    def _sums(self, which: Any) -> Floats:
        """The sum of omega * w over the iterates, for the weights w of the features ``which``."""
        cells = self.cells[which]
        sums = np.empty(len(cells))
        self.average.sums(cells, sums)
        return sums

    def intercepts(self, *, last: bool = False) -> Floats:
        if last or not self.counted:
            return super().intercepts()
        return self.totals[[INTERCEPT_SUM_FIELD]] / self.counted

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        super().set_coefficients(coefficients, intercepts)
        self.totals[:] = 0.0


def past_of_clock(n_features: int) -> Floats:
    """Room for the shift of every step, and for the scale sums and the shift sums.

    The first column belongs to the time before the first step.
    """
    # 24 bytes per step; a visit to every weight costs little compared with these steps.
    room = max(min(4 * n_features, 2**18), n_features // 4, 2**12)
    # The system maps these pages as the table fills, not before.
    return np.zeros((3, room + 1))


class TablesEngine(CellEngine):
    """Lipton & Elkan's own form, corrected: a number psi per weight, P and B per step.

    ``memory`` holds P and B of every step.
    """

    name = kind = "tables"
    memory: Floats
    _others = ("fields", "memory")
    _table = "memory"

    def __init__(self, n_features: int, budget: int = DEFAULT_BUDGET) -> None:
        super().__init__(n_features)
        # The system maps these pages as the tables fill, not before.
        self.memory = np.zeros(2 * (budget + 1))
        self._begin_tables()

    def _written(self, arrays: Arrays) -> float:
        return 2.0 * (float(arrays["fields"][RULES["tables"].fields.index("now")]) + 1.0)

    def _begin_tables(self) -> None:
        """Set the tables to one entry, for weights that are current."""
        self.fields[: len(_START)] = _START
        self.set_field("work", 0.0)
        self.set_field("now", 0.0)
        self.memory[:2] = 1.0, 0.0

    def _sweep(self) -> None:
        self.cells[:, 0], self.cells[:, 1] = self.weights(), 0.0
        self._begin_tables()

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        super().set_coefficients(coefficients, intercepts)
        self._begin_tables()


# --- the dense loop ------------------------------------------------------------------------------


class DenseEngine(Engine):
    """An engine that visits every weight at every step, compiled and vectorised.

    With ``predictions`` the prediction and the gradient visit all features too.  With ``average``
    every weight is added to a sum after every step.  Without ``vectorised`` the loops over all
    weights process one weight at a time, with the same bits: the difference in time is the gain
    from vector units.
    """

    name = "dense"
    _per_feature = ()
    _others = ("cells", "bias", "sums", "totals")

    def __init__(
        self,
        n_features: int,
        predictions: bool = False,
        vectorised: bool = True,
        average: bool = False,
    ) -> None:
        self.n_features, self.vectorised = n_features, vectorised
        self.cells = np.zeros(n_features)
        self.bias = np.zeros(1)
        #: scratch memory: a row with all its zeros
        self.dense_row = np.zeros(n_features if predictions else 0)
        self.sums = np.zeros(n_features if average else 0)
        self.totals = np.zeros(AVERAGE_FIELDS if average else 0)

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        run = partial(
            dense.run, examples, steps, task, self.cells, self.bias, self.dense_row,
            self.sums, self.totals, self.vectorised,
        )  # fmt: skip
        take_until_done(run, len(steps), t, examples, row_of=steps.row, remedy=self.remedy)

    def coefficients(self, which: Any = ALL, *, last: bool = False) -> Floats:
        if last or not self.counted:
            return self.cells[which][None].copy()
        return self.sums[which][None] / self.counted

    def intercepts(self, *, last: bool = False) -> Floats:
        if last or not self.counted:
            return self.bias.copy()
        return self.totals[[INTERCEPT_SUM_FIELD]] / self.counted

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        self.cells[:], self.bias[0] = coefficients[0], intercepts[0]
        self.sums[:], self.totals[:] = 0.0, 0.0
