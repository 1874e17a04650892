"""Averages over long rows and long runs, and in estimators, equal the plain mean of all iterates.

After every step they are compared in test_lazy_equals_dense.py.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support import Evaluated, apart, plan
from support.algorithms import AFFINE_RULES, BOTH_ORDERS, engine_of
from support.matrices import corpus
from support.models import RawClassifier, RawRegressor
from support.parameters import in_rule

from lazynet import FoBoS, FromArray, FromStep, InverseSqrt, PolynomialDecay
from lazynet.data.arrays import as_examples
from lazynet.engines.clock import AveragedClockEngine
from lazynet.penalties import ElasticNet
from lazynet.training.passes import Learner, run_pass


def averages_of(X, y, order, chosen, steps_per_block=None):
    """The averages that the clock and the dense engine have after the rows in ``order``."""
    found, d = [], X.shape[1]
    lazy = AveragedClockEngine(d)
    if steps_per_block is not None:
        lazy.past = np.zeros((3, steps_per_block + 1))
    for engine in (lazy, engine_of("dense", d, average=True)):
        run_pass([Learner(engine, as_examples(X, y), chosen)], order, 0)
        found.append(np.append(engine.coefficients(), engine.intercepts()))
    return found


@pytest.mark.parametrize("step_order", BOTH_ORDERS)
@pytest.mark.parametrize("rule", AFFINE_RULES)
@pytest.mark.parametrize("l2", [0.0, 1e-3, 3.0])
@pytest.mark.parametrize("l1", [0.0, 1e-5, 1e-3, 1e-1])
def test_thousands_of_steps_on_long_rows(l1, l2, rule, step_order):
    """Blocks of vectors, searches for the dead one by one and many at once, folds: as compiled."""
    X, y = corpus()
    order = np.random.default_rng(1).integers(0, X.shape[0], 4000)
    chosen = plan(
        l1=l1, l2=l2, rule=rule, step_order=step_order, schedule=InverseSqrt(0.2),
        fit_intercept=True, average=FromStep(),
    )  # fmt: skip
    lazy, dense = averages_of(X, y, order, chosen, 1500)
    assert apart(lazy, dense) <= 1e-12
    # To the last bit, where a weight is 0 in every iterate.
    np.testing.assert_array_equal(lazy == 0.0, dense == 0.0)


@pytest.mark.parametrize("step_order", BOTH_ORDERS)
@pytest.mark.parametrize(
    ("rule", "leap"),
    [("sgd", 0.999), ("sgd", 1 - 1e-9), ("fobos", 1e5), ("fobos", 1e10), ("fobos", 1e20)],
)
@pytest.mark.parametrize("l1", [0.0, 0.01, 1.0])
def test_steps_that_wipe_out_nearly_everything(l1, rule, leap, step_order):
    """What was summed beside a scale of 1 must not be subtracted beside one of 1e-20."""
    rates = np.full(400, 0.05)
    rates[50::50] = leap
    X, y = corpus(100, 20)
    chosen = plan(
        l1=l1, l2=1.0, rule=rule, step_order=step_order, schedule=FromArray(rates),
        loss="absolute_error", average=FromStep(),
    )  # fmt: skip
    order = np.random.default_rng(0).integers(0, 100, 400)
    assert apart(*averages_of(X, y, order, chosen)) <= 1e-12


def test_features_that_come_late_and_large():
    """The sums stay right beside a decayed scale, in a block that nonzeros have not paid for."""
    d, n = 20_000, 13_800
    rows = sparse.csr_matrix(
        (
            np.r_[np.ones(n - 10), 100.0 * np.tile((np.arange(5) + 0.3) / 3, 10)],
            np.r_[np.zeros(n - 10, dtype=int), np.tile(np.arange(1, 6), 10)],
            np.r_[np.arange(n - 9), n - 10 + 5 * np.arange(1, 11)],
        ),
        shape=(n, d),
    )
    y = np.r_[np.zeros(n - 10), np.ones(10)]
    chosen = plan(l2=1e-3, eta0=1.0, loss="absolute_error", average=FromStep())
    assert apart(*averages_of(rows, y, None, chosen)) <= 1e-11


def test_sums_are_folded_when_the_block_is_full_and_no_sooner():
    """Memory is bounded, and nothing costs a visit to every weight per step."""
    X, y = corpus()
    engine, folds = AveragedClockEngine(X.shape[1]), []
    engine.before_sweep = lambda: folds.append(1)
    engine.past = np.zeros((3, 101))
    chosen = plan(l1=1e-6, l2=1e-6, average=FromStep())
    run_pass([Learner(engine, as_examples(X, y), chosen)], None, 0)
    assert len(folds) == (X.shape[0] - 1) // 100
    assert AveragedClockEngine(10**6).past.shape == (3, 2**18 + 1)
    assert AveragedClockEngine(10).past.shape == (3, 2**12 + 1)


# --- estimators ---------------------------------------------------------------------------------


def data(n=120, d=40, seed=0):
    generator = np.random.default_rng(seed)
    X = sparse.random(n, d, density=0.2, format="csr", random_state=seed)
    y = X @ generator.standard_normal(d) + 0.2 * generator.standard_normal(n)
    return X, y


def own_iterates(model, X, y, epochs, **options):
    """coef_ and intercept_ of the same estimator without averaging after every single step."""
    stepped = clone(model).set_params(rule__average=False)
    weights, intercepts = [], []
    for _ in range(epochs):
        for i in range(X.shape[0]):
            stepped.partial_fit(X[i : i + 1], y[i : i + 1], **options)
            weights.append(stepped.coef_)
            intercepts.append(stepped.intercept_)
    return np.array(weights), np.array(intercepts)


AVERAGES = {
    "all": (True, lambda i, n: np.ones_like(i)),
    "from 50": (50, lambda i, n: i >= 50),
    "suffix": ("suffix", lambda i, n: i > n // 2),
    "polynomial": ("polynomial", lambda i, n: i * (i + 1) * (i + 2)),
    "object": (PolynomialDecay(1), lambda i, n: i),
}


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_coefficients_are_the_mean_of_the_iterates(average, n_classes):
    """What scikit-learn's SGD does not do under an l1 penalty: the mean of its own iterates."""
    X, y = data()
    kind, options = RawRegressor, {}
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        kind, options = RawClassifier, {"classes": np.unique(y)}
    chosen, weighing = AVERAGES[average]
    seen = Evaluated()
    model = kind(
        rule=FoBoS(eta0=0.3, average=chosen), l1=0.02, l2=0.1, max_iter=2, tol=None, shuffle=False
    ).fit(X, y, callback=seen)
    weights, intercepts = own_iterates(model, X, y, 2, **options)
    omega = np.asarray(weighing(np.arange(1.0, len(weights) + 1), len(weights)), dtype=float)
    assert apart(model.coef_, np.average(weights, axis=0, weights=omega)) <= 1e-12
    assert apart(model.intercept_, np.average(intercepts, axis=0, weights=omega)) <= 1e-12
    np.testing.assert_array_equal(model.last_coef_, weights[-1])
    np.testing.assert_array_equal(model.last_intercept_, intercepts[-1])
    np.testing.assert_array_equal(model.support_, weights[-1] != 0)
    if not n_classes:
        loss = np.mean((model.predict(X) - y) ** 2) / 2
        penalty = ElasticNet(0.02, 0.1).value(model.coef_)
        assert seen.lines[-1]["mean_loss"] == pytest.approx(loss, rel=1e-12)
        assert seen.lines[-1]["objective"] == pytest.approx(loss + penalty, rel=1e-12)
    assert seen.lines[-1]["nonzeros"] == np.count_nonzero(weights[-1])
    assert np.count_nonzero(model.coef_) > np.count_nonzero(weights[-1])


def test_a_warm_start_begins_the_average_anew():
    """A warm start goes on from the last weights, not from the average."""
    X, y = data()
    model = RawRegressor(
        rule=FoBoS(average=True, eta0=0.3), warm_start=True, max_iter=1, tol=None, shuffle=False
    ).fit(X, y)  # fmt: skip
    model.fit(X[:1], y[:1])
    assert model._engines[0].counted == 1.0
    assert apart(model.coef_, model.last_coef_) <= 1e-15


def test_another_weighing_begins_another_average():
    """Two weighings in one sum would be the mean of neither; another storage begins anew too."""
    X, y = data()
    model = RawRegressor(rule=FoBoS(average=True, eta0=0.3), shuffle=False).partial_fit(X, y)
    model.set_params(rule__average="polynomial").partial_fit(X, y)
    model.set_params(rule__storage="dense").partial_fit(X, y)
    iterates, _ = own_iterates(model, X, y, 3)
    i = np.arange(241.0, 361.0)
    expected = np.average(iterates[240:], axis=0, weights=i * (i + 1) * (i + 2))
    assert apart(model.coef_, expected) <= 1e-12


def own(numbers):
    """An average of a user."""
    return SimpleNamespace(counts=lambda start, stop: numbers)


REFUSED = [
    (dict(average="Suffix"), "average of FoBoS must be False, True, the step to average from"),
    (dict(average=-1), "average of FoBoS must be at least 0"),
    (dict(average=2.5), "average of FoBoS must be False"),
    (dict(average="suffix"), "set tol=None"),
    (dict(average=True, storage="tables"), "an average excludes storage=Tables"),
    (dict(average=own(np.ones(3)), tol=None), "must give 120 numbers"),
    (dict(average=own(np.full(120, -1.0)), tol=None), "not negative"),
    (dict(average=own(np.full(120, np.inf)), tol=None), "must be finite"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
@pytest.mark.every_case
def test_what_cannot_be_averaged_is_refused(options, message):
    """An average that cannot be kept is refused before anything is trained."""
    X, y = data()
    with pytest.raises((TypeError, ValueError), match=message):
        RawRegressor(**in_rule(**options)).fit(X, y)


@pytest.mark.parametrize(("last", "n_folds"), [(3.5, 0), (3100.0, 1)])
def test_the_past_is_folded_before_a_step_that_shrinks_too_far(last, n_folds):
    """100 steps divide the weights by 31, the last one by 1.035 or by 32: only 32 needs a fold."""
    engine, folds = AveragedClockEngine(1000), []
    engine.before_sweep = lambda: folds.append(1)
    X, y = (
        sparse.csr_matrix((np.ones(101), (np.arange(101), np.arange(101))), (101, 1000)),
        np.ones(101),
    )
    rates = FromArray(np.r_[np.full(100, 3.5), last])
    chosen = plan(l1=0.16, l2=0.01, average=FromStep(), schedule=rates)
    run_pass([Learner(engine, as_examples(X, y), chosen)], None, 0)
    assert len(folds) == n_folds
