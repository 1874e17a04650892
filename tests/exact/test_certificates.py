"""The certificate of a minimum: the gap is never less than the distance to the least objective.

Objectives are computed anew without rounding: in fractions, and logarithms in 60 digits.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize_scalar
from support.dual import (
    MINIMISED,
    RATIONAL_LOSSES,
    dual_problems,
    each_loss,
    grid_problem,
    minimiser_of,
    precise_loss,
    run_to_the_minimum,
    with_and_without_intercept,
)

from lazynet.losses import LOSSES
from lazynet.minimum import screening
from lazynet.minimum.certificate import certify
from lazynet.minimum.iterate import at
from lazynet.minimum.minimise import Minimiser, Problem
from lazynet.penalties import ElasticNet

F = Fraction
EPSILON = np.finfo(float).eps


def minimum_of(problem, tol=1e-9, max_iter=500, **options):
    """What the ``Minimiser`` makes of a problem."""
    found = minimiser_of(problem, **options)
    return found.to(problem.l1, problem.l2, tol=tol, max_iter=max_iter)


# --- objectives without rounding ------------------------------------------------------------------


def exact_objective(problem, weights, intercept):
    """P at these floats, for the floats of this problem."""
    w, b = [F(float(v)) for v in weights], F(float(intercept))
    twin = problem.with_numbers(lambda number: F(float(number))).reference()
    if problem.loss in RATIONAL_LOSSES:
        return twin.objective(w, b)
    losses = [
        s * precise_loss(problem.loss, twin.prediction(i, w, b), y)
        for i, (s, y) in enumerate(zip(twin.importances, twin.targets, strict=True))
    ]
    return sum(losses) / twin.total + sum(twin.l1 * abs(v) + twin.l2 * v * v / 2 for v in w)


# --- the certificate holds ------------------------------------------------------------------------


def size_of(problem, found):
    """The magnitude of the numbers that are summed: what rounding is measured by."""
    w, b = np.array(found.coef), found.intercept
    s, total = np.array(problem.importances), sum(problem.importances)
    reach = np.abs(problem.rows) @ np.abs(w) + abs(b) + np.abs(problem.targets) + 1.0
    loss = LOSSES[problem.loss]
    if loss.unbounded_slope:
        reach = reach * reach
    steepest = 1.0 if loss.unbounded_slope else max(1.0, loss.steepest[0])
    penalty = problem.l1 * np.abs(w).sum() + problem.l2 * (w * w).sum()
    return float(steepest * s @ reach / total + penalty)


def assert_certified(problem, found):
    """The gap bounds the distance to every objective that another method reaches."""
    exact = exact_objective(problem, found.coef, found.intercept)
    size = size_of(problem, found)
    assert np.isfinite([found.objective, found.dual_objective, found.gap]).all()
    assert abs(found.objective - float(exact)) <= 64 * EPSILON * size
    twin = run_to_the_minimum(problem, max_epochs=300)
    for weights, intercept in ((twin.weights, twin.intercept), (found.coef, found.intercept)):
        other = exact_objective(problem, weights, intercept)
        assert F(found.gap) >= exact - other
        assert found.dual_objective <= float(other) + 64 * EPSILON * size
    assert found.gap >= found.objective - found.dual_objective
    # What is added for rounding is small, and so the gap can close.
    assert found.gap <= found.objective - found.dual_objective + 1e-8 * size
    assert found.n_iter == len(found.history) - 1


#: Problems with a penalty: without one, there may be no minimum, and there is no certificate.
PROBLEMS = dual_problems(MINIMISED).filter(lambda problem: problem.l1 or problem.l2)


@given(
    problem=PROBLEMS, max_iter=st.sampled_from([1, 2, 5, 300]),
    dtype=st.sampled_from([np.float64, np.float32]),
)  # fmt: skip
def test_the_gap_is_never_less_than_the_distance_to_the_minimum(problem, max_iter, dtype):
    """After any number of epochs; l1 or l2 may be 0, importances too, and rows empty."""
    problem = problem.in_floats()
    # The rows in float32 are the problem's own.
    rows = np.array(problem.rows, dtype=dtype).astype(float).tolist()
    problem = problem._replace(rows=rows)
    assert_certified(problem, minimum_of(problem, max_iter=max_iter, dtype=dtype))


def test_the_gap_allows_for_the_rounding_of_a_distance_from_a_kink():
    """b + 2 rounds to 2, where the slope is 0; P is b > 0, and the least objective is 0."""
    problem = grid_problem("epsilon_insensitive", l1=1.0, l2=0.0, fit_intercept=True, n=1, d=1)
    problem = problem._replace(targets=[-2.0], importances=[1.0], epsilon=2.0)
    walker = minimiser_of(problem)
    b = 2.0**-56
    found = certify(walker.mean, ElasticNet(1.0, 0.0), np.zeros(1), b, np.zeros(1))
    assert F(found.gap) >= exact_objective(problem, [0.0], b) == F(b)


def test_weights_without_a_loss_are_at_the_minimum_whatever_the_duals_lose():
    """No dual can make up for what rounding leaves of sum s_i a_i = 0."""
    problem = grid_problem("epsilon_insensitive", l1=1.0, l2=0.0, fit_intercept=True, n=3, d=1)
    problem = problem._replace(rows=[[0.0]] * 3, targets=[0.0, 0.0, 2.0], epsilon=1.0)
    problem = problem._replace(importances=[1.0, 1.0, 1.0 / 3.0])
    found = minimum_of(problem, tol=1e-7)
    assert found.converged
    assert found.objective == found.dual_objective == 0.0 < found.gap < 1e-14


#: Problems that are drawn too seldom: values in other units, targets far from 0, a single class.
UNUSUAL = {
    **{f"values times {scale:g}": lambda problem, scale=scale: problem._replace(
           rows=(scale * np.array(problem.rows)).tolist(), l1=problem.l1 * scale,
           l2=problem.l2 * scale**2, kappa=0.1 * scale**2)
       for scale in (1e-5, 1e5)},
    "targets of a million": lambda problem: problem._replace(
        targets=[1e6 + y for y in problem.targets]),
    "one target": lambda problem: problem._replace(targets=[1.0] * len(problem.targets)),
}  # fmt: skip


@each_loss
@with_and_without_intercept
@pytest.mark.parametrize("change", UNUSUAL)
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.1), (0.03, 0.0), (0.02, 0.02)])
def test_certificates_of_unusual_problems(loss, fit_intercept, change, l1, l2):
    """Where an intercept is fitted to one class, the least objective is 0, or is not reached."""
    if change == "targets of a million" and LOSSES[loss].margin:
        return
    problem = UNUSUAL[change](grid_problem(loss, l1=l1, l2=l2, fit_intercept=fit_intercept))
    found = minimum_of(problem, max_iter=50)
    assert_certified(problem, found)
    if change == "one target" and fit_intercept:
        assert found.dual_objective <= 0.0
        assert found.gap >= found.objective


@pytest.mark.parametrize("loss", [*RATIONAL_LOSSES, "log_loss"])
def test_what_rounding_loses_of_a_loss_of_plain_margins(loss):
    """Large products cancel: the bound is above the errors, which exceed those of the sum."""
    problem = grid_problem(loss, l1=0.0, l2=0.0, fit_intercept=False, n=40, d=30)
    wrong = 0
    for seed in range(5):
        random = np.random.default_rng(seed)
        values, weights = 1e5 * random.standard_normal((40, 30)), random.standard_normal(30)
        values -= np.outer(values @ weights - random.standard_normal(40), weights) / (
            weights @ weights
        )
        drawn = problem._replace(rows=values.tolist())
        mean = screening.compact(minimiser_of(drawn).mean, None, 0.0).mean
        here = at(mean, ElasticNet(), weights, 0.0)
        error = abs(F(here.objective) - exact_objective(drawn, weights, 0.0))
        bound = mean.lost_by_rounding(here.objective, weights, 0.0, here.duals)
        assert error <= F(bound)
        assert bound <= 4e-6 * min(mean.loss.largest_slope, abs(here.duals).max() + 1.0)
        wrong += error > 4 * EPSILON * here.objective
    assert wrong or loss == "perceptron"


@each_loss
@with_and_without_intercept
@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_the_bound_at_any_duals_is_that_of_the_reference(loss, fit_intercept, l2):
    """Far from the minimum, where the scale of the duals changes the bound most."""
    problem = grid_problem(loss, l1=0.03, l2=l2, fit_intercept=fit_intercept)
    mean, random, scaled = minimiser_of(problem).mean, np.random.default_rng(0), 0
    zeros = np.zeros(mean.n_rows)
    for size in (0.1, 1.0, 10.0):
        drawn = size * random.standard_normal(mean.n_rows)
        duals = mean.duals_of_model((zeros, drawn, zeros), (zeros, zeros, zeros), 0.0)[0]
        # Scaled duals, with l2 the duals themselves, and duals that are 0: the best bound counts.
        twins = {problem.reference(), problem._replace(l2=0.0).reference()}
        wanted = max(0.0, *(float(twin.dual_objective(duals.tolist())) for twin in twins))
        weights = np.zeros(mean.n_columns)
        found = certify(mean, ElasticNet(0.03, l2), weights, 0.0, duals.copy())
        assert found.dual_objective == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        u = next(iter(twins)).correlations(duals.tolist())
        scaled += max(map(abs, u)) > 0.04
    assert scaled


# --- it converges, to zeros too -------------------------------------------------------------------


@each_loss
@with_and_without_intercept
def test_the_objective_at_zero_weights(loss, fit_intercept):
    """``at_zero`` is P at zero weights and the best intercept, which a bounded search finds too."""
    problem = grid_problem(loss, l1=1.0, l2=1.0, fit_intercept=fit_intercept)

    def at(b):
        return float(exact_objective(problem, [0.0] * 3, b))

    least = at(0.0)
    if fit_intercept:
        # From every target and margin on, because some losses have kinks there.
        starts = [y + kink for y in problem.targets for kink in (-0.4, 0.0, 0.4)]
        found = minimize_scalar(at, bounds=(-9, 9), method="bounded", options=dict(xatol=1e-12))
        least = min(found.fun, *map(at, starts))
    assert minimiser_of(problem).at_zero == pytest.approx(least, rel=1e-9)


@each_loss
@with_and_without_intercept
def test_the_largest_l1(loss, fit_intercept):
    """Every weight is 0 a little above ``largest_l1``; of a smooth loss, not a little below."""
    problem = grid_problem(loss, l1=0.0, l2=0.0, fit_intercept=fit_intercept, seed=3)
    walker = minimiser_of(problem)
    above, below = 1.001 * walker.largest_l1, 0.98 * walker.largest_l1
    problem = problem._replace(l1=above)
    # No weights are better than zero.
    twin = run_to_the_minimum(problem)
    assert walker.at_zero <= float(exact_objective(problem, twin.weights, twin.intercept)) + 1e-9
    found = walker.to(above, 0.0, tol=1e-6, max_iter=2000)
    assert_certified(problem, found)
    assert found.converged
    assert not found.coef.any()
    if LOSSES[loss].curvature is not None:
        assert walker.to(below, 0.0, tol=1e-10, max_iter=2000).coef.any()


@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=4), seed=st.integers(0, 2**32 - 1),
    reach=st.sampled_from([0, 30, 60]), dtype=st.sampled_from([np.float64, np.float32]),
)  # fmt: skip
def test_compensated_sums_are_right_to_the_last_digit(lengths, seed, reach, dtype):
    """Margins, and sums over the rows, although the terms cancel."""
    generator = np.random.default_rng(seed)
    dense = np.zeros((2 * len(lengths), 40), dtype)
    for row, length in enumerate(lengths):
        values = generator.standard_normal(length) * 2.0 ** generator.integers(-reach, reach + 1)
        dense[row, :length] = values
        dense[-1 - row, :length] = -values * (1.0 + 2.0**-20)
    weights, y = generator.standard_normal(40), np.ones(len(dense))
    weights[1::2] = -weights[::2] * (1.0 + 2.0**-50)
    given = Problem(sparse.csr_matrix(dense), y, None, LOSSES["squared_error"], False)
    mean = Minimiser(given, 0).mean
    assert_sums(dense, weights, mean.margins(weights, compensated=True)[:, None])
    duals = 1.0 + generator.standard_normal(len(dense)) * 2.0**-20
    assert_sums(dense.T, duals, mean.compensated_sums(duals))


def assert_sums(terms, factors, found):
    """Each line of ``found`` adds up to a sum of products, right but for the last digits of it."""
    for row, parts in zip(terms.astype(float), found, strict=True):
        products = [F(float(x)) * F(float(w)) for x, w in zip(row, factors, strict=True)]
        exact, size = sum(products), sum(abs(each) for each in products)
        unit = F(float(EPSILON)) * abs(exact) + (F(float(EPSILON)) * len(row)) ** 2 * size
        assert abs(sum(F(float(part)) for part in parts) - exact) <= unit
