"""The penalty chosen by folds: tables equal those made by hand, and the choice is the right one."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold
from support.matrices import noisy_data as data

from lazynet import (
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    DualNetRegressorCV,
    net_path,
)
from lazynet.training.folds import best_and_sparsest, check_folds, means_and_errors

FEW = dict(cv=3, n_points=6, smallest=0.05, random_state=0)


def loss_by_hand(loss, predictions, targets, weights):
    """The weighted mean loss, by NumPy."""
    losses = {
        "log_loss": lambda p, y: np.logaddexp(0, -p * y),
        "squared_error": lambda p, y: (p - y) ** 2 / 2,
        "squared_hinge": lambda p, y: np.maximum(0, 1 - p * y) ** 2,
    }
    return np.average(losses[loss](predictions, targets), weights=weights)


# --- the tables -----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "squared_hinge"])
def test_the_tables_are_those_of_paths_by_hand(loss, weighted):
    """Losses and nonzeros are those of a path in every fold, on the grid of all rows."""
    regression = loss == "squared_error"
    X, y = data(n_classes=0 if regression else 2)
    weights = np.random.default_rng(2).integers(0, 3, len(y)) * 1.0 if weighted else None
    kind = DualNetRegressorCV if regression else DualNetClassifierCV
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    ratios = (0.5, 1.0)
    model = kind(loss, l1_ratios=ratios, cv=folds, n_points=6, smallest=0.05, tol=1e-8)
    model.fit(X, y, weights)
    assert model.losses_.shape == model.nonzeros_.shape == (2, 6, 3)
    targets = y if regression else 2.0 * y - 1
    for row, ratio in enumerate(ratios):
        whole = net_path(
            X, y, loss=loss, l1_ratio=ratio, n_points=6, smallest=0.05, sample_weight=weights
        )
        np.testing.assert_allclose(model.l1s_[row], whole.l1s, rtol=1e-12)
        np.testing.assert_allclose(model.l2s_[row], whole.l2s, rtol=1e-12)
        for number, (train, test) in enumerate(folds):
            parts = [None if weights is None else weights[side] for side in (train, test)]
            path = net_path(
                X[train], y[train], loss=loss, l1s=whole.l1s, l1_ratio=ratio, tol=1e-8,
                sample_weight=parts[0],
            )  # fmt: skip
            for point, decision in enumerate(path.decision_function(X[test]).T):
                expected = loss_by_hand(loss, decision, targets[test], parts[1])
                assert model.losses_[row, point, number] == pytest.approx(expected, rel=1e-4)
            assert abs(model.nonzeros_[row, :, number] - path.nonzeros).max() <= 1
    sizes = [len(test) if weights is None else weights[test].sum() for _, test in folds]
    np.testing.assert_allclose(model.means_, np.average(model.losses_, axis=-1, weights=sizes))
    best = np.unravel_index(model.means_.argmin(), (2, 6))
    assert model.best_index_ == best
    assert (model.l1_, model.l2_) == (model.l1s_[best], model.l2s_[best])
    assert model.l1_ratio_ == ratios[best[0]]


@pytest.mark.parametrize("kind", [DualNetClassifierCV, DualNetRegressorCV])
def test_the_model_is_the_minimum_on_all_rows(kind):
    """The weights are those of the estimator without folds, at the penalty that was chosen."""
    X, y = data(n_classes=2 if kind is DualNetClassifierCV else 0)
    model = kind(**FEW).set_params(tol=1e-8).fit(X, y)
    single = DualNetClassifier if kind is DualNetClassifierCV else DualNetRegressor
    alone = single(l1=model.l1_, l2=model.l2_, tol=1e-8).fit(X, y)
    assert model.best_index_[1] > 0
    assert abs(model.objective_ - alone.objective_) <= model.duality_gap_ + alone.duality_gap_
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-3)
    assert model.objective_ - model.dual_objective_ <= model.duality_gap_
    assert model.n_iter_ > 1
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-2)


def test_several_classes_have_one_penalty():
    """The losses are the means of those of each class against the rest."""
    X, y = data(n_classes=3)
    folds = list(StratifiedKFold(3).split(X, y))
    model = DualNetClassifierCV(**FEW | dict(cv=folds, tol=1e-7)).fit(X, y)
    l1s = model.l1s_[0]
    each = [DualNetClassifierCV(l1s=l1s, cv=folds, tol=1e-7).fit(X, y == k) for k in range(3)]
    np.testing.assert_allclose(model.losses_, np.mean([one.losses_ for one in each], axis=0), 1e-4)
    assert abs(model.nonzeros_ - np.sum([one.nonzeros_ for one in each], axis=0)).max() <= 2
    assert model.coef_.shape == (3, 20)
    assert model.duality_gap_.shape == model.objective_.shape == (3,)
    starts = [net_path(X, y == k, n_points=1).l1s[0] for k in range(3)]
    assert l1s[0] == pytest.approx(max(starts))


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
    judge = get_scorer(scoring)
    for number, (train, test) in enumerate(folds):
        for point in (1, 3, 5):
            alone = DualNetClassifier(l1=model.l1s_[0, point], l2=0.0, tol=1e-8)
            alone.fit(X[train], y[train], weights[train])
            expected = judge(alone, X[test], y[test], sample_weight=weights[test])
            assert model.scores_[0, point, number] == pytest.approx(expected, abs=1e-3)
    sizes = [weights[test].sum() for _, test in folds]
    np.testing.assert_allclose(model.means_[0], np.average(model.scores_[0], axis=1, weights=sizes))
    assert model.means_[model.best_index_] == model.means_.max()
    assert model.losses_.shape == model.scores_.shape


# --- the choice -----------------------------------------------------------------------------


def test_means_and_standard_errors_by_hand():
    """Folds of equal weight: sd / sqrt(n).  A fold of twice the weight counts twice."""
    table = np.array([[1.0, 2.0, 6.0]])
    means, errors = means_and_errors(table, np.ones(3))
    assert means[0] == 3.0
    assert errors[0] == pytest.approx(np.std([1, 2, 6], ddof=1) / np.sqrt(3))
    means, errors = means_and_errors(table, np.array([2.0, 1.0, 1.0]))
    assert means[0] == 2.5
    assert errors[0] == pytest.approx(np.sqrt((2 * 1.5**2 + 0.5**2 + 3.5**2) / 4 / 2))
    assert np.isnan(means_and_errors(table[:, :1], np.ones(1))[1][0])


@pytest.mark.parametrize(
    ("means", "errors", "nonzeros", "best", "sparsest"),
    [
        # The bound is 2.0 + 0.5: 2.5 is within it, 2.6 is not.
        ([[9.0, 2.6, 2.5, 2.0]], [[9, 9, 9, 0.5]], [[0, 1, 2, 3]], (0, 3), (0, 2)),
        # The error of the best decides, not that of the candidate.
        ([[9.0, 2.6, 2.5, 2.0]], [[9, 9, 9, 0.1]], [[0, 1, 2, 3]], (0, 3), (0, 3)),
        # A point beyond the best is never sparser by the rule, whatever its nonzeros are.
        ([[9.0, 2.0, 2.1, 2.2]], [[9, 0.5, 0, 0]], [[0, 5, 4, 3]], (0, 1), (0, 1)),
        # Of two ratios the one with fewer nonzeros at its own candidate.
        (
            [[9.0, 2.4, 2.0], [2.45, 2.3, 2.2]], [[1, 1, 0.5], [1, 1, 1]],
            [[0, 4, 9], [3, 6, 8]], (0, 2), (1, 0),
        ),
        # With equally many nonzeros the lesser loss.
        (
            [[9.0, 2.4, 2.0], [2.3, 2.3, 2.2]], [[1, 1, 0.5], [1, 1, 1]],
            [[0, 4, 9], [4, 6, 8]], (0, 2), (1, 0),
        ),
        # The second ratio has no candidate.
        ([[9.0, 2.0], [8.0, 8.0]], [[1, 0.1], [1, 1]], [[0, 3], [0, 0]], (0, 1), (0, 1)),
        # Of equal means the largest penalty; one fold has no error.
        ([[3.0, 2.0, 2.0]], [[np.nan] * 3], [[0, 1, 2]], (0, 1), (0, 1)),
        # A loss that has overflowed is not chosen.
        ([[np.nan, 2.0, np.inf]], [[np.nan, 0.5, np.nan]], [[0, 1, 2]], (0, 1), (0, 1)),
    ],
)  # fmt: skip
def test_the_choice_from_a_table_by_hand(means, errors, nonzeros, best, sparsest):
    """The least mean, and the sparsest within one standard error of it."""
    arrays = [np.array(table, dtype=float) for table in (means, errors, nonzeros)]
    assert best_and_sparsest(*arrays) == (best, sparsest)


def test_one_standard_error_takes_the_sparser_model():
    """Both choices are known either way; the parameter says which one the model takes."""
    X, y = data()
    best, sparser = (
        DualNetClassifierCV(**FEW | dict(n_points=20), one_standard_error=flag).fit(X, y)
        for flag in (False, True)
    )
    assert best.one_standard_error_index_ == sparser.one_standard_error_index_
    assert sparser.l1_ > best.l1_
    assert sparser.l1_ == best.l1s_[best.one_standard_error_index_]
    assert np.count_nonzero(sparser.coef_) < np.count_nonzero(best.coef_)
    assert np.count_nonzero(sparser.coef_) > 0


def test_a_ridge_penalty_can_be_chosen():
    """l1s=0.0 with l2s chooses among penalties that leave every weight nonzero."""
    X, y = data(n_classes=0)
    model = DualNetRegressorCV(l1s=0.0, l2s=[0.01, 10.0, 0.1], cv=3).fit(X, y)
    assert model.l2s_.tolist() == [[10.0, 0.1, 0.01]]
    assert model.l1_ == model.l1_ratio_ == 0.0
    assert model.l2_ in (0.1, 0.01)
    pytest.importorskip("matplotlib")
    assert model.plot().axes[1].get_xlabel().startswith("l2")


# --- what is told ---------------------------------------------------


def test_minima_that_come_too_late_are_told():
    """One warning counts those of the folds, the other gives the gap of the model."""
    X, y = data()
    model = DualNetClassifierCV(**FEW | dict(max_iter=2, tol=1e-13))
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    first, second = (str(warning.message) for warning in caught)
    assert "of the 18 minima in the folds have not come within tol=1e-13" in first
    assert f"the duality gap is {model.duality_gap_:.3g}." in second
    assert all(
        "ended after max_iter=2 epochs: raise max_iter or tol" in text for text in (first, second)
    )


def test_a_best_penalty_at_the_end_of_the_path_is_told():
    """A smaller one may be better; no word of it where the best lies inside."""
    X, y = data()
    with pytest.warns(UserWarning, match=r"the last one that was tried.* lower smallest=0.5"):
        model = DualNetClassifierCV(**FEW | dict(smallest=0.5)).fit(X, y)
    assert model.best_index_ == (0, 5)
    with pytest.warns(UserWarning, match="give smaller l1s or l2s"):
        DualNetClassifierCV(cv=3, l1s=model.l1s_[0]).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DualNetClassifierCV(**FEW | dict(smallest=0.01)).fit(X, y)
    assert 0 < model.best_index_[1] < 5


# --- what is refused -------------------------------------------------------------------------

REFUSED = [
    (dict(l1_ratios=()), ValueError, "l1_ratios must be a list of numbers"),
    (dict(l1_ratios=(0.5, 2.0)), ValueError, "l1_ratios must lie between 0 and 1"),
    (dict(l1_ratios=(0.5, 0.0)), ValueError, "l1_ratio=0 leaves only the l2 penalty"),
    (dict(scoring="best"), ValueError, "scoring must be None, a callable or a name from"),
    (dict(one_standard_error=1), ValueError, "one_standard_error must be True or False"),
    (dict(n_jobs=0), ValueError, "n_jobs must not be 0"),
]


@pytest.mark.parametrize(("options", "kind", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_used_is_refused(options, kind, message):
    """The error names the parameter, and the model stays unfitted."""
    X, y = data()
    model = DualNetClassifierCV(**options)
    with pytest.raises(kind, match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_folds_that_cannot_be_learned_from_are_refused():
    """Every class needs a row, and one split has no standard error."""
    X, y = data(n_classes=3)
    rare = np.where(y == 2)[0]
    rest = np.setdiff1d(np.arange(len(y)), rare)
    model = DualNetClassifierCV(cv=[(rest, rare)])
    with pytest.raises(ValueError, match=r"its split 0 has none of .*2"):
        model.fit(X, y)
    model.set_params(cv=[(np.arange(45), np.arange(45, 90))])
    with pytest.raises(ValueError, match="one_standard_error=True needs at least two splits"):
        model.set_params(one_standard_error=True).fit(X, y)
    one = model.set_params(one_standard_error=False, n_points=5).fit(X, y)
    assert one.best_index_ == one.one_standard_error_index_
    with pytest.raises(ValueError, match="pairs of rows"):
        check_folds([3], 5)
