"""Truncated gradient without a threshold on every engine, and thresholds that change.

Every step with a threshold is compared in test_rules_with_state.py.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ELASTIC_STORAGES
from support.engines import apart
from support.matrices import make_data
from support.parameters import in_rule, rule_with

from lazynet import LazyNetClassifier, LazyNetRegressor, Stepper, TruncatedGradient
from lazynet.engines.wear import Wear
from lazynet.reference.truncated_gradient import DenseTruncatedGradient
from lazynet.verify.strategies import assert_matches_twin, problems


@pytest.mark.parametrize("engine", ELASTIC_STORAGES)
@given(data=st.data())
def test_without_a_threshold_every_step_equals_the_dense_twin(engine, data):
    """Every engine has the weights of the dense twin, with l2 too, whatever the period."""
    rule = TruncatedGradient(data.draw(st.integers(1, 7)))
    problem = data.draw(problems(rules=[rule], intercepts=(False, True)))
    assert_matches_twin(problem.stepper(rule=rule_with(problem.rule, storage=engine)), problem)


def test_averages_equal_the_plain_mean():
    """Without a threshold the clock averages the iterates, most of which have no pull."""
    X, y = make_data()
    model = LazyNetClassifier(
        rule=TruncatedGradient(5, schedule="constant", eta0=0.3, average=True),
        l1=1e-2,
        l2=0.0,
        max_iter=2,
        tol=None,
        shuffle=False,
    ).fit(X, y)
    dense = DenseTruncatedGradient(
        X.shape[1], l1=1e-2, period=5, schedule=lambda t: 0.3, fit_intercept=True
    )
    sums = np.zeros(X.shape[1])
    for _ in range(2):
        for i in range(X.shape[0]):
            dense.step(X[i].indices.tolist(), X[i].data.tolist(), 1.0 if y[i] else -1.0)
            sums += dense.weights
    assert apart(model.coef_[0], sums / 120) <= 1e-12


def test_gravity_at_every_step_is_the_subgradient_rule():
    """K = 1 and no threshold: rule="sgd", bit for bit, with l2 too."""
    X, y = make_data()
    options = dict(l1=1e-2, l2=1e-2, eta0=0.2, max_iter=3, tol=None, random_state=0)
    here = LazyNetClassifier(**in_rule(rule="truncated_gradient", **options)).fit(X, y)
    there = LazyNetClassifier(**in_rule(rule="sgd", **options)).fit(X, y)
    np.testing.assert_array_equal(here.coef_, there.coef_)


def test_a_pull_beyond_the_range_of_doubles_is_refused():
    """A pull that overflows is refused with a threshold and without one."""
    X, y = make_data()
    for threshold in (math.inf, 1.0):
        model = LazyNetClassifier(
            rule=TruncatedGradient(threshold=threshold, schedule="constant", eta0=1e100),
            l1=1e200,
            l2=0.0,
        )
        with pytest.raises(ValueError, match=r"eta must be less than .* with l1=1e\+200"):
            model.fit(X, y)


def test_the_stepper_hands_its_wear_on():
    """Engines of a state of their own get the wear of the stepper as well."""
    wear = Wear(largest_cushion=0.01)
    stepper = Stepper(2, rule=TruncatedGradient(threshold=1.0), wear=wear)
    assert stepper.engine.wear is wear


def test_a_weight_at_the_threshold_is_pulled():
    """The threshold itself belongs to the small weights: the first step makes w 1, and pulls it."""
    rule = TruncatedGradient(threshold=1.0, schedule="constant", eta0=0.5)
    stepper = Stepper(2, loss="squared_error", l1=0.5, rule=rule)
    dense = DenseTruncatedGradient(
        2, loss="squared_error", l1=0.5, threshold=1.0, schedule=lambda t: 0.5
    )
    for example in (([0], [1.0], 2.0), ([1], [1.0], 0.0), ([1], [1.0], 0.0)):
        stepper.step(*example)
        dense.step(*example)
        assert stepper.weights.tolist() == list(dense.weights)
    assert stepper.weights[0] == 0.25


@pytest.mark.parametrize(("first", "second"), [(0.5, 10.0), (10.0, 0.5)])
def test_another_threshold_concerns_only_the_steps_to_come(first, second):
    """What weights have missed under the first is had under the first; all steps are compared."""
    rows = [([0], [1.0], 4.0), *5 * [([1], [1.0], 0.1)], ([0, 1], [0.5, 2.0], 1.0)]
    model = LazyNetRegressor(
        rule=TruncatedGradient(threshold=first, schedule="constant", eta0=0.5),
        l1=0.1,
        l2=0.0,
        fit_intercept=False,
        shuffle=False,
    )
    dense = DenseTruncatedGradient(
        2, loss="squared_error", l1=0.1, threshold=first, schedule=lambda t: 0.5
    )
    for step, (indices, values, target) in enumerate([*rows, *rows]):
        if step == 4:
            model.set_params(rule__threshold=second)
            dense.threshold = second
        row = np.zeros((1, 2))
        row[0, indices] = values
        model.partial_fit(row, [target])
        dense.step(indices, values, target)
        assert apart(model.coef_, dense.weights) <= 1e-10
