"""Lipton & Elkan's tables: a step number per weight, P and B per step, and a space budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Arrays
from lazynet.engines.clock import OnTheClock
from lazynet.engines.wear import Wear
from lazynet.kernels import clock as clock_kernel
from lazynet.kernels import tables as tables_kernel
from lazynet.kernels.examples import Examples, Steps, Task
from lazynet.rules.storage import DEFAULT_BUDGET, Tables


class TablesEngine(OnTheClock):
    """Lipton & Elkan's own form, corrected: a number psi per weight, P and B per step.

    >>> engine = TablesEngine(2, budget=4)
    >>> engine.weights()
    array([0., 0.])
    """

    name = "tables"
    _per_weight = ("current", "last")
    _scalars = ("fields", "newest")

    def __init__(
        self, n_features: int, budget: int = DEFAULT_BUDGET, wear: Wear | None = None
    ) -> None:
        super().__init__(n_features, wear)
        budget = Tables(budget).settled().budget
        self.current = np.zeros(n_features)
        self.last = np.zeros(n_features, dtype=np.int64)
        # The system maps these pages as the tables fill, not before.
        self.scales = np.empty(budget + 1)
        self.shifts = np.empty(budget + 1)
        self.scales[0], self.shifts[0] = 1.0, 0.0
        #: the newest entry of the tables
        self.newest = np.zeros(1, dtype=np.int64)

    @property
    def now(self) -> int:
        """The newest entry of the tables."""
        return int(self.newest[0])

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        status, first, self.newest[0] = tables_kernel.run(
            examples,
            steps,
            task,
            self.current,
            self.last,
            self.scales,
            self.shifts,
            self.fields,
            self.now,
            first,
        )
        return status, first

    def _sweep(self) -> None:
        tables_kernel.read(
            self.current, self.last, self.scales, self.shifts, self.now, self.current
        )
        self._begin()

    def _lengths(self, arrays: Arrays) -> dict[str, int]:
        n = int(arrays["newest"][0]) + 1
        return {"scales": n, "shifts": n}

    def _begin(self) -> None:
        self.last[:] = 0
        self.newest[0] = 0
        clock_kernel.start(self.fields)

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        tables_kernel.read(self.current, self.last, self.scales, self.shifts, self.now, out)
        return out

    def weights_at(self, which: Any) -> NDArray[np.float64]:
        current = self.current[which]
        tables_kernel.read(current, self.last[which], self.scales, self.shifts, self.now, current)
        return current

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        np.copyto(self.current, weights)
        self._begin()
        self.intercept = intercept
