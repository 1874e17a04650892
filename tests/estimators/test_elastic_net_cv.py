"""A penalty chosen by cross-validation in one pass: the tables and the model are the right ones."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from support import same_bits
from support.matrices import noisy_data as data

from lazynet import (
    SAGA,
    Adaptive,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    LazyNetRegressorCV,
    Power,
    TruncatedGradient,
)

# Small grids often end at their best setting, and few epochs before the loss falls no more.
pytestmark = [
    pytest.mark.filterwarnings("ignore:the best .* that was tried"),
    pytest.mark.filterwarnings("ignore:the least loss of held-out rows still fell"),
]

FEW = dict(l1s=[0.3, 0.03, 0.003], l2s=[0.0, 0.01], cv=3, max_iter=3, random_state=0)


def both(kind):
    """The estimator of a grid, that of one setting, and data for them."""
    if kind == "classifier":
        return LazyNetClassifierCV, LazyNetClassifier, data()
    return LazyNetRegressorCV, LazyNetRegressor, data(n_classes=0)


def loss_of(model, X, y):
    """The mean loss of a fitted model's predictions, by NumPy."""
    if isinstance(model, LazyNetRegressor):
        return np.mean((model.predict(X) - y) ** 2 / 2)
    return np.mean(np.logaddexp(0, -model.decision_function(X) * (2.0 * y - 1)))


# --- the tables -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_the_tables_are_those_of_fits_in_every_fold(kind):
    """Losses and nonzeros by setting and fold; the last fit is that of one setting."""
    grid, single, (X, y) = both(kind)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = grid(**FEW | dict(cv=folds, tol=None)).fit(X, y)
    assert model.losses_.shape == (6, 3)
    assert model.l1s_.tolist() == [0.3, 0.03, 0.003] * 2
    assert model.l2s_.tolist() == [0.01] * 3 + [0.0] * 3
    generator = np.random.RandomState(0)
    orders = [generator.permutation(len(y)) for _ in range(3)]
    least = []
    for epochs in (1, 2, 3):
        losses = np.zeros((6, 3))
        for number, (train, test) in enumerate(folds):
            order = np.array([order[np.isin(order, train)] for order in orders[:epochs]])
            for setting, (l1, l2) in enumerate(zip(model.l1s_, model.l2s_, strict=True)):
                one = single(l1=l1, l2=l2, max_iter=epochs, tol=None)
                one.fit(X, y, sample_order=order)
                losses[setting, number] = loss_of(one, X[test], y[test])
                if epochs == 3:
                    assert model.nonzeros_[setting, number] == np.count_nonzero(one.coef_)
        least.append(losses.mean(axis=1).min())
        if epochs == model.n_iter_:
            # The search computes in float32.
            np.testing.assert_allclose(model.losses_, losses, rtol=1e-5)
            assert model.best_index_ == losses.mean(axis=1).argmin()
    assert model.n_iter_ == 1 + np.argmin(least)
    np.testing.assert_allclose(model.means_, model.losses_.mean(axis=-1))
    alone = single(l1=model.l1_, l2=model.l2_, max_iter=model.n_iter_, tol=None, random_state=0)
    alone.fit(X, y)
    assert same_bits(model.coef_, alone.coef_)
    assert same_bits(model.intercept_, alone.intercept_)
    assert model.eta0_ == alone.eta0_


def test_several_classes_have_one_setting():
    """The losses are the means of those of each class against the rest."""
    X, y = data(n_classes=3)
    folds = list(StratifiedKFold(3).split(X, y))
    options = FEW | dict(cv=folds, max_iter=1)
    model = LazyNetClassifierCV(**options).fit(X, y)
    each = [LazyNetClassifierCV(**options).fit(X, y == k) for k in range(3)]
    np.testing.assert_allclose(model.losses_, np.mean([one.losses_ for one in each], axis=0))
    np.testing.assert_array_equal(model.nonzeros_, np.sum([one.nonzeros_ for one in each], axis=0))
    alone = LazyNetClassifier(
        l1=model.l1_, l2=model.l2_, max_iter=model.n_iter_, tol=None, random_state=0
    )
    assert same_bits(model.coef_, alone.fit(X, y).coef_)
    assert model.predict_proba(X).shape == (90, 3)


def test_the_default_grid():
    """l1 in equal ratios, around the l1 that a fit of one setting takes."""
    X, y = data()
    model = LazyNetClassifierCV(cv=3, random_state=0).fit(X, y)
    one = LazyNetClassifier(random_state=0).fit(X, y)
    expected = one.l1_ * np.geomspace(1e4, 1e-1, 11)
    np.testing.assert_allclose(model.l1s_, expected)
    assert not model.l2s_.any()
    assert 0 < model.best_index_ < 10


def test_features_in_units_of_their_own():
    """Without a penalty that is given, the model is that of features in these units."""
    X, y = data(n_classes=0)
    X = sparse.csr_matrix(X.toarray() * np.geomspace(1e-3, 1e3, 20) + 5.0)
    options = dict(cv=3, max_iter=3, random_state=0)
    model = LazyNetRegressorCV(**options).fit(X, y)
    within = LazyNetRegressorCV(l1s=model.l1s_, **options).fit(model.units_.rows(X), y)
    assert within.units_ is None
    np.testing.assert_allclose(model.losses_, within.losses_, rtol=1e-10)
    np.testing.assert_allclose(model.predict(X), within.predict(model.units_.rows(X)), rtol=1e-8)
    # As the docstring says: the last fit can be repeated on the rows in their units alone.
    alone = LazyNetRegressor(l1=model.l1_, max_iter=model.n_iter_, tol=None, random_state=0)
    again = alone.fit(model.units_.rows(X), y)
    np.testing.assert_allclose(model.units_.weights(again.coef_), model.coef_, rtol=1e-12)
    assert abs(alone.fit(X, y).predict(X) - model.predict(X)).max() > 1e-3
    one = LazyNetRegressor(max_iter=1, tol=None, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.l1s_, one.l1_ * np.geomspace(1e4, 1e-1, 11))
    np.testing.assert_array_equal(model.units_.sizes, one.units_.sizes)
    assert LazyNetRegressorCV(l2s=0.1, **options).fit(X, y).units_ is None


def test_a_search_ends_when_no_setting_gains(capsys):
    """The least of all losses decides; tol=None makes every epoch."""
    X, y = data(n_classes=0)

    def epochs_of(**options):
        model = LazyNetRegressorCV(**FEW | dict(verbose=1) | options).fit(X, y)
        lines = [each for each in capsys.readouterr().out.splitlines() if "least loss" in each]
        assert all(line.startswith("epoch ") for line in lines)
        assert model.n_iter_ <= len(lines)
        return len(lines)

    assert 3 <= epochs_of(max_iter=100, tol=0.01, n_iter_no_change=2) < 100
    assert epochs_of(max_iter=30, tol=None) == 30
    LazyNetRegressorCV(**FEW).fit(X, y)
    assert capsys.readouterr().out == ""


# --- what is refused -------------------------------------------------------------------------

REFUSED = [
    (dict(l2s=[0.1, np.nan]), ValueError, "l2s must be finite and not negative"),
    (dict(rule=SAGA()), ValueError, r"rule=SAGA\(\) cannot learn a grid of settings in one pass"),
    (dict(rule="carpenter_inexact"), ValueError, "cannot learn a grid of settings in one pass"),
    (
        dict(rule=TruncatedGradient(threshold=0.5), l2s=0.0),
        ValueError, "'truncated_gradient' without a threshold",
    ),
    (dict(schedule=Adaptive(0.1)), ValueError, r"schedule=Adaptive\(eta0=0.1\) cannot be used"),
    (dict(rule="sgd", schedule=Power(0.5), l2s=[0.0, 9.0]), ValueError, "eta must be less than"),
    (dict(loss="squared"), ValueError, "loss must be one of"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "kind", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_used_is_refused(options, kind, message):
    """The error names the parameter, and the model stays unfitted."""
    X, y = data()
    model = LazyNetClassifierCV(**FEW | options)
    with pytest.raises(kind, match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


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
        schedule="constant", eta0=0.01, l1s=[0.1], cv=[(rows[:200], rows[200:])], random_state=0
    )
    with pytest.raises(FloatingPointError, match=r"overflow.* Lower eta0"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


# --- several outputs, repeated rows ----------------------------------------------------------


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix, sparse.csc_array, np.ndarray.tolist])
def test_several_outputs_are_refused(of):
    """The error says what to do, for sparse y too."""
    X, y = data()
    several = of(np.column_stack([y, 1 - y]).astype(int))
    message = "LazyNetClassifierCV chooses for one problem, or for classes one against the rest; s"
    with pytest.raises(ValueError, match=message):
        LazyNetClassifierCV(**FEW).fit(X, several)
    with pytest.raises(ValueError, match="LazyNetRegressorCV chooses for one target; several tar"):
        LazyNetRegressorCV(**FEW).fit(X, several)


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


def warned(model, X, y):
    """The messages of the warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        (dict(l1s=[3.0, 1.0]), "the best l1, 1, is the smallest .* give smaller l1s"),
        (dict(l1s=[1e-3, 1e-5]), "the best l1, 0.001, is the largest .* give larger l1s"),
        (dict(smallest=0.5), "the best l1, .* is the smallest .* lower smallest=0.5"),
        (dict(l1s=0.05, l2s=[3.0, 1.0]), "the best l2, 1, is the smallest .* give smaller l2s"),
        (dict(l1s=[1.0]), None),  # one value
        (dict(l1s=[3.0, 0.0]), None),  # nothing lies beyond 0
        (dict(l1s=[1.0, 0.1, 0.001]), None),  # in the middle
        (dict(l1s=[1e-9, 1e-10]), None),  # one is as good as the other
    ],
    ids=str,
)
def test_a_best_setting_at_an_end(grid, expected):
    """A warning where a value beyond the end may be better."""
    X, y = noisy_targets()
    y = X[:, 0] / 2 + np.random.default_rng(1).standard_normal(300)
    options = dict(cv=3, max_iter=10, random_state=0) | grid
    found = [told for told in warned(LazyNetRegressorCV(**options), X, y) if "the best" in told]
    if expected is None:
        assert found == []
    else:
        assert len(found) == 1
        with pytest.warns(UserWarning, match=expected):
            LazyNetRegressorCV(**options).fit(X, y)


def test_a_loss_that_still_falls_fast_is_told():
    """Not without tol."""
    X, y = noisy_targets()
    options = dict(l1s=0.01, schedule="constant", eta0=5e-4, max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="still fell by .* in the last of max_iter=3 epoch"):
        LazyNetRegressorCV(**options).fit(X, 10 * y)
    assert warned(LazyNetRegressorCV(**options, tol=None), X, 10 * y) == []


@pytest.mark.parametrize("max_iter", [1, 3])
def test_rates_that_are_too_small_are_told(max_iter):
    """After one epoch too."""
    X, y = noisy_targets()
    model = LazyNetRegressorCV(l1s=0.01, schedule="constant", eta0=1e-9, max_iter=max_iter)
    with pytest.warns(ConvergenceWarning, match=r"stalled.* give a larger eta0"):
        model.fit(X, y)
