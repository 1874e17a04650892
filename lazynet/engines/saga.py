"""SAGA of one output."""

from __future__ import annotations

import numpy as np

from lazynet.engines.base import Floats
from lazynet.engines.cells import LaggingWeights
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task


class SAGAEngine(LaggingWeights):
    """A cell is {w, m, psi}: the weight, the mean of its remembered gradients over all rows, and
    the steps taken when the weight was stored.

    ``memory`` has an entry for every row of the dataset: the importance times the slope of the
    loss when the row was visited last, 0 before the first visit.  It is empty before the first
    step.
    """

    name = kind = "saga"
    memory: Floats = np.zeros(0)
    _others = ("fields", "constants", "memory")
    _any_length = "memory"

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        super().set_coefficients(coefficients, intercepts)
        self.memory = np.zeros(0)

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        """Take all steps of the chunk; ``examples`` are the same dataset in every call."""
        n_rows, n_remembered = examples.n_rows, len(self.memory)
        if not self.field("steps") and n_remembered != n_rows:
            self.memory = np.zeros(n_rows)
        elif n_remembered != n_rows:
            raise ValueError(
                f"examples must have {n_remembered} rows, as in the steps before, got {n_rows}"
            )
        super().take(examples, steps, task, t)
