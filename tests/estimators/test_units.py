"""Training standardises features, whatever else is given; the model is that of rows as passed."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support import same_bits
from support.matrices import source_of

from lazynet import SAGA, AdaGrad, FoBoS, LazyNetClassifier, LazyNetRegressor
from lazynet.data.statistics import FeatureMoments
from lazynet.estimators import online_model
from lazynet.reference.learner import RunningUnits

BOTH = pytest.mark.parametrize("Estimator", [LazyNetClassifier, LazyNetRegressor])
#: Products and quotients by sizes and means are rounded, and every step goes on with the rounding.
CLOSE = dict(rtol=1e-6, atol=1e-8)
#: Parameters that have no influence on the units.
OTHERS = [
    {}, dict(l1=0.0), dict(l1=1e-3), dict(l2=1e-3), dict(rule=FoBoS(eta0=0.01)),
    dict(rule=FoBoS(storage="dense")), dict(rule=FoBoS(storage="tables", eta0=0.01)),
    dict(rule=AdaGrad(alpha=0.1)), dict(rule="rda"), dict(rule="ftrl", l1=0.01),
    dict(rule=FoBoS(average=True)), dict(max_iter=1, tol=None), dict(shuffle=False),
]  # fmt: skip


def rows_of(seed=0, n=120, d=6):
    """Rows with sparse, often nonzero and full features, far from 0 or not; classes; numbers."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, d)) + np.linspace(-3, 3, d)
    X[:, ::3] *= generator.random((n, len(range(0, d, 3)))) < 0.2
    X[:, 1::3] *= generator.random((n, len(range(1, d, 3)))) < 0.7
    score = (X - X.mean(axis=0)) @ generator.standard_normal(d) + generator.standard_normal(n)
    return X, np.where(score > 0, "yes", "no"), 5.0 + score


def rows_and_targets(Estimator, **options):
    X, labels, numbers = rows_of(**options)
    return X, labels if Estimator is LazyNetClassifier else numbers


def classes_of(Estimator, y):
    """The further argument of a first call of ``partial_fit``."""
    return {"classes": np.unique(y)} if Estimator is LazyNetClassifier else {}


def decisions(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


def same_units(left, right):
    return same_bits(left.sizes, right.sizes) and same_bits(left.means, right.means)


def moments_of(X, own=False, centred=True):
    """The moments of all rows."""
    moments = FeatureMoments.of(X.shape[1], own, centred)
    moments.count(sparse.csr_matrix(X))
    moments.settle()
    return moments


# --- sizes and means ----------------------------------------------------------------------------


def assert_units(units, sizes, means):
    np.testing.assert_allclose(units.sizes, sizes, rtol=1e-9)
    np.testing.assert_allclose(units.means, means, rtol=1e-12, atol=1e-12 * np.abs(means).max())
    np.testing.assert_array_equal(units.moved, np.flatnonzero(units.means))


def sizes_and_means(rows, own=False, centred=True):
    """Those of the reference."""
    units = RunningUnits(own=own, centred=centred)
    units.count(rows.tolist())
    return units.sizes, units.means


def test_a_sparse_feature_has_its_own_size_beyond_twice():
    """Up to exactly twice it has the shared one, also if it occurs in no row."""
    X = np.zeros((8, 8))
    roots = [1.0, 1.0, 1.0, 2.0, 0.5, 2.1, 0.49, 0.0]
    for column, root in enumerate(roots):
        X[column % 3, column] = root
    assert moments_of(X).units.sizes.tolist() == pytest.approx([1, 1, 1, 1, 1, 2.1, 0.49, 1])
    assert moments_of(2.0 * X).units.sizes[:5].tolist() == [2.0] * 5


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1.0, 1e150])
def test_sizes_of_numbers_of_any_size_are_finite(factor):
    X, _, _ = rows_of()
    units = moments_of(X * factor).units
    assert np.isfinite(units.sizes).all()
    assert (units.sizes > 0).all()
    assert np.isfinite(units.rows(sparse.csr_matrix(X * factor)).data).all()


def test_units_show_the_names_of_the_features():
    pandas = pytest.importorskip("pandas")
    X, y = rows_and_targets(LazyNetClassifier, d=12)
    names = [f"gene {j}" for j in range(12)]
    model = LazyNetClassifier().fit(pandas.DataFrame(X, columns=names), y)
    lines = str(model.units_).splitlines()
    assert lines[0] == "Units of 12 features; 8 are centred"
    assert lines[1].split() == ["feature", "size", "mean"]
    assert [line.split()[:2] for line in lines[2:-1]] == [["gene", str(j)] for j in range(8)]
    assert float(lines[4].split()[2]) == pytest.approx(X[:, 2].std(), rel=1e-3)
    assert float(lines[4].split()[3]) == pytest.approx(X[:, 2].mean(), rel=1e-3)
    assert lines[-1].split() == ["...", "and", "4", "more"]
    assert str(model.fit(X, y).units_).splitlines()[2].split()[0] == "0"


# --- fit ----------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("options", [*OTHERS, dict(rule=SAGA(), l2=1e-3)], ids=str)
@pytest.mark.parametrize("standardize", ["auto", True])
def test_the_model_is_that_of_standardised_rows(Estimator, options, standardize):
    """The penalties, rates and losses are those of a fit to the rows in these units."""
    X, y = rows_and_targets(Estimator)
    model = Estimator(random_state=0, standardize=standardize, **options).fit(X, y)
    units, inner = model.units_, model.units_.rows(sparse.csr_matrix(X))
    assert_units(units, *sizes_and_means(X, own=standardize is True))
    twin = Estimator(random_state=0, standardize=False, **options).fit(inner, y)
    np.testing.assert_array_equal(np.ravel(twin.coef_) / units.sizes, np.ravel(model.coef_))
    np.testing.assert_allclose(decisions(twin, inner), decisions(model, X), rtol=1e-9, atol=1e-9)
    assert (twin.l1_, twin.eta0_, twin.t_) == (model.l1_, model.eta0_, model.t_)
    assert [line["progressive_loss"] for line in twin.history_] == [
        line["progressive_loss"] for line in model.history_
    ]


@BOTH
def test_the_penalty_of_the_objective_acts_on_the_standardised_weights(Estimator):
    """And a callback gets the intercept of features as passed."""
    X, y = rows_and_targets(Estimator)
    seen = []
    model = Estimator(l1=0.02, l2=0.1, random_state=0)
    model.fit(
        X, y, callback=lambda e: seen.append((e.objective - e.mean_loss, e.intercept.tolist()))
    )
    weights, _ = model.units_.within(np.ravel(model.coef_), model.intercept_)
    penalty = 0.02 * np.abs(weights).sum() + 0.05 * (weights**2).sum()
    assert seen[-1] == (pytest.approx(penalty), model.intercept_.tolist())


# --- partial_fit --------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("standardize", ["auto", True, False])
def test_a_default_rate_from_one_row_suits_the_rows_after_it(Estimator, standardize):
    """The first row is its own mean, and nothing is left of it; later rows have deviations of 1."""
    X, y = rows_and_targets(Estimator, d=40, n=300)
    model = Estimator(rule=FoBoS("power"), l1=0.0, standardize=standardize, shuffle=False)
    for row in range(300):
        model.partial_fit(X[[row]], y[[row]], **classes_of(Estimator, y))
        if row == 0:
            norm = X[0] @ X[0] if standardize is False else np.count_nonzero(X[0])
            curvature = 0.25 if Estimator is LazyNetClassifier else 1.0
            assert model.eta0_ == pytest.approx(1.0 / (curvature * (norm + 1.0)))
    assert model.score(X, y) > 0.8


@BOTH
def test_partial_fit_from_a_source_is_that_of_its_chunks(Estimator, monkeypatch):
    monkeypatch.setattr(online_model, "ROWS", 16)
    X, y = rows_and_targets(Estimator)
    y = (y == "yes").astype(float) if Estimator is LazyNetClassifier else y
    model, other = Estimator(shuffle=False), Estimator(shuffle=False)
    for start in range(0, 120, 16):
        rows = slice(start, start + 16)
        model.partial_fit(X[rows], y[rows], **classes_of(Estimator, y))
    other.partial_fit(source_of(sparse.csr_matrix(X), y, rows=7), **classes_of(Estimator, y))
    assert same_bits(model.coef_, other.coef_)
    assert same_units(model.units_, other.units_)


@BOTH
@pytest.mark.parametrize("standardize", ["auto", True])
@pytest.mark.every_case
def test_values_whose_squares_overflow_are_refused(Estimator, standardize):
    """By name, by all calls; ``partial_fit`` leaves the model with its units."""
    X, y = rows_and_targets(Estimator)
    y = (y == "yes").astype(float) if Estimator is LazyNetClassifier else y
    large = X.copy()
    large[70, 2] = 1e200
    model = Estimator(standardize=standardize, shuffle=False)
    sound = clone(model).fit(X, y)
    message = "X has values whose squares are not finite .* or write standardize=False"
    for rows in ((large, y), (source_of(sparse.csr_matrix(large), y),)):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(*rows)
        changed = copy.deepcopy(sound)
        with pytest.raises(ValueError, match=message):
            changed.partial_fit(*rows)
        assert same_units(changed.units_, sound.units_)
        expected = copy.deepcopy(sound).partial_fit(X, y)
        assert same_bits(changed.partial_fit(X, y).coef_, expected.coef_)


# --- calls after others -------------------------------------------------------------------------


@BOTH
def test_a_warm_start_keeps_the_units(Estimator):
    """Also where the rows are others; so it is a warm start on rows in these units.

    Units that were read do not change.
    """
    X, y = rows_and_targets(Estimator)
    other = 3.0 * X[::-1] + 1.0
    model = Estimator(random_state=0, warm_start=True, l1=1e-3).fit(X, y)
    units = model.units_
    twin = clone(model).set_params(standardize=False)
    twin.fit(units.rows(sparse.csr_matrix(X)), y)
    inner = units.rows(sparse.csr_matrix(other))
    model.fit(other, y)
    twin.fit(inner, y)
    assert same_units(model.units_, units)
    np.testing.assert_array_equal(np.ravel(twin.coef_) / units.sizes, np.ravel(model.coef_))
    np.testing.assert_allclose(decisions(twin, inner), decisions(model, other), **CLOSE)
    # What partial_fit has counted since counts.
    model.partial_fit(other, y)
    counted = model.units_
    assert not same_units(counted, units)
    assert same_units(model.fit(X, y).units_, counted)


SWITCHES = [
    (before, after)
    for before in (("auto", True), (True, True), (False, True), ("auto", False))
    for after in (("auto", True), (True, True), (False, True), (True, False))
    if before != after
]


@BOTH
@pytest.mark.parametrize("rule", [FoBoS(eta0=0.02), "rda"], ids=str)
@pytest.mark.parametrize(("before", "after"), SWITCHES)
def test_a_switch_of_the_units_keeps_the_model(Estimator, before, after, rule):
    """``standardize`` and ``fit_intercept`` change what the units are, and no prediction."""
    X, y = rows_and_targets(Estimator)
    model = Estimator(rule=rule, random_state=0, l1=1e-3)
    model.set_params(standardize=before[0], fit_intercept=before[1]).fit(X, y)
    if not after[1]:
        model.intercept_ = np.zeros(1)
    expected = decisions(model, X)
    # Steps that move no weight, but begin in the other units.
    model.set_params(standardize=after[0], fit_intercept=after[1], l1=0.0, l2=0.0)
    model.set_params(rule=FoBoS(eta0=1e-300), max_iter=1, tol=None)
    streamed = copy.deepcopy(model).partial_fit(X[:50], y[:50])
    warm = copy.deepcopy(model).set_params(warm_start=True).fit(X[:50], y[:50])
    for other, counted in ((streamed, np.vstack([X, X[:50]])), (warm, X)):
        np.testing.assert_allclose(decisions(other, X), expected, **CLOSE)
        rows = X[:50] if before[0] is False else counted
        assert (other.units_ is None) == (after[0] is False)
        if after[0]:
            own, centred = after[0] is True, after[1]
            sizes, _ = sizes_and_means(rows, own=own, centred=centred)
            full = [1, 2, 4, 5]
            columns = full if after[0] == "auto" else slice(None)
            np.testing.assert_allclose(other.units_.sizes[columns], np.array(sizes)[columns])


def test_sparse_weights_of_several_targets_are_the_dense_ones():
    """The weights leave the units of features and of targets in both forms."""
    X = np.random.default_rng(0).standard_normal((200, 4)) * [1.0, 2.0, 3.0, 4.0]
    Y = X @ [[1.0, 50.0], [2.0, 0.0], [0.0, -70.0], [1.0, 9.0]]
    model = LazyNetRegressor(random_state=0).fit(X, Y).partial_fit(X[:9], Y[:9])
    assert model.units_.targets is not None
    fresh = copy.deepcopy(model)
    np.testing.assert_array_equal(fresh.sparsify().coef_.toarray(), model.coef_)
    np.testing.assert_allclose(fresh.predict(X), model.predict(X), rtol=1e-12)
