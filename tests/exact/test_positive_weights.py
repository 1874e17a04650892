"""Weights that stay at 0 or above: the clock equals the dense reference after every step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import ElasticNet
from support.algorithms import BOTH_ORDERS
from support.caught import caught
from support.matrices import make_data
from support.parameters import in_rule, rule_with
from support.wears import wears

from lazynet import FoBoS, LazyNetClassifier, LazyNetRegressor, Stepper
from lazynet.verify.strategies import assert_matches_twin, problems
from lazynet.verify.twin import BoundedTwin

BOTH = (False, True)


def twin_of(problem, wear, positive=True):
    """The dense twin of the problem."""
    return BoundedTwin(
        problem.n_features, schedule=problem.rate, largest_cushion=wear.largest_cushion,
        positive=positive, **problem.options,
    )  # fmt: skip


def nonnegative(stepper):
    """The weights, none of which may be negative."""
    weights = stepper.weights
    assert weights.min() >= 0.0
    return weights


@pytest.mark.parametrize("rule", ["fobos", "sgd"])
@pytest.mark.parametrize("step_order", BOTH_ORDERS)
@given(data=st.data())
def test_every_step_equals_the_dense_twin(rule, step_order, data):
    """With any loss, any penalty, any rebases, with and without an intercept."""
    problem = data.draw(problems(rules=[rule], step_orders=[step_order], intercepts=BOTH))
    wear = data.draw(wears())
    stepper = problem.stepper(wear=wear, rule=rule_with(problem.rule, positive=True))
    assert_matches_twin(stepper, problem, read=nonnegative, twin=twin_of(problem, wear))


def test_a_twin_whose_weights_may_be_negative_is_told_apart():
    """The property fails for some problem where the twin does not clip."""

    @caught(500)
    @given(data=st.data())
    def holds(data):
        problem = data.draw(problems(intercepts=BOTH))
        wear = data.draw(wears())
        stepper = problem.stepper(wear=wear, rule=rule_with(problem.rule, positive=True))
        assert_matches_twin(stepper, problem, twin=twin_of(problem, wear, positive=False))


@pytest.mark.parametrize(("l1", "l2"), [(0.01, 0.1), (0.1, 0.05)])
def test_training_goes_to_the_minimum_among_such_weights(l1, l2):
    """Which scikit-learn's coordinate descent finds, of the same objective."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    y = X @ [1.0, -1.0, 2.0, 0.0] + 0.1 * rng.normal(size=50) + 3.0
    other = ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), positive=True, tol=1e-10).fit(X, y)
    ours = LazyNetRegressor(
        l1=l1,
        l2=l2,
        rule=FoBoS(positive=True, schedule=lambda t: 5.0 / (t + 100)),
        max_iter=400,
        tol=None,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=2e-2)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=2e-2)
    assert ours.coef_[1] == 0.0 == other.coef_[1]


@pytest.mark.parametrize("eta0", [None, 0.3])
def test_verify_compares_with_a_twin_that_clips(eta0):
    """The report covers steps that clip, and agrees; also where the rates come from the data."""
    X, y = make_data(n=90, d=40)
    model = LazyNetClassifier(
        rule=FoBoS(positive=True, eta0=eta0), l1=1e-3, l2=1e-3, random_state=0
    )
    assert model.verify(X, y, max_rows=60).agrees
    assert model.fit(X, y).coef_.min() == 0.0 < model.coef_.max()


# --- what does not go together --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(storage="tables"), r"positive=True does not go with storage=Tables\(\)"),
        (dict(storage="dense"), r"positive=True does not go with storage=Dense\(\)"),
        (dict(average=True), "positive=True does not go with average=.*: write average=False"),
        (dict(positive="yes"), "positive of FoBoS must be"),
    ],
)
def test_what_cannot_keep_the_sign_is_refused(options, message):
    """By estimators and the Stepper alike, before anything is trained."""
    X, y = make_data(n=20, d=5)
    options = {"positive": True} | options
    model = LazyNetClassifier(**in_rule(**options))
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises((ValueError, TypeError), match=message):
        Stepper(5, **in_rule(**options))


def test_negative_weights_are_no_start():
    """Given, assigned, or of a model that has learned them."""
    X, y = make_data(n=40, d=10)
    model = LazyNetClassifier(rule=FoBoS(positive=True, eta0=0.1), max_iter=5, tol=None)
    negative = -np.ones((1, 10))
    with pytest.raises(ValueError, match=r"coef_init must not hold a negative weight .* got -1"):
        model.fit(X, y, coef_init=negative)
    model.fit(X, y, coef_init=-negative)
    kept = model.coef_.copy()
    with pytest.raises(ValueError, match="coef_ must not hold a negative weight"):
        model.coef_ = negative
    np.testing.assert_array_equal(model.coef_, kept)
    free = LazyNetClassifier(rule=FoBoS(eta0=0.1), max_iter=5, tol=None).fit(X, y)
    assert free.coef_.min() < 0.0
    for call in ("partial_fit", "fit"):
        free.set_params(rule__positive=True, warm_start=True)
        with pytest.raises(ValueError, match="must not hold a negative weight"):
            getattr(free, call)(X, y)
    free.coef_ = np.abs(free.set_params(rule__positive=False).coef_)
    free.set_params(rule__positive=True).partial_fit(X, y)
    assert free.coef_.min() >= 0.0
