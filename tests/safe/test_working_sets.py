"""A working set stays inside its arrays, in whatever order its methods are called.

A call that makes no sense is refused before it touches memory, and changes nothing.
"""

import contextlib
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.kernels.examples import Examples
from lazynet.kernels.newton import WorkingSet
from lazynet.losses import LOSSES, get_loss
from lazynet.minimum.mean_loss import MeanLoss
from lazynet.minimum.minimise import Minimiser, Problem
from lazynet.minimum.newton import ActiveColumns
from lazynet.penalties import ElasticNet

NOBODY = np.zeros(0)
N, D = 7, 5


def rows_of(n=N, d=D, seed=0):
    """Sparse rows with two targets."""
    X = sparse.random(n, d, density=0.6, format="csr", random_state=seed)
    X.sort_indices()
    return X, np.where(np.arange(n) % 2, 1.0, -1.0)


def working_set(n=N, d=D, loss=0, fit_intercept=True, X=None):
    """A working set without columns."""
    made, y = rows_of(n, d)
    return WorkingSet(
        as_examples(made if X is None else X, y), loss, 0.1, 1.0, 1.0 / max(n, 1), fit_intercept
    )


def with_columns(features=(0, 2, 3), **options):
    """A working set with some columns and weights."""
    columns = working_set(**options)
    size = columns.name(np.array(features))
    columns.pick(0)
    columns.place(size)
    columns.start(0.01, 0.1, np.ones(D), 0.5, 0.0, NOBODY)
    return columns


def numbers_of(columns):
    """What can be read of a working set."""
    weights, duals, margins, sizes = np.empty(D), np.empty(N), np.empty(N), np.empty(N)
    intercept = columns.read(weights, duals)
    columns.predictions(margins, sizes)
    arrays = [part.tobytes() for part in (weights, duals, margins, sizes)]
    return [intercept, len(columns), columns.n_nonzeros, columns.objective(), *arrays]


# --- columns that join ----------------------------------------------------------------------------


def test_features_that_are_none_or_there_already_are_refused():
    """And none of their companions keeps a place."""
    columns = working_set()
    for features in ([-1], [D], [0, 0], [2, 1, 2], [3, 10**12], [-(2**63)], [2**63 - 1]):
        with pytest.raises(ValueError, match="features must be new columns from 0 to 4"):
            columns.name(np.array(features, dtype=np.int64))
    assert columns.candidates(np.ones(D), 0.5).tolist() == [0, 1, 2, 3, 4]
    assert columns.name(np.arange(D)) == D


def test_features_that_were_named_and_not_placed_lose_their_places():
    """A call that was interrupted between the two leaves nothing behind."""
    columns = with_columns([0])
    before = numbers_of(columns)
    columns.name(np.array([1, 2]))
    columns.pick(0)
    assert columns.candidates(np.ones(D), 0.5).tolist() == [1, 2, 3, 4]
    assert columns.name(np.array([2, 4])) == 3
    with pytest.raises(ValueError, match="pick must have come"):
        columns.place(3)
    assert numbers_of(columns) == before
    columns.pick(0)
    columns.place(3)
    columns.start(0.0, 1.0, np.arange(D, dtype=float), 0.0, 0.0, NOBODY)
    margins = np.empty(N)
    columns.predictions(margins, np.empty(N))
    X, _ = rows_of()
    np.testing.assert_allclose(margins, X @ [0.0, 0.0, 2.0, 0.0, 4.0], rtol=1e-15)


def test_an_interrupted_search_for_columns_can_begin_anew():
    """Ctrl-C comes while columns are picked; the next search finds what a new one finds."""
    X, y = rows_of(60, 20)
    problem = Problem(X, y, None, get_loss("log_loss"), True)
    walker = Minimiser(problem, np.random.RandomState(0))
    columns = walker._columns

    class Interrupted:
        """A working set during whose picking Ctrl-C is pressed."""

        def __getattr__(self, name):
            return getattr(inner, name)

        def pick(self, start):
            inner.pick(start)
            raise KeyboardInterrupt

    inner = columns.set
    columns.set = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        walker.to(1e-3, 0.0, tol=1e-9, max_iter=100)
    columns.set = inner
    again = walker.to(1e-3, 0.0, tol=1e-9, max_iter=100)
    other = Minimiser(problem, np.random.RandomState(0)).to(1e-3, 0.0, tol=1e-9, max_iter=100)
    np.testing.assert_array_equal(again.coef, other.coef)


# --- weights and steps ----------------------------------------------------------------------------


NUMBERS = st.one_of(st.floats(), st.sampled_from([0.0, 1.0, 1e300, -1e300, 1e-300]))
INTEGERS = st.one_of(st.integers(-2, 12), st.sampled_from([2**31 - 1, 2**31, -(2**63), 2**62]))


@hypothesis_settings(max_examples=150)
@given(data=st.data())
def test_any_methods_in_any_order(data):
    """Any numbers, lengths and features: a result or a ValueError, and never a stray write."""
    n, d = data.draw(st.sampled_from([(0, 0), (0, 3), (3, 0), (1, 1), (6, 4)]))
    X = sparse.csr_matrix(np.arange(n * d, dtype=float).reshape(n, d) % 3)
    examples = Examples(X.data, X.indices, X.indptr, d, np.ones(n))
    columns = WorkingSet(examples, data.draw(st.integers(0, 7)), 0.1, data.draw(NUMBERS),
                         data.draw(NUMBERS), data.draw(st.booleans()))  # fmt: skip

    def vector(length):
        sound = st.just(length) | st.just(length) | st.integers(0, 8)
        return np.full(data.draw(sound), data.draw(NUMBERS))

    size = 0

    def start():
        nu = data.draw(st.sampled_from([0.0, 0.5]) | NUMBERS)
        l1, l2, intercept = (data.draw(NUMBERS) for _ in range(3))
        columns.start(l1, l2, vector(d), intercept, nu, vector(n if nu > 0.0 else 0))

    calls = {
        "pick": lambda: columns.pick(data.draw(st.just(0) | INTEGERS)),
        "place": lambda: columns.place(data.draw(st.just(size) | INTEGERS)),
        "start": start,
        "model": lambda: columns.model(data.draw(NUMBERS)),
        "descend": lambda: columns.descend(data.draw(NUMBERS)),
        "read": lambda: columns.read(vector(d), vector(n)),
        "predictions": lambda: columns.predictions(vector(n), vector(n)),
        "search": columns.search, "refresh": columns.refresh, "objective": columns.objective,
    }  # fmt: skip
    names = st.sampled_from(["name", "candidates", *calls])
    for method in data.draw(st.lists(names, max_size=25)):
        with contextlib.suppress(ValueError):
            if method == "name":
                features = st.lists(st.integers(-1, d), max_size=4) | st.just(list(range(d)))
                size = columns.name(np.array(data.draw(features), dtype=np.int64))
            elif method == "candidates":
                found = columns.candidates(vector(d), data.draw(NUMBERS))
                assert ((found >= 0) & (found < d)).all()
            else:
                calls[method]()
        assert 0 <= len(columns) <= d
        assert 0 <= columns.n_nonzeros <= X.nnz


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_without_rows_or_columns(loss, shape):
    """Nothing to read is nothing read."""
    examples = Examples(np.zeros(0), np.zeros(0, np.int32), np.zeros(shape[0] + 1, np.int32),
                        shape[1], np.ones(shape[0]))  # fmt: skip
    mean = MeanLoss(examples, np.ones(shape[0]), np.ones(shape[0]) if shape[0] else np.ones(1),
                    get_loss(loss), fit_intercept=True)  # fmt: skip
    columns = ActiveColumns(mean)
    columns.start(ElasticNet(0.1, 0.1), np.ones(shape[1]), 0.0)
    assert columns.admit(np.ones(shape[1])) == 0  # they have all joined at the start
    columns.improve(gap=1.0, target=1e-9, joined=0)
    assert not columns.weights.any()
    assert len(columns.set) == shape[1]


# --- other threads --------------------------------------------------------------------------------


@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_a_matrix_that_changes_between_calls_leads_nowhere(indices):
    """Columns and row starts leave the matrix, rows become longer: an error or a result."""
    generator = np.random.default_rng(0)
    sound, y = rows_of(20, 8)
    for _ in range(200):
        X = sound.copy()
        X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indices)
        examples = Examples(X.data, X.indices, X.indptr, 8, y)
        columns = WorkingSet(examples, 0, 0.1, 1.0, 0.05, True)
        size = columns.name(np.arange(8))
        if generator.random() < 0.5:
            columns.pick(0)
            columns.name(np.arange(8))
        for _ in range(3):
            where = generator.integers(len(X.indices))
            X.indices[where] = generator.choice([-7, 2**31 - 1, 8, 0])
            X.indptr[generator.integers(21)] = generator.choice([-1, 2**31 - 1, 3, len(X.data)])
        status, row = columns.pick(0)
        assert status in (0, 3)
        if status == 3:
            with pytest.raises(ValueError, match="pick must have come"):
                columns.place(size)
            X.indices[:], X.indptr[:] = sound.indices, sound.indptr
            assert columns.pick(row) == (0, 20)
        columns.place(size)
        columns.start(0.01, 0.01, np.ones(8), 0.0, 0.0, NOBODY)
        columns.model(0.0)
        columns.descend(1e-9)
        columns.search()


def test_a_second_thread_is_refused_while_a_call_is_under_way():
    """Were it let in, it could move the arrays that the call works on."""
    X = sparse.random(3000, 600, density=0.3, format="csr", random_state=0)
    columns = WorkingSet(
        as_examples(X, np.where(np.arange(3000) % 2, 1.0, -1.0)), 0, 0.1, 0.25, 1 / 3000, True
    )
    columns.place(columns.name(np.arange(300)) + 0 * sum(columns.pick(0)[:1]))
    columns.start(0.0, 0.0, np.zeros(600), 0.0, 0.0, NOBODY)
    done, refused = threading.Event(), []

    def work():
        for _ in range(20):
            with contextlib.suppress(RuntimeError):
                columns.model(0.0)
                columns.descend(1e-12)
                columns.refresh()
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.is_set():
        try:
            columns.name(np.arange(300, 600))
        except RuntimeError as error:
            refused.append(str(error))
    worker.join()
    assert refused
    assert set(refused) == {"a working set is used by one thread at a time"}
    assert len(columns) == 300
