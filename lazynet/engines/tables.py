"""Lipton & Elkan's tables: a step number per weight, P and B per step, and a space budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Arrays, Engine
from lazynet.engines.wear import Wear
from lazynet.kernels import cells as kernel
from lazynet.kernels.examples import Examples, Steps, Task
from lazynet.rules.storage import DEFAULT_BUDGET, Tables

_FIELDS = kernel.fields("tables")
_SCALE, _INTERCEPT, _NOW = (_FIELDS.index(name) for name in ("scale", "intercept", "now"))
_NO_SETTINGS = np.zeros(0)


class TablesEngine(Engine):
    """Lipton & Elkan's own form, corrected: a number psi per weight, P and B per step.

    >>> engine = TablesEngine(2, budget=4)
    >>> engine.weights()
    array([0., 0.])
    """

    name = "tables"
    _per_weight = ("cells",)
    _scalars = ("fields",)
    _tables = ("entries",)

    def __init__(
        self, n_features: int, budget: int = DEFAULT_BUDGET, wear: Wear | None = None
    ) -> None:
        super().__init__(n_features, wear)
        budget = Tables(budget).settled().budget
        #: the weight and psi
        self.cells = np.zeros((n_features, 2))
        #: P and B of every step; the system maps these pages as the tables fill, not before
        self.entries = np.empty(2 * (budget + 1))
        self.fields = np.zeros(len(_FIELDS))
        self._begin()

    @property
    def now(self) -> int:
        """The newest entry of the tables."""
        return int(self.fields[_NOW])

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return kernel.run(
            "tables", examples, steps, task, _NO_SETTINGS, self.cells, self.fields, first,
            entries=self.entries,
        )  # fmt: skip

    def _read(self, cells: NDArray[np.float64], out: NDArray[np.float64]) -> NDArray[np.float64]:
        kernel.read("tables", cells, self.fields, _NO_SETTINGS, out, self.entries)
        return out

    def _sweep(self) -> None:
        self.cells[:, 0] = self.weights()
        self._begin()

    def _lengths(self, arrays: Arrays) -> dict[str, int]:
        return {"entries": 2 * (int(arrays["fields"][_NOW]) + 1)}

    def _begin(self) -> None:
        """Begin the tables with an entry for weights that are current; the intercept stays."""
        intercept = self.intercept
        self.cells[:, 1] = 0.0
        self.fields[:] = 0.0
        self.fields[_SCALE] = 1.0
        self.intercept = intercept
        self.entries[:2] = 1.0, 0.0

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        return self._read(self.cells, np.empty(self.n_features) if out is None else out)

    def weights_at(self, which: Any) -> NDArray[np.float64]:
        cells = self.cells[which]
        return self._read(cells, np.empty(len(cells)))

    @property
    def intercept(self) -> float:
        return float(self.fields[_INTERCEPT])

    @intercept.setter
    def intercept(self, value: float) -> None:
        self.fields[_INTERCEPT] = value

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        self.cells[:, 0] = weights
        self._begin()
        self.intercept = intercept
