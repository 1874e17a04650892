"""References of rules with cells of their own compute what papers define: minima, closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.algorithms import loss_of
from support.fractions import F, assert_same_steps, problems
from support.minima import assert_stationary

from lazynet.reference import DenseReference, PlainClock
from lazynet.reference.adagrad import DenseAdaGrad, PlainAdaGrad
from lazynet.reference.carpenter import PlainCarpenter
from lazynet.reference.ftrl import DenseFTRL
from lazynet.reference.rda import DenseRDA
from lazynet.reference.truncated_gradient import DenseTruncatedGradient, truncate
from lazynet.verify.strategies import problems as floating_problems

STRENGTHS = st.sampled_from([0.0, 1e-3, 0.1, 1.0])


def examples_of(problem):
    return [problem.example(step) for step in range(len(problem.order))]


# --- truncated gradient -----------------------------------------------------------------------


def truncated(problem, options):
    learner = DenseTruncatedGradient(
        len(problem.start), loss="hinge", schedule=lambda t: problem.steps[t].eta,
        fit_intercept=problem.fit_intercept, zero=F(0), **options,
    )  # fmt: skip
    learner.weights = list(problem.start)
    return learner


@given(
    problem=problems("sgd", "gradient_first", below_one=True),
    l1=st.fractions(0, 2, max_denominator=8),
    period=st.integers(1, 6),
)
def test_without_a_threshold_truncation_is_sgd_with_gravity_collected(problem, l1, period):
    """The l2 penalty acts at every step, gravity at every ``period``-th: exactly, on the clock."""
    here = truncated(problem, dict(l1=l1, l2=problem.l2, period=period))
    there = problem._replace(rule="sgd").learner(PlainClock)

    def collected(eta, _l1, l2):
        return 1 - eta * l2, period * eta * l1 if (there.t + 1) % period == 0 else 0

    there.map = collected
    assert_same_steps(problem, here, there)


def test_an_l2_penalty_is_refused_with_a_threshold():
    """A weight beyond the threshold would not decay."""
    with pytest.raises(ValueError, match="l2 must be 0 with a finite threshold"):
        DenseTruncatedGradient(1, l2=0.5, threshold=3.0)


def test_a_weight_beyond_the_threshold_stays_and_one_at_it_shrinks():
    """|v| = theta is truncated; theta and a bit is not, over any gap."""
    options = dict(l1=F(1, 10), threshold=F(1), schedule=lambda t: F(1), zero=F(0))
    learner = DenseTruncatedGradient(2, loss="squared_error", **options)
    learner.weights = [F(1), F(1) + F(1, 1000)]
    for gap in range(1, 4):
        learner.step([], [], F(0))
        assert learner.weights == [1 - F(gap, 10), F(1001, 1000)]
    assert truncate(F(1), F(1, 4), F(1)) == F(3, 4)


# --- RDA and FTRL: the minimisers that define them ----------------------------------------------


@given(
    problem=floating_problems(intercepts=[False, True]), l1=STRENGTHS, l2=STRENGTHS,
    gamma=st.sampled_from([0.1, 1.0, 30.0]), rho=st.sampled_from([0.0, 0.01]),
)  # fmt: skip
def test_rda_minimises_the_mean_of_its_gradients(problem, l1, l2, gamma, rho):
    """Every coordinate is a minimum after every step; the intercept is one without penalties."""
    options = dict(**loss_of(problem), l1=l1, l2=l2, gamma=gamma, rho=rho)
    twin = DenseRDA(problem.n_features, fit_intercept=problem.fit_intercept, **options)
    assert twin.weights == [0.0] * problem.n_features
    sums, intercept_sum = np.zeros(problem.n_features), 0.0
    for indices, values, target, importance in examples_of(problem):
        p = twin.step(indices, values, target, importance)
        g = importance * twin.slope(p, target, problem.epsilon)
        sums[indices] += g * np.array(values)
        intercept_sum += g
        root = math.sqrt(twin.t)
        for j, w in enumerate(twin.weights):
            mean = sums[j] / twin.t
            assert_stationary(w, mean + (l2 + gamma / root) * w, l1 + gamma * rho / root, abs(mean))
        if problem.fit_intercept:
            mean = intercept_sum / twin.t
            assert_stationary(twin.intercept, mean + gamma / root * twin.intercept, 0.0, abs(mean))


@given(
    problem=floating_problems(intercepts=[False, True]), l1=STRENGTHS, l2=STRENGTHS,
    alpha=st.sampled_from([0.05, 1.0]), beta=st.sampled_from([0.5, 1.0]),
    penalty=st.sampled_from(["per_example", "once"]),
)  # fmt: skip
def test_ftrl_follows_the_regularised_leader(problem, l1, l2, alpha, beta, penalty):
    """w minimises sum g w + sum sigma (w - w_s)^2 / 2 + t l1 |w| + t l2 w^2 / 2, or without t."""
    d = problem.n_features
    options = dict(**loss_of(problem), l1=l1, l2=l2, alpha=alpha, beta=beta, penalty=penalty)
    twin = DenseFTRL(d, fit_intercept=problem.fit_intercept, **options)
    gradients, sigmas, centers = np.zeros(d), np.full(d, beta / alpha), np.zeros(d)
    squares = np.zeros(d)
    for indices, values, target, importance in examples_of(problem):
        before = np.array(twin.weights)
        p = twin.step(indices, values, target, importance)
        slope = importance * twin.slope(p, target, problem.epsilon)
        for j, x in zip(indices, values, strict=True):
            g = slope * x
            sigma = (math.sqrt(squares[j] + g * g) - math.sqrt(squares[j])) / alpha
            gradients[j] += g
            squares[j] += g * g
            sigmas[j] += sigma
            centers[j] += sigma * before[j]
        for j, w in enumerate(twin.weights):
            scale = abs(gradients[j]) + abs(centers[j]) + sigmas[j] * abs(w)
            count = twin.t if penalty == "per_example" else 1
            slope = gradients[j] + sigmas[j] * w - centers[j] + count * l2 * w
            assert_stationary(w, slope, count * l1, scale)


# --- AdaGrad --------------------------------------------------------------------------------------


def test_missed_shrinks_are_not_one_with_the_sum_of_their_rates():
    """1/4 against 1/3 for two shrinks with eta l2 = 1."""
    dense = DenseAdaGrad(2, loss="squared_error", l2=1.0, alpha=1.0, delta=0.0)
    lazy = PlainAdaGrad(2, loss="squared_error", l2=1.0, alpha=1.0, delta=0.0)
    for twin in (dense, lazy):
        twin.w[0], twin.G[0] = 1.0, 1.0
        twin.step([], [], 0.0), twin.step([], [], 0.0)
    assert dense.weights[0] == 0.25
    assert lazy.weights[0] == pytest.approx(0.25, rel=1e-15)


# --- Carpenter --------------------------------------------------------------------------------


def carpenter(problem, period, **changes):
    problem = problem._replace(**changes)
    eta = problem.steps[0].eta
    options = dict(loss="hinge", l1=problem.l1, l2=problem.l2, schedule=lambda t: eta)
    options |= dict(fit_intercept=problem.fit_intercept, zero=F(0))
    lazy = PlainCarpenter(len(problem.start), period=period, **options)
    dense = DenseReference(len(problem.start), rule="sgd", **options)
    lazy.w, dense.weights = list(problem.start), list(problem.start)
    return problem, lazy, dense


@pytest.mark.parametrize(("period", "changes"), [(1, {}), (None, {"l2": F(0)})])
@given(data=st.data())
def test_carpenter_is_exact_where_it_says_so(period, changes, data):
    """Carpenter's rule is exact with period 1, and without l2 at one rate."""
    drawn = data.draw(problems("sgd", "gradient_first", below_one=True))
    assert_same_steps(*carpenter(drawn, period, **changes))
