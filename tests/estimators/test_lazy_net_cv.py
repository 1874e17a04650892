"""A grid of settings learned in one pass: epochs, default grids, units, refusals, warnings."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from support import same_bits
from support.matrices import noisy_data as data

from lazynet import (
    FTRL,
    AdaGrad,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    LazyNetRegressorCV,
)
from lazynet.training.grid import GridTraining

# Small grids often end at their best setting, and few epochs before the loss falls no more.
pytestmark = [
    pytest.mark.filterwarnings("ignore:the best .* that was tried"),
    pytest.mark.filterwarnings("ignore:the least loss of held-out rows still fell"),
]

FEW = dict(l1s=[0.3, 0.03, 0.003], l2s=[0.0, 0.01], cv=3, max_iter=3, random_state=0)


def test_the_epochs_with_the_least_loss_are_chosen():
    """The fit ends at the epoch after which a setting had the least mean loss."""
    X, y = data()
    least = []
    for epochs in (1, 2, 3):
        model = LazyNetClassifierCV(**FEW | dict(max_iter=epochs, tol=None)).fit(X, y)
        least.append(model.cv_results_["mean_loss"].min())
        assert model.n_iter_ == 1 + np.argmin(least)
    alone = LazyNetClassifier(
        l1=model.l1_, l2=model.l2_, max_iter=model.n_iter_, tol=None, random_state=0
    ).fit(X, y)
    assert same_bits(model.coef_, alone.coef_)
    assert same_bits(model.intercept_, alone.intercept_)
    assert model.eta0_ == alone.eta0_


def test_the_default_grid():
    """l1 in equal ratios, around the l1 that a fit of one setting takes."""
    X, y = data()
    model = LazyNetClassifierCV(cv=3, random_state=0).fit(X, y)
    one = LazyNetClassifier(random_state=0).fit(X, y)
    expected = one.l1_ * np.geomspace(1e4, 1e-1, 11)
    np.testing.assert_allclose(model.cv_results_["l1"], expected)
    assert not model.cv_results_["l2"].any()
    assert 0 < model.best_index_ < 10


def test_features_in_units_of_their_own():
    """Without a penalty that is given, the model is that of features in these units."""
    X, y = data(n_classes=0)
    X = sparse.csr_matrix(X.toarray() * np.geomspace(1e-3, 1e3, 20) + 5.0)
    options = dict(cv=3, max_iter=3, random_state=0)
    model = LazyNetRegressorCV(**options).fit(X, y)
    within = LazyNetRegressorCV(l1s=model.cv_results_["l1"], **options).fit(model.units_.rows(X), y)
    assert within.units_ is None
    for name in ("split0_loss", "mean_loss"):
        np.testing.assert_allclose(model.cv_results_[name], within.cv_results_[name], rtol=1e-10)
    np.testing.assert_allclose(model.predict(X), within.predict(model.units_.rows(X)), rtol=1e-8)
    # As the docstring says: the last fit can be repeated on the rows in their units alone.
    alone = LazyNetRegressor(l1=model.l1_, max_iter=model.n_iter_, tol=None, random_state=0)
    again = alone.fit(model.units_.rows(X), y)
    np.testing.assert_allclose(model.units_.weights(again.coef_), model.coef_, rtol=1e-12)
    assert abs(alone.fit(X, y).predict(X) - model.predict(X)).max() > 1e-3
    one = LazyNetRegressor(max_iter=1, tol=None, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.cv_results_["l1"], one.l1_ * np.geomspace(1e4, 1e-1, 11))
    np.testing.assert_array_equal(model.units_.sizes, one.units_.sizes)
    assert LazyNetRegressorCV(l2s=0.1, **options).fit(X, y).units_ is None


def test_a_search_ends_when_no_setting_gains(monkeypatch):
    """The least of all losses decides; tol=None makes every epoch."""
    X, y = data(n_classes=0)
    epoch, count = GridTraining.epoch, []
    monkeypatch.setattr(GridTraining, "epoch", lambda *args: (count.append(0), epoch(*args)))
    for options, expected in ((dict(max_iter=100, tol=0.01), range(6, 100)),
                              (dict(max_iter=30, tol=None), [30])):  # fmt: skip
        count.clear()
        model = LazyNetRegressorCV(**FEW | options).fit(X, y)
        assert len(count) in expected
        assert model.n_iter_ <= len(count)


def noisy_targets():
    """Rows of 20 numbers, targets from three of them, and noise."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((300, 20))
    return X, X[:, :3].sum(axis=1) + generator.standard_normal(300)


@pytest.mark.parametrize("where", ["a fold", "all rows"])
def test_an_overflow_is_told(where):
    """Rates that are far too large for a squared loss, in a fold or in the last fit."""
    X, y = noisy_targets()
    rows = np.arange(1, 300)
    X[5 if where == "a fold" else 0] *= 1e160
    model = LazyNetRegressorCV(
        rule=FTRL(alpha=1e3), l1s=[0.1], cv=[(rows[:200], rows[200:])], random_state=0
    )
    with pytest.raises(FloatingPointError, match="overflow"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_rows_that_are_named_twice_are_refused():
    """Bootstrap splits; a held-out row may be named twice."""
    X, y = data()
    rows = np.random.default_rng(0).integers(0, 60, 60)
    rows[:2] = 7
    message = "cv must name a row to learn from once, and its split 1 names row . several times"
    with pytest.raises(ValueError, match=message):
        LazyNetClassifierCV(**FEW | dict(cv=[(np.arange(60), rows), (rows, [70])])).fit(X, y)
    LazyNetClassifierCV(**FEW | dict(cv=[(np.arange(60), rows)])).fit(X, y)


# --- warnings --------------------------------------------------------------------------------


def test_a_loss_that_still_falls_fast_is_told():
    """Not without tol."""
    X, y = noisy_targets()
    options = dict(l1s=0.01, rule=AdaGrad(alpha=0.3), max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="still fell by .* in the last of max_iter=2 epoch"):
        LazyNetRegressorCV(**options).fit(X, 10 * y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LazyNetRegressorCV(**options, tol=None).fit(X, 10 * y)
