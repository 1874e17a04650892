"""A kernel never reads outside an array, whatever its arguments are."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from support import ELASTIC_STORAGES, plan, rows
from support.engines import storage_engine

import lazynet.kernels
from lazynet.kernels import averages, stabilised
from lazynet.kernels.examples import Examples
from safe.fuzz import kernels
from safe.fuzz.hunt import hunt


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a child must be able to die alone")
@pytest.mark.parametrize("seed", range(2))
def test_no_kernel_leaves_an_array(seed):
    """Every function of the kernels, with odd arguments and hostile rows, in arrays with fences.

    A stray access kills the child. An error must name an argument.
    """
    found = hunt("kernels", kernels.generate, 50_000 * (seed + 1), count=3000)
    assert found.inputs == 3000
    assert not found.signatures()


def test_a_negative_column_is_seen_in_the_widest_matrix():
    """A negative column is refused, though unsigned it could be the last of 2^32 columns."""
    for defects_of in (Examples.first_defect, lambda examples: examples.defect_of(0)):
        examples = Examples(
            np.ones(1),
            np.array([-1], dtype=np.int32),
            np.array([0, 1], dtype=np.int32),
            2**32,
        )
        assert defects_of(examples)


@pytest.mark.parametrize("storage", ELASTIC_STORAGES)
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
def test_a_bad_row_is_named_with_its_step(storage, indices, indptr, order, why):
    """The steps before it are taken, the bad one is not, and the message says which."""
    built = storage_engine(storage, 2)
    with pytest.raises(ValueError, match="cannot be read at step") as caught:
        built.take(examples_of([1.0, 1.0], indices, indptr, 2), steps_of(order), plan().task(built))
    assert any(word in str(caught.value) for word in why.split("|"))


@pytest.mark.parametrize("storage", ELASTIC_STORAGES)
def test_a_matrix_without_rows_columns_or_steps(storage):
    """Nothing to read is nothing read."""
    chosen = plan(l1=0.1)
    for shape in ((0, 3), (3, 0), (0, 0)):
        built = storage_engine(storage, shape[1])
        examples = examples_of([], [], np.zeros(shape[0] + 1), shape[1])
        order = np.arange(shape[0])
        built.take(examples, steps_of(order, chosen), chosen.task(built))
        built.take(examples, steps_of([], chosen), chosen.task(built))
        assert built.weights().shape == (shape[1],)


# --- objects and arrays that are not what they seem ---------------------------------------------


def two_rows():
    """Values, columns and starts of two rows with a nonzero each."""
    return np.ones(2), np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32)


def records_of(features):
    """Records of bursts, as many as features."""
    return stabilised.Records(features, np.zeros(len(features)), np.zeros(len(features), np.uint8))


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


# --- vector units -------------------------------------------------------------------------------


def test_every_extension_that_is_compiled_in_is_tested_for():
    """A level of the loops is chosen where the machine has all that its code may use."""
    kernels = Path(lazynet.kernels.__path__[0])
    setup = kernels.parents[1] / "setup.py"
    if not (setup.exists() and (kernels / "rows.h").exists()):
        pytest.skip("the sources are not installed")
    compiled = set(re.findall(r'"-m((?:avx|bmi|fma)\w*)"', setup.read_text()))
    asked = re.findall(r'__builtin_cpu_supports\("([^"]*)"\)', (kernels / "rows.h").read_text())
    assert compiled
    assert compiled <= set(asked)


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
    engine, chosen = storage_engine("dense", 2, predictions=True), plan()
    values, columns, starts = two_rows()
    examples, task = Examples(values, columns, starts, 2, np.ones(2)), chosen.task(engine)
    values[0] = np.inf
    with pytest.raises(FloatingPointError):
        engine.take(examples, steps_of([0], chosen), task)
    engine.take(examples, steps_of([1], chosen), task)
    assert np.isfinite(engine.weights()).all()
