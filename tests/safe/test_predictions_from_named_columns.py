"""After partial_fit a prediction reads only the weights that its rows name, to the same bits."""

import copy

import numpy as np
import pytest
from scipy import sparse
from support import peak_of
from support.algorithms import VARIANTS as KEPT

from lazynet import (
    FoBoS,
    LazyNetClassifier,
    LazyNetRegressor,
    Tables,
)

N, D = 30, 2000
VARIANTS = {"average to come": dict(rule=FoBoS(average=10**6)), **KEPT}
VARIANT = pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)


def rows(seed=0, index=np.int32, value=np.float64):
    """Rows of a few nonzeros each, the last of them empty."""
    X = sparse.random(N, D, density=0.002, format="csr", random_state=seed).tolil()
    X[N - 1] = 0
    X = X.tocsr().astype(value)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


def learned(n_classes=2, **options):
    """A model after two calls of partial_fit; nobody has asked for its weights."""
    X = rows()
    options = {**dict(l1=1e-4, l2=1e-3, random_state=0), **options}
    if n_classes:
        y, model = np.arange(N) % n_classes, LazyNetClassifier(**options)
        model.partial_fit(X, y, classes=np.arange(n_classes)).partial_fit(X[::2], y[::2])
    else:
        y, model = np.arange(N) / 10, LazyNetRegressor(**options)
        model.partial_fit(X, y).partial_fit(X[::2], y[::2])
    assert model._coefficients is None
    return model


def decision(model, X):
    """w.x + b of every row."""
    return getattr(model, "decision_function", model.predict)(X)


def assert_same_as_all_weights(model, X, exactly=True):
    """The few weights give the bits of all weights, and reading them changes nothing."""
    full = copy.deepcopy(model)
    assert full.coef_.shape[-1] == D
    assert full._coefficients is not None
    expected, found = decision(full, X), decision(model, X)
    assert model._coefficients is None
    if exactly:
        assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    for name in ("predict", "predict_proba", "predict_log_proba"):
        if hasattr(model, name):
            left, right = getattr(model, name)(X), getattr(full, name)(X)
            assert not exactly or left.tobytes() == right.tobytes()
    assert model._coefficients is None
    assert model.coef_.tobytes() == full.coef_.tobytes()
    more, y = rows(seed=5), np.arange(N) % len(getattr(model, "classes_", [0, 1]))
    assert model.partial_fit(more, y).coef_.tobytes() == full.partial_fit(more, y).coef_.tobytes()


@VARIANT
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64])
def test_the_same_bits_as_from_all_weights(options, n_classes, index, value):
    """Every engine, loss of classes or numbers, and type of the arrays gives the same bits."""
    assert_same_as_all_weights(learned(n_classes, **options), rows(7, index=index, value=value))


@pytest.mark.parametrize("rule", [
    FoBoS(), FoBoS(average=True), FoBoS(storage=Tables(budget=64)), "ftrl", "adagrad",
])  # fmt: skip
def test_no_array_of_all_features_is_made(rule):
    """The memory of a prediction is that of its rows."""
    d = 10**6
    columns = np.arange(0, d, d // 10)
    X = sparse.csr_matrix((np.ones(10), columns, np.arange(0, 11, 2)), shape=(5, d))
    model = LazyNetClassifier(l1=1e-4, rule=rule).partial_fit(X, [0, 1, 0, 1, 1], classes=[0, 1])
    model.predict(X)
    _, peak = peak_of(lambda: [model.predict(X) for _ in range(3)])
    assert peak < d  # bytes: an eighth of one array of weights
    assert model._coefficients is None
