"""Dekel's engine, compiled, equal explicit centering and naive averaging."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from support import apart
from support.matrices import make_data

from lazynet import ASGDClassifier, ASGDRegressor
from lazynet.data.arrays import as_examples
from lazynet.engines.dekel import DekelEngine
from lazynet.kernels import dekel
from lazynet.losses import get_loss
from lazynet.reference.dekel import DenseDekel, PlainDekel
from lazynet.verify.strategies import sparse_matrices, targets
from lazynet.verify.tolerance import distance_to_kink

DEKEL_LOSSES = ("absolute_error", "squared_error", "hinge", "log_loss")


def assert_near(engine, twin):
    """The last iterate and the average are those of a reference."""
    for found, expected in ((engine.last(), twin.last()), (engine.average(), twin.average())):
        assert apart(np.append(*found), np.append(*expected)) <= 1e-10


def assert_models_match(loss, X, y, order, l2, mean):
    """Compare all four models after every step, to 1e-10 of 1 + the largest."""
    d = X.shape[1]
    engine = DekelEngine(d, get_loss(loss), l2, mean)
    dense = DenseDekel(d, loss=loss, l2=l2, mean=None if mean is None else mean.tolist())
    examples = as_examples(X, y)
    for row in order:
        span = X[row]
        prediction = dense.step(span.indices.tolist(), span.data.tolist(), float(y[row]))
        near = distance_to_kink(get_loss(loss), prediction, y[row]) <= 1e-9 * (1 + abs(prediction))
        if near or not abs(prediction) < 1e6:
            return  # rounding may decide the step, or the run diverges and amplifies it
        engine.take(examples, np.array([row]))
        assert_near(engine, dense)


#: Rows with tails and blocks of the vector loops.
LONG_ROWS = st.integers(0, 99).map(
    lambda seed: sparse.random(30, 90, 0.4, "csr", random_state=seed)
)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("loss", DEKEL_LOSSES)
@given(data=st.data())
def test_sums_are_explicit_centering_and_naive_averaging(loss, centered, data):
    """SGD, CSGD, ASGD and CASGD at once: rows of any sparsity, repeated and empty ones."""
    X = data.draw(sparse_matrices() | LONG_ROWS)
    y = data.draw(targets(X.shape[0], loss))
    order = data.draw(st.lists(st.integers(0, X.shape[0] - 1), min_size=1, max_size=60))
    l2 = data.draw(st.sampled_from([0.3, 1.0, 7.0])) * (1.0 + X.multiply(X).sum(axis=1).max())
    mean = np.asarray(X.mean(axis=0)).ravel() if centered else None
    assert_models_match(loss, X, y, order, l2, mean)


def test_sums_begin_anew_in_a_long_run():
    """At step 2^16; the steps before step 2^16 - 100 stand for rows of importance 0."""
    X, y = sparse.csr_matrix([[1.0], [-0.5], [2.0]]), np.array([1.0, -1.0, -1.0])
    order = np.random.default_rng(0).integers(0, 3, 200)
    engine, dense = DekelEngine(1, get_loss("log_loss"), 1e-3), DenseDekel(1, l2=1e-3)
    engine.fields[dekel.STEPS] = dense.t = 2**16 - 100
    engine.take(as_examples(X, y), order)
    assert engine.fields[dekel.H] < 100 / 2**16 * 1.01
    for row in order:
        dense.step([0], [X.data[row]], y[row])
    assert_near(engine, dense)


# --- kernel and estimators ----------------------------------------------------------------------


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_estimators_are_the_reference_on_their_order(n_classes, center):
    """Several classes one against the rest, any order of steps, sample weights.

    With and without ``average`` the steps are the same.
    """
    X, y = make_data(n=300, d=30, n_classes=n_classes)
    order = np.random.default_rng(1).integers(0, 300, 500)
    weights = np.random.default_rng(0).uniform(0, 2, 300)
    model = ASGDClassifier(l2=0.5, center=center).fit(X, y, weights, sample_order=order)
    positives = [1] if n_classes == 2 else [0, 1, 2]
    for k, positive in enumerate(positives):
        twin = PlainDekel(30, l2=0.5, mean=X.toarray().mean(axis=0).tolist() if center else None)
        for row in order:
            target = 1.0 if y[row] == positive else -1.0
            twin.step(X[row].indices.tolist(), X[row].data.tolist(), target, weights[row])
        for coef, intercept, (w, b) in (
            (model.coef_, model.intercept_, twin.average()),
            (model.last_coef_, model.last_intercept_, twin.last()),
        ):
            assert apart(coef[k], w) <= 1e-12
            assert apart(intercept[k], b) <= 1e-12
    assert (model.t_, model.n_iter_) == (500, 1)
    assert (model.mean_ is None) == (not center)
    last = ASGDClassifier(l2=0.5, center=center, average=False).fit(X, y, weights, order)
    np.testing.assert_array_equal(last.coef_, model.last_coef_)
    np.testing.assert_array_equal(last.intercept_, model.last_intercept_)


def test_rows_are_drawn_with_replacement_unless_told_otherwise():
    """The seed decides; one epoch without replacement is a permutation."""
    X, y = make_data(n=300, d=30)
    for replace in (True, False):
        random = np.random.RandomState(0)
        rows = random.randint(300, size=300, dtype=np.int64) if replace else random.permutation(300)
        one = dict(l2=0.1, max_iter=1, replace=replace)
        expected = ASGDClassifier(**one).fit(X, y, sample_order=rows).coef_
        for seed in (0, 0, 1):
            found = ASGDClassifier(**one, random_state=seed).fit(X, y).coef_
            assert np.array_equal(found, expected) == (seed == 0)


@pytest.mark.parametrize(
    ("options", "fit", "error", "message"),
    [
        (dict(), dict(sample_order=[[0, 1]]), ValueError, "in one dimension"),
        (dict(), dict(sample_order=[0, 300]), ValueError, "row numbers from 0 to 299"),
        (dict(loss="squared_error", l2=1e-6), {}, FloatingPointError, "Raise l2"),
    ],
)
def test_what_cannot_be_learned_is_refused_and_changes_nothing(options, fit, error, message):
    """A model that is there already stays what it was."""
    X, y = make_data(n=300, d=30)
    X = X * 10.0
    model = ASGDClassifier(l2=1.0, random_state=0).fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(error, match=message):
        model.set_params(**options).fit(X, y, **fit)
    assert pickle.dumps(model.set_params(loss="log_loss", l2=1.0)) == before


def test_a_regressor_refuses_margin_losses():
    """Targets of -1 and +1 are not what it is given."""
    with pytest.raises(ValueError, match="is for targets of -1 and"):
        ASGDRegressor("hinge").fit(np.eye(3), np.arange(3.0))


def test_a_model_that_is_worse_than_zero_is_reported():
    """Long first steps that a short run does not outlast; a sound model says nothing.

    Where the warning is an error, the model is there by then.
    """
    generator = np.random.default_rng(0)
    X = generator.standard_normal((200, 3))
    y = X @ [1.0, 0.0, -2.0]
    model = ASGDRegressor("squared_error", l2=0.1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="worse than a prediction of 0"):
            model.fit(X, y)
        ASGDRegressor(random_state=0).fit(X, y)
    assert model.t_ == 20_000


def test_the_mean_of_float32_rows_is_taken_in_float64():
    """Two hundred thousand equal values have that value as their mean."""
    X = sparse.csr_matrix(np.full((200_000, 1), 3.1, dtype=np.float32))
    model = ASGDRegressor(max_iter=1, random_state=0).fit(X, np.arange(200_000.0))
    assert model.mean_[0] == pytest.approx(float(np.float32(3.1)), rel=1e-12)
