"""DualNetClassifier and DualNetRegressor as estimators; the minima are those of test_minima.py."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from support.dual import MINIMISED
from support.models import made

from lazynet import (
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    DualNetRegressorCV,
    Huber,
    net_path,
)
from lazynet.losses import LOSSES

RNG = np.random.default_rng(0)
X = sparse.random(300, 60, density=0.2, format="csr", random_state=0)
SCORES = np.asarray(X[:, :10].sum(axis=1) - X[:, 10:20].sum(axis=1)).ravel()
Y = np.where(SCORES + 0.3 * RNG.standard_normal(300) > 0, "yes", "no")
CLASSES = np.digitize(SCORES, [-0.5, 0.0, 0.5])


def test_what_a_fit_tells():
    model = DualNetClassifier(l1=1e-2, l2=0, random_state=0).fit(X, Y)
    assert 0 <= model.objective_ - model.dual_objective_ <= model.duality_gap_
    assert model.duality_gap_ <= 1e-4 * np.log(2)
    assert [epoch["epoch"] for epoch in model.history_] == list(range(model.n_iter_ + 1))
    assert model.history_[-1]["nonzeros"] == np.count_nonzero(model.coef_) < 60
    assert model.history_[0]["gap"] > model.history_[-1]["gap"]
    several = DualNetClassifier(l1=5e-3, random_state=0).fit(X, CLASSES)
    assert several.duality_gap_.shape == several.objective_.shape == (4,)
    assert {epoch["output"] for epoch in several.history_} == {0, 1, 2, 3}
    assert several.n_iter_ == max(epoch["epoch"] for epoch in several.history_)


def test_the_default_penalty_follows_the_length_of_the_rows():
    """0.05 |x|^2 / n of the rows that are minimised over, and at most 1e-4."""
    short, weights = sparse.vstack([X] * 20, format="csr") / 50, np.tile([1e-3, 1e3], 3000)
    norm = (short.data**2).sum() / 6000
    y = np.tile(SCORES, 20)
    for options in ({}, dict(sample_weight=weights)):
        model = DualNetRegressor().fit(short, y, **options)
        assert model.l1_ == model.l2_ == pytest.approx(0.05 * norm / 6000)
    assert model.l1_ < 1e-4
    half = DualNetRegressor(l1=0.25).fit(short, y)
    assert (half.l1_, half.l2_) == (0.25, model.l2_)
    assert repr(half.auto_) == f"l2  {model.l2_:.4g}  0.05 |x|^2 / n, at most 0.0001"
    for rows in (X, sparse.csr_matrix((300, 2))):
        found = DualNetClassifier().fit(rows, Y)
        assert (found.l1_, found.l2_) == (1e-4, 1e-4)
    in_units = DualNetRegressor(standardize=True).fit(short, y)
    norm = (in_units.units_.rows(short).data ** 2).sum() / 6000
    assert in_units.l1_ == pytest.approx(min(1e-4, 0.05 * norm / 6000))


def test_too_few_epochs_are_told_with_the_gap():
    with pytest.warns(
        ConvergenceWarning, match=r"duality gap .*after max_iter=1 epochs: raise max"
    ):
        model = DualNetClassifier(l1=1e-3, max_iter=1).fit(X, Y)
    # One epoch is a step, not a look at the start.
    assert model.n_iter_ == 1
    assert model.coef_.any()


def test_a_search_that_gives_up_says_so():
    """Rounding lets no search come within such a gap, and no number of epochs helps."""
    with pytest.warns(ConvergenceWarning) as caught:
        model = DualNetClassifier(l1=1e-2, l2=0, tol=1e-18, random_state=0).fit(X, Y)
    (message,) = (str(warning.message) for warning in caught)
    assert message.endswith("The search ended where the gap falls no more: raise tol")
    assert model.n_iter_ < 1000


def test_targets_far_from_zero_are_told():
    """Where the digits of y are lost to its distance from 0, and only there."""
    fit = DualNetRegressor("huber", l1=1e-2, l2=0, tol=1e-9, random_state=0).fit
    with pytest.warns(ConvergenceWarning, match="raise tol, or subtract the mean from y"):
        fit(X, SCORES + 1e8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(X, SCORES + 1e8 - np.mean(SCORES + 1e8))
        DualNetRegressor().fit(X, SCORES + 1e5)


@pytest.mark.parametrize("loss", MINIMISED)
@pytest.mark.parametrize(("l1", "l2"), [(1e-2, 0), (2e-3, 1e-3), (0, 1e-2)])
def test_a_loop_of_warm_starts_arrives(loss, l1, l2):
    """An epoch at a time, for problems on which dual ascent begins too."""
    rng = np.random.default_rng(0)
    rows = sparse.random(500, 60, density=0.4, format="csr", random_state=0)
    scores = np.asarray(rows[:, :5].sum(axis=1)).ravel() + 0.3 * rng.standard_normal(500)
    kind, y = DualNetRegressor, scores
    if LOSSES[loss].margin:
        kind, y = DualNetClassifier, scores > 1.0
    options = dict(l1=l1, l2=l2, warm_start=True, random_state=0)
    one = kind(loss, max_iter=1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(80):
            one.fit(rows, y)
            if one.n_iter_ == 0:
                break
    assert one.n_iter_ == 0
    whole = kind(loss, **options).fit(rows, y)
    gaps = one.duality_gap_ + whole.duality_gap_
    assert abs(one.objective_ - whole.objective_) <= gaps <= 2e-4 * whole.history_[0]["objective"]
    # The duals are kept: a fit after the last one finds nothing left to do at its first look.
    for model in (whole, kind(loss, standardize=True, **options).fit(rows, y)):
        gap = model.duality_gap_
        assert model.fit(rows, y).n_iter_ == 0
        assert model.history_[0]["gap"] <= gap + 1e-12


def test_a_class_without_weight_is_refused():
    weights = (Y == "yes") * 1.0
    for fit in (DualNetClassifier().fit, net_path):
        with pytest.raises(ValueError, match=r"above 0 for a row of every class.* rows of no"):
            fit(X, Y, sample_weight=weights)
    with pytest.raises(ValueError, match="is 0 for all rows of 2"):
        DualNetClassifier(class_weight={2: 0.0}).fit(X, CLASSES)


@pytest.mark.parametrize(("y", "least"), [(Y, 200), (CLASSES, 800)])
def test_at_most_twenty_lines_of_any_number_of_epochs(y, least, capsys):
    """Lines of epochs at growing intervals, the first and the last ones among them."""
    with pytest.warns(ConvergenceWarning, match="raise tol"):
        model = DualNetClassifier(l1=1e-2, l2=0, tol=1e-18, verbose=1).fit(X, y)
    lines, history = capsys.readouterr().out.splitlines(), model.history_
    assert len(history) > least
    assert 10 < len(lines) <= 20
    wanted = [
        ("output {output}  " if "output" in epoch else "").format(**epoch)
        + f"epoch {epoch['epoch']:4d}  objective {epoch['objective']:.6g}  "
        f"gap {epoch['gap']:.3g}  nonzeros {epoch['nonzeros']}  {epoch['seconds']:.3f} s"
        for epoch in history
    ]
    places = [wanted.index(line) for line in lines]
    assert places == sorted(places)
    assert (places[:3], places[-1]) == ([0, 1, 2], len(history) - 1)
    intervals = np.diff(places[:-1])
    assert (intervals[:-1] <= intervals[1:]).all()


def test_a_short_search_prints_all_epochs(capsys):
    """Where no more than twenty epochs are allowed, each has its line."""
    model = DualNetRegressor(Huber(0.3), l1=1e-2, max_iter=9, verbose=1).fit(X, SCORES)
    assert len(capsys.readouterr().out.splitlines()) == len(model.history_) > 2


# --- standardised features ------------------------------------------------------------------

# Sparse columns, one column in large units about 5, and one in small units.
TABLE = sparse.hstack(
    [X, 1e3 * (5.0 + RNG.standard_normal((300, 1))), 1e-2 * RNG.standard_normal((300, 1))],
    format="csr",
)
LINEAR = SCORES + TABLE[:, 60:].toarray() @ [1e-3, 60.0]
LABELS = np.where(LINEAR + RNG.standard_normal(300) > 5, "yes", "no")
PENALTY = dict(l1=3e-3, l2=1e-3)
GRID = dict(l1s=6, l2s=[0.0, 1e-3], cv=3)
STANDARDISED = [
    (DualNetClassifier, PENALTY, LABELS),
    (DualNetClassifier, PENALTY, CLASSES),
    (DualNetRegressor, PENALTY, LINEAR),
    (DualNetRegressor, dict(loss="absolute_error", **PENALTY), LINEAR),
    (DualNetClassifierCV, dict(scoring="roc_auc", **GRID), LABELS),
    (DualNetRegressorCV, GRID, LINEAR),
]


def standardised(standardize, centred):
    """The table as a dense array, standardised by hand, and the sizes of its columns."""
    dense = TABLE.toarray()
    scaler = StandardScaler(with_mean=centred).fit(dense)
    sizes = scaler.scale_ if centred else np.sqrt(np.mean(dense**2, axis=0))
    if standardize == "auto":
        squares = (dense[:, :60] ** 2).sum(axis=0) / np.count_nonzero(dense[:, :60], axis=0)
        sizes[:60] = np.median(np.sqrt(squares))
    return (dense - (scaler.mean_ if centred else 0.0)) / sizes, sizes


def decisions(model, rows):
    """A row of predictions for every output."""
    predict = getattr(model, "decision_function", model.predict)
    return predict(rows).reshape(len(Y), -1).T


def objectives(model, sizes, y):
    """Mean loss and penalty on standardised weights, computed anew, for every output."""
    found = []
    weights = np.atleast_2d(model.coef_) * sizes
    for k, (w, p) in enumerate(zip(weights, decisions(model, TABLE), strict=True)):
        if model.loss == "log_loss":
            positive = model.classes_[1 if len(model.coef_) == 1 else k]
            loss = np.logaddexp(0.0, np.where(y == positive, -p, p))
        else:
            loss = abs(p - y) if model.loss == "absolute_error" else (p - y) ** 2 / 2
        found.append(loss.mean() + model.l1 * np.abs(w).sum() + model.l2 / 2 * (w @ w))
    return np.array(found)


@pytest.mark.parametrize(("kind", "options", "y"), STANDARDISED)
@pytest.mark.parametrize("standardize", ["auto", True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_standardize_is_a_fit_of_standardised_rows(kind, options, y, standardize, fit_intercept):
    """To the certified accuracy; the certificate is that of the standardised objective."""
    options = dict(options, tol=1e-9, fit_intercept=fit_intercept, random_state=0)
    rows, sizes = standardised(standardize, fit_intercept)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the best l")
        model = kind(standardize=standardize, **options).fit(TABLE, y)
        explicit = kind(**options).fit(rows, y)
    np.testing.assert_allclose(model.units_.sizes, sizes, rtol=1e-9)
    assert explicit.units_ is None
    found, other = np.ravel(model.objective_), np.ravel(explicit.objective_)
    slack = 1e-12 * other
    assert (found - other <= model.duality_gap_ + slack).all()
    assert (other - found <= explicit.duality_gap_ + slack).all()
    if "l1" in options:
        own = objectives(model, sizes, y)
        np.testing.assert_allclose(found, own, rtol=1e-9)
        assert (own - other <= model.duality_gap_ + 1e-9 * other).all()
        return
    assert model.best_index_ == explicit.best_index_
    name = "mean_score" if "scoring" in options else "mean_loss"
    results, wanted = model.cv_results_, explicit.cv_results_
    np.testing.assert_allclose(results["l1"], wanted["l1"], rtol=1e-9)
    np.testing.assert_allclose(results[name], wanted[name], rtol=1e-4)
    # Two minima with gaps of 1e-9 lie about the root of 1e-9 apart.
    decided = decisions(explicit, rows)
    np.testing.assert_allclose(
        decisions(model, TABLE), decided, atol=3e-5 * np.std(decided), rtol=1e-3
    )


def test_a_path_of_standardised_features():
    """The points of standardised rows, as weights of the features as passed."""
    rows, _ = standardised(True, True)
    path, explicit = (
        net_path(part, LABELS, l1s=5, tol=1e-9, **options)
        for part, options in ((TABLE, dict(standardize=True)), (rows, {}))
    )
    np.testing.assert_allclose(path.l1s, explicit.l1s, rtol=1e-9)
    assert (np.abs(path.objectives - explicit.objectives) <= path.gaps + explicit.gaps).all()
    decided = explicit.decision_function(rows)
    np.testing.assert_allclose(path.decision_function(TABLE), decided, atol=1e-3)
    np.testing.assert_array_equal(path.units.sizes, DualNetClassifier(standardize=True).fit(
        TABLE, LABELS).units_.sizes)  # fmt: skip


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_features_far_from_zero_are_centred(offset):
    """A search among features whose means are a million times their deviations arrives."""
    rows = RNG.standard_normal((300, 5))
    far = DualNetRegressor(l1=1e-2, l2=0, tol=1e-6, standardize=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far.fit(rows + offset, rows[:, 0])
    assert np.flatnonzero(far.coef_).tolist() == [0]


SIZES = [
    (TABLE, True),  # one column in large units
    (sparse.hstack([X, np.full((300, 1), 2e3)]), True),
    (sparse.hstack([X, np.full((300, 1), 1e-4)]), True),
    (1e5 * X, False),
    (sparse.hstack([X, np.eye(300, 3) * [1.0, 1.0, 5e3]]), False),  # a rare column
    (sparse.random(300, 40, 0.3, random_state=0, data_rvs=lambda n: np.ones(n)), False),
    (sparse.csr_matrix((300, 2)), False),
]


@pytest.mark.parametrize(("rows", "warns"), SIZES)
@pytest.mark.parametrize("fit", [
    DualNetClassifier(l1=0.1).fit, DualNetClassifierCV(l1s=[0.1]).fit,
    lambda rows, y: net_path(rows, y, l1s=[0.1]),
])  # fmt: skip
def test_sizes_that_differ_by_a_hundred_times_warn_once(fit, rows, warns):
    """And the warning names the remedy, which gives no warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(rows, Y)
    messages = [str(warning.message) for warning in caught]
    assert [m for m in messages if "the sizes of features go from" in m] == messages
    assert len(messages) == warns
    assert all("write standardize=True" in message for message in messages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DualNetClassifier(l1=0.1, standardize=True).fit(rows, Y)


@pytest.mark.parametrize("kind", [DualNetClassifier, DualNetClassifierCV])
def test_what_cannot_be_minimised_is_refused_by_name(kind):
    """A standardisation or a loss that there is not, no penalty, squares that are not finite."""
    for options, rows, message in (
        (dict(standardize="yes"), X, "standardize must be 'auto', True or False, got 'yes'"),
        (dict(standardize=True), X * 1e200, "squares are not finite numbers, and cannot be"),
        (dict(l1=0.1), X * 1e200, "X has rows whose squared norm is not a finite number"),
        (dict(l1=None, l2=None, fit_intercept=False), X * 1e200, "X has rows whose squared norm"),
        (dict(l1=0, l2=0, l1s=0.0, l2s=0.0), X, r"\bl1s? and l2s? must not both be 0"),
        (dict(tol=0), X, r"\btol\b"),
        (dict(loss="perceptron"), X, r"\bloss\b"),
    ):
        model = made(kind, **options)
        with pytest.raises(ValueError, match=message):
            model.fit(sparse.csr_matrix(rows), Y)
        assert not model.__sklearn_is_fitted__()
