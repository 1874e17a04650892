"""The estimators of minima when Ctrl-C is pressed, threads interfere, or input is bad."""

import contextlib
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from support.matrices import make_data

from lazynet import (
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    DualNetRegressorCV,
    net_path,
)
from lazynet.engines.blocks import Block
from lazynet.engines.mean import MeanLoss

CLASSIFIERS = [DualNetClassifier, DualNetClassifierCV]
REGRESSORS = [DualNetRegressor, DualNetRegressorCV]
EVERY = [*CLASSIFIERS, *REGRESSORS]


def data_for(kind, n=60, d=25):
    return make_data(n=n, d=d, n_classes=2 if kind in CLASSIFIERS else 0)


# --- Ctrl-C ---------------------------------------------------------------------------------------


class Presses:
    """Raises KeyboardInterrupt in a method when it has been called so often."""

    def __init__(self, monkeypatch, kind, name, calls):
        method = getattr(kind, name)
        self.left = calls

        def pressed(this, *arguments, **options):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return method(this, *arguments, **options)

        monkeypatch.setattr(kind, name, pressed)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("calls", [1, 2, 5])
def test_an_interrupted_fit_leaves_the_model_as_it_was(kind, calls, n_jobs, monkeypatch):
    """Bit for bit, warm starts too, and no thread is left behind; then it can be fitted again."""
    X, y = make_data(n=90, d=25, n_classes=3)
    model = kind(random_state=0, n_jobs=n_jobs)
    if kind is DualNetClassifier:
        model.set_params(warm_start=True)
    else:
        model.set_params(cv=3, n_points=4)
    model.fit(X, y)
    before, running = pickle.dumps(model), threading.active_count()
    with monkeypatch.context() as patch:
        Presses(patch, MeanLoss, "correlations", calls)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:80] * 2.0, y[:80])
    assert pickle.dumps(model) == before
    assert threading.active_count() == running
    model.fit(X[:80] * 2.0, y[:80])
    assert pickle.dumps(model) != before


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("calls", [1, 2, 5])
def test_a_fit_on_blocks_that_is_interrupted_leaves_the_model_as_it_was(calls, n_jobs, monkeypatch):
    """Whichever block is at work, in whichever thread; no thread is left behind."""
    X, y = make_data(n=90, d=25, n_classes=2)
    model = DualNetClassifier(random_state=0, n_blocks=3, n_jobs=n_jobs, max_iter=5, tol=10.0)
    model.fit(X, y)
    before, running = pickle.dumps(model), threading.active_count()
    model.set_params(tol=1e-9)
    with monkeypatch.context() as patch:
        Presses(patch, Block, "move", calls)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:80] * 2.0, y[:80])
    assert threading.active_count() == running
    model.set_params(tol=10.0)
    assert pickle.dumps(model) == before


def test_ctrl_c_is_heard_soon(python_hears_ctrl_c):
    """A search that goes on for long stops within seconds."""
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 3000, density=0.05, format="csr", random_state=0)
    y = np.where(rng.random(3000) < 0.5, "a", "b")
    model = DualNetClassifier("hinge", l1=1e-7, l2=1e-9, tol=1e-15, max_iter=10**9)
    main, pressed = threading.get_ident(), []

    def press():
        pressed.append(time.monotonic())
        signal.pthread_kill(main, signal.SIGINT)

    timer = threading.Timer(0.5, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert time.monotonic() - pressed[0] < 5.0
    finally:
        timer.join()
    assert not hasattr(model, "coef_")


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
