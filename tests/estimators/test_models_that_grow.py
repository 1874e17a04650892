"""partial_fit from a source; features that come later have the weights of those known at once."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from lazynet import LazyNetClassifier, LazyNetRegressor, load
from lazynet.checks.bits import bits_of
from lazynet.estimators import from_sources
from lazynet.streams import Chunks, Growing, Prefetched, SvmlightFile

N, D = 150, 30

#: Every kind of engine that learns from streams.
MODELS = {
    "clock": dict(rule="fobos", l1=1e-3, l2=1e-3, eta0=0.3),
    "rates from the rows": dict(rule="fobos", l1=1e-3),
    "sgd": dict(rule="sgd", l1=1e-3, eta0=0.3),
    "average": dict(rule="fobos", l1=1e-3, eta0=0.3, average=True),
    "tables": dict(engine="tables", l1=1e-3, l2=1e-3, eta0=0.3),
    "rescaled": dict(engine="rescaled", l1=0, l2=1e-3, eta0=0.3),
    "dense": dict(engine="dense", l1=1e-3, eta0=0.3, average=True),
    "dense predictions": dict(rule="fobos", l1=1e-3, eta0=0.3),
    "truncated gradient": dict(rule="truncated_gradient", l1=1e-3, eta0=0.3),
    "rda": dict(rule="rda", l1=1e-3),
    "ftrl": dict(rule="ftrl", l1=1e-3, l2=1e-3),
    "adagrad": dict(rule="adagrad", l1=1e-3, l2=1e-3),
    "carpenter": dict(rule="carpenter_inexact", l1=1e-3, eta0=0.3),
    "positive": dict(rule="fobos", l1=1e-3, positive=True),
    "batches": dict(rule="fobos", l1=1e-3, batch_size=4, eta0=0.3),
    "group": dict(group="l2", l1=1e-2, eta0=0.3),
    "group, greatest": dict(group="max", l1=1e-2, eta0=0.3),
    "narrow": dict(dtype="float32", l1=1e-3),
}
MODELS["dense predictions"]["engine"] = "dense"


def rows(seed, n_classes=2):
    """Rows whose later columns occur in later rows only."""
    rng = np.random.default_rng(seed)
    filled = rng.random((N, D)) < 0.3
    # Row i has columns up to a bound that rises.
    bounds = np.sort(rng.integers(1, D + 1, N))
    filled &= np.arange(D) < bounds[:, None]
    filled[-1, -1] = True
    X = sparse.csr_matrix(filled * rng.standard_normal((N, D)))
    scores = X @ rng.standard_normal((D, n_classes)) + 0.1 * rng.standard_normal((N, n_classes))
    y = scores.argmax(axis=1).astype(float)
    y[:n_classes] = np.arange(n_classes)
    return X, y


def cut(X, y, cuts):
    """Chunks that end at ``cuts``, as wide as their rows and those before are."""
    found, bounds = [], sorted({0, *cuts, N})
    for start, stop in pairwise(bounds):
        width = int(X.indices[: X.indptr[stop]].max(initial=0)) + 1
        found.append((X[start:stop, :width], y[start:stop]))
    return found


@pytest.fixture
def few_rows(monkeypatch):
    """Chunks that divide small data."""
    monkeypatch.setattr(from_sources, "ROWS", 16)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))
def test_a_model_that_grows_is_the_model_that_knew(options, n_classes, few_rows):
    """After every step, for one output and for several, and in all that follows."""
    if n_classes == 2 and ("group" in options or "dtype" in options):
        n_classes = 4
    X, y = rows(0, n_classes)
    model = LazyNetClassifier(random_state=0, **options)
    classes = np.arange(n_classes, dtype=float)
    knew = clone(model).partial_fit(Chunks([(X, y)]), classes=classes)
    for cuts in ([], [1], [40, 41, 90], range(N)):
        grown = clone(model).partial_fit(Growing(cut(X, y, cuts)), classes=classes)
        assert grown.n_features_in_ == D
        assert_close(grown, knew)
    for each in (grown, knew):
        each.partial_fit(X[::-1], y[::-1])
    assert_close(grown, knew)


def assert_close(left, right):
    """The same bits, but for the moments at which all weights are brought current."""
    assert (left.t_, left.n_iter_, left.eta0_) == (right.t_, right.n_iter_, right.eta0_)
    for name in ("coef_", "last_coef_", "intercept_"):
        found, wanted = getattr(left, name), getattr(right, name)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(1, N - 1), max_size=9),
       name=st.sampled_from(sorted(MODELS)))  # fmt: skip
def test_any_rows_and_any_chunks(seed, cuts, name):
    """Chunks of 1 to all rows; the engines grow at the rows at which the chunks of a pass end."""
    X, y = rows(seed, 4)
    model, classes = LazyNetClassifier(random_state=0, **MODELS[name]), np.arange(4.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_sources, "ROWS", 1 + seed % 40)
        grown = clone(model).partial_fit(Growing(cut(X, y, cuts)), classes=classes)
        knew = clone(model).partial_fit(Chunks([(X, y)]), classes=classes)
    assert_close(grown, knew)


@pytest.mark.parametrize("chunk", [1, 7, 100, 2 * N])
def test_a_pass_is_partial_fit_of_its_rows(chunk, few_rows):
    """In their order, for any chunks, with the weights of rows; and once more."""
    X, y = rows(1)
    weights = np.random.default_rng(0).random(N)
    weights[:40] = 0
    parts = [slice(start, start + chunk) for start in range(0, N, chunk)]
    source = Chunks([(X[part], y[part], weights[part]) for part in parts])
    for model, extra in (
        (LazyNetClassifier(random_state=0), {"classes": [0.0, 1.0]}),
        (LazyNetRegressor(l1=1e-3), {}),
    ):
        found = clone(model).partial_fit(Prefetched(source), **extra).partial_fit(source)
        wanted = clone(model).set_params(shuffle=False)
        for _ in range(2):
            for start in range(0, N, 16):
                some = slice(start, start + 16)
                counts = np.maximum(weights[some], 1e-300)  # a call needs a row that counts
                wanted.partial_fit(X[some], y[some], sample_weight=counts, **extra)
        np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-12)
        assert (found.t_, found.n_iter_) == (wanted.t_, 2)


def test_a_pass_that_fails_leaves_the_model_as_it_was(few_rows):
    """In the middle, after the model has grown; and Ctrl-C."""
    X, y = rows(2)
    model = LazyNetClassifier(random_state=0).partial_fit(X[:20, :9], y[:20], classes=[0, 1])
    assert model.coef_.shape == (1, 9)
    before = bits_of(model)

    def broken(error):
        yield X[:60], y[:60]
        raise error

    for error in (ValueError("line 7"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            model.partial_fit(Growing(lambda error=error: broken(error)))
        assert bits_of(model) == before
    with pytest.raises(ValueError, match="at least one row"):
        model.partial_fit(Growing([(X[:0], y[:0])]))
    with pytest.raises(ValueError, match="must not be zero for every row"):
        model.partial_fit(Growing([(X, y, np.zeros(N))]))
    assert bits_of(model) == before


def test_what_grows_only_when_asked(few_rows, tmp_path):
    """Wider rows are refused elsewhere; names and units of features do not grow."""
    X, y = rows(3)
    narrow = Chunks([(X[:60, :5], y[:60])])
    model = LazyNetRegressor(l2=1e-3).partial_fit(narrow)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(Chunks([(X, y)]))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"lazynet\.streams\.Growing"):
        model.partial_fit(Chunks([(X[:9, :5], y[:9]), (X, y)]))
    for other in (dict(y=y), dict(sample_weight=y), dict(sample_order=[0])):
        with pytest.raises(ValueError, match="must be None where X is a source"):
            model.partial_fit(narrow, **other)
    in_units = LazyNetRegressor().fit(X[:, :5].toarray(), y)
    assert in_units.units_ is not None
    with pytest.raises(ValueError, match="in units of their own"):
        in_units.partial_fit(Growing([(X, y)]))
    # Narrower rows are rows without later features.
    model.partial_fit(Growing([(X, y)])).partial_fit(Growing([(X[:, :3], y)]))
    assert model.coef_.shape == (D,)
    path = tmp_path / "model.lazy"
    model.save(path)
    wide = sparse.hstack([X, X], format="csr")
    found = [each.partial_fit(Growing([(wide, y)])) for each in (load(path), model)]
    assert_close(*found)
    assert found[0].coef_.shape == (2 * D,)


def test_text_as_it_comes(tmp_path):
    """No pass is made to count the columns; fit counts them."""
    path = tmp_path / "rows.svm"
    path.write_text("1 1:2\n0 2:1 5:0.5\n1 9:1\n")
    source = Growing(SvmlightFile(path, zero_based=False))
    assert [chunk.X.shape[1] for chunk in source.chunks(rows=1)] == [1, 5, 9]
    model = LazyNetRegressor(l1=0.0, l2=1e-3, eta0=0.1, shuffle=False, max_iter=1, tol=None)
    grown = clone(model).partial_fit(source)
    assert source._facts is None
    whole = clone(model).fit(source)
    np.testing.assert_array_equal(grown.coef_, whole.coef_)
    assert [chunk.X.shape[1] for chunk in source.chunks(rows=1)] == [9, 9, 9]
