"""The kernel of several outputs never leaves an array, whatever its arguments are."""

import array
import contextlib
import copy
import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from support import rows

from lazynet.engines.outputs import AveragedOutputs, OutputsOnClock
from lazynet.kernels import averages, cells, outputs, outputs_cells, outputs_clock
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
from safe.fuzz import outputs as fuzz_outputs
from safe.fuzz.disguises import fenced
from safe.fuzz.outputs import KINDS, RULES
from safe.fuzz.recipes import Parts

#: A clock that never wears out.
NUMBERS = (0, 0.1, False, True, 2.0**-500, 1.0, 2.0**10, 1e9, 2.0**6, 2.0**10)
TASK = Task(*NUMBERS)
WIDTH = 8


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


def run(kind, block, examples, targets, order, **others):
    """Take steps until the kernel has nothing more to do, or says why it cannot go on."""
    parts = Parts(np.random.default_rng(0))
    parts.d, parts.n_outputs, parts.narrow = block.n_features, targets.n_outputs, False
    given = dict(block=block, examples=examples, targets=targets, steps=steps_of(order), task=TASK)
    return fuzz_outputs.run(parts, kind, **given, **others)


def two_rows():
    """Rows with a nonzero each."""
    return examples_of(np.ones(2), [0, 1], [0, 1, 2], 2)


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
        settings, fields = (np.full((WIDTH, len(of(kind))), 0.5) for of in (
            cells.settings, cells.fields))  # fmt: skip
        outputs_cells.sweep_adagrad(block_of(kind, 0), settings=settings, fields=fields)


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


def test_every_kind_of_the_kernel_is_tested():
    """The kernel names its kinds where it refuses another one."""
    with pytest.raises(ValueError, match="kind must be one of") as caught:
        outputs.numbers("")
    named = str(caught.value).removeprefix("kind must be one of ").partition(", got")[0]
    assert named.split(", ") == sorted(KINDS)


# --- objects and arrays that are not what they seem -----------------------------------------------


def test_a_pending_step_does_not_write_behind_a_past_that_is_full():
    """A full past asks for a sweep, also where half of the step has been taken."""
    room = 2
    past = [fenced(np.zeros(n)) for n in (room, room + 1, room + 1)]
    fields = np.zeros(averages.AVERAGE_FIELDS)
    fields[averages.COUNTED_FIELD] = room
    average, scalars = Average(*past, fields), np.array([0.0, 1.0])
    block, targets = block_of("averaged clock", 2), Targets(0, 3, labels=rows(2))
    ended = run(
        "averaged clock", block, two_rows(), targets, [0, 1], average=average, scalars=scalars
    )
    assert ended == (STATUS_WORN_OUT, 0)
    assert scalars[1] == 1.0


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
