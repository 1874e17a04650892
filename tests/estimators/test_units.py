"""A fit that chooses its rates and its penalty learns from features in units of their own."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from lazynet import AdaGrad, FoBoS, LazyNetClassifier, LazyNetRegressor
from lazynet.data.arrays import checked_csr
from lazynet.data.statistics import Units
from lazynet.reference import learner as reference

BOTH = [LazyNetClassifier, LazyNetRegressor]
#: Products and quotients by sizes and means are rounded, and every step goes on with the rounding.
CLOSE = dict(rtol=1e-6, atol=1e-8)


def rows_of(seed=0, n=120, d=6):
    """Rows with full, half full and sparse features, far from 0 or not; classes; numbers."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, d)) + np.linspace(-3, 3, d)
    X[:, ::3] *= generator.random((n, len(range(0, d, 3)))) < 0.2
    X[:, 1::3] *= generator.random((n, len(range(1, d, 3)))) < 0.7
    score = (X - X.mean(axis=0)) @ generator.standard_normal(d) + generator.standard_normal(n)
    return X, np.where(score > 0, "yes", "no"), 5.0 + score


def targets(Estimator, labels, numbers):
    return labels if Estimator is LazyNetClassifier else numbers


def decisions(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


@st.composite
def matrices(draw):
    """Dense rows of which some entries are 0, some features 0 or constant."""
    n, d = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    value = st.sampled_from([0.0, 0.0, 1.0, -2.5, 1e-3, 7e4, 0.1])
    return np.array(draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=n, max_size=n)))


@given(matrices(), st.booleans())
def test_units_equal_the_reference(X, centred):
    units = Units.of(sparse.csr_matrix(X), centred=centred)
    sizes, means = reference.sizes_and_means(X.tolist(), centred=centred)
    np.testing.assert_allclose(units.sizes, sizes, rtol=1e-9)
    np.testing.assert_allclose(units.means, means, rtol=1e-12, atol=1e-12 * np.abs(X).max())


@given(matrices(), st.sampled_from([np.int32, np.int64]), st.sampled_from([np.float32, float]))
def test_rows_in_units_equal_the_reference(X, index, real):
    """Also where a matrix has spare room, explicit zeros and columns in any order."""
    given_rows = sparse.csr_matrix(X.astype(real))
    given_rows.indices = given_rows.indices.astype(index)
    given_rows.indptr = given_rows.indptr.astype(index)
    given_rows.data = np.append(given_rows.data, [9.0]).astype(real)
    given_rows.indices = np.append(given_rows.indices, [0]).astype(index)
    rows = checked_csr(given_rows)
    units = Units.of(rows)
    changed = units.rows(rows)
    wanted = reference.standardized(
        X.astype(real).astype(float).tolist(), units.sizes.tolist(), units.means.tolist()
    )
    np.testing.assert_allclose(changed.toarray(), wanted, rtol=1e-9, atol=1e-12)
    assert changed.nnz <= given_rows.indptr[-1] + len(units.moved) * X.shape[0]


@pytest.mark.parametrize("Estimator", BOTH)
@given(seed=st.integers(0, 1000))
def test_units_and_origins_of_features_change_no_prediction(Estimator, seed):
    """To multiply a feature by a number divides its weight by it; a full feature may be moved."""
    X, labels, numbers = rows_of()
    y = targets(Estimator, labels, numbers)
    factors = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, X.shape[1])
    changed = X.copy()
    changed[:, 2] += 1000.0
    changed *= factors
    model, other = (
        Estimator(random_state=0, max_iter=3, tol=None).fit(rows, y) for rows in (X, changed)
    )
    np.testing.assert_allclose(decisions(other, changed), decisions(model, X), **CLOSE)
    np.testing.assert_allclose(np.ravel(other.coef_) * factors, np.ravel(model.coef_), **CLOSE)


@pytest.mark.parametrize("Estimator", BOTH)
def test_the_model_is_that_of_rows_in_their_units(Estimator):
    """The same steps are taken by a model that is given the rows in units, and the l1 found."""
    X, labels, numbers = rows_of()
    y = targets(Estimator, labels, numbers)
    model = Estimator(random_state=0).fit(X, y)
    units = model.units_
    assert len(units.moved)
    assert (units.means == 0).any()
    inner = units.rows(sparse.csr_matrix(X))
    rule = AdaGrad() if Estimator is LazyNetClassifier else "fobos"
    twin = Estimator(l1=model.l1_, rule=rule, random_state=0).fit(inner, y)
    assert twin.units_ is None
    np.testing.assert_array_equal(np.ravel(twin.coef_) / units.sizes, np.ravel(model.coef_))
    np.testing.assert_allclose(decisions(twin, inner), decisions(model, X), rtol=1e-9, atol=1e-9)
    assert [line["progressive_loss"] for line in twin.history_] == [
        line["progressive_loss"] for line in model.history_
    ]


@pytest.mark.parametrize(
    "options",
    [
        dict(l1=0.0),
        dict(l1=1e-3),
        dict(l2=1e-3),
        dict(rule=FoBoS(eta0=0.1)),
        dict(rule=FoBoS(storage="dense")),
    ],
    ids=str,
)
@pytest.mark.parametrize("Estimator", BOTH)
def test_what_is_given_belongs_to_the_rows_as_they_are(Estimator, options):
    X, labels, numbers = rows_of()
    model = Estimator(**options, max_iter=1, tol=None)
    assert model.fit(X, targets(Estimator, labels, numbers)).units_ is None


@pytest.mark.parametrize(("share", "has_units"), [(0.24, False), (0.26, True)])
def test_few_rows_that_are_mostly_0_give_a_classifier_no_units(share, has_units):
    X, labels, numbers = rows_of(n=59)
    X = np.zeros(X.shape)
    places = np.random.default_rng(0).permutation(X.size)[: round(share * X.size)]
    X.ravel()[places] = 1.0
    assert (LazyNetClassifier().fit(X, labels).units_ is not None) == has_units
    assert LazyNetRegressor().fit(X, numbers).units_ is not None


@pytest.mark.parametrize("Estimator", BOTH)
def test_without_an_intercept_features_are_measured_from_0(Estimator):
    X, labels, numbers = rows_of()
    model = Estimator(fit_intercept=False, max_iter=2, tol=None)
    model.fit(X, targets(Estimator, labels, numbers))
    assert not model.units_.means.any()
    assert not model.intercept_.any()


@pytest.mark.parametrize("Estimator", BOTH)
def test_a_model_goes_on_in_its_units(Estimator):
    """partial_fit and warm_start keep the units; a penalty that is given ends them."""
    X, labels, numbers = rows_of()
    y = targets(Estimator, labels, numbers)
    model = Estimator(random_state=0, shuffle=False).fit(X, y)
    units, before = model.units_, decisions(model, X)
    twin = pickle.loads(pickle.dumps(model))
    inner = units.rows(sparse.csr_matrix(X))
    twin_within = Estimator(random_state=0, shuffle=False, l1=model.l1_).fit(inner, y)
    model.partial_fit(X[:5], y[:5])
    twin_within.partial_fit(inner[:5], y[:5])
    assert model.units_ is units
    np.testing.assert_allclose(decisions(twin_within, inner), decisions(model, X), **CLOSE)
    np.testing.assert_allclose(
        np.ravel(model.coef_), np.ravel(twin_within.coef_) / units.sizes, rtol=1e-12
    )
    assert np.array_equal(model.last_coef_, model.coef_)
    np.testing.assert_allclose(model.last_intercept_, model.intercept_)
    twin.set_params(warm_start=True, max_iter=2).fit(X, y)
    assert np.array_equal(twin.units_.sizes, units.sizes)
    twin.set_params(l1=0.0)
    assert np.array_equal(twin.units_.sizes, units.sizes)
    fitted = twin.coef_
    # A row without values moves no weight.
    twin.partial_fit(np.zeros((1, X.shape[1])), y[:1])
    assert twin.units_ is None
    np.testing.assert_allclose(twin.coef_, fitted, **CLOSE)
    assert not np.allclose(decisions(twin, X), before)
    twin.set_params(l1=None, warm_start=True).fit(X, y)
    assert twin.units_ is None
    assert clone(twin).units_ is None


@pytest.mark.parametrize("Estimator", BOTH)
def test_weights_go_in_and_out_in_the_units_of_the_rows(Estimator):
    X, labels, numbers = rows_of()
    y = targets(Estimator, labels, numbers)
    seen = []
    model = Estimator(random_state=0, max_iter=2, tol=None)
    model.fit(X, y, callback=lambda epoch: seen.append((epoch.coef, epoch.intercept)))
    np.testing.assert_array_equal(seen[-1][0], np.atleast_2d(model.coef_))
    np.testing.assert_allclose(seen[-1][1], model.intercept_)
    before = decisions(model, X)
    model.coef_, model.intercept_ = model.coef_ * 1.0, model.intercept_ * 1.0
    np.testing.assert_allclose(decisions(model, X), before, **CLOSE)
    few = X[:1] * [[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    np.testing.assert_allclose(decisions(model, sparse.csr_matrix(few)), decisions(model, few))
    start = dict(coef_init=model.coef_, intercept_init=model.intercept_)
    options = dict(max_iter=1, tol=None, shuffle=False)
    gone_on = Estimator(**options).fit(X, y, **start)
    units, inner = gone_on.units_, gone_on.units_.rows(sparse.csr_matrix(X))
    weights, intercept = units.within(np.ravel(model.coef_), float(model.intercept_[0]))
    twin = Estimator(**options, l1=gone_on.l1_)
    twin.fit(inner, y, coef_init=weights.reshape(model.coef_.shape), intercept_init=[intercept])
    np.testing.assert_allclose(decisions(gone_on, X), decisions(twin, inner), **CLOSE)


@pytest.mark.parametrize("Estimator", BOTH)
def test_verify_compares_in_units(Estimator):
    X, labels, numbers = rows_of()
    assert Estimator().verify(X * 10.0 ** np.arange(6), targets(Estimator, labels, numbers)).agrees


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_sizes_of_numbers_of_any_size_are_finite(factor):
    X, _, _ = rows_of()
    units = Units.of(sparse.csr_matrix(X * factor))
    assert np.isfinite(units.sizes).all()
    assert (units.sizes > 0).all()
    assert np.isfinite(units.rows(sparse.csr_matrix(X * factor)).data).all()


def test_a_constant_feature_is_no_noise():
    """The spread of a constant is rounding, and must not be blown up to the size of a signal."""
    X = sparse.csr_matrix(np.c_[np.full(50, 0.1), np.arange(50.0)])
    units = Units.of(X)
    assert units.sizes[0] == pytest.approx(0.1)
    assert np.abs(units.rows(X).toarray()[:, 0]).max() < 1e-12


def test_sparse_weights_of_several_targets_are_the_dense_ones():
    """The weights leave the units of features and of targets in both forms."""
    X = np.random.default_rng(0).standard_normal((200, 4)) * [1.0, 2.0, 3.0, 4.0]
    Y = X @ [[1.0, 50.0], [2.0, 0.0], [0.0, -70.0], [1.0, 9.0]]
    model = LazyNetRegressor(random_state=0).fit(X, Y).partial_fit(X[:9], Y[:9])
    assert model.units_.targets is not None
    fresh = copy.deepcopy(model)
    np.testing.assert_array_equal(fresh.sparsify().coef_.toarray(), model.coef_)
    np.testing.assert_allclose(fresh.predict(X), model.predict(X), rtol=1e-12)
