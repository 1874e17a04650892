"""The columns of a row may come in any order: the model is the same up to rounding.

Every kernel needs the columns of a row to be distinct.  Rows with a column twice are summed first.
After every step disordered rows are compared in test_lazy_equals_dense.py.
"""

import copy
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from support.matrices import corpus, reversed_rows, shuffled_rows
from support.parameters import in_rule

from lazynet import ASGDClassifier, DualNetClassifier, LazyNetClassifier, StabilisedSGDClassifier
from lazynet.data.arrays import checked_csr
from lazynet.kernels.examples import DEFECT_REPEATED, DEFECTS, Examples

DISORDERS = pytest.mark.parametrize("disorder", [reversed_rows, shuffled_rows])


def assert_same_up_to_rounding(left, right, X, other):
    """The models learned from X and from ``other`` agree, and so do their predictions."""
    largest = np.abs(right.coef_).max()
    assert largest > 0
    np.testing.assert_allclose(left.coef_, right.coef_, rtol=1e-9, atol=1e-12 * largest)
    np.testing.assert_allclose(left.intercept_, right.intercept_, rtol=1e-9, atol=1e-12)
    found, expected = left.decision_function(other), right.decision_function(X)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    assert (np.count_nonzero(left.coef_) == np.count_nonzero(right.coef_)).all()


_SHORT = dict(max_iter=2, tol=None, random_state=0, l1=1e-4, l2=1e-3)
MODELS = [
    LazyNetClassifier(**_SHORT),
    ASGDClassifier(random_state=0, max_iter=2, l2=10.0),
    StabilisedSGDClassifier("log_loss", random_state=0, n_paths=2, max_iter=4, burst_size=20),
    DualNetClassifier(random_state=0, l1=1e-2, l2=1e-2, tol=1e-10),
]


@DISORDERS
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_estimator_learns_the_same_model(model, full, disorder):
    """Rows longer than every vector, block and chunk of the kernels, short rows, and full rows."""
    X, y = corpus(n_rows=100, d=600)
    if full:
        X = sparse.csr_matrix(np.random.default_rng(0).uniform(0.5, 1.0, (100, 20)))
    other = disorder(X)
    held = other.data.copy(), other.indices.copy(), other.indptr.copy()
    left, right = copy.deepcopy(model).fit(other, y), copy.deepcopy(model).fit(X, y)
    assert_same_up_to_rounding(left, right, X, other)
    for array, before in zip((other.data, other.indices, other.indptr), held, strict=True):
        np.testing.assert_array_equal(array, before)


# --- which rows name a column twice ----------------------------------------------------------

D = 40
ROWS = st.lists(st.lists(st.integers(0, D - 1), max_size=30), min_size=1, max_size=8)


def matrix(rows, values="f8", indices="i4"):
    """The rows as CSR, every value 1."""
    X = sparse.csr_matrix((len(rows), D))
    X.indices = np.array([j for row in rows for j in row], dtype=indices)
    X.data = np.ones(len(X.indices), dtype=values)
    X.indptr = np.cumsum([0, *map(len, rows)]).astype(indices)
    return X


@pytest.mark.parametrize("indices", ["i4", "i8"])
@pytest.mark.parametrize("values", ["f4", "f8"])
@given(rows=ROWS | ROWS.map(lambda rows: [[*dict.fromkeys(row)] for row in rows]))
@example(rows=[[1, 0, 1]])
@example(rows=[[5, 4], [4, 5], [5, 4]])
@example(rows=[[*range(D)], [*range(D)][::-1], [*[*range(D)][::-1], D - 1]])
def test_the_first_row_with_a_column_twice_is_found(rows, values, indices):
    """On every level of vector units; columns that other rows name too do not count."""
    X = matrix(rows, values, indices)
    expected = next((k for k, row in enumerate(rows) if len(set(row)) < len(row)), None)
    for level in range(5):
        examples = Examples(X.data, X.indices, X.indptr, D)
        examples.at_level(level)
        found = examples.first_defect()
        assert found == (None if expected is None else (expected, DEFECT_REPEATED))
        assert examples.first_defect(only_range=True) is None
    assert "twice" in DEFECTS[DEFECT_REPEATED]


def test_every_format_of_scipy_is_read():
    """The rows are the same in each of them."""
    X = sparse.csr_matrix(np.array([[0.0, 2.0, -1.0], [4.0, 0.0, 0.0]]))
    for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        np.testing.assert_array_equal(checked_csr(X.asformat(form)).toarray(), X.toarray())


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_small_integers_are_summed_without_overflow(form):
    """Also where SciPy would add them up as numbers of 8 bits."""
    X = sparse.csr_matrix((1, 1), dtype=np.int8)
    X.data, X.indices = np.full(2, 100, dtype=np.int8), np.zeros(2, dtype=np.int32)
    X.indptr = np.array([0, 2], dtype=np.int32)
    assert checked_csr(X.asformat(form)).toarray() == 200.0


@pytest.mark.parametrize("values", ["f4", "f8"])
@given(rows=ROWS, seed=st.integers(0, 2**32 - 1), spare=st.integers(0, 2))
@example(rows=[[2, 1], [3, 3]], seed=0, spare=1)
@example(rows=[[0] * 20 + [1], [1, 0]], seed=0, spare=0)
def test_what_becomes_of_a_row_depends_on_this_row_alone(rows, values, seed, spare):
    """Bit for bit: rows that come one by one give the matrix of all of them.

    A row without a repeated column keeps the order of its columns.  The matrix may have room before
    its first row and behind its last, and stays what it is.
    """
    X = matrix(rows, values)
    X.data[:] = np.random.default_rng(seed).standard_normal(len(X.data))
    roomy = sparse.csr_matrix(X.shape, dtype=X.dtype)
    room = np.zeros(spare, dtype=X.indices.dtype)
    roomy.indices = np.concatenate([room, X.indices, room])
    roomy.data = np.concatenate([room, X.data, room]).astype(values)
    roomy.indptr = X.indptr + room.dtype.type(spare)
    held = roomy.indices.copy(), roomy.data.copy()
    whole = checked_csr(roomy)
    np.testing.assert_array_equal((roomy.indices, roomy.data), held)
    np.testing.assert_allclose(whole.toarray(), X.toarray(), rtol=1e-5, atol=1e-5)
    assert Examples(whole.data, whole.indices, whole.indptr, D).first_defect() is None
    for i, row in enumerate(rows):
        alone = X[i]
        alone.indices = X.indices[X.indptr[i] : X.indptr[i + 1]].copy()
        alone.data = X.data[X.indptr[i] : X.indptr[i + 1]].copy()
        alone.indptr = np.array([0, len(row)], dtype=X.indptr.dtype)
        alone = checked_csr(alone)
        part = slice(whole.indptr[i], whole.indptr[i + 1])
        assert whole.data[part].tobytes() == alone.data.tobytes()
        assert whole.indices[part].tolist() == alone.indices.tolist()
        if len(set(row)) == len(row):
            assert alone.indices.tolist() == row


@pytest.mark.parametrize("flag", [False, True])
@DISORDERS
def test_the_flags_of_a_matrix_are_not_believed(disorder, flag):
    """What SciPy remembers of the order may be wrong, whichever way."""
    X, y = corpus(n_rows=40, d=80)
    model = LazyNetClassifier(**in_rule(**_SHORT, eta0=0.1))
    expected = model.fit(X, y).coef_
    other, twice = disorder(X), matrix([[3, 1, 3], [2, 2]])
    for each in (other, twice, X):
        each.has_sorted_indices = each.has_canonical_format = flag
    np.testing.assert_allclose(model.fit(other, y).coef_, expected, rtol=1e-9, atol=1e-12)
    assert checked_csr(X) is X
    np.testing.assert_array_equal(checked_csr(twice).toarray()[:, :4], [[0, 1, 0, 2], [0, 0, 2, 0]])


def test_more_rows_than_there_are_stamps():
    """The marks of rows are numbers of 16 bits; a mark that comes again is not mistaken."""
    n = 2**16 + 10
    X = sparse.csr_matrix((n, 3))
    # The first row alone names column 2, and a row 2^16 - 1 rows later has the same mark.
    X.indices = np.tile(np.array([1, 0], dtype=np.int32), n)
    X.indices[:2] = 2, 0
    X.data, X.indptr = np.ones(2 * n), np.arange(0, 2 * n + 1, 2, dtype=np.int32)
    row = 2**16 - 1
    X.indices[2 * row : 2 * row + 2] = 2, 1
    assert Examples(X.data, X.indices, X.indptr, 3).first_defect() is None
    X.indices[-2:] = 2, 2
    assert Examples(X.data, X.indices, X.indptr, 3).first_defect() == (n - 1, DEFECT_REPEATED)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space")
def test_no_memory_for_a_mark_per_column_is_said():
    """2^32 columns, in a process that may use no more than 2 GiB."""
    import resource

    X = matrix([[1, 0]])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    examples = Examples(X.data, X.indices, X.indptr, 2**32)
    resource.setrlimit(resource.RLIMIT_AS, (2**31, limits[1]))
    try:
        with pytest.raises(MemoryError, match="row 0"):
            examples.first_defect()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    # Columns that increase need no marks.
    assert Examples(X.data, X.indices[::-1].copy(), X.indptr, 2**32).first_defect() is None


def test_columns_are_numbers_of_32_bits():
    """A matrix with more columns is refused before a row is read."""
    X = matrix([[0, 1]])
    with pytest.raises(ValueError, match="n_columns must lie between 0 and 4294967296"):
        Examples(X.data, X.indices, X.indptr, 2**32 + 1)
