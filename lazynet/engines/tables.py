"""Lipton & Elkan's tables: a step number per weight, P and B per step, and a space budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Arrays
from lazynet.engines.clock import CellsOnClock
from lazynet.engines.wear import Wear
from lazynet.kernels import cells as kernel
from lazynet.rules.storage import DEFAULT_BUDGET, Tables


class TablesEngine(CellsOnClock):
    """Lipton & Elkan's own form, corrected: a number psi per weight, P and B per step.

    >>> engine = TablesEngine(2, budget=4)
    >>> engine.weights()
    array([0., 0.])
    """

    name = kind = "tables"
    _scalars = ("fields",)
    _tables = ("entries",)

    def __init__(
        self, n_features: int, budget: int = DEFAULT_BUDGET, wear: Wear | None = None
    ) -> None:
        budget = Tables(budget).settled().budget
        #: P and B of every step; the system maps these pages as the tables fill, not before
        self.entries = np.empty(2 * (budget + 1))
        super().__init__(n_features, wear)

    @property
    def now(self) -> int:
        """The newest entry of the tables."""
        return int(self.field("now"))

    @property
    def _memory(self) -> NDArray[np.float64]:
        return self.entries

    def _set_clock(self) -> None:
        """Begin the tables with an entry for weights that are current."""
        super()._set_clock()
        self.set_field("now", 0.0)
        self.entries[:2] = 1.0, 0.0

    def _sweep(self) -> None:
        self.cells[:, 0], self.cells[:, 1] = self.weights(), 0.0
        self._set_clock()

    def _lengths(self, arrays: Arrays) -> dict[str, int]:
        now = arrays["fields"][kernel.fields("tables").index("now")]
        return {"entries": 2 * (int(now) + 1)}
