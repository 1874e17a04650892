"""l1 and l2 chosen by folds, by all four estimators: tables, choices, folds, weights, figures."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from support import same_bits
from support.matrices import noisy_data as data

from lazynet import (
    FTRL,
    SAGA,
    AdaGrad,
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    DualNetRegressorCV,
    FoBoS,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    LazyNetRegressorCV,
    TruncatedGradient,
    net_path,
    plot_choice,
)
from lazynet.training.folds import best_setting, check_folds, means_and_errors
from lazynet.training.grid import GridTraining

# Small grids often end at their best setting, and few epochs before the loss falls no more.
pytestmark = pytest.mark.filterwarnings(
    "ignore:the best .* that was tried", "ignore:the least loss of held-out rows still fell"
)

SINGLE = {
    DualNetClassifierCV: DualNetClassifier,
    DualNetRegressorCV: DualNetRegressor,
    LazyNetClassifierCV: LazyNetClassifier,
    LazyNetRegressorCV: LazyNetRegressor,
}
ALL_FOUR = pytest.mark.parametrize("kind", SINGLE, ids=lambda kind: kind.__name__)
CLASSIFIERS = pytest.mark.parametrize("kind", [DualNetClassifierCV, LazyNetClassifierCV])
OF_PATHS = dict(l1s=[0.1, 0.03, 0.01, 0.003], cv=3, random_state=0)
OF_GRIDS = dict(l1s=[0.3, 0.03, 0.003], l2s=[0.0, 0.01], cv=3, max_iter=3, random_state=0)
#: Every way to choose: the estimator, and the options of a short run.
WAYS = {
    "paths": (DualNetClassifierCV, OF_PATHS),
    "paths of several l2": (DualNetClassifierCV, OF_PATHS | dict(l2s=[0.0, 0.1])),
    "paths that are scored": (DualNetClassifierCV, OF_PATHS | dict(scoring="accuracy")),
    "a grid": (LazyNetClassifierCV, OF_GRIDS),
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)


def made(way, **options):
    kind, few = WAYS[way]
    return kind(**few | options)


def data_for(kind):
    return data(n_classes=2 if "Classifier" in kind.__name__ else 0)


def numbers():
    """Rows of 20 numbers, and noisy targets that depend on three of them."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((300, 20))
    return X, X[:, :3].sum(axis=1) + generator.standard_normal(300)


def assert_same_results(left, right):
    assert list(left.cv_results_) == list(right.cv_results_)
    for name in left.cv_results_:
        assert same_bits(left.cv_results_[name], right.cv_results_[name]), name
    for name in ("coef_", "intercept_"):
        assert same_bits(getattr(left, name), getattr(right, name)), name


def loss_of(model, X, y, weights):
    """The mean loss of a fitted model's predictions, by NumPy."""
    if hasattr(model, "classes_"):
        losses = np.logaddexp(0, -model.decision_function(X) * (2.0 * y - 1))
    else:
        losses = (model.predict(X) - y) ** 2 / 2
    return np.average(losses, weights=weights)


# --- the table of results -------------------------------------------------------------------


def fit_alone(model, rows, X, y, weights, setting, max_iter):
    """The fit of one setting on some of the rows, which an online rule visits in the same order."""
    l1, l2 = (model.cv_results_[name][setting] for name in ("l1", "l2"))
    single = SINGLE[type(model)]
    if single in (DualNetClassifier, DualNetRegressor):
        weights = None if weights is None else weights[rows]
        return single(l1=l1, l2=l2, tol=1e-8).fit(X[rows], y[rows], weights)
    generator = np.random.RandomState(model.random_state)
    orders = [generator.permutation(len(y)) for _ in range(max_iter)]
    orders = np.array([order[np.isin(order, rows)] for order in orders])
    one = single(l1=l1, l2=l2, max_iter=max_iter, tol=None)
    return one.fit(X, y, weights, sample_order=orders)


@ALL_FOUR
@pytest.mark.parametrize("weighted", [False, True])
def test_the_table_is_that_of_single_fits(kind, weighted):
    """Losses, nonzeros, means, the setting with the least mean, and the model on all rows."""
    X, y = data_for(kind)
    weights = np.random.default_rng(2).integers(0, 3, len(y)) * 1.0 if weighted else None
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    online = kind in (LazyNetClassifierCV, LazyNetRegressorCV)
    options = dict(tol=None, max_iter=3) if online else dict(tol=1e-8)
    model = kind(l1s=[0.1, 0.003, 0.03], l2s=[0.0, 0.1], cv=folds, random_state=0, **options)
    results = model.fit(X, y, weights).cv_results_
    assert results["l1"].tolist() == [0.1, 0.03, 0.003] * 2
    assert results["l2"].tolist() == [0.1] * 3 + [0.0] * 3
    counts = np.zeros(6)
    for number, (train, test) in enumerate(folds):
        test_weights = None if weights is None else weights[test]
        for setting in range(6):
            arguments = model, train, X, y, weights, setting
            one = fit_alone(*arguments, max_iter=model.n_iter_)
            expected = loss_of(one, X[test], y[test], test_weights)
            # A grid computes in float32.
            assert results[f"split{number}_loss"][setting] == pytest.approx(expected, rel=1e-4)
            counts[setting] += np.count_nonzero(fit_alone(*arguments, max_iter=3).coef_)
    assert abs(results["nonzeros"] - counts / 3).max() <= (0.0 if online else 0.4)
    losses = np.array([results[f"split{number}_loss"] for number in range(3)])
    sizes = [len(test) if weights is None else weights[test].sum() for _, test in folds]
    np.testing.assert_allclose(results["mean_loss"], np.average(losses.T, axis=1, weights=sizes))
    best = results["mean_loss"].argmin()
    assert model.best_index_ == best
    assert (model.l1_, model.l2_) == (results["l1"][best], results["l2"][best])
    # The default order of a fit, which may restart.
    options |= dict(l1=model.l1_, l2=model.l2_) | (dict(random_state=0) if online else {})
    one = SINGLE[kind](**options).fit(X, y, weights)
    np.testing.assert_allclose(model.coef_, one.coef_, atol=1e-12 if online else 1e-3)
    np.testing.assert_allclose(model.predict(X), one.predict(X), atol=1e-2)


@CLASSIFIERS
def test_several_classes_have_one_setting(kind):
    """The losses are the means of those of each class against the rest."""
    X, y = data(n_classes=3)
    options = dict(l1s=[0.1, 0.01], cv=list(StratifiedKFold(3).split(X, y)), random_state=0)
    options |= dict(max_iter=1) if kind is LazyNetClassifierCV else dict(tol=1e-7)
    results = kind(**options).fit(X, y).cv_results_
    ones = [kind(**options).fit(X, y == label).cv_results_ for label in range(3)]
    for name in ("split0_loss", "split2_loss"):
        np.testing.assert_allclose(
            results[name], np.mean([one[name] for one in ones], axis=0), 1e-4
        )
    assert abs(results["nonzeros"] - np.sum([one["nonzeros"] for one in ones], axis=0)).max() <= 1


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
        ([9.0, 2.6, 2.5, 2.0], [9, 9, 9, 0.5], [0, 1, 2, 3], 3, 2),
        # The error of the best decides, not that of the candidate.
        ([9.0, 2.6, 2.5, 2.0], [9, 9, 9, 0.1], [0, 1, 2, 3], 3, 3),
        # Of equally many nonzeros the largest penalty.
        ([9.0, 2.3, 2.4, 2.0], [9, 9, 9, 0.5], [5, 5, 5, 5], 3, 1),
        # Of equal means the largest penalty; one fold has no error.
        ([3.0, 2.0, 2.0], [np.nan] * 3, [0, 1, 2], 1, 1),
        # A loss that has overflowed is not chosen.
        ([np.nan, 2.0, np.inf], [np.nan, 0.5, np.nan], [0, 1, 2], 1, 1),
        ([np.inf, 2.0], [np.nan, np.inf], [0, 1], 1, 1),
    ],
)
def test_the_choice_from_a_table_by_hand(means, errors, nonzeros, best, sparsest):
    """The best mean, and the sparsest within one standard error of it; of scores the highest."""
    table = {"standard_error": np.array(errors), "nonzeros": np.array(nonzeros)}
    for judged in ({"mean_loss": np.array(means)}, {"mean_score": -np.array(means)}):
        assert best_setting(table | judged) == best
        assert best_setting(table | judged, one_standard_error=True) == sparsest


def test_losses_that_are_no_numbers_are_refused():
    """There is nothing to choose from."""
    with pytest.raises(FloatingPointError, match="not finite numbers at any penalty"):
        best_setting({"mean_loss": np.full(2, np.nan)})


@pytest.mark.parametrize("kind", [DualNetClassifierCV, LazyNetRegressorCV])
def test_one_standard_error_takes_the_sparser_model(kind):
    """The tables are the same."""
    X, y = data_for(kind)
    options = dict(l1s=np.geomspace(0.3, 0.003, 25), cv=3, random_state=0)
    best, sparser = (kind(one_standard_error=flag, **options).fit(X, y) for flag in (False, True))
    assert best.cv_results_["mean_loss"].tolist() == sparser.cv_results_["mean_loss"].tolist()
    results = best.cv_results_
    bound = results["mean_loss"].min() + results["standard_error"][best.best_index_]
    assert results["mean_loss"][sparser.best_index_] <= bound
    within = results["nonzeros"][results["mean_loss"] <= bound]
    assert results["nonzeros"][sparser.best_index_] == within.min()
    assert sparser.l1_ > best.l1_


ENDS = [
    (dict(l1s=[0.3, 0.2]), r"0.2, is the smallest .*: pass l1s=np.geomspace\(0.3, 0.002, 4\)$"),
    (dict(l1s=[1e-3, 1e-5]), r"0.001, is the largest .*: pass l1s=np.geomspace\(0.1, 1e-05, 4\)$"),
    (dict(l1s=[0.05], l2s=[3.0, 1.0]), r"l2, 1, is .*: pass l2s=np.geomspace\(3, 0.01, 4\)$"),
    (dict(l1s=[1.0]), None),  # one value
    (dict(l1s=[3.0, 0.0], l2s=[1e-6]), None),  # nothing lies beyond 0
    (dict(l1s=[1.0, 0.1, 0.001]), None),  # in the middle
    (dict(l1s=[1e-9, 1e-10]), None),  # one is as good as the other
]


@pytest.mark.parametrize("kind", [DualNetRegressorCV, LazyNetRegressorCV])
@pytest.mark.parametrize(("grid", "expected"), ENDS, ids=str)
def test_a_best_setting_at_an_end(kind, grid, expected):
    """A warning where a value beyond the end may be better."""
    X = np.random.default_rng(0).standard_normal((300, 20))
    y = X[:, 0] / 2 + np.random.default_rng(1).standard_normal(300)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind(cv=3, random_state=0, **grid).fit(X, y)
    messages = [str(warning.message) for warning in caught if "the best" in str(warning.message)]
    assert len(messages) == (expected is not None)
    assert all(re.search(expected, message) for message in messages)


# --- folds, threads, weights, copies --------------------------------------------------------


@EVERY_WAY
def test_explicit_folds_as_masks_and_groups(way):
    """A number of folds is that of scikit-learn; masks are folds too; groups reach the splitter."""
    X, y = data()
    folds = list(StratifiedKFold(3).split(X, y))
    masks = [tuple(np.isin(np.arange(len(y)), side) for side in fold) for fold in folds]
    by_number, *models = (made(way, cv=cv).fit(X, y) for cv in (3, folds, masks))
    for model in models:
        assert_same_results(model, by_number)
    groups = np.arange(len(y)) % 4
    grouped = made(way, cv=GroupKFold(4)).fit(X, y, groups=groups)
    expected = list(GroupKFold(4).split(X, y, groups))
    assert_same_results(grouped, made(way, cv=expected).fit(X, y))


@pytest.mark.parametrize("way", [way for way in WAYS if "scoring" not in WAYS[way][1]])
def test_class_weights_count_in_the_losses(way):
    """A class weight is a factor of the loss of its rows, where they are held out too."""
    X, y = data()
    options = dict(cv=list(StratifiedKFold(3).split(X, y)))
    if way == "a grid":
        options["rule"] = "fobos"  # the automatic rule depends on class_weight
    by_class = made(way, class_weight={0: 1.0, 1: 3.0}, **options).fit(X, y)
    assert_same_results(by_class, made(way, **options).fit(X, y, np.where(y == 1, 3.0, 1.0)))


# --- figures --------------------------------------------------------------------------------


@EVERY_WAY
@pytest.mark.parametrize("grid", [{}, dict(l1s=[0.03], l2s=[0.1, 1.0]), dict(l1s=[0.1])])
def test_the_figure_of_a_choice(way, grid):
    """Means and nonzeros stand against the penalties, and both choices are marked."""
    pytest.importorskip("matplotlib")
    X, y = data()
    model = made(way, **grid).fit(X, y)
    figure, results = plot_choice(model), model.cv_results_
    losses, counts = figure.axes
    only_l2 = len(set(results["l1"])) == 1 and len(set(results["l2"])) > 1
    axis, fixed = ("l2", "l1") if only_l2 else ("l1", "l2")
    assert counts.get_xlabel().startswith(axis)
    judged = results["mean_score" if "scored" in way else "mean_loss"]
    strengths = list(dict.fromkeys(results[fixed].tolist()))
    for number, strength in enumerate(strengths):
        line = results[fixed] == strength
        np.testing.assert_array_equal(losses.lines[number].get_xdata(), results[axis][line])
        np.testing.assert_array_equal(losses.lines[number].get_ydata(), judged[line])
        np.testing.assert_array_equal(counts.lines[number].get_ydata(), results["nonzeros"][line])
    texts = [text.get_text() for text in losses.get_legend().get_texts()]
    extreme = "highest" if "scored" in way else "least"
    assert texts[-2].startswith(f"{extreme} mean: {axis} {results[axis][model.best_index_]:.3g}")
    assert texts[-1].startswith(f"sparsest within one standard error: {axis} ")
    assert len(texts) == 2 + (len(strengths) if len(strengths) > 1 else 0)
    figure.canvas.draw()


def test_figures_that_cannot_be_drawn():
    """One split has no standard error to mark; a model that is not fitted has no figure."""
    pytest.importorskip("matplotlib")
    X, y = data()
    one = made("paths", cv=[(np.arange(0, 90, 2), np.arange(1, 90, 2))]).fit(X, y)
    assert len(plot_choice(one).axes[0].get_legend().get_texts()) == 1
    for model in (DualNetClassifierCV(), LazyNetClassifier().fit(X, y)):
        with pytest.raises(TypeError, match="plot_choice needs a fitted estimator that ends in CV"):
            plot_choice(model)


# --- what is refused ------------------------------------------------------------------------

REFUSED = [
    (dict(cv=1), ValueError, "cv must be at least 2"),
    (dict(cv="five"), TypeError, "cv must be a number of folds, a splitter of scikit-learn or"),
    (dict(cv=[]), ValueError, "cv must give at least one split"),
    (dict(cv=[([0, 1], [])]), ValueError, "cv must give rows to hold out, and its split 0 has"),
    (dict(cv=[([0, 1], [90])]), ValueError, "cv must give row numbers from 0 to 89; the rows to h"),
    (dict(cv=[([0.5], [1])]), ValueError, "cv must give row numbers from 0 to 89; the rows to l"),
    (dict(cv=[[0, 1, 2]]), ValueError, "its split 0 is not a pair"),
    (dict(cv=60), ValueError, "n_splits=60 cannot be greater"),
    (dict(l1s=-1.0), ValueError, "l1s must be finite and not negative"),
    (dict(l1s="many"), TypeError, "l1s must hold real numbers"),
    (dict(l2s=None), TypeError, "l2s must hold real numbers"),
    (dict(one_standard_error=1), ValueError, "one_standard_error must be True or False"),
    (
        dict(cv=[(np.arange(45), np.arange(45, 90))], one_standard_error=True),
        ValueError, "one_standard_error=True needs at least two splits",
    ),
    (dict(n_jobs=0), ValueError, "n_jobs must not be 0"),
]  # fmt: skip


REFUSED = [(way, *refused) for way in ("paths", "a grid") for refused in REFUSED] + [
    ("paths", dict(scoring="best"), ValueError, "scoring must be None, a callable or a name from"),
    ("paths", dict(l1s=[0.1, 0.0]), ValueError, "l1s and l2s must not both be 0 at a point"),
    ("a grid", dict(rule=SAGA()), ValueError, r"rule=SAGA\(\) cannot learn a grid of settings in"),
    ("a grid", dict(rule="carpenter_inexact"), ValueError, "cannot learn a grid of settings"),
    ("a grid", dict(rule=FoBoS(group="l2")), ValueError, "a group joins all outputs"),
    (
        "a grid", dict(rule=TruncatedGradient(threshold=0.5), l2s=0.0), ValueError,
        "'truncated_gradient' without a threshold",
    ),
    ("a grid", dict(loss="squared"), ValueError, "loss must be one of"),
]  # fmt: skip


def test_what_cannot_be_used_is_refused():
    """The error names the parameter, and the model stays unfitted."""
    X, y = data()
    for way, options, kind, message in REFUSED:
        model = made(way, **options)
        with pytest.raises(kind, match=message):
            model.fit(X, y)
        assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="pairs of rows"):
        check_folds([3], 5)


@pytest.mark.parametrize("way", ["paths", "a grid"])
def test_sides_that_cannot_be_used_are_refused(way):
    """Rows to learn from and rows to hold out need weight, and every class needs a row."""
    X, y = data(n_classes=3)
    halves, weights = (np.arange(45), np.arange(45, 90)), np.r_[np.ones(45), np.zeros(45)]
    of_side = "rows of a weight above 0 to {}, and its split"
    for split, given, message in (
        (halves, weights, of_side.format("hold out")),
        (halves, weights[::-1], of_side.format("learn from")),
        ((np.flatnonzero(y != 2), np.flatnonzero(y == 2)), None, r"its split 0 has none of .*2"),
    ):
        with pytest.raises(ValueError, match=message):
            made(way, cv=[split]).fit(X, y, given)


# --- minima -----------------------------------------------------------------------------------

DUAL = dict(cv=3, l1s=6, random_state=0)


def test_the_grid_is_that_of_a_path():
    """A number of l1s begins at the least l1 that leaves no weight, of any class."""
    X, y = data()
    model, path = DualNetClassifierCV(**DUAL).fit(X, y), net_path(X, y, l1s=6)
    np.testing.assert_allclose(model.cv_results_["l1"], path.l1s, rtol=1e-12)
    X, y = data(n_classes=3)
    several = DualNetClassifierCV(**DUAL).fit(X, y)
    starts = [net_path(X, y == label, l1s=2).l1s[0] for label in range(3)]
    assert several.cv_results_["l1"][0] == pytest.approx(max(starts))
    assert several.duality_gap_.shape == several.objective_.shape == (3,)
    one = DualNetClassifierCV(**DUAL | dict(l1s=[0.01])).fit(X, y)
    assert one.n_iter_ == DualNetClassifier(l1=0.01, l2=0.0, random_state=0).fit(X, y).n_iter_


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
    model = DualNetClassifierCV(**DUAL | dict(cv=folds, tol=1e-8, scoring=scoring))
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


def test_minima_that_come_too_late_are_told():
    """A warning counts them, and gives the gap of the model."""
    X, y = data()
    model = DualNetClassifierCV(**DUAL | dict(max_iter=2, tol=1e-13))
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 epochs: raise") as caught:
        model.fit(X, y)
    (message,) = (str(warning.message) for warning in caught)
    assert "of the minima have not come within tol=1e-13" in message
    assert f"the duality gap of the model is {model.duality_gap_:.3g}." in message


# --- grids in one pass -----------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"standardize": False}, {"rule": "fobos"}, {"rule": "ftrl", "max_iter": 3}],
    ids=str,
)
def test_the_model_is_that_of_a_fit_with_the_chosen_penalties(options, n_classes):
    """Bit for bit, with its units and rates."""
    X, y = data(n_classes)
    kind = LazyNetClassifierCV if n_classes else LazyNetRegressorCV
    model = kind(l2s=[0.0, 0.01], cv=3, random_state=0, **options).fit(X, y)
    alone = SINGLE[kind](l1=model.l1_, l2=model.l2_, random_state=0, **options).fit(X, y)
    assert same_bits(model.coef_, alone.coef_)
    assert same_bits(model.intercept_, alone.intercept_)
    assert (model.eta0_, model.n_iter_) == (alone.eta0_, alone.n_iter_)
    assert model.auto_ == alone.auto_
    assert (model.units_ is None) == (options.get("standardize") is False)


@pytest.mark.parametrize("options", [{}, {"l1s": [0.3, 0.03], "l2s": 0.1}], ids=str)
def test_the_settings_are_penalties_of_standardised_features(options):
    """By default l1 goes in equal ratios, around the l1 that a fit of one setting takes."""
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
        assert not model.cv_results_["l2"].any()


@pytest.mark.parametrize(("options", "epochs"), [({}, 20), ({"max_iter": 7}, 7)])
def test_all_settings_learn_for_the_epochs_of_a_fit(options, epochs, monkeypatch):
    """``tol`` ends no epoch of the grid."""
    X, y = data(n_classes=0)
    epoch, count = GridTraining.epoch, []
    monkeypatch.setattr(GridTraining, "epoch", lambda *args: (count.append(0), epoch(*args)))
    LazyNetRegressorCV(l1s=[0.3, 0.03], cv=3, tol=10.0, **options).fit(X, y)
    assert len(count) == epochs


@pytest.mark.parametrize("where", ["a fold", "all rows"])
def test_an_overflow_is_told(where):
    """Rates that are far too large for a squared loss, in a fold or in the last fit."""
    X, y = numbers()
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
        LazyNetClassifierCV(**OF_GRIDS | dict(cv=[(np.arange(60), rows), (rows, [70])])).fit(X, y)
    LazyNetClassifierCV(**OF_GRIDS | dict(cv=[(np.arange(60), rows)])).fit(X, y)


def test_a_loss_that_still_falls_fast_is_told():
    """Not without tol."""
    X, y = numbers()
    options = dict(l1s=0.01, rule=AdaGrad(alpha=0.3), max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="still fell by .* in the last of max_iter=2 epoch"):
        LazyNetRegressorCV(**options).fit(X, 10 * y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LazyNetRegressorCV(**options, tol=None).fit(X, 10 * y)
