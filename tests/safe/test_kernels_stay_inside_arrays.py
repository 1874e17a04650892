"""A kernel never reads outside an array, whatever its arguments are.

The fuzzer calls all of them with odd arguments: test_the_fuzzer.py.
"""

import array
import contextlib
import copy
import pickle
import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support import plan, rows
from support.algorithms import engine_of

import lazynet.kernels
from lazynet import FromStep
from lazynet.kernels import many_outputs, stabilised, table
from lazynet.kernels import steps as steps_kernel
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.examples import STATUS_BAD_ROW, STATUS_FINISHED, STATUS_NEEDS_SWEEP, Examples
from lazynet.kernels.gram import Gram
from lazynet.kernels.many_outputs import OutputBlock
from lazynet.kernels.steps import Average, OutputTargets, Task
from lazynet.rules.storage import STORAGES
from safe.fuzz import recipes
from safe.fuzz.disguises import fenced
from safe.fuzz.offered import CLASSES, FUNCTIONS, RULES, RUNS, WIDE_KINDS
from safe.fuzz.recipes import Parts, recipe

WIDTH = 8
#: Targets of two rows.
TARGETS = OutputTargets(0, 3, labels=rows(2))


def numbers(values, kind=np.int64):
    return np.asarray(values, dtype=kind)


def examples_of(data, indices, indptr, n_columns):
    """Rows as the kernels take them, with targets and sizes of 1."""
    ones = np.ones(len(indptr) - 1)
    values = numbers(data, float), numbers(indices), numbers(indptr)
    return Examples(*values, n_columns, ones, None, ones)


def two_rows(kind=np.int32):
    """Values, columns and starts of two rows with a nonzero each."""
    return np.ones(2), np.arange(2, dtype=kind), np.arange(3, dtype=kind)


def block_of(kind, n_features, **state):
    """A block that has learned nothing, in fences."""
    parts = Parts(np.random.default_rng(0), fenced)
    parts.d, parts.n_outputs, parts.narrow, parts.kind = n_features, WIDTH, False, run_of(kind)
    given = parts.arguments("many_outputs.OutputBlock", CLASSES[OutputBlock].split())
    cells = fenced(np.zeros((n_features, WIDTH * many_outputs.numbers(kind))))
    return OutputBlock(
        **{**given, "cells": cells, "scalars": np.zeros(many_outputs.SCALARS), **state}
    )


def run_of(kind):
    """The variant of a run over a block of this kind."""
    return {"clock": RUNS[0], "averaged clock": "with an average"}.get(kind, kind)


def run_wide(kind, block, examples, targets, order, **others):
    """Take steps until the kernel has nothing more to do, or says why it cannot go on."""
    parts = Parts(np.random.default_rng(0))
    parts.d, parts.n_outputs, parts.narrow = block.n_features, targets.n_outputs, False
    chosen = plan(fit_intercept=True, average=FromStep())
    task, steps = chosen.task(engine_of("clock", 2)), chosen.steps(order, 0)
    given = dict(block=block, examples=examples, targets=targets, steps=steps, task=task)
    sound = recipe(f"many_outputs.run {run_of(kind)}", parts)
    return many_outputs.run(**{**sound, "softmax": False, "learns": True, **given, **others})


#: The arguments whose own length says how much there is to do, or that need not be full.
OF_ANY_LENGTH = set(
    """
    arrays.Held.array.row compact.CompactRows.values_of.order dekel.begin_h_again.cells
    dekel.run.order dense.run.dense_row dense_rows.nonzeros.X dense_rows.nonzeros.X.row
    dual.run.order gram.Gram.features
    many_outputs.OutputBlock.cells many_outputs.OutputBlock.clocks
    many_outputs.OutputBlock.clocks.row many_outputs.OutputBlock.own
    many_outputs.OutputBlock.own.row many_outputs.OutputBlock.rates
    many_outputs.OutputBlock.rates.row many_outputs.OutputBlock.scalars
    many_outputs.read.out.row many_outputs.run.strengths many_outputs.run.strengths.row
    moments.add.order moments.refresh.columns moments.standardised.moved
    objective.weight_sums.weights one_output.read.memory one_output.retune.cells
    one_output.run.memory one_output.sweep.cells stabilised.find_ratios.cells
    stabilised.truncate.cells steps.OutputTargets.labels steps.OutputTargets.numbers
    steps.OutputTargets.starts sums.add_rows.sums.row sums.excess.sums sums.excess.sums.row
    working_set.WorkingSet.join.features
    """.split()  # noqa: SIM905
)


def test_every_function_refuses_an_array_that_is_too_short():
    """One entry, row or column less than sound arguments have; behind the array lies a fence."""
    accepted, n_refused = set(), 0
    for name, seed in product(FUNCTIONS, range(4)):
        sound = recipe(name, Parts(np.random.default_rng(seed), fenced))
        for argument, value in sound.items():
            for axis in range(value.ndim if isinstance(value, np.ndarray) and value.size else 0):
                given = recipe(name, Parts(np.random.default_rng(seed), fenced))
                short = np.take(value, np.arange(value.shape[axis] - 1), axis)
                given[argument] = fenced(short)
                try:
                    recipes.call(name, given)
                except (TypeError, ValueError):
                    n_refused += 1
                else:
                    accepted.add(f"{name.partition(' ')[0]}.{argument}" + ".row" * axis)
    assert accepted == OF_ANY_LENGTH
    assert n_refused > 500


#: The arrays that a function writes to, or may write to.
WRITTEN = set(
    """
    arrays.Held.array compact.CompactRows.add.sums compact.CompactRows.copy.counts
    compact.CompactRows.margins.out
    compact.bounds.sums dekel.begin_h_again.cells dekel.begin_h_again.fields dekel.run.cells
    dekel.run.fields dense.run.dense_row dense.run.intercept dense.run.sums dense.run.totals
    dense.run.weights dual.recentre.centre dual.recentre.z dual.run.duals dual.run.fields
    dual.run.z dual.weights_of.weights gram.Gram.read.out many_outputs.OutputBlock.cells
    many_outputs.OutputBlock.clocks many_outputs.OutputBlock.constants
    many_outputs.OutputBlock.fields many_outputs.OutputBlock.own many_outputs.OutputBlock.rates
    many_outputs.OutputBlock.scalars many_outputs.OutputBlock.stamps many_outputs.read.out
    many_outputs.run.losses model.descend.slopes model.descend.weights moments.add.cells
    moments.refresh.means moments.refresh.sizes moments.standardised.columns
    moments.standardised.values moments.starts_of_rows.starts one_output.read.memory
    one_output.read.weights one_output.retune.cells one_output.run.cells one_output.run.fields
    one_output.run.memory one_output.sweep.cells one_output.sweep.fields
    slopes.derivatives.curvatures slopes.derivatives.duals slopes.derivatives.slopes
    slopes.duals_of_model.out slopes.evaluate.curvatures slopes.evaluate.duals
    slopes.evaluate.margins slopes.evaluate.sums slopes.evaluate.totals
    stabilised.find_ratios.cells stabilised.find_ratios.ratios stabilised.judge.counts
    stabilised.judge.frequency stabilised.judge.purged stabilised.read.weights
    stabilised.run.cells stabilised.run.fields stabilised.run.informed stabilised.truncate.cells
    steps.Average.fields steps.Average.scale_sums steps.Average.shift_sums steps.Average.shifts
    steps.Average.sums.out steps.Steps.predictions steps.Steps.with_predictions.predictions
    sums.add_compensated.cells sums.add_rows.sums sums.balance.duals sums.margins.out
    sums.negative_slopes.duals working_set.WorkingSet.predictions.margins
    working_set.WorkingSet.read.duals working_set.WorkingSet.read.weights
    """.split()  # noqa: SIM905
)


def frozen(value):
    """A copy that cannot be written to; ``own_steps`` are four arrays."""
    if isinstance(value, tuple):
        return tuple(map(frozen, value))
    value = value.copy()
    value.setflags(write=False)
    return value


def test_every_function_takes_arrays_that_it_does_not_write_to_as_they_are():
    """Arrays from another process, or of a mapped file, cannot be written to."""
    refused, n_accepted = {}, 0
    for name, seed in product(FUNCTIONS, range(8)):
        for argument, value in recipe(name, Parts(np.random.default_rng(seed))).items():
            if isinstance(value, np.ndarray) or (argument == "own_steps" and value is not None):
                given = recipe(name, Parts(np.random.default_rng(seed)))
                try:
                    recipes.call(name, given | {argument: frozen(given[argument])})
                except (TypeError, ValueError) as error:
                    refused[f"{name.partition(' ')[0]}.{argument}"] = str(error)
                else:
                    n_accepted += 1
    assert set(refused) == WRITTEN
    assert all(re.search("read-only|writeable", message) for message in refused.values())
    assert n_accepted > 1000


#: The objects that a function always refuses where they have fewer rows (n), columns (d), steps (k)
#: or outputs than its other arguments.
REFUSED = {
    "columns.Columns.examples": "n", "columns.Columns.rows": "n",
    "compact.CompactRows.add.self": "d n", "compact.CompactRows.copy.examples": "d n",
    "compact.CompactRows.copy.self": "n", "compact.CompactRows.copy_some.rows": "d",
    "compact.CompactRows.copy_some.self": "k", "compact.CompactRows.margins.self": "d n",
    "compact.bounds.examples": "d", "dekel.run.examples": "d", "dense.run.examples": "d",
    "dual.run.examples": "d n", "gram.Gram.add.self": "n", "many_outputs.read.block": "d",
    "many_outputs.run.block": "d", "many_outputs.run.examples": "d n",
    "many_outputs.run.targets": "n n_outputs", "moments.add.examples": "d",
    "moments.standardised.examples": "d n", "moments.starts_of_rows.examples": "d n",
    "newton.NewtonColumns.examples": "n", "newton.NewtonColumns.rows": "n",
    "one_output.run.examples": "d", "slopes.derivatives.examples": "n",
    "slopes.duals_of_model.examples": "n", "slopes.evaluate.examples": "n",
    "slopes.evaluate.rows": "d n", "stabilised.run.examples": "d",
    "steps.Steps.with_predictions.self": "k", "sums.add_rows.examples": "d n",
    "sums.balance.examples": "n", "sums.margins.examples": "d n",
    "sums.negative_slopes.examples": "n", "sums.total_conjugate.examples": "n",
    "sums.total_loss.examples": "n", "working_set.WorkingSet.candidates.self": "d",
    "working_set.WorkingSet.examples": "n", "working_set.WorkingSet.predictions.self": "n",
    "working_set.WorkingSet.read.self": "d n", "working_set.WorkingSet.rows": "n",
    "working_set.WorkingSet.start.self": "d",
}  # fmt: skip


def test_every_function_refuses_an_object_of_a_smaller_problem():
    """An object that is accepted is harmless: its arrays lie in fences."""

    def drawn(name, seed, **less):
        parts = Parts(np.random.default_rng(seed), fenced)
        vars(parts).update(dict(d=9, k=7, n=6, n_outputs=5) | less)
        return recipe(name, parts)

    refused, accepted = set(), set()
    for name, seed, size in product(FUNCTIONS, range(2), ("d", "k", "n", "n_outputs")):
        smaller = drawn(name, seed, **{size: 4})
        for argument, other in smaller.items():
            if not type(other).__module__.startswith("lazynet.kernels"):
                continue
            given = drawn(name, seed) | {argument: other}
            key = f"{name.partition(' ')[0]}.{argument}", size
            try:
                recipes.call(name, given)
            except (TypeError, ValueError):
                refused.add(key)
            else:
                accepted.add(key)
    listed = {(argument, size) for argument, sizes in REFUSED.items() for size in sizes.split()}
    assert listed <= refused - accepted


@pytest.mark.parametrize("kind", [kind for kind in WIDE_KINDS if kind not in RULES])
def test_outputs_have_one_clock_or_one_each(kind):
    """Only plain weights on a clock may have one each."""
    allowed, accepted = {1, WIDTH} if kind == "clock" else {1}, contextlib.nullcontext()
    for n_clocks in range(1, 2 * WIDTH):
        clocks = np.zeros((many_outputs.CLOCK_ROWS, n_clocks))
        with accepted if n_clocks in allowed else pytest.raises(ValueError, match="clocks"):
            block_of(kind, 2, clocks=clocks)


# --- rows ---------------------------------------------------------------------------------------


def test_a_negative_column_is_seen_in_the_widest_matrix():
    """A negative column is refused, though unsigned it could be the last of 2^32 columns."""
    for defects_of in (Examples.first_defect, lambda examples: examples.defect_of(0)):
        columns, starts = np.array([-1], dtype=np.int32), np.array([0, 1], dtype=np.int32)
        assert defects_of(Examples(np.ones(1), columns, starts, 2**32))


#: Columns, row starts and rows to visit of a bad second row, and a word of the error.
BAD_ROWS = [
    ([0, 9], [0, 1, 2], [0, 1], "column index outside"),
    ([0, -1], [0, 1, 2], [0, 1], "column index outside"),
    ([0, 1], [0, 2, 1], [0, 1], "indptr"),
    ([0, 1], [0, 1, 7], [0, 1], "indptr"),
    ([0, 1], [-3, 1, 2], [0, 1], "indptr"),
    ([0, 1], [0, 1, 2], [0, 2], "indptr|no such row"),
    ([0, 1], [0, 1, 2], [-1, 0], "indptr|no such row"),
]


@pytest.mark.parametrize("storage", STORAGES)
def test_a_bad_row_is_named_with_its_step(storage):
    """The steps before it are taken, the bad one is not, and the message says which."""
    for indices, indptr, order, words in BAD_ROWS:
        built = engine_of(storage, 2)
        examples = examples_of([1.0, 1.0], indices, indptr, 2)
        with pytest.raises(ValueError, match="cannot be read at step") as caught:
            built.take(examples, plan().steps(numbers(order), 0), plan().task(built))
        assert re.search(words, str(caught.value))


@pytest.mark.parametrize("kind", WIDE_KINDS)
def test_a_bad_row_ends_a_run_over_several_outputs(kind):
    """The steps before it are taken; a row that has become readable is then learned from."""
    options = {}
    if kind in RULES:
        # Rates that follow the rows ask for a sweep first.
        names = table.RULES[kind].constants
        follow = [name == "follows" or name.startswith("free") for name in names]
        options = {"constants": np.full((WIDTH, len(names)), 0.5) * ~np.array(follow)}
    columns = numbers([0, 9])
    examples = Examples(np.ones(2), columns, numbers([0, 1, 2]), 2, row_sizes=np.ones(2))
    block = block_of(kind, 2, **options)
    assert run_wide(kind, block, examples, TARGETS, rows(2)) == (STATUS_BAD_ROW, 1)
    columns[1] = 1
    assert run_wide(kind, block, examples, TARGETS, rows(2)) == (STATUS_FINISHED, 2)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_a_matrix_without_rows_columns_or_steps(shape):
    """Nothing to read is nothing read."""
    examples, chosen = examples_of([], [], np.zeros(shape[0] + 1), shape[1]), plan(l1=0.1)
    for order in (rows(shape[0]), rows(0)):
        for storage in STORAGES:
            built = engine_of(storage, shape[1])
            built.take(examples, chosen.steps(order, 0), chosen.task(built))
            assert built.weights().shape == (shape[1],)
        for kind in WIDE_KINDS:
            block, targets = block_of(kind, shape[1]), OutputTargets(0, 3, labels=rows(shape[0]))
            status, _ = run_wide(kind, block, examples, targets, order)
            assert status in (STATUS_FINISHED, STATUS_NEEDS_SWEEP)


def test_a_row_that_repeats_its_columns_may_be_longer_than_the_columns_are_many():
    """A Gram matrix has room for every nonzero of a row."""
    n = 30_000
    examples = Examples(np.ones(n), np.zeros(n, np.int32), np.array([0, n], np.int32), 1)
    repeated = CompactRows(1, 1, n)
    assert repeated.copy(examples, np.zeros(1, np.int32), np.zeros(1)) == (STATUS_FINISHED, 1)
    assert Gram(repeated, np.zeros(1, np.int32), 0, True).add(np.ones(1), 0) == (STATUS_FINISHED, 1)


@pytest.mark.parametrize(
    ("kind", "in_place"), [(np.float32, False), (np.float64, False), (np.float64, True)]
)
def test_a_row_that_has_no_room_is_not_copied(kind, in_place):
    """A row is longer than the room for all rows; values that stay in place need no room."""
    n = 10**6
    starts = np.concatenate([[0], np.full(n, n)]).astype(np.int32)
    examples = Examples(np.ones(n, kind), np.zeros(n, np.int32), starts, 1)
    rows = CompactRows(n, 1, n, examples) if in_place else CompactRows(n, 1, 1)
    expected = (STATUS_FINISHED, n) if in_place else (STATUS_BAD_ROW, 0)
    assert rows.copy(examples, np.zeros(1, np.int32), np.zeros(1)) == expected


# --- objects and arrays that are not what they seem ---------------------------------------------


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_objects_are_made_once_and_are_not_copied(kind):
    """Pointers are neither pickled nor copied; a task has numbers alone."""
    made = Parts(np.random.default_rng(0)).made(kind)
    with pytest.raises(TypeError):  # no object is half made
        kind.__new__(kind)
    for call in (pickle.dumps, copy.copy, copy.deepcopy) if kind is not Task else ():
        with pytest.raises(TypeError):
            call(made)
    for state in (None, (), {}, SimpleNamespace()):
        for name in ("__setstate__", "__setstate_cython__"):
            with contextlib.suppress(TypeError, AttributeError):
                getattr(made, name)(state)


def test_counts_and_places_that_are_edited_are_checked_again():
    """What says how much of an array is in use, or which feature is meant, may change any time."""
    fields = np.zeros(steps_kernel.AVERAGE_FIELDS)
    past = Average(np.zeros(4), np.zeros(5), np.zeros(5), fields)
    for count in (5.0, -1.0, 1e300, np.nan):
        fields[steps_kernel.COUNTED_FIELD] = count
        with pytest.raises(ValueError, match="the iterates that counted"):
            past.sums(np.zeros((3, 2)), np.zeros(3))
    for place in range(4):
        arrays = [np.zeros(4), np.zeros(5), np.zeros(5), fields]
        arrays[place] = None
        with pytest.raises(TypeError, match="fields must be arrays"):
            Average(*arrays)
    features, learned = np.array([0, 0]), np.zeros((2, 2))
    counts, purged = np.zeros((2, 2), np.int32), features.copy()
    find, truncate, judge = stabilised.find_ratios, stabilised.truncate, stabilised.judge
    calls = (
        lambda: find(features, learned, 0.0, 1.0, np.zeros(2)),
        lambda: truncate(features, learned, np.zeros(2), 0.1, 0.1, True),
        lambda: judge(features, np.zeros(2, np.uint8), 0.5, counts, np.zeros(2), purged),
    )
    for features[1], call in product((2, -1, 2**40), calls):
        with pytest.raises(ValueError, match="features must lie below 2"):
            call()


def test_a_pending_step_does_not_write_behind_a_past_that_is_full():
    """A full past asks for a sweep, also where half of the step has been taken."""
    room = 2
    past = [fenced(np.zeros(n)) for n in (room, room + 1, room + 1)]
    fields = np.zeros(steps_kernel.AVERAGE_FIELDS)
    fields[steps_kernel.COUNTED_FIELD] = room
    average, scalars = Average(*past, fields), np.array([0.0, 1.0])
    block = block_of("averaged clock", 2, scalars=scalars)
    examples = Examples(*two_rows(np.int64), 2, np.ones(2))
    ended = run_wide("averaged clock", block, examples, TARGETS, rows(2), average=average)
    assert ended == (STATUS_NEEDS_SWEEP, 0)
    assert scalars[1] == 1.0


class SaysThatItIsLong(np.ndarray):
    """An array whose attributes lie about its length."""

    @property
    def shape(self):
        return (10**8,)

    def __len__(self):
        return 10**8


def test_lengths_are_those_of_the_memory():
    """The memory decides how long an array is, and stays where it is while it is held."""
    values, columns, starts = two_rows()
    liars = values.view(SaysThatItIsLong), columns.view(SaysThatItIsLong)
    assert Examples(*liars, starts, 2).squared_norms().tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="equally long"):
        Examples(liars[0], columns[:1], starts, 2)
    stamps = array.array("d", [0.0, 0.0])
    block = block_of("adagrad", 2, stamps=stamps)
    with pytest.raises(BufferError):
        stamps.extend([0.0] * 10**6)
    assert block.n_features == 2
    examples = Examples(values, columns, starts, 2)
    with pytest.raises(ValueError, match="resize"):
        values.resize(10**6, refcheck=False)
    assert examples.squared_norms().tolist() == [1.0, 1.0]


def test_a_failed_call_leaves_nothing_in_the_room_of_dense_predictions():
    """A row that has become infinite is refused, and sound rows are learned from afterwards."""
    engine, chosen = engine_of("dense", 2, predictions=True), plan()
    values, columns, starts = two_rows()
    examples, task = Examples(values, columns, starts, 2, np.ones(2)), chosen.task(engine)
    values[0] = np.inf
    with pytest.raises(FloatingPointError):
        engine.take(examples, chosen.steps(numbers([0]), 0), task)
    engine.take(examples, chosen.steps(numbers([1]), 0), task)
    assert np.isfinite(engine.weights()).all()


def test_every_extension_that_is_compiled_in_is_tested_for():
    """A level of the loops is chosen where the machine has all that its code may use."""
    folder = Path(lazynet.kernels.__path__[0])
    setup = folder.parents[1] / "setup.py"
    if not (setup.exists() and (folder / "lanes.h").exists()):
        pytest.skip("the sources are not installed")
    compiled = set(re.findall(r'"-m((?:avx|bmi|fma)\w*)"', setup.read_text()))
    asked = re.findall(r"\bHAS\((\w+)\)", (folder / "lanes.h").read_text())
    assert compiled
    assert compiled <= set(asked)
