"""The estimators of minima refuse sample weights and starts that cannot be."""

import pickle

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


BAD_WEIGHTS = [
    (0.0, "sample_weight must not be zero for every row"),
    (-1.0, "sample_weight must be finite and not negative"),
    (np.nan, "sample_weight must be finite"),
    (5e-324, "sample_weight, times class_weight, must have a sum from"),
    (1e308, "sample_weight, times class_weight, must have a sum from"),
]


@pytest.mark.parametrize("kind", EVERY)
def test_sample_weights_that_cannot_be_are_refused(kind):
    """Weights whose sum or its inverse is no number are refused too, and by a path alike."""
    X, y = data_for(kind)
    model = kind()
    for weights, message in BAD_WEIGHTS:
        for call in (model.fit, net_path) if kind in CLASSIFIERS else (model.fit,):
            with pytest.raises(ValueError, match=message):
                call(X, y, sample_weight=np.full(60, weights))
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_sample_weights_of_any_size_are_relative(scale):
    """Only ratios count, as far as the numbers go."""
    X, y = make_data()
    weights = 1.0 + np.arange(60) % 3
    plain = DualNetClassifier(l1=1e-2, tol=1e-8).fit(X, y, weights)
    scaled = DualNetClassifier(l1=1e-2, tol=1e-8).fit(X, y, scale * weights)
    assert abs(plain.objective_ - scaled.objective_) <= plain.duality_gap_ + scaled.duality_gap_
