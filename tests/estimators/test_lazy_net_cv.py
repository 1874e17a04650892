"""A grid of settings learned in one pass: epochs, default grids, units, refusals, warnings."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
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


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"standardize": False}, {"rule": "fobos"}, {"rule": "ftrl", "max_iter": 3}],
    ids=str,
)
def test_the_model_is_that_of_a_fit_with_the_chosen_penalties(options, n_classes):
    """Bit for bit, with its units and rates."""
    X, y = data(n_classes)
    kinds = (LazyNetClassifierCV, LazyNetClassifier), (LazyNetRegressorCV, LazyNetRegressor)
    Search, Single = kinds[n_classes == 0]
    model = Search(l2s=[0.0, 0.01], cv=3, random_state=0, **options).fit(X, y)
    alone = Single(l1=model.l1_, l2=model.l2_, random_state=0, **options).fit(X, y)
    assert same_bits(model.coef_, alone.coef_)
    assert same_bits(model.intercept_, alone.intercept_)
    assert (model.eta0_, model.n_iter_) == (alone.eta0_, alone.n_iter_)
    assert model.auto_ == alone.auto_
    assert (model.units_ is None) == (options.get("standardize") is False)


def test_the_default_grid():
    """l1 in equal ratios, around the l1 that a fit of one setting takes."""
    X, y = data()
    model = LazyNetClassifierCV(cv=3, random_state=0).fit(X, y)
    one = LazyNetClassifier(random_state=0).fit(X, y)
    expected = one.l1_ * np.geomspace(1e4, 1e-1, 11)
    np.testing.assert_allclose(model.cv_results_["l1"], expected)
    assert not model.cv_results_["l2"].any()
    assert 0 < model.best_index_ < 10


@pytest.mark.parametrize("options", [{}, {"l1s": [0.3, 0.03], "l2s": 0.1}], ids=str)
def test_the_settings_are_penalties_of_standardised_features(options):
    X, y = data(n_classes=0)
    X = sparse.csr_matrix(X.toarray() * np.geomspace(1e-3, 1e3, 20) + 5.0)
    model = LazyNetRegressorCV(cv=3, random_state=0, **options).fit(X, y)
    inner = model.units_.rows(X)
    within = clone(model).set_params(standardize=False).fit(inner, y)
    for name, found in model.cv_results_.items():
        np.testing.assert_array_equal(found, within.cv_results_[name])
    np.testing.assert_allclose(model.predict(X), within.predict(inner), rtol=1e-8)
    one = LazyNetRegressor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.units_.sizes, one.units_.sizes)
    if not options:
        np.testing.assert_allclose(model.cv_results_["l1"], one.l1_ * np.geomspace(1e4, 1e-1, 11))


@pytest.mark.parametrize(("options", "epochs"), [({}, 20), ({"max_iter": 7}, 7)])
def test_all_settings_learn_for_the_epochs_of_a_fit(options, epochs, monkeypatch):
    """``tol`` ends no epoch of the grid."""
    X, y = data(n_classes=0)
    epoch, count = GridTraining.epoch, []
    monkeypatch.setattr(GridTraining, "epoch", lambda *args: (count.append(0), epoch(*args)))
    LazyNetRegressorCV(l1s=[0.3, 0.03], cv=3, tol=10.0, **options).fit(X, y)
    assert len(count) == epochs


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
        rule=FTRL(alpha=1e3), l1s=[0.1], cv=[(rows[:200], rows[200:])], standardize=False
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
