"""Penalties of minima chosen by folds: grids, scorers, ridge penalties, late minima."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold
from support.matrices import noisy_data as data

from lazynet import (
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressorCV,
    net_path,
)

pytestmark = pytest.mark.filterwarnings("ignore:the best .* that was tried")

FEW = dict(cv=3, l1s=6, random_state=0)


def test_the_grid_is_that_of_a_path():
    """A number of l1s begins at the least l1 that leaves no weight, of any class."""
    X, y = data()
    model, path = DualNetClassifierCV(**FEW).fit(X, y), net_path(X, y, l1s=6)
    np.testing.assert_allclose(model.cv_results_["l1"], path.l1s, rtol=1e-12)
    X, y = data(n_classes=3)
    several = DualNetClassifierCV(**FEW).fit(X, y)
    starts = [net_path(X, y == label, l1s=2).l1s[0] for label in range(3)]
    assert several.cv_results_["l1"][0] == pytest.approx(max(starts))
    assert several.duality_gap_.shape == several.objective_.shape == (3,)


@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy", "neg_log_loss"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_scikit_learn(scoring, n_classes):
    """A scorer judges the same models that it would judge by hand, and the greatest is chosen."""
    X, y = data(n_classes=n_classes)
    y = np.array(["a", "b", "c"])[y]
    weights = np.random.default_rng(2).integers(1, 3, len(y)).astype(float)
    if n_classes == 3 and scoring == "roc_auc":
        scoring = "roc_auc_ovr"
    folds = list(StratifiedKFold(3).split(X, y))
    model = DualNetClassifierCV(**FEW | dict(cv=folds, tol=1e-8, scoring=scoring))
    model.fit(X, y, weights)
    judge, results = get_scorer(scoring), model.cv_results_
    for number, (train, test) in enumerate(folds):
        for point in (1, 3, 5):
            alone = DualNetClassifier(l1=results["l1"][point], l2=0.0, tol=1e-8)
            alone.fit(X[train], y[train], weights[train])
            expected = judge(alone, X[test], y[test], sample_weight=weights[test])
            assert results[f"split{number}_score"][point] == pytest.approx(expected, abs=1e-3)
    sizes = [weights[test].sum() for _, test in folds]
    scores = [results[f"split{number}_score"] for number in range(3)]
    np.testing.assert_allclose(results["mean_score"], np.average(scores, axis=0, weights=sizes))
    assert results["mean_score"][model.best_index_] == results["mean_score"].max()


def test_a_ridge_penalty_can_be_chosen():
    """l1s=0.0 with l2s chooses among penalties that leave every weight nonzero."""
    X, y = data(n_classes=0)
    model = DualNetRegressorCV(l1s=[0.0], l2s=[0.01, 10.0, 0.1], cv=3).fit(X, y)
    assert model.cv_results_["l2"].tolist() == [10.0, 0.1, 0.01]
    assert model.l1_ == 0.0
    assert model.l2_ in (0.1, 0.01)


def test_minima_that_come_too_late_are_told():
    """A warning counts them, and gives the gap of the model."""
    X, y = data()
    model = DualNetClassifierCV(**FEW | dict(max_iter=2, tol=1e-13))
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 epochs: raise") as caught:
        model.fit(X, y)
    (message,) = (str(warning.message) for warning in caught)
    assert "of the minima have not come within tol=1e-13" in message
    assert f"the duality gap of the model is {model.duality_gap_:.3g}." in message
