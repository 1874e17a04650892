"""After partial_fit a prediction reads only the weights that its rows name, to the same bits."""

import copy
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from support import peak_of, same_bits
from support.algorithms import VARIANTS as KEPT
from support.models import called

from lazynet import FoBoS, LazyNetClassifier, LazyNetRegressor, Tables

N, D = 30, 2000
VARIANTS = {"average to come": dict(rule=FoBoS(average=10**6)), **KEPT}


def rows(seed=0, index=np.int32, value=np.float64):
    """Rows of a few nonzeros each, the last of them empty."""
    X = sparse.random(N, D, density=0.002, format="csr", random_state=seed).tolil()
    X[N - 1] = 0
    X = X.tocsr().astype(value)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


def learned(n_classes=2, **options):
    """A model after two calls of partial_fit; nobody has asked for its weights."""
    X, y = rows(), np.arange(N) % n_classes if n_classes else np.arange(N) / 10
    kind = LazyNetClassifier if n_classes else LazyNetRegressor
    model = kind(**{**dict(l1=1e-4, l2=1e-3, random_state=0), **options})
    called(model, "partial_fit", X, y).partial_fit(X[::2], y[::2])
    assert model._coefficients is None
    return model


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_same_bits_as_from_all_weights(options, n_classes):
    """Every engine, loss of classes or numbers, and type of the arrays; reading changes nothing."""
    model = learned(n_classes, **options)
    full = copy.deepcopy(model)
    assert full.coef_.shape[-1] == D
    assert full._coefficients is not None
    for index, value in product((np.int32, np.int64), (np.float32, np.float64)):
        X = rows(7, index=index, value=value)
        for name in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
            if hasattr(model, name):
                assert same_bits(getattr(model, name)(X), getattr(full, name)(X)), name
    assert model._coefficients is None
    assert same_bits(model.coef_, full.coef_)
    more, y = rows(seed=5), np.arange(N) % max(n_classes, 2)
    assert same_bits(model.partial_fit(more, y).coef_, full.partial_fit(more, y).coef_)


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
