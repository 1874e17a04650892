"""Where the formulas are equal, our weights are scikit-learn's after every step."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier, SGDRegressor

from lazynet import SGD, Stepper
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


@pytest.mark.parametrize("loss", IN_SGD)
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_every_step_is_that_of_sgd(loss, alpha, fit_intercept):
    """At a constant rate; scikit-learn shrinks the weights before it adds the gradient."""
    X, y = rows_and_targets(loss)
    eta0 = 0.05
    kind = SGDClassifier if LOSSES[loss].margin else SGDRegressor
    other = kind(
        loss=loss, penalty="l2" if alpha else None, alpha=alpha, learning_rate="constant",
        eta0=eta0, fit_intercept=fit_intercept, epsilon=EPSILON,
    )  # fmt: skip
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
