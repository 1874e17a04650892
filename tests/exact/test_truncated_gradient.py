"""Truncated gradient, compiled, equals its reference with and without a threshold."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import ELASTIC_ENGINES, plan
from support.algorithms import loss_of
from support.broken_engines import BROKEN_ENGINES
from support.engines import apart, near_a_kink
from support.matrices import corpus, make_data

from lazynet import LazyNetClassifier, LazyNetRegressor, Stepper, TruncatedGradient
from lazynet.checks.tolerance import NearbyRun
from lazynet.data import as_examples
from lazynet.engines.truncated_gradient import TruncatedGradientEngine
from lazynet.engines.wear import Wear
from lazynet.learners import Learner, run_pass
from lazynet.losses import LOSSES
from lazynet.penalties import ElasticNet
from lazynet.reference.truncated_gradient import DenseTruncatedGradient
from lazynet.testing import problems

GRAVITIES = st.sampled_from([0.0, 1e-8, 1e-3, 0.1, 1.0])
PERIODS = st.integers(1, 7)
THRESHOLDS = st.sampled_from([0.0, 0.01, 0.1, 1.0, 10.0])


def stepper_for(problem, gravity, period, threshold=math.inf, l2=0.0, **options):
    rule = TruncatedGradient(period, threshold)
    return problem.stepper(rule=rule, l1=gravity, l2=l2, **options)


def assert_matches_reference(problem, lazy, gravity, period, threshold=math.inf, l2=0.0):
    """Compare to 1e-10 of 1 + the largest, until rounding may decide a step or a truncation."""
    dense, other = (
        DenseTruncatedGradient(
            problem.n_features, l1=gravity, l2=l2, period=period, threshold=threshold,
            schedule=problem.rate, fit_intercept=problem.fit_intercept, **loss_of(problem),
        )
        for _ in range(2)
    )  # fmt: skip
    nearby = NearbyRun(other)
    for step in range(len(problem.order)):
        example = problem.example(step)
        prediction = dense.step(*example)
        if nearby.amplifies(*example, dense.weights):
            return
        if near_a_kink(problem, prediction, example[2]) or not abs(prediction) < 1e6:
            return
        if any(abs(abs(w) - threshold) <= 1e-9 * (1 + abs(w)) for w in dense.weights):
            return
        lazy.step(*example)
        assert apart(lazy.weights, dense.weights) <= 1e-10
        assert apart(lazy.intercept, dense.intercept) <= 1e-10


@pytest.mark.parametrize("loss", LOSSES)
@given(data=st.data())
def test_with_a_threshold_every_step_equals_the_reference(loss, data):
    """Weights on both sides of it, whatever the gravity, the period and the schedule."""
    problem = data.draw(problems([loss], intercepts=(False, True)))
    drawn = data.draw(GRAVITIES), data.draw(PERIODS), data.draw(THRESHOLDS)
    wear = Wear(largest_cushion=data.draw(st.sampled_from([1024.0, 0.01, 0.0])))
    lazy = stepper_for(problem, *drawn, wear=wear)
    assert isinstance(lazy.engine, TruncatedGradientEngine)
    assert lazy.engine.wear is wear
    assert_matches_reference(problem, lazy, *drawn)


@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
@given(data=st.data())
def test_without_a_threshold_every_engine_equals_the_reference(engine, data):
    """The rule rides on the clock, without a kernel of its own; l2 decays weights at every step."""
    problem = data.draw(problems(intercepts=(False, True)))
    gravity, period = data.draw(GRAVITIES), data.draw(PERIODS)
    largest = max(problem.rates, default=0.0)
    l2 = data.draw(st.sampled_from([0.0, 0.01, 0.5])) / (largest if largest > 0 else 1.0)
    lazy = stepper_for(problem, gravity, period, engine=engine, l2=l2)
    assert_matches_reference(problem, lazy, gravity, period, l2=l2)


@given(problem=problems(), gravity=GRAVITIES, period=PERIODS)
def test_a_threshold_that_nothing_reaches_is_none(problem, gravity, period):
    """The two engines agree."""
    near, far = (stepper_for(problem, gravity, period, theta) for theta in (1e9, math.inf))
    nearby = NearbyRun(stepper_for(problem, gravity, period, 1e9))
    for step in range(len(problem.order)):
        example = problem.example(step)
        prediction = near.step(*example)
        if nearby.amplifies(*example, near.weights):
            return
        if near_a_kink(problem, prediction, example[2]) or not abs(prediction) < 1e6:
            return
        far.step(*example)
        assert apart(near.weights, far.weights) <= 1e-10


def test_long_rows_and_chunks():
    """Vectors, tails, a split into chunks: the same bits; and the reference."""
    X, y = corpus()
    found = []
    for size in (400, 37):
        chosen = plan(l1=1e-2, rule=TruncatedGradient(10, 0.05), fit_intercept=True)
        learner = Learner(chosen.new_engine(X.shape[1]), as_examples(X, y), chosen)
        for start in range(0, 400, size):
            run_pass([learner], np.arange(start, min(start + size, 400)), start)
        found.append(learner.engine.weights())
    np.testing.assert_array_equal(*found)
    dense = DenseTruncatedGradient(
        X.shape[1], l1=1e-2, period=10, threshold=0.05, schedule=lambda t: 0.1,
        fit_intercept=True,
    )  # fmt: skip
    for i in range(400):
        dense.step(X[i].indices.tolist(), X[i].data.tolist(), y[i])
    assert apart(found[0], dense.weights) <= 1e-12
    assert 0 < np.count_nonzero(found[0]) < X.shape[1]


@pytest.mark.parametrize("broken", BROKEN_ENGINES["truncated_gradient"])
def test_broken_engines_are_caught(broken):
    """The property of equal steps finds every engine broken on purpose."""

    @settings(
        max_examples=1000, phases=[Phase.generate], database=None, derandomize=True, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(problem=problems(["squared_error"]), gravity=GRAVITIES, period=PERIODS)
    def equal(problem, gravity, period):
        lazy = stepper_for(problem, gravity, period, 0.05)
        rule = TruncatedGradient(period, 0.05)
        lazy.engine = broken(problem.n_features, rule, ElasticNet(gravity))
        assert_matches_reference(problem, lazy, gravity, period, 0.05)

    with pytest.raises(AssertionError):
        equal()


@pytest.mark.parametrize("threshold", [math.inf, 0.3])
def test_fit_is_stepping_by_hand(threshold):
    """Unshuffled; and without a threshold it can be averaged like any rule of the clock."""
    X, y = make_data()
    options = dict(rule=TruncatedGradient(5, threshold), l1=1e-2, l2=0.0)
    options |= dict(schedule="constant", eta0=0.3, max_iter=2, tol=None, shuffle=False)
    model = LazyNetClassifier(**options).fit(X, y)
    dense = DenseTruncatedGradient(
        X.shape[1], l1=1e-2, period=5, threshold=threshold,
        schedule=lambda t: 0.3, fit_intercept=True,
    )  # fmt: skip
    sums = np.zeros(X.shape[1])
    for _ in range(2):
        for i in range(X.shape[0]):
            dense.step(X[i].indices.tolist(), X[i].data.tolist(), 1.0 if y[i] else -1.0)
            sums += dense.weights
    assert apart(model.coef_[0], dense.weights) <= 1e-12
    if threshold == math.inf:
        averaged = LazyNetClassifier(**options, average=True).fit(X, y)
        assert apart(averaged.coef_[0], sums / 120) <= 1e-12


def test_gravity_at_every_step_is_the_subgradient_rule():
    """K = 1 and no threshold: rule="sgd", bit for bit, with l2 too."""
    X, y = make_data()
    options = dict(l1=1e-2, l2=1e-2, eta0=0.2, max_iter=3, tol=None, random_state=0)
    here = LazyNetClassifier(rule="truncated_gradient", **options).fit(X, y)
    there = LazyNetClassifier(rule="sgd", **options).fit(X, y)
    np.testing.assert_array_equal(here.coef_, there.coef_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            dict(rule=TruncatedGradient(threshold=1.0), l2=0.1),
            r"l2 must be 0 with rule=TruncatedGradient\(threshold=...\)",
        ),
        (dict(rule=TruncatedGradient(threshold=1.0), l2=0.0, engine="dense"), "engine is not used"),
        (dict(rule=TruncatedGradient(threshold=1.0), l2=0.0, average=True), "average is not used"),
        (
            dict(rule=TruncatedGradient(threshold=-1.0), l2=0.0),
            "threshold of TruncatedGradient must be finite and not negative",
        ),
        (dict(rule=TruncatedGradient(period=0)), "period of TruncatedGradient must be at least 1"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(options, message):
    """Parameters that contradict each other are refused before anything is trained."""
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        LazyNetClassifier(**options).fit(X, y)


def test_a_pull_beyond_the_range_of_doubles_is_refused():
    """A pull that overflows is refused with a threshold and without one."""
    X, y = make_data()
    for threshold in (math.inf, 1.0):
        model = LazyNetClassifier(
            rule=TruncatedGradient(threshold=threshold), l1=1e200, l2=0.0, schedule="constant",
            eta0=1e100,
        )  # fmt: skip
        with pytest.raises(ValueError, match=r"eta must be less than .* with l1=1e\+200"):
            model.fit(X, y)


def test_the_stepper_hands_its_wear_on():
    """Engines of a state of their own get the wear of the stepper as well."""
    wear = Wear(largest_cushion=0.01)
    stepper = Stepper(2, rule=TruncatedGradient(threshold=1.0), wear=wear)
    assert stepper.engine.wear is wear


@pytest.mark.parametrize(("first", "second"), [(0.5, 10.0), (10.0, 0.5)])
def test_another_threshold_concerns_only_the_steps_to_come(first, second):
    """What weights have missed under the first is had under the first; all steps are compared."""
    rows = [([0], [1.0], 4.0), *5 * [([1], [1.0], 0.1)], ([0, 1], [0.5, 2.0], 1.0)]
    model = LazyNetRegressor(
        rule=TruncatedGradient(threshold=first), l1=0.1, l2=0.0, schedule="constant", eta0=0.5,
        fit_intercept=False, shuffle=False,
    )  # fmt: skip
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
