"""Engines of a grid of settings: outputs that share X and y, with their own rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import take_until_done
from lazynet.engines.outputs import CellOutputs, OutputsEngine, OutputsOnClock
from lazynet.engines.wear import Wear
from lazynet.kernels import clock as clock_kernel
from lazynet.kernels import outputs as kernel
from lazynet.kernels.examples import Examples, Steps, Task


class GridOnClock(OutputsOnClock):
    """A clock for each setting.

    ``strengths`` has l1, l2 and the largest rate of every setting, a row each, where the kernel
    computes the rates from the rows; elsewhere ``own_steps`` are the rates and shrinks of the chunk
    that the engine is about to learn from.

    >>> GridOnClock(3, 2).column(0)
    (array([0., 0., 0.]), 0.0)
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        dtype: Any = np.float64,
        wear: Wear | None = None,
        strengths: NDArray[np.float64] | None = None,
    ) -> None:
        super().__init__(n_features, n_outputs, dtype, wear, own_clocks=True)
        self.strengths = strengths
        self.own_steps: kernel.OwnSteps | None = None

    def _learn(
        self,
        examples: Examples,
        targets: kernel.Targets,
        steps: Steps,
        task: Task,
        losses: NDArray[np.float64],
        softmax: bool,
        first: int,
        own_steps: kernel.OwnSteps | None = None,
    ) -> tuple[int, int]:
        return kernel.run_on_clock(
            self._block(), examples, targets, steps, task, self.clocks, self.own, self.scalars,
            losses, first, softmax, self.own_steps, self.rates, None, self.strengths,
        )  # fmt: skip

    def column(self, number: int) -> tuple[NDArray[np.float64], float]:
        """The weights and the intercept of one setting."""
        scale, shift = self._scale_and_shift()[:, number]
        z = np.asarray(self.cells[:, number], dtype=np.float64)
        return (z - np.clip(z, -shift, shift)) * scale, float(self.intercepts[number])


def column_of(engine: OutputsEngine, number: int) -> tuple[NDArray[np.float64], float]:
    """The weights and the intercept of one setting of an engine of either kind."""
    if isinstance(engine, GridOnClock):
        return engine.column(number)
    single = engine.output(number)
    return single.model(), single.model_intercept


def present_rate_of(engine: OutputsEngine, number: int) -> float | None:
    """The scale of the rates of one setting as of now, where they follow the rows; else None."""
    if not isinstance(engine, GridOnClock):
        return engine.output(number, slice(0, 0)).present_rate
    rates = engine.rates[number]
    seen = rates[clock_kernel.ROWS_SEEN_FIELD]
    return float(rates[clock_kernel.LAST_RATE_FIELD]) if seen else None


def add_losses(
    engine: OutputsEngine,
    examples: Examples,
    targets: kernel.Targets,
    rows: NDArray[np.int64],
    task: Task,
    losses: NDArray[np.float64],
) -> None:
    """Add the losses of every output on ``rows`` to ``losses``; nothing is learned from them."""
    if isinstance(engine, CellOutputs):
        state = {"settings": engine.settings, "fields": engine.fields}
    else:
        assert isinstance(engine, OutputsOnClock)
        state = {"clocks": engine.clocks, "own": engine.own}
    take_until_done(
        lambda first: kernel.losses_on(
            engine._block(), examples, targets, rows, task, losses, first, **state
        ),
        len(rows),
        0,
        examples,
        row_of=lambda step: int(rows[step]),
        advice=engine.advice,
    )
