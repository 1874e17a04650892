"""The engine of a grid: outputs that share X and y, each with a penalty and rates of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import take_until_done
from lazynet.engines.outputs import (
    AdaGradOutputs,
    CellOutputs,
    FTRLOutputs,
    OutputsEngine,
    OutputsOnClock,
    RDAOutputs,
)
from lazynet.kernels import outputs as kernel
from lazynet.kernels import outputs_losses
from lazynet.kernels.examples import Examples, Task

_OUTPUTS: dict[str, type[CellOutputs]] = {
    kind.name: kind for kind in (AdaGradOutputs, FTRLOutputs, RDAOutputs)
}


def new_matrix(plans: Sequence[Any], n_features: int, dtype: Any) -> OutputsEngine:
    """An engine with an output for each plan; the plans differ in penalties and rates alone."""
    plan, n = plans[0], len(plans)
    if not plan.rule.has_state:
        engine = OutputsOnClock(n_features, n, dtype, own_clocks=True)
        if plan.adaptive:
            engine.strengths = np.array(
                [
                    (each.penalty.l1, each.penalty.l2, each.rule.largest_rate(each.penalty) / 2)
                    for each in plans
                ]
            )
        return engine
    penalties = [each.penalty for each in plans]
    return _OUTPUTS[plan.rule.name](n_features, n, plan.rule, penalties, dtype, loss=plan.loss)


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
