"""Kappas, frequencies and errors of selection equal their definitions; runs equal fits by hand."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, SGDClassifier
from sklearn.metrics import cohen_kappa_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from support.matrices import make_data

from lazynet import (
    DualNetRegressorCV,
    FoBoS,
    LazyNetClassifier,
    SelectionReport,
    StabilisedSGDClassifier,
    net_path,
    plot_choice,
    plot_path,
    plot_selection,
    selection_stability,
)
from lazynet.estimators.stabilised import pairwise_kappa


def data(seed=0, n=200, d=40):
    X = sparse.random(n, d, density=0.2, format="csr", random_state=seed)
    return X, np.asarray(X[:, :4].sum(axis=1)).ravel() > 0.4


def model(average=False):
    rule = FoBoS(eta0=1.0, average=average)
    return LazyNetClassifier(rule=rule, l1=0.02, max_iter=3, tol=None)


@given(sets=st.lists(st.sets(st.integers(0, 9)), min_size=2, max_size=5), extra=st.integers(0, 3))
def test_kappas_of_all_pairs_are_those_of_scikit_learn(sets, extra):
    """Cohen's kappa of two raters, over all features."""
    p = 10 + extra
    votes = np.array([[j in chosen for j in range(p)] for chosen in sets])
    kappas = pairwise_kappa(sparse.csr_matrix(votes))
    for value, pair in zip(kappas, itertools.combinations(votes, 2), strict=True):
        # Votes that are all the same leave chance no room for agreement.
        expected = cohen_kappa_score(*pair) if len(np.unique(pair)) == 2 else 1.0
        assert value == pytest.approx(expected, abs=1e-12)


def test_kappa_of_many_features_does_not_overflow():
    """Products of set sizes need 64 bits, and a set takes no memory per feature."""
    selected = sparse.csr_matrix(([1, 1, 1], ([0, 0, 1], [0, 5, 0])), shape=(2, 10**6))
    assert pairwise_kappa(selected)[0] == pytest.approx(2 / 3, rel=1e-5)


@pytest.mark.parametrize(
    "estimator",
    [
        model(),
        model(average=True),
        LazyNetClassifier(l1=0.02, rule="rda", max_iter=3, tol=None),
        StabilisedSGDClassifier(max_iter=3, burst_size=50),
        SGDClassifier(penalty="l1", alpha=0.01, max_iter=3, tol=None),
        make_pipeline(MaxAbsScaler(), model()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_runs_are_those_of_the_estimator(estimator):
    """Error, nonzeros and frequencies equal those of fits by hand, on any number of threads."""
    X, y = data()
    seeds = np.random.RandomState(7).randint(2**31, size=4)
    report = selection_stability(
        estimator, X[:150], y[:150], X[150:], y[150:], n_runs=4, random_state=7
    )
    supports, wrong = [], []
    for run, seed in enumerate(seeds):
        name = [key for key in estimator.get_params() if key.endswith("random_state")][-1]
        by_hand = clone(estimator).set_params(**{name: int(seed)}).fit(X[:150], y[:150])
        assert report.errors[run] == pytest.approx(1 - by_hand.score(X[150:], y[150:]))
        wrong.append(by_hand.predict(X[150:]) != y[150:])
        linear = by_hand[-1] if hasattr(by_hand, "steps") else by_hand
        supports.append(getattr(linear, "last_coef_", linear.coef_)[0] != 0)
        assert report.nonzeros[run] == supports[-1].sum()
    np.testing.assert_allclose(report.frequency, np.mean(supports, axis=0))
    np.testing.assert_allclose(report.row_losses, np.mean(wrong, axis=0))
    again = selection_stability(
        estimator, X[:150], y[:150], X[150:], y[150:], n_runs=4, random_state=7, n_jobs=2
    )
    for name in ("errors", "nonzeros", "kappas", "frequency"):
        np.testing.assert_array_equal(getattr(report, name), getattr(again, name))


@pytest.mark.every_case
def test_what_cannot_be_compared_is_refused():
    """The error says what is missing or does not belong together."""
    X, y = data()
    with pytest.raises(ValueError, match="random_state to vary, and LinearRegression has none"):
        selection_stability(LinearRegression(), X, y)
    with pytest.raises(ValueError, match="X_test and y_test belong together"):
        selection_stability(model(), X, y, X)
    with pytest.raises(ValueError, match="n_runs must be at least 1"):
        selection_stability(model(), X, y, n_runs=0)
    with pytest.raises(ValueError, match="reports must not be empty"):
        plot_selection({})
    with pytest.raises(TypeError, match="reports must be a dict of reports by name"):
        plot_selection([SelectionReport(*[np.zeros(0)] * 4)])


# --- figures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("plot", [plot_path, plot_choice, plot_selection])
def test_without_matplotlib_the_error_says_what_to_install(plot, monkeypatch):
    """The error is the same whether matplotlib is missing as a whole or in part."""
    X, y = make_data(n=30, d=5, n_classes=0)
    drawn = {
        plot_path: net_path(X, y, loss="squared_error", l1s=3),
        plot_choice: DualNetRegressorCV(l1s=3, cv=2).fit(X, y),
        plot_selection: {"one": SelectionReport(*[np.zeros(2)] * 4)},
    }
    for missing in ("matplotlib.figure", "matplotlib"):
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(ImportError, match=rf"{plot.__name__} needs matplotlib: .*\[plots\]"):
            plot(drawn[plot])
