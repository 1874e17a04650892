"""Engines of a grid of settings: outputs that share X and y, with their own rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import take_until_done
from lazynet.engines.outputs import (
    AdaGradOutputs,
    CellOutputs,
    OutputsEngine,
    OutputsOnClock,
    on_lines,
    width_of,
)
from lazynet.engines.wear import Wear
from lazynet.kernels import cells as cells_kernel
from lazynet.kernels import clock as clock_kernel
from lazynet.kernels import outputs as kernel
from lazynet.kernels import outputs_clock, outputs_losses
from lazynet.kernels.examples import (
    STATUS_FINISHED,
    STATUS_OVERFLOWED,
    Examples,
    Steps,
    Task,
)

# The sums over the slopes on which rates depend.
_SUMS = list(outputs_clock.SLOPE_FIELDS)
# A difference of two sums is rounded: the sum before is at most a few last digits away.
_NUDGES = 8


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

    def column(self, number: int) -> tuple[NDArray[np.float64], float]:
        """The weights and the intercept of one setting."""
        scale, shift = self._scale_and_shift()[:, number]
        z = np.asarray(self.cells[:, number], dtype=np.float64)
        return (z - np.clip(z, -shift, shift)) * scale, float(self.intercepts[number])


def picked(engine: OutputsEngine, columns: NDArray[np.int64], which: Any) -> OutputsEngine:
    """An engine with the state of some settings of another one, for the features ``which``.

    >>> engine = GridOnClock(3, 2)
    >>> engine.cells[:, :2] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    >>> picked(engine, np.array([1]), np.array([0, 2])).column(0)[0]
    array([2., 6.])
    """
    twin: Any = object.__new__(type(engine))
    twin.__dict__.update(engine.__dict__)
    given, n = engine.cells[which], len(columns)
    twin.n_features, twin.n_outputs, twin.width = len(given), n, width_of(n, engine.dtype)
    numbers = kernel.numbers(engine.kind)
    twin.cells = on_lines(len(given), numbers * twin.width, engine.dtype)
    for number in range(numbers):
        start = number * twin.width
        twin.cells[:, start : start + n] = given[:, number * engine.width + columns]
    if isinstance(engine, GridOnClock):
        twin.scalars = engine.scalars.copy()
        twin.clocks, twin.own = (
            np.zeros((len(a), twin.width)) for a in (engine.clocks, engine.own)
        )
        # What only fills up a line of outputs stays at its start.
        outputs_clock.start_clocks(twin.clocks, np.zeros(outputs_clock.SCALARS))
        twin.clocks[:, :n], twin.own[:, :n] = engine.clocks[:, columns], engine.own[:, columns]
        twin.rates = engine.rates[columns]
        twin.strengths = None if engine.strengths is None else engine.strengths[columns]
        twin.own_steps = None
    else:
        assert isinstance(engine, CellOutputs)
        # What only fills up a line of outputs counts the steps of the first.
        filled = np.r_[columns, np.full(twin.width - n, columns[0])]
        twin.settings, twin.fields = engine.settings[filled], engine.fields[filled]
        if isinstance(engine, AdaGradOutputs):
            twin.stamps = np.array(engine.stamps[which])
    return twin  # type: ignore[no-any-return]


def learn_until_overflow(
    engine: OutputsEngine,
    examples: Examples,
    targets: kernel.Targets,
    steps: Steps,
    task: Task,
    t: int,
    losses: NDArray[np.float64],
) -> int:
    """Take the steps of a chunk up to one that would overflow in any output.

    Returns the number of steps taken.  The step that would overflow has changed no weight, but its
    row may be counted: see ``forget_row``.
    """
    taken = len(steps)

    def run(first: int) -> tuple[int, int]:
        nonlocal taken
        status, first = engine._learn(examples, targets, steps, task, losses, False, first)
        if status == STATUS_OVERFLOWED:
            taken = first
            return STATUS_FINISHED, len(steps)
        return status, first

    take_until_done(
        run, len(steps), t, examples, row_of=steps.row, advice=engine.advice, sweep=engine.sweep
    )
    return taken


def forget_row(engine: OutputsEngine) -> bool:
    """Let the step that would overflow begin again, where rates follow the rows.

    The kernel has counted the row of the step.  On the clock the engine remembers that, but for the
    sums over the slopes, see ``forget_slopes``; for the other rules the step is to count the row
    with the size 0, because the sum of the sizes has the true size already.  Returns whether the
    size is to be 0.
    """
    if isinstance(engine, GridOnClock):
        if engine.strengths is not None:
            engine.scalars[outputs_clock.PENDING_SCALAR] = outputs_clock.PENDING_ROW_COUNTED
        return False
    assert isinstance(engine, CellOutputs)
    engine.fields[:, cells_kernel.fields(engine.kind).index("rows")] -= 1.0
    return True


def would_overflow(
    engine: OutputsEngine,
    examples: Examples,
    targets: kernel.Targets,
    steps: Steps,
    task: Task,
) -> bool:
    """Whether the first step would overflow; the engine is spoilt."""
    losses = np.zeros(engine.n_outputs)
    status, _ = engine._learn(examples, targets, steps, task, losses, False, 0)
    return status == STATUS_OVERFLOWED


def forget_slopes(
    engine: OutputsEngine, number: int, sums_after: Callable[[NDArray[np.float64]], Any]
) -> None:
    """Take from the sums of a setting what the step that would overflow has added already.

    ``sums_after`` tells of the sums before the step what they are after it.  The sums found are
    such that the same step leads to the same sums again, bit for bit.
    """
    if not isinstance(engine, GridOnClock) or engine.strengths is None:
        return
    after = engine.rates[number, _SUMS]
    before = after - sums_after(np.zeros(len(_SUMS)))
    for _ in range(_NUDGES):
        reached = sums_after(before)
        if (reached == after).all():
            break
        towards = np.where(reached < after, np.inf, -np.inf)
        before = np.where(reached == after, before, np.nextafter(before, towards))
    engine.rates[number, _SUMS] = before


def sums_of(engine: OutputsEngine) -> NDArray[np.float64]:
    """The sums over the slopes of the first setting on which its rates depend."""
    assert isinstance(engine, GridOnClock)
    return engine.rates[0, _SUMS]


def set_sums(engine: OutputsEngine, sums: NDArray[np.float64]) -> None:
    """Change the sums over the slopes of the first setting."""
    assert isinstance(engine, GridOnClock)
    engine.rates[0, _SUMS] = sums


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
        lambda first: outputs_losses.losses_on(
            engine._block(), examples, targets, rows, task, losses, first, **state
        ),
        len(rows),
        0,
        examples,
        row_of=lambda step: int(rows[step]),
        advice=engine.advice,
    )
