"""The minimiser reaches the minimum, whichever way it goes there."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from support.dual import (
    MINIMISED,
    dual_problems,
    each_loss,
    grid_problem,
    minimiser_of,
    with_and_without_intercept,
)
from support.matrices import make_data

from lazynet import DualNetClassifier
from lazynet.losses import LOSSES, get_loss
from lazynet.minimum import gram, minimise, search
from lazynet.minimum.gram import subsampled
from lazynet.minimum.minimise import Minimiser, Problem
from lazynet.penalties import ElasticNet

TOL = 1e-9
SMOOTH = [name for name in MINIMISED if LOSSES[name].curvature is not None]
JUMPING = [name for name in MINIMISED if LOSSES[name].curvature is None]


def minimum_of(problem, kind=Minimiser, tol=TOL, max_iter=3000):
    """The minimum of a problem, which must have been reached."""
    walker = minimiser_of(problem, kind)
    found = walker.to(problem.l1, problem.l2, tol=tol, max_iter=max_iter)
    assert found.converged, f"the gap is {found.gap:.3g}, not {found.target:.3g}"
    if tol * walker.at_zero > 1e-12:
        assert found.target == tol * walker.at_zero
    return found


def assert_optimal(problem, found):
    """The dual variables prove the gap, by the reference, and no weight is there for nothing."""
    twin, w, l1 = problem.reference(), found.coef, problem.l1
    duals, y = found.duals.tolist(), np.array(problem.targets)
    p = np.array(problem.rows) @ w + found.intercept
    if problem.fit_intercept:
        assert abs(twin.balance(duals)) <= 1e-13 * (1.0 + np.abs(duals).max())
    else:
        assert found.intercept == 0.0
    # The certificate may have had a better dual point, its own scaled into the box.
    bound = max(map(twin.dual_objective, (duals, twin.scaled(duals))))
    gap = twin.objective(w.tolist(), found.intercept) - bound
    rounding = 1e-12 * (1.0 + np.abs(y).max() ** 2 + np.abs(p).max() ** 2)
    assert -rounding <= gap <= found.gap + rounding
    # Nobody pays an l1 penalty for a weight that nothing pulls at.
    u = np.array(twin.correlations(duals if problem.l2 else twin.scaled(duals)))
    assert (np.abs(u[w != 0.0]) >= 0.98 * l1).all()


@given(problem=dual_problems(MINIMISED).filter(lambda problem: problem.l1 or problem.l2))
def test_the_minimum_of_any_small_problem_is_reached(problem):
    """Importances and values may be 0, rows equal and targets far from any prediction."""
    problem = problem.in_floats()
    assert_optimal(problem, minimum_of(problem, tol=1e-7))


@pytest.mark.parametrize("size", np.geomspace(1e-3, 1e3, 20))
def test_a_feature_that_the_intercept_replaces_in_the_model_moves(size):
    """Where one row alone has curvature, a feature has no curvature of its own but rounding."""
    X = sparse.csr_matrix(size * np.array([[1.0, -1.0, 0.0, 0.0]]).T)
    y = np.array([-1.0, 1.0, -1.0, -1.0])
    model = DualNetClassifier(loss="smooth_hinge", l1=0.4 * size, l2=0.0, random_state=0)
    model.fit(X, y, sample_weight=[2.0, 2.0, 0.0, 0.0])
    assert model.coef_[0, 0] * size == pytest.approx(-0.6, abs=0.02)
    assert model.duality_gap_ <= 1e-4 * 0.5


# --- every way to the minimum ---------------------------------------------------------------------


class OneMethod(Minimiser):
    """A minimiser that has one method alone, which a subclass names."""

    def _begin(self, penalty, target, max_iter):
        search, start = super()._begin(penalty, target, max_iter)
        search.pays = lambda *_: self.method == "gram"
        search._ascent_pays = lambda _: self.method == "ascent"
        search.ascents_left = max_iter if self.method == "ascent" else 0
        return search, start


WAYS = [
    *(("gram", loss) for loss in SMOOTH),
    *(("columns", loss) for loss in MINIMISED),
    *(("ascent", loss) for loss in MINIMISED),
]


@pytest.mark.parametrize(("method", "loss"), WAYS)
@with_and_without_intercept
@pytest.mark.parametrize(("l1", "l2"), [(0.02, 0.02), (0.0, 0.1), (0.05, 0.0)])
def test_every_method_reaches_the_same_minimum(method, loss, fit_intercept, l1, l2, monkeypatch):
    """By itself, and the minimum is the one that the methods together have found."""
    # Dual ascent by itself may rest for long where the slope jumps.
    monkeypatch.setattr(minimise, "_PATIENCE", 3000)
    problem = grid_problem(loss, l1=l1, l2=l2, fit_intercept=fit_intercept, n=25, d=6)
    tol = TOL
    if method == "ascent":
        problem = problem._replace(importances=None)
        # Without an l2 that holds the weights, dual ascent is slow where the slope jumps.
        tol = 1e-5 if l2 or loss in SMOOTH else 1e-3
    kind = type("Alone", (OneMethod,), {"method": method})
    together, alone = minimum_of(problem), minimum_of(problem, kind, tol)
    assert_optimal(problem, together)
    assert abs(alone.objective - together.objective) <= max(alone.gap, together.gap)
    assert alone.solver == method
    if method != "ascent":
        assert_optimal(problem, alone)


@each_loss
def test_many_rows_need_no_columns(loss, monkeypatch):
    """More rows than columns have numbers for."""
    monkeypatch.setattr(search, "MOST_ROWS", 10)
    monkeypatch.setattr(minimise, "Columns", lambda mean: None)
    problem = grid_problem(loss, l1=0.02, l2=0.02, fit_intercept=True, n=25, d=6)
    many = minimum_of(problem, tol=1e-6)
    monkeypatch.undo()
    assert abs(many.objective - minimum_of(problem).objective) <= many.gap


@pytest.mark.parametrize("n", [2000, 8000])
@with_and_without_intercept
def test_a_search_with_a_subsampled_step_reaches_the_minimum(n, fit_intercept, monkeypatch):
    """The objective is the one of a search whose steps take all rows: with and without a sample."""
    X, y = make_data(n, 40, n_classes=2, seed=0)
    examples = X, np.where(y > 0, 1.0, -1.0), None
    problem = Problem(*examples, get_loss("log_loss"), fit_intercept)
    monkeypatch.setattr(gram, "_MANY_PRODUCTS", n)
    were_subsampled = []

    def watched(here, n):
        there = subsampled(here, n)
        were_subsampled.append(there is not here)
        return there

    def found(step):
        monkeypatch.setattr(gram, "subsampled", step)
        walker = Minimiser(problem, 0)
        return walker.to(0.01 * walker.largest_l1, 0.0, tol=TOL, max_iter=100)

    one, other = found(watched), found(lambda here, n: here)
    assert were_subsampled[0]
    assert not were_subsampled[-1]
    assert one.converged
    assert other.converged
    assert abs(one.objective - other.objective) <= one.target


# --- starts, features, penalties and rounding -----------------------------------------------------


@each_loss
@with_and_without_intercept
def test_a_search_from_zero_weights_starts_with_the_best_intercept(loss, fit_intercept):
    """The objective is that of zero weights, and the duals balance each other."""
    problem = grid_problem(loss, l1=0.0, l2=0.0, fit_intercept=fit_intercept, n=25, d=6)
    walker = minimiser_of(problem)
    start = walker._start(ElasticNet(0.2 * walker.largest_l1, 0.1))
    assert start.objective == pytest.approx(walker.at_zero, rel=1e-12)
    assert not fit_intercept or abs(problem.reference().balance(start.duals.tolist())) <= 1e-9


def test_features_without_values_leave_rows_that_are_then_full():
    """The others have a value in every row, and the minimum is that without the empty features."""
    random = np.random.default_rng(0)
    signs, y = random.choice([-1.0, 1.0], (40, 1100)), random.choice([-1.0, 1.0], 40)
    X = sparse.csr_matrix(np.hstack([signs, np.zeros((40, 300))]))
    coefficients = []
    for rows in (X, X[:, :1100]):
        walker = Minimiser(Problem(rows, y, None, get_loss("squared_error"), True), 0)
        found = walker.to(0.3 * walker.largest_l1, 0.0, tol=TOL, max_iter=100)
        assert found.converged
        coefficients.append(found.coef)
    np.testing.assert_allclose(
        coefficients[0], np.append(coefficients[1], np.zeros(300)), atol=1e-7
    )
    assert (coefficients[0] != 0.0).any()


@with_and_without_intercept
def test_a_certificate_is_that_of_the_present_penalty(fit_intercept, monkeypatch):
    """Also where the penalty has changed so little that the last search ended at the minimum."""
    monkeypatch.setattr(minimise, "SMALL", 0)
    problem = grid_problem("log_loss", l1=0.02, l2=0.0, fit_intercept=fit_intercept, n=40, d=9)
    walker = minimiser_of(problem)
    first = walker.to(problem.l1, 0.0, tol=1e-3, max_iter=100)
    again = walker.to(problem.l1 * (1.0 - 1e-4), 0.0, tol=1e-2, max_iter=100)
    assert again.n_iter == 0
    size = np.abs(first.coef).sum()
    lower = first.objective - 1e-4 * problem.l1 * size
    # The intercept is the best one anew.
    assert again.objective == pytest.approx(lower, abs=1e-7)
    assert again.objective < first.objective - 1e-6


@with_and_without_intercept
def test_a_point_of_a_path_takes_about_one_step(fit_intercept):
    """With an intercept as without one, though it is centred only as exactly as a step needs."""
    random = np.random.default_rng(0)
    X, weights = 0.5 + abs(random.standard_normal((1500, 40))), random.standard_normal(40)
    odds = X @ (weights * (random.random(40) < 0.4))
    odds += random.logistic(size=1500) - np.quantile(odds, 0.7)
    y = np.where(odds > 0.0, 1.0, -1.0)
    walker = Minimiser(
        Problem(sparse.csr_matrix(X), y, None, get_loss("log_loss"), fit_intercept), 0
    )
    l1s = walker.largest_l1 * np.geomspace(1.0, 0.02, 40)
    path = list(minimise.follow(walker, [(l1, 0.0) for l1 in l1s], tol=1e-4, max_iter=100))
    assert all(found.converged for found in path)
    assert sum(found.n_iter for found in path) <= 44


def test_dual_ascent_goes_on_where_the_search_is():
    """At the next point of a path it takes fewer epochs than from zero weights."""
    kind, cold, warm = type("Alone", (OneMethod,), {"method": "ascent"}), 0, 0
    for loss in SMOOTH:
        walker = minimiser_of(grid_problem(loss, l1=0.0, l2=0.0, fit_intercept=True), kind)
        points = [(0.02, 0.1), (0.0199, 0.1)]
        first, second = minimise.follow(walker, points, tol=1e-6, max_iter=3000)
        cold, warm = cold + first.n_iter, warm + second.n_iter
    assert warm <= 0.7 * cold


def test_minima_of_a_path_have_arrays_of_their_own():
    """Also where every weight is 0, and the duals are those of zero weights."""
    walker = minimiser_of(grid_problem("log_loss", l1=0.0, l2=0.0, fit_intercept=True))
    points = [(share * walker.largest_l1, 0.0) for share in (2.0, 1.0, 0.5, 0.4)]
    path = list(minimise.follow(walker, points, tol=TOL, max_iter=100))
    arrays = [walker.duals_at_zero, *(a for found in path for a in (found.coef, found.duals))]
    for one, other in itertools.combinations(arrays, 2):
        assert not np.shares_memory(one, other)


@each_loss
@with_and_without_intercept
def test_a_search_that_rounding_stops_returns_its_best_certificate(loss, fit_intercept):
    """The last digits may refuse a gap that the duals of a model seemed to prove."""
    for seed, ratio in [(0, 0.0), (1, 0.1), (2, 1.0)]:
        problem = grid_problem(loss, l1=0.0, l2=0.0, fit_intercept=fit_intercept, n=60, seed=seed)
        walker = minimiser_of(problem)
        l1 = 0.2 * walker.largest_l1
        found = walker.to(l1, ratio * l1, tol=1e-15, max_iter=60, exactly=False)
        assert found.n_iter >= 1
        assert found.gap <= 1e-10 * walker.at_zero


# --- from anywhere --------------------------------------------------------------------------------


@each_loss
@with_and_without_intercept
def test_a_search_from_anywhere_ends_where_a_cold_one_does(loss, fit_intercept):
    """From the minimum, another one, weights far from any, and where the loss is a line."""
    start = grid_problem(loss, l1=0.0, l2=0.0, fit_intercept=fit_intercept, n=25, d=6)
    walker, rng = minimiser_of(start), np.random.default_rng(0)
    largest = walker.largest_l1
    places = [None, (np.zeros(6), 40.0), (np.ones(6), -1e4), (100.0 * rng.normal(size=6), -50.0)]
    for l1, l2 in [(0.5, 0.0), (0.1, 0.0), (0.01, 0.0), (0.01, 0.01), (0.0, 0.3), (0.4, 0.0)]:
        problem = start._replace(l1=l1 * largest, l2=l2 * largest)
        cold = minimum_of(problem)
        for place in [*places, (cold.coef, cold.intercept)]:
            if place is not None:
                walker.start_from(place[0], place[1] if fit_intercept else 0.0)
            warm = walker.to(problem.l1, problem.l2, tol=TOL, max_iter=3000)
            assert warm.converged
            assert_optimal(problem, warm)
            assert abs(warm.objective - cold.objective) <= max(warm.gap, cold.gap)
        if loss in SMOOTH:
            assert warm.n_iter <= 3


@pytest.mark.parametrize("target", [0.0, 5.0, -1e6])
@pytest.mark.parametrize("loss", [name for name in LOSSES if not LOSSES[name].margin])
def test_equal_targets_need_no_weights(loss, target):
    """The intercept is the target, and the search ends."""
    problem = grid_problem(loss, l1=0.05, l2=0.01, fit_intercept=True)
    found = minimum_of(problem._replace(targets=[target] * 8), max_iter=5)
    assert not found.coef.any()
    # Any intercept within epsilon will do for the losses that ignore an error of epsilon.
    assert abs(found.intercept - target) <= problem.epsilon + 1e-14 * (1.0 + abs(target))


def test_duals_from_which_a_search_starts_keep_their_values():
    """Those of another model, which remains as it is; other importances would balance them anew."""
    problem = grid_problem("log_loss", l1=0.01, l2=0.1, fit_intercept=True)
    found = minimum_of(problem)
    walker = minimiser_of(problem._replace(importances=None))
    duals = found.duals + 0.01
    kept = duals.copy()
    walker.start_from(found.coef, found.intercept, duals)
    assert walker.to(problem.l1, problem.l2, tol=TOL, max_iter=100).converged
    assert duals.tolist() == kept.tolist()
