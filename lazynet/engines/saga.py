"""SAGA with a lazy elastic net: three numbers per weight, and one per row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.cells import LaggingEngine
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task


class SAGAEngine(LaggingEngine):
    """A cell is {w, m, psi}: the weight, the mean of its remembered gradients over all rows, and
    the steps taken when the weight was stored.

    ``slopes`` has an entry for every row of the data set: the importance times the slope of the
    loss when the row was visited last, 0 before the first visit.  It is empty before the first
    step.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.saga import SAGA
    >>> engine = SAGAEngine(2, SAGA(alpha=0.1), ElasticNet(l1=0.1))
    >>> engine.weights(), engine.slopes
    (array([0., 0.]), array([], dtype=float64))
    """

    name = kind = "saga"
    _scalars = ("fields", "constants", "slopes")
    _of_any_length = ("slopes",)

    def _start(self) -> None:
        """Begin with no slopes remembered."""
        super()._start()
        self.slopes = np.zeros(0)

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        """Take all steps of the chunk; ``examples`` are the same data set in every call."""
        n_rows = examples.n_rows
        if not self.field("steps") and len(self.slopes) != n_rows:
            self.slopes = np.zeros(n_rows)
        elif len(self.slopes) != n_rows:
            raise ValueError(
                f"examples must have {len(self.slopes)} rows, as in the steps before, got {n_rows}"
            )
        super().take(examples, steps, task, t)

    @property
    def _memory(self) -> NDArray[np.float64]:
        return self.slopes
