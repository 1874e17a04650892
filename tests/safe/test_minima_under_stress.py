"""The estimators of minima when threads interfere, or input is bad."""

import contextlib
import pickle
import threading

import numpy as np
import pytest
from support.matrices import make_data

from lazynet import (
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    DualNetRegressorCV,
    net_path,
)

CLASSIFIERS = [DualNetClassifier, DualNetClassifierCV]
REGRESSORS = [DualNetRegressor, DualNetRegressorCV]
EVERY = [*CLASSIFIERS, *REGRESSORS]


def data_for(kind, n=60, d=25):
    return make_data(n=n, d=d, n_classes=2 if kind in CLASSIFIERS else 0)


# --- threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [DualNetClassifier, DualNetRegressor])
def test_a_matrix_that_changes_under_a_search_leads_it_nowhere(kind):
    """Another thread writes columns and row starts that leave the matrix: an error or a result."""
    X, y = data_for(kind, n=300, d=100)
    indices, indptr, done = X.indices.copy(), X.indptr.copy(), threading.Event()

    def scribble():
        rng = np.random.default_rng(0)
        while not done.is_set():
            where = rng.integers(0, len(indices), 50)
            X.indices[where] = rng.choice([-7, 2**31 - 1, 10**6], 50)
            X.indptr[rng.integers(0, 301, 5)] = rng.choice([-1, 2**31 - 1, 3], 5)
            X.indices[:], X.indptr[:] = indices, indptr

    model = kind(max_iter=30)
    writer = threading.Thread(target=scribble)
    writer.start()
    try:
        for _ in range(10):
            with contextlib.suppress(ValueError, FloatingPointError):
                model.fit(X, y)
    finally:
        done.set()
        writer.join()
    assert np.isfinite(model.fit(X, y).coef_).all()


@pytest.mark.parametrize("kind", [DualNetClassifier, DualNetRegressor])
def test_models_fitted_at_once_are_those_fitted_alone(kind):
    """No state is shared between searches."""
    X, y = data_for(kind)
    l1s = [1e-4, 1e-3, 1e-2, 3e-2]
    alone = [kind(l1=l1, random_state=0).fit(X, y).coef_ for l1 in l1s]
    together = [None] * len(l1s)

    def fit(k):
        together[k] = kind(l1=l1s[k], random_state=0).fit(X, y).coef_

    threads = [threading.Thread(target=fit, args=(k,)) for k in range(len(l1s))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [DualNetClassifier, DualNetRegressor])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(l1=0.0, l2=0.0), "l1 and l2 must not both be 0"),
        (dict(l1=-1e-3), "l1 must be"),
        (dict(l2=np.nan), "l2 must be"),
        (dict(tol=0.0), "tol must be"),
        (dict(tol=-1.0), "tol must be"),
        (dict(tol=None), "tol must be"),
        (dict(max_iter=0), "max_iter must be"),
        (dict(loss="perceptron"), "loss must be"),
        (dict(fit_intercept="no"), "fit_intercept must be"),
        (dict(warm_start=1), "warm_start must be"),
    ],
)
def test_parameters_that_cannot_be_are_refused_by_name(kind, options, message):
    """Before anything is trained."""
    X, y = data_for(kind)
    model = kind(**options)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("kind", [DualNetClassifier, DualNetRegressor])
def test_a_warm_start_of_another_shape_is_refused(kind):
    """The fitted model stays."""
    X, y = data_for(kind)
    model = kind(warm_start=True, l1=1e-2).fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"warm_start goes on from weights of shape|features"):
        model.fit(X[:, :10], y)
    if kind is DualNetClassifier:
        with pytest.raises(ValueError, match=r"warm_start|classes"):
            model.fit(X, np.arange(60) % 3)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (0.0, "sample_weight must not be zero for every row"),
        (-1.0, "sample_weight must be finite and not negative"),
        (np.nan, "sample_weight must be finite"),
        (5e-324, "sample_weight, times class_weight, must have a sum from"),
        (1e308, "sample_weight, times class_weight, must have a sum from"),
    ],
)
def test_sample_weights_that_cannot_be_are_refused(kind, weights, message):
    """Weights whose sum or its inverse is no number are refused too."""
    X, y = data_for(kind)
    model = kind()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=np.full(60, weights))
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_sample_weights_of_any_size_are_relative(scale):
    """Only ratios count, as far as the numbers go."""
    X, y = make_data()
    weights = 1.0 + np.arange(60) % 3
    plain = DualNetClassifier(l1=1e-2, tol=1e-8).fit(X, y, weights)
    scaled = DualNetClassifier(l1=1e-2, tol=1e-8).fit(X, y, scale * weights)
    assert abs(plain.objective_ - scaled.objective_) <= plain.duality_gap_ + scaled.duality_gap_


def test_a_path_refuses_what_its_estimator_refuses():
    """The same names and words."""
    X, y = make_data()
    with pytest.raises(ValueError, match="sample_weight, times class_weight, must have a sum"):
        net_path(X, y, sample_weight=np.full(60, 5e-324))
