"""Weights as a scale times a vector: the clock of an l2 penalty alone."""

from __future__ import annotations

from lazynet.engines.clock import ClockEngine
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task


class RescaledEngine(ClockEngine):
    """The clock without an l1 penalty, whose shift stays 0: w = scale * stored.

    This is the common method for an l2 penalty.

    >>> import numpy as np
    >>> engine = RescaledEngine(2)
    >>> engine.load(np.array([1.0, 0.0]), 0.5)
    >>> engine.weights(), engine.intercept
    (array([1., 0.]), 0.5)
    """

    name = "rescaled"

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        if task.pulls:
            raise ValueError("storage='rescaled' knows no l1 penalty: l1 must be 0")
        return super()._run(examples, steps, task, first)
