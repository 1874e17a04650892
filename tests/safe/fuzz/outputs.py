"""Sound arguments for the kernel of several outputs, and calls that use its objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels import cells, clock, outputs, outputs_cells, outputs_clock
from lazynet.kernels.examples import Task
from lazynet.kernels.outputs import Block, OwnSteps, Targets

if TYPE_CHECKING:
    from safe.fuzz.recipes import Arguments, Parts

#: The kinds whose rules have a state of their own.
RULES = ("adagrad", "ftrl", "rda")
#: The kinds whose weights of a feature shrink as a group.
GROUPS = ("group_l2", "group_max")
#: Every kind of cell that a block may have.
KINDS = ("clock", "averaged clock", *GROUPS, *RULES)
#: The forms of targets.
FORMS = ("labels", "positives", "numbers", "shared")
#: Where the rates and shrinks of a run on the clock come from.
RUNS = ("of shared steps", "of own steps", "of rates from the rows", "with an average", *GROUPS)
#: Functions and classes that are listed once for each of these, as ``outputs_cells.run_cells rda``.
VARIANTS = {
    "outputs.numbers": KINDS,
    "outputs.Block": KINDS,
    "outputs.Targets": FORMS,
    "outputs_cells.run_cells": RULES,
    "outputs_clock.run_on_clock": RUNS,
}


def width_of(parts: Parts) -> int:
    """The number of outputs, filled up to whole cache lines."""
    line = outputs.LINE_BYTES // (4 if parts.narrow else 8)
    return -(-parts.n_outputs // line) * line


def block(parts: Parts, kind: str = "") -> Arguments:
    """What ``Block`` takes: weights that nothing has learned yet, or that something has."""
    kind = kind or str(parts.random.choice(KINDS))
    parts.narrow &= kind != "averaged clock"
    width = width_of(parts)
    shape = parts.d, width * outputs.numbers(kind)
    numbers = parts.random.uniform(0.0, 2.0, shape) * float(parts.random.integers(2))
    return dict(
        kind=kind,
        cells=parts.place(numbers.astype(np.float32 if parts.narrow else np.float64)),
        width=width,
        stamps=parts.place(np.zeros(parts.d)) if kind in ("adagrad", "group_max") else None,
    )


def targets(parts: Parts, form: str = "") -> Arguments:
    """What ``Targets`` takes; some labels lie before and behind the outputs of the block."""
    random = parts.random
    form = form or str(random.choice(FORMS))
    first = int(random.integers(3))
    stop = first + parts.n_outputs
    given: Arguments = dict(first=first, n_outputs=parts.n_outputs)
    if form == "labels":
        given["labels"] = parts.integers(random.integers(-1, stop + 1, parts.n))
    elif form == "positives":
        lengths = random.integers(0, 4, parts.n)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        given["starts"] = parts.integers(starts)
        given["positives"] = parts.integers(random.integers(0, stop + 1, starts[-1]))
    elif form == "numbers":
        given["numbers"] = parts.place(random.choice([-1.0, 1.0], (parts.n, stop)))
    else:
        given["shared"] = parts.place(random.choice([-1.0, 1.0], parts.n))
    return given


def own_steps(parts: Parts) -> Arguments:
    """What ``OwnSteps`` takes."""
    # All outputs may have one rate.
    width = width_of(parts)
    shape = parts.k, int(parts.random.choice([1, width]))
    return dict(
        rates=parts.reals(*shape, least=0.0),
        keep=parts.place(np.full(shape, 0.99)),
        keep_low=parts.place(np.zeros(shape)),
        pull=parts.place(np.full((parts.k, width), 0.01)),
    )


def scalars(parts: Parts) -> NDArray[np.float64]:
    """The scalars of a block, with nothing pending or a step that a sweep has interrupted."""
    return parts.place(np.array([0.0, float(parts.random.choice([0.0, 0.0, 1.0, 2.0]))]))


def clocks(parts: Parts, n_clocks: int) -> NDArray[np.float64]:
    """Clocks at their start."""
    rows = np.zeros((outputs_clock.CLOCK_ROWS, n_clocks))
    outputs_clock.start_clocks(rows, np.zeros(outputs_clock.SCALARS))
    return parts.place(rows)


def begun(parts: Parts, kind: str) -> Arguments:
    """What both runs begin with; the softmax takes labels."""
    softmax = bool(parts.random.integers(2))
    return dict(
        block=Block(**block(parts, kind)),
        targets=Targets(**targets(parts, "labels" if softmax else "")),
        **parts.begun(pull=float(parts.random.choice([0.0, 0.01]))),
        losses=parts.place(np.zeros(parts.n_outputs)),
        first=0,
        softmax=softmax,
    )


def run_on_clock(parts: Parts, run: str) -> Arguments:
    """Arguments of ``run_on_clock``, of one of the ``RUNS``."""
    averaged = run == "with an average"
    parts.narrow &= not averaged
    width = width_of(parts)
    shared = averaged or run in ("of shared steps", *GROUPS)
    kind = "averaged clock" if averaged else run if run in GROUPS else "clock"
    given = dict(
        **begun(parts, kind),
        clocks=clocks(parts, 1 if shared else width),
        own=parts.reals(outputs_clock.OWN_ROWS, width),
        scalars=scalars(parts),
        own_steps=OwnSteps(**own_steps(parts)) if run == "of own steps" else None,
        rates=None,
        average=parts.average() if averaged else None,
        strengths=None,
    )
    if run in GROUPS:
        # Rows of weights shrink after the gradient.
        given.update(task=Task(**{**parts.task_numbers(), "shrink_first": False}))
    if run == "of rates from the rows":
        state = np.zeros((parts.n_outputs, clock.FROM_DATA_FIELDS))
        given.update(task=parts.tuned_task(), softmax=False, rates=parts.place(state))
        given["strengths"] = parts.place(parts.random.uniform(0.0, 0.1, (parts.n_outputs, 3)))
    return given


def losses_on_clock(parts: Parts) -> Arguments:
    """Arguments of ``losses_on_clock``."""
    given = begun(parts, "clock")
    del given["softmax"]
    own = parts.reals(outputs_clock.OWN_ROWS, width_of(parts))
    return given | dict(clocks=clocks(parts, width_of(parts)), own=own)


def rules(parts: Parts, kind: str) -> Arguments:
    """Settings and fields of every output, whose rates follow the rows or do not."""
    names, width = cells.settings(kind), width_of(parts)
    settings = parts.random.uniform(0.01, 2.0, (width, len(names)))
    if parts.random.integers(2):
        # These settings say that the rates follow the rows.
        follow = [name == "follows" or name.startswith("free") for name in names]
        settings[:, follow] = 0.0
    fields = np.full((width, len(cells.fields(kind))), float(parts.random.choice([0.0, 5.0])))
    return dict(settings=parts.place(settings), fields=parts.place(fields))


def _swept(parts: Parts) -> Arguments:
    """A block on the clock, and its clocks."""
    kind = str(parts.random.choice(["clock", *GROUPS]))
    own = kind == "clock" and parts.random.integers(2)
    return dict(
        block=Block(**block(parts, kind)), clocks=clocks(parts, width_of(parts) if own else 1)
    )


def read_cells(parts: Parts, kind: str) -> Arguments:
    """A block of a rule with a state, and room for the weights of some of its outputs."""
    given = dict(block=Block(**block(parts, kind)), **rules(parts, kind))
    return given | dict(out=parts.reals(parts.d, parts.n_outputs))


#: Recipes for everything that the kernel offers.
RECIPES: dict[str, Callable[[Parts], Arguments]] = {
    **{f"outputs.numbers {kind}": lambda p, kind=kind: dict(kind=kind) for kind in KINDS},
    **{f"outputs.Block {kind}": lambda p, kind=kind: block(p, kind) for kind in KINDS},
    **{f"outputs.Targets {form}": lambda p, form=form: targets(p, form) for form in FORMS},
    **{
        f"outputs_clock.run_on_clock {run}": lambda p, run=run: run_on_clock(p, run) for run in RUNS
    },
    **{
        f"outputs_cells.run_cells {kind}": lambda p, kind=kind: dict(
            **begun(p, kind), **rules(p, kind), learns=bool(p.random.integers(2))
        )
        for kind in RULES
    },
    "outputs_clock.losses_on_clock": losses_on_clock,
    "outputs_cells.read_cells": lambda p: read_cells(p, str(p.random.choice(RULES))),
    "outputs.Block.at_level": lambda p: dict(self=Block(**block(p)), level=0),
    "outputs.OwnSteps": own_steps,
    "outputs_clock.sweep_clock": lambda p: dict(**_swept(p), scalars=scalars(p)),
    "outputs_clock.read_on_clock": lambda p: dict(**_swept(p), out=p.reals(p.d, p.n_outputs)),
    "outputs_clock.start_clocks": lambda p: dict(clocks=clocks(p, width_of(p)), scalars=scalars(p)),
    "outputs_cells.sweep_adagrad": lambda p: dict(
        block=Block(**block(p, "adagrad")), **rules(p, "adagrad")
    ),
}


def use(held: Any, parts: Parts) -> None:
    """Run the kernel once with this block, these targets or these own steps."""
    if isinstance(held, Block):
        held.at_level(int(parts.random.integers(-1, 4)))
        parts.d, parts.n_outputs = held.n_features, held.width
        parts.narrow = held.width % (outputs.LINE_BYTES // 4) == 0
        run(parts, held.kind, block=held)
    elif isinstance(held, Targets):
        parts.n, parts.n_outputs = held.n_rows, min(held.n_outputs, 100)
        run(parts, "clock", targets=held)
    elif isinstance(held, OwnSteps):
        run(parts, "clock", own_steps=held)


def run(parts: Parts, kind: str, **held: Any) -> Any:
    """Make all arguments of a run anew, in place of some of them what is held; its result."""
    if kind in RULES:
        given = dict(**begun(parts, kind), **rules(parts, kind))
        return outputs_cells.run_cells(**{**given, "softmax": False, **held})
    if kind not in KINDS:
        return None
    which = "of own steps" if "own_steps" in held else RUNS[3 if kind == "averaged clock" else 0]
    given = run_on_clock(parts, kind if kind in GROUPS else which)
    return outputs_clock.run_on_clock(**{**given, "softmax": False, **held})
