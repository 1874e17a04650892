"""Rules with cells of their own: references compute what papers define, overflow, changed rates.

After every step engines are compared with their references in test_lazy_equals_dense.py.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import examples_of, plan, rows
from support.algorithms import GIVEN, RULES_WITH_CELLS, loss_of
from support.fractions import F, assert_same_steps, fractions, problems
from support.matrices import corpus, make_data
from support.minima import assert_stationary
from support.models import RawClassifier
from support.parameters import in_rule, rule_with

from lazynet import FTRL, RDA, Stepper, TruncatedGradient
from lazynet.engines.ftrl import FTRLEngine
from lazynet.kernels.table import RULES
from lazynet.penalties import ElasticNet
from lazynet.reference import DenseReference, PlainClock
from lazynet.reference.carpenter import PlainCarpenter
from lazynet.reference.ftrl import DenseFTRL
from lazynet.reference.rda import DenseRDA
from lazynet.reference.truncated_gradient import DenseTruncatedGradient, truncate
from lazynet.verify.strategies import problems as floating_problems

STRENGTHS = st.sampled_from([0.0, 1e-3, 0.1, 1.0])


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
    l1=fractions(0, 2, 8),
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
    """|v| = theta is truncated; theta and a bit is not, over any gap; the engine does the same."""
    options = dict(l1=F(1, 10), threshold=F(1), schedule=lambda t: F(1), zero=F(0))
    learner = DenseTruncatedGradient(2, loss="squared_error", **options)
    learner.weights = [F(1), F(1) + F(1, 1000)]
    for gap in range(1, 4):
        learner.step([], [], F(0))
        assert learner.weights == [1 - F(gap, 10), F(1001, 1000)]
    assert truncate(F(1), F(1, 4), F(1)) == F(3, 4)
    # The first step makes w = 1, and each step pulls it by 1/4.
    rule = TruncatedGradient(threshold=1.0, schedule="constant", eta0=0.5)
    stepper = Stepper(2, loss="squared_error", l1=0.5, rule=rule)
    for example, weight in (([0], [1.0], 2.0), 0.75), (([1], [1.0], 0.0), 0.5):
        stepper.step(*example)
        assert stepper.weights.tolist() == [weight, 0.0]


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
    for indices, values, target, importance in map(problem.example, range(len(problem.order))):
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
    for indices, values, target, importance in map(problem.example, range(len(problem.order))):
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


# --- engines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["carpenter_inexact", "truncated_gradient", "fobos"])
def test_a_weight_that_overflows_is_told(rule):
    """An overflowing weight raises; it is not taken for one that has vanished."""
    X, rule = sparse.csr_matrix([[1e200, 0.0], [0.0, 1.0]]), rule_with(rule, schedule="constant")
    options = dict(rule=rule.set_params(eta0=1e150), l1=0.0, l2=0.0, fit_intercept=False)
    model = RawClassifier("hinge", shuffle=False, max_iter=1, tol=None, **options)
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.fit(X, [1, 0])
    with pytest.raises(FloatingPointError, match="not a finite number"):
        model.partial_fit(X, [1, 0], classes=[0, 1])


@pytest.mark.every_case
@pytest.mark.parametrize("name", RULES_WITH_CELLS)
def test_a_constant_that_cannot_be_used_is_named(name):
    """Of every rule: NaN, infinities and numbers below 0, 0 as a rate; and nothing has changed."""
    (X, y), chosen = corpus(n_rows=4, d=5), plan(rule=GIVEN[name])
    (engine,), examples = chosen.new_engines(5), examples_of(chosen, X, y)
    for place, constant in enumerate(RULES[engine.kind].constants):
        right, wrong = engine.constants[place], {"nan", "-inf", "-1.0", "inf", "0.0"}
        needs = "be finite and not negative"
        if constant in ("alpha", "delta", "gamma"):
            needs = "be positive and finite"
        elif constant == "threshold":
            wrong, needs = wrong - {"inf", "0.0"}, "not be negative"
        else:
            wrong = wrong - {"0.0"}
        for number in wrong:
            engine.constants[place] = float(number)
            with pytest.raises(ValueError, match=f"^{constant} must {needs}, got {number}$"):
                engine.take(examples, chosen.steps(rows(4), 0), chosen.task(engine))
        engine.constants[place] = right
    assert not engine.fields.any()
    engine.take(examples, chosen.steps(rows(4), 0), chosen.task(engine))
    assert engine.weights().any()


# --- estimators ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(rule=FTRL(beta=0.0), l2=0.0), "beta of FTRL and l2 must not both be 0"),
        (dict(l2=0.1), r"l2 must be 0 with rule=TruncatedGradient\(threshold=...\)"),
        (dict(l2=0.0, storage="dense"), "a threshold excludes storage=Dense"),
        (dict(l2=0.0, average=True), "a threshold excludes average"),
    ],
)
@pytest.mark.every_case
def test_parameters_that_do_not_go_together_are_refused(options, message):
    """The bounds of single parameters are tested in ``test_parameters.py``."""
    given = {"rule": TruncatedGradient(threshold=1.0), **options}
    with pytest.raises(ValueError, match=message):
        RawClassifier(**in_rule(**given)).fit(*make_data())


# --- rates that change between calls ------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FTRL(alpha=1.0), FTRL(alpha=0.1)),
        (FTRL(alpha=0.1, beta=1.0), FTRL(alpha=0.1, beta=50.0)),
        (FTRL(alpha=0.1, beta=1.0), FTRL(alpha=0.1, beta=0.0)),
        (FTRL(alpha=0.1, penalty="once"), FTRL(alpha=1.0, penalty="once")),
        (FTRL(alpha=0.1), FTRL()),
        (FTRL(), FTRL(alpha=0.1)),
        (FTRL(beta=1.0), FTRL(beta=50.0)),
        (RDA(gamma=1.0), RDA(gamma=20.0)),
        (RDA(gamma=1.0), RDA()),
        (RDA(), RDA(gamma=1.0)),
        (RDA(rho=0.0), RDA(rho=0.5)),
    ],
)
def test_new_rates_leave_the_weights_what_they_are(before, after):
    """A row without nonzeros changes nothing but the intercept, whatever the rates have become."""
    X, y = make_data()
    options = dict(l1=1e-3, l2=1e-2, shuffle=False, fit_intercept=False)
    model = RawClassifier(**in_rule(rule=before, **options)).partial_fit(X, y, classes=[0, 1])
    weights = model.coef_.copy()
    engine = model._engines[0]
    engine.set_constants(after.constants(ElasticNet(1e-3, 1e-2)))
    assert engine.constants.tolist() == list(after.constants(ElasticNet(1e-3, 1e-2)))
    np.testing.assert_allclose(engine.weights(), weights[0], rtol=1e-12)
    np.testing.assert_array_equal(engine.weights() == 0, weights[0] == 0)
    assert np.count_nonzero(weights) > 0


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_ftrl_without_beta_begins_when_a_gradient_has_been_seen(fit_intercept):
    """Weights need an l2 penalty; the intercept has none, and is 0 until a gradient is seen."""
    X, y = make_data()
    options = dict(l1=1e-6, l2=0.1, fit_intercept=fit_intercept)
    model = RawClassifier(rule=FTRL(alpha=0.1, beta=0.0), shuffle=False, **options)
    model.partial_fit(X, y, classes=[0, 1])
    twin = DenseFTRL(X.shape[1], alpha=0.1, beta=0.0, **options)
    for row, label in zip(X, y, strict=True):
        twin.step(row.indices.tolist(), row.data.tolist(), 2.0 * label - 1.0)
    np.testing.assert_allclose(model.coef_[0], twin.weights, atol=1e-12)
    assert model.intercept_[0] == pytest.approx(twin.intercept, abs=1e-12)


def test_an_intercept_is_carried_over_to_ftrl_without_beta():
    """An intercept that is carried over gets a state as if a small gradient had been seen."""
    engine = FTRLEngine(1, constants=FTRL(alpha=0.1, beta=0.0).constants(ElasticNet(0.0, 1.0)))
    engine.set_coefficients(np.array([[2.0]]), np.array([-3.0]))
    assert engine.weights()[0] == pytest.approx(2.0)
    assert engine.intercept == pytest.approx(-3.0)
