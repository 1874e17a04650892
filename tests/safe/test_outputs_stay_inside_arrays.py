"""The kernel of several outputs never leaves an array, whatever its arguments are."""

import array
import contextlib
import copy
import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import rows

from lazynet.engines.outputs import AveragedOutputs, OutputsOnClock
from lazynet.kernels import averages, cells, clock, outputs, outputs_cells, outputs_clock
from lazynet.kernels.averages import Average
from lazynet.kernels.examples import (
    STATUS_BAD_ROW,
    STATUS_FINISHED,
    STATUS_WORN_OUT,
    Examples,
    Steps,
    Task,
)
from lazynet.kernels.outputs import Block, OwnSteps, Targets
from lazynet.losses import get_loss
from lazynet.schedules import FromData
from safe.fuzz.disguises import fenced, misaligned
from safe.fuzz.outputs import KINDS, RULES

#: A clock that never wears out.
NUMBERS = (0, 0.1, False, True, 2.0**-500, 1.0, 2.0**10, 1e9, 2.0**6, 2.0**10)
TASK = Task(*NUMBERS)
WIDTH = 8
INTEGERS = st.one_of(
    st.integers(-5, 15), st.sampled_from([2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 1000])
)


def examples_of(data, indices, indptr, n_columns):
    """Rows as the kernels take them, with sizes."""
    n_rows = len(indptr) - 1
    return Examples(
        np.asarray(data, dtype=float), rows_of(indices), rows_of(indptr), n_columns,
        np.ones(n_rows), None, np.ones(n_rows),
    )  # fmt: skip


def rows_of(numbers):
    return np.asarray(numbers, dtype=np.int64)


def steps_of(order):
    n = len(order)
    return Steps(
        rows_of(order), np.full(n, 0.1), np.ones(n), np.zeros(n), np.zeros(n), np.ones(n)
    )  # fmt: skip


def block_of(kind, n_features, dtype=float, width=WIDTH):
    shape = n_features, width * outputs.numbers(kind)
    return Block(kind, fenced(np.zeros(shape, dtype)), width, fenced(np.zeros(n_features)))


def state_of(kind, width=WIDTH, n_clocks=1):
    """What a run reads and writes beside the cells."""
    if kind in RULES:
        settings = np.full((width, len(cells.settings(kind))), 0.5)
        return dict(settings=settings, fields=np.zeros((width, len(cells.fields(kind)))))
    state = dict(
        clocks=np.zeros((outputs_clock.CLOCK_ROWS, n_clocks)),
        own=np.zeros((outputs_clock.OWN_ROWS, width)),
        scalars=np.zeros(outputs_clock.SCALARS),
    )
    outputs_clock.start_clocks(state["clocks"], state["scalars"])
    if kind == "averaged clock":
        state["average"] = Average(
            np.zeros(99), np.zeros(100), np.zeros(100), np.zeros(averages.AVERAGE_FIELDS)
        )
    return state


def run(kind, block, examples, targets, order, task=TASK, first=0, **others):
    """Take steps until the kernel has nothing more to do, or says why it cannot go on."""
    state = {**state_of(kind, block.width), **others}
    call = outputs_cells.run_cells if kind in RULES else outputs_clock.run_on_clock
    losses = np.zeros(targets.n_outputs)
    return call(block, examples, targets, steps_of(order), task, losses=losses, first=first,
                **state)  # fmt: skip


def two_rows():
    """Rows with a nonzero each."""
    return examples_of(np.ones(2), [0, 1], [0, 1, 2], 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_hostile_matrices_orders_and_labels(kind, dtype, data):
    """Any indices, row starts, order and labels: an error or a result, never a stray access."""
    indices = data.draw(st.lists(INTEGERS, max_size=12))
    indptr = data.draw(st.lists(INTEGERS, min_size=1, max_size=8))
    order = data.draw(st.lists(INTEGERS, max_size=10))
    n_columns, n_rows = data.draw(st.integers(0, 8)), len(indptr) - 1
    first, n_outputs = data.draw(st.integers(0, 3)), data.draw(st.integers(1, WIDTH))
    if data.draw(st.booleans()):
        labels = data.draw(st.lists(INTEGERS, min_size=n_rows, max_size=n_rows))
        targets = Targets(first, n_outputs, labels=fenced(rows_of(labels)))
    else:
        starts = data.draw(st.lists(INTEGERS, min_size=n_rows + 1, max_size=n_rows + 1))
        positives = data.draw(st.lists(INTEGERS, max_size=9))
        targets = Targets(
            first, n_outputs, starts=fenced(rows_of(starts)), positives=fenced(rows_of(positives))
        )
    examples = examples_of(np.ones(len(indices)), indices, indptr, n_columns)
    block = block_of(kind, n_columns, dtype, 16)
    with contextlib.suppress(ValueError):
        status, stopped = run(kind, block, examples, targets, order, first=data.draw(INTEGERS))
        assert status in range(7)
        assert 0 <= stopped <= len(order)


@pytest.mark.parametrize("kind", KINDS)
def test_a_matrix_without_rows_columns_or_steps(kind):
    """Nothing to read is nothing read."""
    for shape in ((0, 3), (3, 0), (0, 0)):
        examples = examples_of([], [], np.zeros(shape[0] + 1), shape[1])
        block, targets = block_of(kind, shape[1]), Targets(0, 3, labels=rows(shape[0]))
        for order in (np.arange(shape[0]), []):
            assert run(kind, block, examples, targets, order)[0] in (
                STATUS_FINISHED, STATUS_WORN_OUT,
            )  # fmt: skip
    if kind == "clock":
        clocks, scalars = np.ones((outputs_clock.CLOCK_ROWS, 1)), np.zeros(outputs_clock.SCALARS)
        outputs_clock.sweep_clock(block_of(kind, 0), clocks, scalars)
    if kind == "adagrad":
        outputs_cells.sweep_adagrad(block_of(kind, 0), **state_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_row_ends_the_run_before_its_step(kind):
    """The steps before it are taken; a row that has become readable is then learned from."""
    settings = {}
    if kind in RULES:
        # Rates that follow the rows ask for a sweep first.
        names = cells.settings(kind)
        settings = {"settings": np.full((WIDTH, len(names)), 0.5)}
        follow = [name == "follows" or name.startswith("free") for name in names]
        settings["settings"][:, follow] = 0.0
    columns = rows_of([0, 9])
    examples = Examples(np.ones(2), columns, rows_of([0, 1, 2]), 2)
    targets, block = Targets(0, 3, labels=rows_of([0, 1])), block_of(kind, 2)
    assert run(kind, block, examples, targets, [0, 1], **settings) == (STATUS_BAD_ROW, 1)
    columns[1] = 1
    assert run(kind, block, examples, targets, [0, 1], **settings) == (STATUS_FINISHED, 2)


def test_a_thread_that_changes_the_columns():
    """A row is copied before it is checked, and used as it was checked."""
    n, d = 400, 6
    columns = np.tile(np.arange(d), n)
    starts, sizes = np.arange(0, n * d + 1, d), np.ones(n)
    examples = Examples(np.ones(n * d), columns, starts, d, sizes=sizes)
    labels, done = np.zeros(n, np.int64), threading.Event()
    begins, positives = np.arange(n + 1), np.zeros(n, np.int64)
    both = (
        Targets(0, WIDTH, labels=labels), Targets(0, WIDTH, starts=begins, positives=positives)
    )  # fmt: skip

    def scribble():
        random = np.random.default_rng(0)
        while not done.is_set():
            for numbers in (columns, starts, labels, begins, positives):
                place, odd = random.integers(len(numbers)), random.integers(-(2**62), 2**62)
                before, numbers[place] = numbers[place], odd
                numbers[place] = before

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for turn in range(200):
            kind = KINDS[turn % len(KINDS)]
            status, _ = run(kind, block_of(kind, d), examples, both[turn % 2], np.arange(n))
            assert status in range(7)
    finally:
        done.set()
        thread.join()


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(first=-1, labels=rows(2)), "first must lie between"),
        (dict(n_outputs=0, labels=rows(2)), "n_outputs must lie between"),
        (dict(n_outputs=2**62, labels=rows(2)), "n_outputs must lie between"),
        (dict(first=2**62, n_outputs=2**62, numbers=np.zeros((2, 3))), "first must lie between"),
        (dict(first=2, numbers=np.zeros((2, 4))), "numbers must have 5 columns, got 4"),
        (dict(starts=rows(0), positives=rows(0)), "starts must not be empty"),
        (dict(starts=rows(3)), "starts and positives must be given together"),
        (dict(positives=rows(3)), "starts and positives must be given together"),
        ({}, "exactly one of labels"),
        (dict(labels=rows(2), shared=np.zeros(2)), "exactly one of labels"),
        (dict(labels=misaligned(rows(2))), "labels must be aligned"),
        (dict(shared=misaligned(np.zeros(2))), "shared must be aligned"),
        (dict(numbers=misaligned(np.zeros((2, 3)))), "numbers must be aligned"),
        (dict(starts=misaligned(rows(2)), positives=rows(2)), "starts must be aligned"),
        (dict(starts=rows(2), positives=misaligned(rows(2))), "positives must be aligned"),
    ],
)
def test_targets_that_are_refused(given, message):
    """Every length and place in memory is checked before a pointer is taken."""
    with pytest.raises((TypeError, ValueError), match=message):
        Targets(**{"first": 0, "n_outputs": 3, **given})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (dict(kind="saga"), ValueError, "kind must be one of"),
        (dict(kind=None), TypeError, "kind"),
        (dict(cells=[[0.0] * 8]), TypeError, "cells must be an array, got list"),
        (dict(cells=np.zeros((2, 8), np.int64)), TypeError, "cells must be float32 or float64"),
        (dict(cells=np.zeros((2, 8), ">f8")), TypeError, "cells must be float32 or float64"),
        (dict(cells=np.zeros((2, 8), np.float32)), ValueError, "width must be a multiple of 16"),
        (dict(cells=np.broadcast_to(np.zeros(8), (2, 8))), ValueError, "cells must be writeable"),
        (dict(cells=misaligned(np.zeros((2, 8)))), ValueError, "cells must be aligned"),
        (dict(cells=np.zeros((2, 9))), ValueError, "cells must have 8 columns, got 9"),
        (dict(kind="ftrl"), ValueError, "cells must have 16 columns, got 8"),
        (dict(width=12), ValueError, "width must be a multiple of 8"),
        (dict(width=0), ValueError, "width must be a multiple of 8"),
        (dict(width=-8), ValueError, "width must be a multiple of 8"),
        (dict(width=2**62, kind="ftrl"), ValueError, "width must be a multiple of 8 up to"),
        (dict(kind="adagrad", cells=np.zeros((2, 16))), TypeError, "stamps must be an array"),
        (
            dict(kind="adagrad", cells=np.zeros((2, 16)), stamps=np.zeros(3)),
            ValueError, "stamps must have 2 entries",
        ),
    ],
)  # fmt: skip
def test_blocks_that_are_refused(given, error, message):
    """Cells, stamps and widths that do not belong together."""
    with pytest.raises(error, match=message):
        Block(**{"kind": "clock", "cells": np.zeros((2, 8)), "width": 8, **given})


@pytest.mark.parametrize("name", ["rates", "keep", "keep_low", "pull"])
def test_own_steps_that_are_refused(name):
    """Four arrays of one shape, each aligned."""
    sound = {each: np.ones((3, 8)) for each in ("rates", "keep", "keep_low", "pull")}
    for shape in ((2, 8), (3, 7)):
        with pytest.raises(ValueError, match="must have the shape"):
            OwnSteps(**{**sound, name: np.ones(shape)})
    with pytest.raises(ValueError, match=f"{name} must be aligned"):
        OwnSteps(**{**sound, name: misaligned(np.ones((3, 8)))})


@pytest.mark.parametrize("name", ["rates", "keep", "keep_low"])
def test_own_steps_with_one_rate_that_are_refused(name):
    """Rates and scales have one column together; every output has a pull."""
    sound = {each: np.ones((3, 1)) for each in ("rates", "keep", "keep_low")}
    OwnSteps(**sound, pull=np.ones((3, 8)))
    with pytest.raises(ValueError, match="must have the shape"):
        OwnSteps(**{**sound, name: np.ones((3, 8))}, pull=np.ones((3, 8)))
    with pytest.raises(ValueError, match="pull must have the shape"):
        OwnSteps(**sound, pull=np.ones((2, 8)))


def test_every_kind_of_the_kernel_is_tested():
    """The kernel names its kinds where it refuses another one."""
    with pytest.raises(ValueError, match="kind must be one of") as caught:
        outputs.numbers("")
    named = str(caught.value).removeprefix("kind must be one of ").partition(", got")[0]
    assert named.split(", ") == sorted(KINDS)


def test_an_unknown_kind_has_no_numbers():
    """As for the cells of one output."""
    for kind in ("", "saga", "clock\x00"):
        with pytest.raises(ValueError, match="kind must be one of"):
            outputs.numbers(kind)
    with pytest.raises(TypeError, match="kind"):
        outputs.numbers(3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(block=block_of("clock", 3)), "block must have cells for 2 features, got 3"),
        (dict(block=block_of("rda", 2)), "block must be of the kind of a clock, got 'rda'"),
        (dict(block=block_of("averaged clock", 2)), "block must be of the kind of a clock"),
        (dict(targets=Targets(0, 3, labels=rows(3))), "targets must have 2 rows, got 3"),
        (dict(targets=Targets(0, 9, labels=rows(2))), "targets must have at most 8 outputs"),
        (dict(targets=Targets(0, 3, shared=np.ones(2)), softmax=True), "targets must be labels"),
        (dict(clocks=np.ones((4, 3))), "clocks must have 1 column or 8, got 3"),
        (dict(clocks=np.ones((3, 1))), "clocks must have the shape"),
        (dict(clocks=np.ones((4, 8))), "clocks must have a column per output where"),
        (dict(own=np.ones((4, 3))), "own must have the shape"),
        (dict(scalars=np.zeros(3)), "scalars must have 2 entries"),
        (dict(losses=np.zeros(2)), "losses must have 3 entries"),
        (dict(task=Task(99, *NUMBERS[1:])), "loss must be a code"),
        (
            dict(own_steps=OwnSteps(*[np.ones((2, 8))] * 4)),
            "clocks must have a column per output where",
        ),
        (
            dict(
                own_steps=OwnSteps(*[np.ones((2, 1))] * 3, np.ones((2, 9))), clocks=np.ones((4, 8))
            ),
            "pull must have the shape",
        ),
        (
            dict(own_steps=OwnSteps(*[np.ones((3, 8))] * 4), clocks=np.ones((4, 8))),
            "rates must have the shape",
        ),
    ],
)  # fmt: skip
def test_runs_on_a_clock_that_are_refused(given, message):
    """Before anything changes, an error names the argument."""
    sound = dict(
        block=block_of("clock", 2), examples=two_rows(), targets=Targets(0, 3, labels=rows(2)),
        steps=steps_of([0, 1]), task=TASK, losses=np.zeros(3), first=0, **state_of("clock"),
    )  # fmt: skip
    assert outputs_clock.run_on_clock(**sound) == (STATUS_FINISHED, 2)
    with pytest.raises(ValueError, match=message):
        outputs_clock.run_on_clock(**{**sound, **given})


def test_runs_with_rates_from_the_rows_that_are_refused():
    """Own steps, too few states of rates, and rows without sizes."""
    tuning = FromData().tuning(get_loss("log_loss"), 0.01, 0.0, np.inf, True)
    sound = dict(
        block=block_of("clock", 2), examples=two_rows(), targets=Targets(0, 3, labels=rows(2)),
        steps=steps_of([0, 1]), task=Task(*NUMBERS, tuning=tuning), losses=np.zeros(3), first=0,
        rates=np.zeros((3, clock.FROM_DATA_FIELDS)), **state_of("clock", n_clocks=8),
    )  # fmt: skip
    assert outputs_clock.run_on_clock(**sound) == (STATUS_FINISHED, 2)
    without = Examples(np.ones(2), rows(2), rows_of([0, 1, 2]), 2)
    for changed, message in (
        (dict(own_steps=OwnSteps(*[np.ones((2, 8))] * 4)), "own_steps must not be given"),
        (dict(rates=None), "rates must be given"),
        (dict(rates=np.zeros((2, clock.FROM_DATA_FIELDS))), "rates must have the shape"),
        (dict(examples=without), "examples must have sizes"),
        (dict(softmax=True), "softmax must not be asked for"),
    ):
        with pytest.raises(ValueError, match=message):
            outputs_clock.run_on_clock(**{**sound, **changed})


@pytest.mark.parametrize("kind", RULES)
def test_runs_of_rules_that_are_refused(kind):
    """Before anything changes, an error names the argument."""
    sound = dict(
        block=block_of(kind, 2), examples=two_rows(), targets=Targets(0, 3, labels=rows(2)),
        steps=steps_of([0, 1]), task=TASK, losses=np.zeros(3), first=0, **state_of(kind),
    )  # fmt: skip
    spoiled = sound["settings"].copy()
    spoiled[5] = -1.0
    without = Examples(np.ones(2), rows(2), rows_of([0, 1, 2]), 2)
    for changed, message in (
        (dict(block=block_of("clock", 2)), "block must be of the kind of a rule"),
        (dict(settings=sound["settings"][:-1]), "settings must have the shape"),
        (dict(fields=np.zeros((WIDTH, 99))), "fields must have the shape"),
        (dict(settings=spoiled), "output 5: "),
        (dict(targets=Targets(0, 3, shared=np.ones(2)), softmax=True), "targets must be labels"),
        (dict(examples=without), "examples must have sizes"),
    ):
        with pytest.raises(ValueError, match=message):
            outputs_cells.run_cells(**{**sound, **changed})
    with pytest.raises(ValueError, match="block must be of the kind 'clock'"):
        outputs_clock.sweep_clock(sound["block"], np.ones((4, 1)), np.zeros(2))
    if kind != "adagrad":
        with pytest.raises(ValueError, match="block must be of the kind 'adagrad'"):
            outputs_cells.sweep_adagrad(sound["block"], sound["settings"], sound["fields"])


# --- objects and arrays that are not what they seem -----------------------------------------------


def test_a_pending_step_does_not_write_behind_a_past_that_is_full():
    """A full past asks for a sweep, also where half of the step has been taken."""
    room = 2
    past = [fenced(np.zeros(n)) for n in (room, room + 1, room + 1)]
    fields = np.zeros(averages.AVERAGE_FIELDS)
    fields[averages.COUNTED_FIELD] = room
    state = state_of("averaged clock")
    state["average"], state["scalars"][1] = Average(*past, fields), 1.0
    block, targets = block_of("averaged clock", 2), Targets(0, 3, labels=rows(2))
    ended = run("averaged clock", block, two_rows(), targets, [0, 1], **state)
    assert ended == (STATUS_WORN_OUT, 0)
    assert state["scalars"][1] == 1.0


@pytest.mark.parametrize("held", ["cells", "stamps"])
def test_arrays_stay_where_they_are_while_a_block_holds_them(held):
    """NumPy refuses to move them, though it has been told not to count references."""
    given = dict(cells=np.zeros((2, 16)), stamps=np.zeros(2))
    block = Block("adagrad", width=8, **given)
    with pytest.raises(ValueError, match="cannot resize"):
        given[held].resize((10**6, 16)[: given[held].ndim], refcheck=False)
    assert block.n_features == 2


def test_stamps_of_the_standard_library_stay_where_they_are():
    """An array that grows would move; while the block holds its buffer it refuses."""
    stamps = array.array("d", [0.0, 0.0])
    block = Block("adagrad", np.zeros((2, 16)), 8, stamps)
    with pytest.raises(BufferError):
        stamps.extend([0.0] * 10**6)
    assert block.n_features == 2


@pytest.mark.parametrize(
    "made",
    [block_of("clock", 2), Targets(0, 3, labels=rows(2)), OwnSteps(*[np.ones((2, 8))] * 4)],
    ids=lambda made: type(made).__name__,
)
def test_objects_are_made_once_and_are_not_copied(made):
    """Pointers are neither pickled nor copied; no object is half made."""
    with pytest.raises(TypeError):
        type(made).__new__(type(made))
    for call in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            call(made)
    for state in (None, (), {}, SimpleNamespace()):
        with contextlib.suppress(TypeError, AttributeError):
            made.__setstate__(state)
        with contextlib.suppress(TypeError, AttributeError):
            made.__setstate_cython__(state)


def test_levels_are_limited():
    """Any integer is a level; what this machine cannot run is not chosen."""
    block = block_of("clock", 2)
    highest = block.at_level(2**31 - 1)
    assert block.at_level(-(2**31)) == 0
    assert block.at_level(highest) == highest
    for odd in (None, "x", 1j):
        with pytest.raises(TypeError):
            block.at_level(odd)


@pytest.mark.parametrize("engine", [OutputsOnClock, AveragedOutputs])
def test_an_engine_whose_pickle_was_edited_is_refused(engine):
    """Cells of another width than the engine's are no cells of a block."""
    built = engine(3, 2)
    state = built.__getstate__()
    state["cells"] = np.zeros((3, built.width * 2 + 8))
    again = object.__new__(engine)
    again.__setstate__(state)
    with pytest.raises(ValueError, match="cells must have"):
        again.learn(
            examples_of(np.ones(1), [0], [0, 1], 3), Targets(0, 2, labels=rows(1)), steps_of([0]),
            TASK, 0, np.zeros(2),
        )  # fmt: skip
