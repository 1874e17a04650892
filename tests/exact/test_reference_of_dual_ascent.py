"""The reference of dual ascent: its conjugates, its steps, its certificate, and where it arrives.

The losses without logarithms are tested in exact fractions, where an inequality has no tolerance.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dual import (
    POSITIVE,
    PRECISE,
    RATIONAL_LOSSES,
    VALUES,
    advance,
    dual_problems,
    duals_of,
    interval_of,
    run_to_the_minimum,
    targets_of,
)
from support.fractions import F, fractions

from lazynet.losses import LOSSES
from lazynet.reference.dual import DenseDualAscent
from lazynet.reference.losses import CONJUGATES, UPDATES, best_dual, conjugate
from lazynet.reference.losses import LOSSES as TWINS

each_loss = pytest.mark.parametrize("loss", LOSSES)


def rounding_of(loss, *numbers):
    """What rounding may amount to: nothing over fractions."""
    return 0 if loss in RATIONAL_LOSSES else 1e-12 * (1 + sum(map(abs, numbers)))


def numbers_of(loss, *numbers):
    """The numbers as the loss takes them: logarithms take floats."""
    return numbers if loss in RATIONAL_LOSSES else tuple(map(float, numbers))


# --- conjugates -----------------------------------------------------------------------------------


def test_every_loss_has_a_conjugate_and_an_update():
    """The tables of the losses and of their duals list the same names."""
    assert list(CONJUGATES) == list(UPDATES) == list(TWINS) == list(LOSSES)


@each_loss
@given(data=st.data())
def test_fenchel_and_young(loss, data):
    """l(p) + l*(-alpha) + alpha p is 0 or more, and 0 where alpha = -l'(p)."""
    y, epsilon = data.draw(targets_of(loss)), data.draw(POSITIVE)
    # alpha where the conjugate is finite, or anywhere
    alpha = data.draw(duals_of(loss, y, epsilon) | fractions(-9, 9, 8))
    alpha, p, y, epsilon = numbers_of(loss, alpha, data.draw(VALUES), y, epsilon)
    value, slope = TWINS[loss]
    slack = rounding_of(loss, alpha, p)
    fit = value(p, y, epsilon)
    assert fit + conjugate(loss, alpha, y, epsilon) + alpha * p >= -slack
    best = -slope(p, y, epsilon)
    assert abs(fit + conjugate(loss, best, y, epsilon) + best * p) <= slack


@each_loss
def test_a_conjugate_is_infinite_where_the_supremum_is(loss):
    """Just outside of the interval -alpha p - l(p) exceeds any bound; at its ends it does not."""
    epsilon, y = 0.5, -1.0
    for end, outwards in zip(interval_of(loss, y, epsilon), (-1, 1), strict=True):
        if math.isfinite(end):
            alpha = end + outwards * 1e-3
            far = -outwards * 1e6
            assert math.isfinite(conjugate(loss, float(end), y, epsilon))
            assert conjugate(loss, alpha, y, epsilon) == math.inf
            assert -alpha * far - TWINS[loss][0](far, y, epsilon) > 900


# --- updates --------------------------------------------------------------------------------------


def step_objective(loss, a, alpha, p, y, q, epsilon):
    """What an update maximises: -l*(-a) - p (a - alpha) - (q/2) (a - alpha)^2."""
    move = a - alpha
    return -conjugate(loss, a, y, epsilon) - p * move - q * move * move / 2


@each_loss
@given(data=st.data(), q=st.just(F(0)) | fractions(F(1, 64), 1, 64) | fractions(1, 64, 4))
def test_no_dual_variable_is_better(loss, data, q):
    """Neither a drawn one nor a near one; q = 0 included."""
    y, epsilon = data.draw(targets_of(loss)), data.draw(POSITIVE)
    of = duals_of(loss, y, epsilon)
    alpha, other, p = data.draw(of), data.draw(of), data.draw(VALUES)
    near = data.draw(st.sampled_from([F(1), F(1, 10), F(1, 1000)]))
    alpha, other, p, y, q, epsilon, near = numbers_of(loss, alpha, other, p, y, q, epsilon, near)
    given = alpha, p, y, q, epsilon
    best = best_dual(loss, *given)
    reached = step_objective(loss, best, *given)
    assert math.isfinite(reached)
    for a in (other, best + near * (other - best)):
        assert step_objective(loss, a, *given) <= reached + rounding_of(loss, p, q)


@pytest.mark.parametrize("p", [-800.0, -40.0, -3.0, 0.0, 3.0, 40.0, 800.0])
@pytest.mark.parametrize("q", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("beta", [0.0, 1e-300, 0.5, 1.0])
def test_the_update_of_log_loss_has_all_its_digits(p, q, y, beta):
    """The derivative changes its sign between the neighbours of the result."""
    found = y * best_dual("log_loss", y * beta, p, y, q)
    assert 0.0 <= found <= 1.0

    def derivative(b):
        return math.log(b) - math.log1p(-b) + q * (b - beta) + y * p

    below = found - 4 * math.ulp(found)
    above = found + 4 * math.ulp(found)
    noise = 1e-14 * (1 + abs(p))
    assert below <= 0.0 or derivative(below) <= noise
    assert above >= 1.0 or derivative(above) >= -noise


# --- steps ----------------------------------------------------------------------------------------


#: In fractions, exactly; in floats where a loss has logarithms.
ANY_LOSS = dual_problems() | dual_problems(list(PRECISE)).map(lambda problem: problem.in_floats())


@given(problem=ANY_LOSS)
def test_no_step_lowers_the_dual_objective(problem):
    """Of the centred problem, from any start and any centre; it stays a lower bound."""
    twin = problem.reference()
    for i in problem.order:
        before = twin.centred_dual_objective()
        advance(twin, [i])
        after, above = twin.centred_dual_objective(), twin.centred_objective()
        slack = rounding_of(problem.loss, before, above)
        assert after <= above + slack
        if i is not None:
            assert after >= before - slack


def test_a_problem_without_curvature_is_refused():
    """kappa = 0 needs l2 > 0, and an intercept needs a kappa of its own."""
    with pytest.raises(ValueError, match="kappa must be greater than 0 if l2 is 0, got 0"):
        DenseDualAscent([[1.0]], [1.0], l1=1.0)
    twin = DenseDualAscent([[1.0]], [1.0], l2=1.0, fit_intercept=True)
    with pytest.raises(ValueError, match="kappa_intercept must be greater than 0, got 0"):
        twin.recentre(kappa_intercept=0)


# --- the certificate ------------------------------------------------------------------------------


@given(problem=ANY_LOSS, w=st.lists(VALUES, min_size=3, max_size=3), b=VALUES)
def test_the_gap_is_never_less_than_the_distance_to_the_minimum(problem, w, b):
    """D is at most P at the weights reached, at drawn ones, and at a point near the minimum.

    D is taken at the dual variables reached, and at the slopes of the present predictions.
    """
    near = run_to_the_minimum(problem.in_floats(), max_epochs=300)
    places = [(near.weights, near.intercept), (w[: len(problem.rows[0])], b)]
    number = float if problem.loss in PRECISE else F
    twin = problem.reference()
    advance(twin, problem.order)
    objective, bound, gap = twin.certificate()
    w, b = twin.weights, twin.intercept
    slope = TWINS[problem.loss][1]
    slopes = [
        number(-slope(twin.prediction(i, w, b), y, problem.epsilon))
        for i, y in enumerate(problem.targets)
    ]
    bound = max(bound, twin.certificate(slopes)[1])
    assert gap >= objective - bound
    for weights, intercept in [(w, b), *places]:
        intercept = number(intercept) if problem.fit_intercept else 0
        above = twin.objective([number(v) for v in weights], intercept)
        assert bound <= above + rounding_of(problem.loss, above)


@given(problem=dual_problems())
def test_dual_variables_meet_the_conditions_of_the_bound(problem):
    """Balanced, scaled, in the interval of their conjugate, and unchanged where all is well."""
    twin = problem.reference()
    advance(twin, problem.order)
    for duals in (twin.balanced(twin.duals), twin.scaled(twin.balanced(twin.duals))):
        assert twin.balance(duals) == 0
        assert twin.balanced(duals) == duals
        for alpha, new, y in zip(twin.duals, duals, problem.targets, strict=True):
            assert alpha * new >= 0
            assert abs(new) <= abs(alpha)
            assert math.isfinite(conjugate(problem.loss, new, y, problem.epsilon))
    assert max(map(abs, twin.correlations(twin.scaled(twin.duals)))) <= problem.l1
    assert twin.scaled(duals) == duals
