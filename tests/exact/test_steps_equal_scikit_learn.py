"""Where the formulas are equal, our weights are scikit-learn's after every step."""

import numpy as np
import pytest
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.svm import LinearSVR
from support.matrices import make_data

from lazynet import SGD, DualNetRegressor, FoBoS, LazyNetClassifier, Stepper
from lazynet.losses import LOSS_OBJECTS, LOSSES

N, D = 60, 7
EPSILON = 0.3
IN_SGD = [name for name in LOSSES if name in SGDClassifier.loss_functions]


def rows_and_targets(loss, seed=0):
    """Rows with zeros, and targets of both signs that the rows explain in part."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((N, D)) < 0.6, rng.normal(size=(N, D)), 0.0)
    y = X @ rng.normal(size=D) + rng.normal(size=N)
    return X, np.where(y > 0, 1.0, -1.0) if LOSSES[loss].margin else y


def theirs(loss, alpha, eta0, fit_intercept):
    options = dict(
        loss=loss, penalty="l2" if alpha else None, alpha=alpha, learning_rate="constant",
        eta0=eta0, fit_intercept=fit_intercept, epsilon=EPSILON,
    )  # fmt: skip
    return SGDClassifier(**options) if LOSSES[loss].margin else SGDRegressor(**options)


@pytest.mark.parametrize("loss", IN_SGD)
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_every_step_is_that_of_sgd(loss, alpha, fit_intercept):
    """At a constant rate; scikit-learn shrinks the weights before it adds the gradient."""
    X, y = rows_and_targets(loss)
    eta0 = 0.05
    other = theirs(loss, alpha, eta0, fit_intercept)
    classes = dict(classes=[-1.0, 1.0]) if LOSSES[loss].margin else {}
    ours = Stepper(
        D,
        loss=LOSS_OBJECTS[loss](EPSILON) if loss in LOSS_OBJECTS else loss,
        l2=alpha,
        rule=SGD(step_order="shrink_first", schedule="constant", eta0=eta0),
        fit_intercept=fit_intercept,
    )
    for x, target in zip(X, y, strict=True):
        other.partial_fit(x[None], [target], **classes)
        ours.step(np.flatnonzero(x), x[x != 0.0], target)
        np.testing.assert_allclose(ours.weights, other.coef_.ravel(), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(ours.intercept, other.intercept_[0], rtol=1e-12, atol=1e-13)
    assert np.count_nonzero(ours.weights) == D


def test_an_epoch_of_the_perceptron_is_that_of_scikit_learn():
    """Zero weights begin to learn at the first row, in both."""
    X, y = make_data(n=80, d=30)
    X = X.toarray()
    other = Perceptron(shuffle=False, max_iter=3, tol=None).fit(X, y)
    ours = LazyNetClassifier(
        "perceptron",
        l1=0.0,
        l2=0.0,
        rule=FoBoS(schedule="constant", eta0=1.0),
        shuffle=False,
        max_iter=3,
        tol=None,
    ).fit(X, y)
    assert np.count_nonzero(ours.coef_) > 10
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=1e-12)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_the_minimum_is_that_of_linear_svr(loss):
    """C sum l + |w|^2 / 2 is C n times our objective with l2 = 1 / (C n)."""
    X, y = rows_and_targets(loss)
    C = 0.1
    other = LinearSVR(
        loss=loss, epsilon=EPSILON, C=C, fit_intercept=False, tol=1e-10, max_iter=10**6,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    ours = DualNetRegressor(
        LOSS_OBJECTS[loss](EPSILON), l1=0.0, l2=1.0 / (C * N), fit_intercept=False, tol=1e-12
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-5, atol=1e-6)
