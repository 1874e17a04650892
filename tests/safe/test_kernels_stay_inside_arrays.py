"""A kernel never reads outside an array, whatever its arguments are."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ELASTIC_ENGINES, plan, rows
from support.engines import form_engine

import lazynet.kernels
from lazynet.catalogue import ALGORITHMS, new_engine
from lazynet.forms import FORMS
from lazynet.kernels import averages, cells, clock, dense, objective, stabilised, tables
from lazynet.kernels.examples import Examples, Steps, Task
from lazynet.penalties import ElasticNet
from lazynet.rules.truncated_gradient import TruncatedGradient

DEFAULT_TASK = (0, 0.1, False, False, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0)
NONE = np.zeros(0)
KINDS = sorted(row.engine.kind for row in ALGORITHMS.values() if row.engine is not None)
#: Every rule with a state, and a rule without in every form.
EVERY_ENGINE = [
    *((row.rule().known(0.1), None) for row in ALGORITHMS.values() if row.rule().has_state),
    (TruncatedGradient(threshold=0.5), None),
    *((ALGORITHMS["fobos"].rule(), form().settled()) for form in FORMS.values()),
]
INTEGERS = st.one_of(st.integers(-5, 15), st.sampled_from([2**31 - 1, -(2**31), 1000]))


def steps_of(order, chosen=None):
    return (chosen or plan()).steps(np.asarray(order, dtype=np.int64), 0)


def examples_of(data, indices, indptr, n_columns, y=None):
    n_rows = len(indptr) - 1
    return Examples(
        np.asarray(data, dtype=float),
        np.asarray(indices, dtype=np.int32),
        np.asarray(indptr, dtype=np.int32),
        n_columns,
        np.ones(n_rows) if y is None else y,
        None,
        np.ones(n_rows),
    )


@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
@given(data=st.data())
def test_engines_survive_hostile_matrices_and_orders(engine, data):
    """Any indices, row starts and order: an error or a result, never a stray read."""
    indices = data.draw(st.lists(INTEGERS, max_size=12))
    indptr = data.draw(st.lists(INTEGERS, min_size=1, max_size=8))
    order = data.draw(st.lists(INTEGERS, max_size=10))
    n_columns = data.draw(st.integers(0, 8))
    examples = examples_of(np.ones(len(indices)), indices, indptr, n_columns)
    built = form_engine(engine, n_columns)
    chosen = plan(l1=0.1)
    with contextlib.suppress(ValueError):
        built.take(examples, steps_of(order, chosen), chosen.task(built))
    assert built.weights().shape == (n_columns,)


@given(data=st.data())
def test_the_objective_survives_hostile_matrices(data):
    """The pass that evaluates the loss gives an error or a result, never a stray read."""
    indices = data.draw(st.lists(INTEGERS, max_size=12))
    indptr = data.draw(st.lists(INTEGERS, min_size=1, max_size=8))
    start, stop = data.draw(INTEGERS), data.draw(INTEGERS)
    examples = examples_of(np.ones(len(indices)), indices, indptr, 6)
    total, row, unreadable = objective.total_loss(examples, np.zeros(6), 0.0, 0, 0.1, start, stop)
    assert np.isfinite(total)
    assert unreadable in (True, False)
    assert not unreadable or 0 <= row < len(indptr) - 1


def test_a_negative_column_is_seen_in_the_widest_matrix():
    """A negative column is refused, though unsigned it could be one of more than 2^32 columns."""
    for defects_of in (Examples.first_defect, lambda examples: examples.defect_of(0)):
        examples = Examples(
            np.ones(1),
            np.array([-1], dtype=np.int32),
            np.array([0, 1], dtype=np.int32),
            2**32 + 1,
        )
        assert defects_of(examples)


@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
@pytest.mark.parametrize(
    ("indices", "indptr", "order", "why"),
    [
        ([0, 9], [0, 1, 2], [0, 1], "column index outside"),
        ([0, -1], [0, 1, 2], [0, 1], "column index outside"),
        ([0, 1], [0, 2, 1], [0, 1], "indptr"),
        ([0, 1], [0, 1, 7], [0, 1], "indptr"),
        ([0, 1], [-3, 1, 2], [0, 1], "indptr"),
        ([0, 1], [0, 1, 2], [0, 2], "indptr|no such row"),
        ([0, 1], [0, 1, 2], [-1, 0], "indptr|no such row"),
    ],
)
def test_a_bad_row_is_named_with_its_step(engine, indices, indptr, order, why):
    """The steps before it are taken, the bad one is not, and the message says which."""
    built = form_engine(engine, 2)
    with pytest.raises(ValueError, match="cannot be read at step") as caught:
        built.take(examples_of([1.0, 1.0], indices, indptr, 2), steps_of(order), plan().task(built))
    assert any(word in str(caught.value) for word in why.split("|"))


def test_memory_that_changes_under_training_is_noticed():
    """The door has checked the matrix; the kernel checks each row again before it reads it."""
    columns = np.array([0, 1], dtype=np.int32)
    examples = Examples(np.ones(2), columns, np.array([0, 1, 2], dtype=np.int32), 2, np.ones(2))
    assert examples.first_defect() is None
    columns[1] = 10**6
    built = form_engine("clock", 2)
    with pytest.raises(ValueError, match="row 1 cannot be read"):
        built.take(examples, steps_of([0, 1]), plan().task(built))


def test_examples_refuse_arrays_that_do_not_fit():
    """Every length and type is checked before a pointer is taken."""
    values, columns, starts = np.ones(2), rows(2), rows(2)
    with pytest.raises(TypeError, match="data must be float32 or float64"):
        Examples(np.ones(2, dtype=int), columns, starts, 2)
    with pytest.raises(TypeError, match="indices must be int32 or int64"):
        Examples(values, columns.astype(np.int16), starts, 2)
    with pytest.raises(TypeError, match="one type"):
        Examples(values, columns, starts.astype(np.int32), 2)
    with pytest.raises(TypeError, match="one-dimensional"):
        Examples(np.ones((2, 1)), columns, starts, 2)
    with pytest.raises(ValueError, match="equally long"):
        Examples(np.ones(3), columns, starts, 2)
    with pytest.raises(ValueError, match="indptr must not be empty"):
        Examples(values, columns, rows(0), 2)
    with pytest.raises(ValueError, match="n_columns"):
        Examples(values, columns, starts, -1)
    with pytest.raises(ValueError, match="targets must have one entry per row"):
        Examples(values, columns, starts, 2, np.ones(5))
    with pytest.raises(ValueError, match="importances must have one entry per row"):
        Examples(values, columns, starts, 2, np.ones(1), np.ones(2))


def test_steps_refuse_arrays_of_different_lengths():
    """Five arrays, one length."""
    with pytest.raises(ValueError, match="must have 3 entries"):
        Steps(rows(3), np.ones(3), np.ones(3), np.ones(3), np.ones(2))
    assert len(Steps(rows(3), *[np.ones(3)] * 4)) == 3


def test_kernels_refuse_state_that_does_not_fit():
    """Called by hand with arrays of the wrong length, kernels raise before they begin."""
    examples = examples_of([1.0], [0], [0, 1], 2)
    steps, task = steps_of([0]), Task(*DEFAULT_TASK)
    fields = np.zeros(clock.CLOCK_FIELDS)
    two, three = np.zeros(2), np.zeros(3)
    with pytest.raises(ValueError, match="stored must have 2 entries"):
        clock.run(examples, steps, task, three, fields, 0)
    with pytest.raises(ValueError, match="fields must have"):
        clock.run(examples, steps, task, two, three, 0)
    with pytest.raises(ValueError, match="fields must have"):
        clock.read(two, three, two)
    with pytest.raises(ValueError, match="fields must have"):
        clock.start(three)
    with pytest.raises(ValueError, match="weights must have 2 entries"):
        clock.read(two, fields, three)
    with pytest.raises(ValueError, match="weights must have 2 entries"):
        dense.run(examples, steps, task, three, np.zeros(1), NONE, NONE, NONE, True, 0)
    with pytest.raises(ValueError, match="intercept must have one entry"):
        dense.run(examples, steps, task, two, NONE, NONE, NONE, NONE, True, 0)
    with pytest.raises(ValueError, match="spread must have 2 entries or none"):
        dense.run(examples, steps, task, two, np.zeros(1), three, NONE, NONE, True, 0)
    with pytest.raises(ValueError, match="weights and last must have 2 entries"):
        tables.run(examples, steps, task, two, rows(3), three, three, fields, 0, 0)
    with pytest.raises(ValueError, match="equally long"):
        tables.run(examples, steps, task, two, rows(2), three, two, fields, 0, 0)
    with pytest.raises(ValueError, match="now must lie in the tables"):
        tables.run(examples, steps, task, two, rows(2), three, three, fields, 3, 0)
    with pytest.raises(ValueError, match="last must lie between"):
        tables.read(two, np.array([0, 9]), three, three, 1, two)
    with pytest.raises(ValueError, match="weights must have 2 entries"):
        objective.total_loss(examples, three, 0.0, 0, 0.1, 0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_cells_that_do_not_fit_their_kind_are_refused(kind):
    """Cells, fields, settings and weights of other lengths, and a kind that there is not."""
    examples = examples_of([1.0], [0], [0, 1], 2)
    steps, task = steps_of([0]), Task(*DEFAULT_TASK)
    numbers = cells.numbers(kind)
    settings = np.full(len(cells.settings(kind)), 2.0)
    fields = np.zeros(len(cells.fields(kind)))
    sound = dict(kind=kind, settings=settings, fields=fields)
    slopes = np.zeros(1)  # for kinds that remember
    run = dict(sound, examples=examples, steps=steps, task=task, first=0, slopes=slopes)
    fitting = np.zeros((2, numbers))
    sweeps = kind == "adagrad"
    # A rule whose rates follow the data asks for a sweep before the first row.
    assert cells.run(cells=fitting, **run) in ((0, 1), (1, 0))
    for shape in ((3, numbers), (1, numbers), (0, numbers), (2, numbers + 1), (2, 0)):
        with pytest.raises(ValueError, match="cells must have 2 rows"):
            cells.run(cells=np.zeros(shape), **run)
    for shape in ((2, numbers + 1), (2, 0)):
        with pytest.raises(ValueError, match="cells must have 2 rows"):
            cells.read(cells=np.zeros(shape), weights=np.zeros(2), **sound)
        with pytest.raises(ValueError, match="cells must have 2 rows"):
            cells.retune(cells=np.zeros(shape), **sound)
        refusal = "cells must have 2 rows" if sweeps else "whose weights the kernel sweeps"
        with pytest.raises(ValueError, match=refusal):
            cells.sweep(cells=np.zeros(shape), **sound)
    for length in (1, 3):
        with pytest.raises(ValueError, match="weights must have 2 entries"):
            cells.read(cells=fitting, weights=np.zeros(length), **sound)
    for name in ("settings", "fields"):
        for length in (0, len(sound[name]) - 1, len(sound[name]) + 1):
            given = {**sound, name: np.ones(length)}
            calls = [
                lambda given=given: cells.run(cells=fitting, **{**run, **given}),
                lambda given=given: cells.read(cells=fitting, weights=np.zeros(2), **given),
                lambda given=given: cells.retune(cells=fitting, **given),
                *([lambda given=given: cells.sweep(cells=fitting, **given)] if sweeps else []),
                lambda given=given: cells.intercept(**given),
            ]
            for call in calls:
                with pytest.raises(ValueError, match=f"{name} must have"):
                    call()
    for bad in ("", "clock", kind.upper(), kind + "\x00"):
        for function in (cells.numbers, cells.fields, cells.settings):
            with pytest.raises(ValueError, match="kind must be one of"):
                function(bad)
    for bad in (None, 3, kind.encode()):
        for function in (cells.numbers, cells.fields, cells.settings):
            with pytest.raises(TypeError, match="kind"):
                function(bad)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_cells_survive_hostile_matrices_orders_and_numbers(kind, data):
    """Any indices, row starts, order and numbers: an error or a result, never a stray read."""
    indices = data.draw(st.lists(INTEGERS, max_size=12))
    indptr = data.draw(st.lists(INTEGERS, min_size=1, max_size=8))
    order = data.draw(st.lists(INTEGERS, max_size=10))
    n_columns = data.draw(st.integers(0, 8))
    drawn = [
        data.draw(st.lists(st.floats(), min_size=n, max_size=n))
        for n in (len(cells.settings(kind)), len(cells.fields(kind)))
    ]
    settings, fields = (np.array(numbers, dtype=float) for numbers in drawn)
    examples = examples_of(np.ones(len(indices)), indices, indptr, n_columns)
    given_cells = np.full((n_columns, cells.numbers(kind)), data.draw(st.floats()))
    slopes = np.full(len(indptr) - 1, data.draw(st.floats()))
    first = data.draw(INTEGERS)
    with contextlib.suppress(ValueError):
        status, stopped = cells.run(
            kind, examples, steps_of(order, plan(l1=0.1)), Task(*DEFAULT_TASK), settings,
            given_cells, fields, first, slopes,
        )  # fmt: skip
        assert status in range(6)
        assert 0 <= stopped <= len(order)
    with contextlib.suppress(ValueError):
        cells.read(kind, given_cells, fields, settings, np.zeros(n_columns))
        cells.retune(kind, given_cells, fields, settings)
    with contextlib.suppress(ValueError):
        cells.sweep(kind, given_cells, fields, settings)


@pytest.mark.parametrize(("rule", "form"), EVERY_ENGINE)
def test_engines_of_rules_survive_hostile_matrices_and_orders(rule, form):
    """A row with an index outside is named, whichever engine reads it, and nothing else is."""
    built = new_engine(rule, ElasticNet(), 2, form=form)
    chosen = plan(rule=rule)
    task = chosen.task(built)
    for columns in ([0, 9], [0, -1]):
        with pytest.raises(ValueError, match="row 1 cannot be read at step 1"):
            built.take(
                examples_of([1.0, 1.0], columns, [0, 1, 2], 2), steps_of([0, 1], chosen), task
            )
    assert np.isfinite(built.weights()).all()


def test_a_step_number_outside_the_tables_is_not_followed():
    """psi is read from memory that a caller could have filled with anything."""
    examples = examples_of([1.0], [0], [0, 1], 1)
    fields = np.zeros(clock.CLOCK_FIELDS)
    clock.start(fields)
    weights = np.array([2.0])
    scales, shifts = np.ones(3), np.zeros(3)
    for psi in (10**12, -(10**12)):
        status, step, _ = tables.run(
            examples, steps_of([0]), Task(*DEFAULT_TASK), weights, np.array([psi]), scales, shifts,
            fields, 0, 0,
        )  # fmt: skip
        assert (status, step) == (0, 1)


@pytest.mark.parametrize("loss", [-1, 99])
def test_an_unknown_loss_code_is_refused(loss):
    """A code outside the table is an error, not the last arm of a switch."""
    examples = examples_of([1.0], [0], [0, 1], 1)
    task = Task(loss, *DEFAULT_TASK[1:])
    fields = np.zeros(clock.CLOCK_FIELDS)
    calls = [
        lambda: clock.run(examples, steps_of([0]), task, np.zeros(1), fields, 0),
        lambda: dense.run(
            examples, steps_of([0]), task, np.zeros(1), np.zeros(1), NONE, NONE, NONE, True, 0
        ),
        lambda: tables.run(
            examples, steps_of([0]), task, np.zeros(1), rows(1), np.ones(2), np.zeros(2), fields,
            0, 0,
        ),
        lambda: objective.total_loss(examples, np.zeros(1), 0.0, loss, 0.1, 0, 1),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match="loss must be a code"):
            call()


@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
def test_a_matrix_without_rows_columns_or_steps(engine):
    """Nothing to read is nothing read."""
    chosen = plan(l1=0.1)
    for shape in ((0, 3), (3, 0), (0, 0)):
        built = form_engine(engine, shape[1])
        examples = examples_of([], [], np.zeros(shape[0] + 1), shape[1])
        order = np.arange(shape[0])
        built.take(examples, steps_of(order, chosen), chosen.task(built))
        built.take(examples, steps_of([], chosen), chosen.task(built))
        assert built.weights().shape == (shape[1],)


# --- objects and arrays that are not what they seem ---------------------------------------------


def misaligned(array):
    """A copy of the numbers one byte off the place where they may lie."""
    room = np.zeros(array.nbytes + 1, dtype=np.uint8)
    room[1:] = np.ascontiguousarray(array).view(np.uint8).ravel()
    odd = room[1:].view(array.dtype).reshape(array.shape)
    assert not odd.flags.aligned
    return odd


def two_rows():
    """Values, columns and starts of two rows with a nonzero each."""
    return np.ones(2), np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32)


def records_of(features):
    """Records of bursts, as many as features."""
    return stabilised.Records(features, np.zeros(len(features)), np.zeros(len(features), np.uint8))


@pytest.mark.parametrize("kind", [Examples, Steps, Task, averages.Average, stabilised.Records])
def test_no_object_is_half_made(kind):
    """An object cannot be made without its arrays, and __init__ changes nothing that is made."""
    with pytest.raises(TypeError):
        kind.__new__(kind)
    records = records_of(np.zeros(3, np.int64))
    with contextlib.suppress(TypeError):
        records.__init__(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.uint8))
    assert len(records.features) == 3


@pytest.mark.parametrize(
    "call",
    [
        lambda: objective.weight_sums(None),
        lambda: clock.rebase(None, np.zeros(clock.CLOCK_FIELDS)),
        lambda: clock.run(None, None, None, np.zeros(1), np.zeros(clock.CLOCK_FIELDS), 0),
        lambda: averages.Average(None, np.zeros(2), np.zeros(2), np.zeros(7)),
        lambda: Steps(rows(1), None, np.ones(1), np.ones(1), np.ones(1)),
        lambda: Examples(None, None, None, 3),
        lambda: stabilised.Records(None, np.zeros(1), np.zeros(1, np.uint8)),
    ],
)
def test_none_is_no_array(call):
    """None is refused where an array or an object is needed."""
    with pytest.raises(TypeError):
        call()


def test_arrays_of_another_width_are_refused():
    """Cells of one number are not written to as if they had two."""
    with pytest.raises(ValueError, match="cells must have 4 rows of 2 numbers"):
        stabilised.purge(np.array([0, 3]), np.zeros((4, 1)))


def test_a_count_that_is_edited_is_checked_again():
    """What says how much of an array is in use may be written to at any time."""
    fields = np.zeros(averages.AVERAGE_FIELDS)
    past = averages.Average(np.zeros(4), np.zeros(5), np.zeros(5), fields)
    for count in (5.0, -1.0, 1e300, np.nan):
        fields[averages.COUNTED_FIELD] = count
        with pytest.raises(ValueError, match="the iterates that counted"):
            averages.sums(np.zeros((3, 2)), past, np.zeros(3))


def test_records_that_are_edited_are_checked_again():
    """A feature on record is an index: it is checked where it is used."""
    features = np.array([0, 1], dtype=np.int64)
    records = records_of(features)
    order, rates = rows(1), np.ones(1)
    values, columns, starts = two_rows()
    examples = Examples(values, columns, starts, 2, np.ones(2))
    cells, fields = np.zeros((2, 2)), np.zeros(stabilised.STABILISED_FIELDS)
    stabilised.run(examples, order, rates, 1, 0.1, False, 5, 0.0, True, cells, fields, records, 0)
    assert records.n == 1
    features[0] = 2**40
    for call in (
        lambda: stabilised.truncate(records, cells, fields, 0.1, 1.0, True),
        lambda: stabilised.tally(records, np.zeros((2, 2), np.int32)),
    ):
        with pytest.raises(ValueError, match="must name features below 2"):
            call()


@pytest.mark.parametrize("which", range(4))
def test_arrays_stay_where_they_are_while_they_are_held(which):
    """NumPy refuses to move them, though it has been told not to count references."""
    values, columns, starts = two_rows()
    base = np.zeros(8)
    targets = base[:2]
    examples = Examples(values, columns, starts, 2, targets)
    with pytest.raises(ValueError, match="cannot resize"):
        (values, columns, starts, base)[which].resize(10**6, refcheck=False)
    assert examples.n_rows == 2


def test_misaligned_arrays_are_refused_by_name():
    """Reading a number from where it cannot lie is undefined: the door copies, kernels refuse."""
    arrays = two_rows()
    for which, name in enumerate(("data", "indices", "indptr")):
        given = [misaligned(a) if i == which else a for i, a in enumerate(arrays)]
        with pytest.raises(ValueError, match=f"{name} must be aligned"):
            Examples(*given, 2)
    with pytest.raises(ValueError, match="weights must be aligned"):
        objective.weight_sums(misaligned(np.ones(3)))


# --- vector units -------------------------------------------------------------------------------


def test_every_extension_that_is_compiled_in_is_tested_for():
    """A level of the row loops is chosen where the machine has all that its code may use."""
    source = Path(lazynet.kernels.__path__[0]) / "rows.c"
    if not source.exists():
        pytest.skip("the sources are not installed")
    text = source.read_text()
    compiled = {
        extension
        for targets in re.findall(r'#pragma GCC target\("([^"]*)"\)', text)
        for extension in targets.split(",")
        if not extension.startswith("tune=")
    }
    asked = set(re.findall(r'__builtin_cpu_supports\("([^"]*)"\)', text))
    assert compiled
    assert compiled <= asked


class SaysThatItIsLong(np.ndarray):
    """An array whose attributes lie about its length."""

    @property
    def shape(self):
        return (10**8,)

    def __len__(self):
        return 10**8


def test_lengths_are_those_of_the_memory():
    """The memory decides how long an array is, whatever its attributes say."""
    values, columns, starts = two_rows()
    liars = values.view(SaysThatItIsLong), columns.view(SaysThatItIsLong)
    assert Examples(*liars, starts, 2).squared_norms().tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="equally long"):
        Examples(liars[0], columns[:1], starts, 2)


def test_a_failed_call_leaves_nothing_in_the_room_of_dense_predictions():
    """A row that has become infinite is refused, and sound rows are learned from afterwards."""
    engine, chosen = form_engine("dense", 2, predictions=True), plan()
    values, columns, starts = two_rows()
    examples, task = Examples(values, columns, starts, 2, np.ones(2)), chosen.task(engine)
    values[0] = np.inf
    with pytest.raises(FloatingPointError):
        engine.take(examples, steps_of([0], chosen), task)
    engine.take(examples, steps_of([1], chosen), task)
    assert np.isfinite(engine.weights()).all()
