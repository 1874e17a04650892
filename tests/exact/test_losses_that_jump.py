"""Losses whose slope jumps: minima of small problems equal those of linear programs.

Such a loss is a line at most examples.  On a few of these problems Newton's method comes to rest
far from the minimum, and an interior point method must finish.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from support.dual import MINIMISED

from lazynet import DualNetClassifier
from lazynet.data.arrays import as_examples
from lazynet.losses import LOSSES
from lazynet.minimum import columns as searches
from lazynet.minimum import interior
from lazynet.minimum.certificate import certify
from lazynet.minimum.minimise import Minimiser, Problem
from lazynet.minimum.objective import MeanLoss
from lazynet.penalties import ElasticNet
from lazynet.reference.losses import LOSSES as TWINS

JUMPING = [name for name in MINIMISED if LOSSES[name].curvature is None]
TOL = 1e-4

each_loss = pytest.mark.parametrize("loss", JUMPING)


def gaussian_problem(loss, seed, shape=None):
    """Rows, targets, importances, whether there is an intercept, and l1 as share of the largest."""
    rng = np.random.default_rng([JUMPING.index(loss), seed])
    n, d = shape or (int(rng.integers(3, 13)), int(rng.integers(1, 8)))
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    if LOSSES[loss].margin:
        y = np.where(y > 0.0, 1.0, -1.0)
        y[0] = -y[1]
    weights = (None, rng.integers(0, 4, n).astype(float), rng.exponential(size=n))[seed // 2 % 3]
    if weights is not None:
        weights[0] += 1.0
    return X, y, weights, bool(seed % 2), (0.01, 0.003)[seed // 6 % 2]


def minimiser_of(X, y, weights, loss, fit_intercept):
    loss = replace(LOSSES[loss], epsilon=0.2)
    problem = Problem(sparse.csr_matrix(X), y, weights, loss, fit_intercept)
    return Minimiser(problem, 0)


def lines_of(loss, y, epsilon):
    """The lines whose maximum a loss with kinks is, as functions of p: slopes and values at 0.

    There is a line per stretch between two kinks; slopes and values have an entry per target.
    """
    row, (value, slope) = LOSSES[loss], TWINS[loss]
    kinks = sorted(constant + factor * epsilon for constant, factor in row.kinks)
    lines = []
    for place in np.array([kinks[0] - 1, *np.add(kinks[1:], kinks[:-1]) / 2, kinks[-1] + 1]):
        p = (place * y if row.margin else place + y).tolist()
        pairs = list(zip(p, y.tolist(), strict=True))
        slopes = np.array([slope(*pair, epsilon) for pair in pairs], dtype=float)
        lines.append((slopes, np.array([value(*pair, epsilon) for pair in pairs]) - slopes * p))
    return lines


def least_objective(X, y, weights, loss, fit_intercept, l1):
    """By a linear program: w and b as differences, and a bound from above for every loss."""
    n, d = X.shape
    s = np.ones(n) if weights is None else weights
    ones = np.full((n, 1), float(fit_intercept))
    predictions = np.hstack([X, -X, ones, -ones])
    # The loss of an example lies above each of these lines: factor * p + offset.
    lines = lines_of(loss, y, 0.2)
    A = np.vstack([np.hstack([factor[:, None] * predictions, -np.eye(n)]) for factor, _ in lines])
    found = linprog(
        np.concatenate([np.full(2 * d, l1), [0.0, 0.0], s / s.sum()]),
        A_ub=A, b_ub=-np.concatenate([offset for _, offset in lines]), bounds=(0, None),
        options=dict(primal_feasibility_tolerance=1e-10, dual_feasibility_tolerance=1e-10),
    )  # fmt: skip
    assert found.status == 0, found.message
    return found.fun


@each_loss
@pytest.mark.parametrize("seeds", [
    range(100), pytest.param(range(100, 300), marks=pytest.mark.slow),
    pytest.param(range(300, 3000), marks=pytest.mark.thorough),
], ids=str)  # fmt: skip
def test_minima_are_those_of_linear_programs(loss, seeds):
    """With and without an intercept and weights, at a hundredth of the largest l1 and below.

    A search comes to rest on about one of the problems in a hundred.
    """
    for seed in seeds:
        *problem, share = gaussian_problem(loss, seed)
        minimiser = minimiser_of(*problem[:3], loss, problem[3])
        l1 = share * minimiser.largest_l1 or 0.1
        found = minimiser.to(l1, 0.0, tol=TOL, max_iter=1000)
        assert found.converged, f"seed {seed}: the gap is {found.gap:.3g}, not {found.target:.3g}"
        least = least_objective(*problem[:3], loss, problem[3], l1)
        assert -1e-9 <= found.objective - least <= found.gap + 1e-9, f"seed {seed}"


@pytest.mark.parametrize("tol", [1e-4, 1e-9])
@pytest.mark.parametrize(
    ("loss", "seed", "shape", "l1", "l2"),
    [
        ("hinge", 3492, (5, 2), 0.013491328141842333, 0.0),
        ("hinge", 3492, (5, 2), 0.013491328141842333, 1e-6),
        ("hinge", 1491, (3, 5), 0.0026476850368979577, 0.0),
    ],
)
def test_searches_that_came_to_rest(loss, seed, shape, l1, l2, tol):
    """Problems on which Newton's method and the smoothing alone stop at a large gap."""
    X = np.random.default_rng([0, seed]).standard_normal(shape)
    y = np.where(np.arange(shape[0]) % 2 == 0, -1.0, 1.0)
    model = DualNetClassifier(loss, l1=l1, l2=l2, tol=tol, random_state=0).fit(X, y)
    assert model.duality_gap_ <= tol * model.history_[0]["objective"]
    if not l2:
        least = least_objective(X, y, None, loss, True, l1)
        assert model.objective_ == pytest.approx(least, abs=tol + 1e-9)


# --- the interior point method by itself ----------------------------------------------------------


@each_loss
def test_the_hinges_of_a_row_add_up_to_its_loss(loss):
    """Whatever the slopes between the kinks are."""
    y = np.array([-1.0, 1.0])
    d, c, heights = interior._hinges(minimiser_of(np.ones((2, 1)), y, None, loss, False).mean)
    for p in np.linspace(-3.0, 3.0, 41):
        values = [TWINS[loss][0](p, target, 0.2) for target in y]
        found = (heights * np.maximum(c - d * p, 0.0)).sum(axis=0)
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-12)


@each_loss
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize(("l1", "l2"), [(0.02, 0.0), (0.02, 0.01), (0.0, 0.01)])
def test_the_interior_point_method_has_a_small_gap(loss, by_rows, l1, l2, monkeypatch):
    """For every kind of problem, for more rows than columns and fewer."""
    if by_rows:
        monkeypatch.setattr(interior, "_UNKNOWNS", 0)
    shares = []
    for seed in range(36):
        X, y, weights, fit_intercept, _ = gaussian_problem(loss, seed, ((6, 15), (30, 8))[seed % 2])
        minimiser = minimiser_of(X, y, weights, loss, fit_intercept)
        penalty = ElasticNet(l1=l1, l2=l2)
        found = interior.minimum_inside(minimiser.mean, penalty, minimiser.intercept)
        shares.append(certify(minimiser.mean, penalty, *found).gap / minimiser.at_zero)
        if l1 and not by_rows:
            whole = minimiser.to(l1, l2, tol=1e-10, max_iter=1000)
            assert (found.weights != 0.0).tolist() == (whole.coef != 0.0).tolist()
    # Rounding costs digits where the equations are those of the rows.
    assert np.median(shares) <= (1e-6 if by_rows else 1e-11)
    assert max(shares) <= (1e-2 if by_rows else 1e-5)


def test_numbers_that_overflow_are_not_a_solution():
    """The search goes on from where it was."""
    X, y, *_ = gaussian_problem("hinge", 0, (8, 3))
    minimiser = minimiser_of(1e150 * X, y, None, "hinge", True)
    found = interior.minimum_inside(minimiser.mean, ElasticNet(l1=1e-300), 0.0)
    assert found is None or np.isfinite(found.weights).all()


def test_large_problems_are_left_to_the_other_methods():
    """Neither a dense copy nor equations of any size are made."""
    assert interior.suits(minimiser_of(np.ones((600, 200)), np.ones(600), None, "hinge", True).mean)
    for shape in ((600, 600), (10**6, 2), (2, 10**6)):
        X = sparse.random(*shape, density=1e-6, random_state=0, format="csr")
        y = np.resize([-1.0, 1.0], shape[0])
        assert not interior.suits(minimiser_of(X, y, None, "hinge", True).mean)
    smooth = minimiser_of(np.ones((3, 2)), np.ones(3), None, "squared_error", True)
    assert not interior.suits(smooth.mean)


# --- the tests are tested -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_smoothing_that_does_not_fall_further_comes_to_rest(monkeypatch):
    """Repeated rows at a small tol, without the interior point method."""
    rng = np.random.default_rng(1)
    X = sparse.random(600, 200, density=0.1, format="csr", random_state=1)
    y = np.asarray(X[:, :5].sum(axis=1)).ravel() + rng.normal(0.0, 0.2, 600) > 0.2
    repeated = np.repeat(np.arange(600), rng.integers(0, 4, 600))
    X, y = X[repeated], y[repeated]

    def gap():
        model = DualNetClassifier("hinge", l1=0.003, l2=0, tol=1e-9, random_state=1).fit(X, y)
        return model.duality_gap_

    monkeypatch.setattr(interior, "suits", lambda mean: False)
    assert gap() <= 1e-9
    monkeypatch.setattr(searches, "_LEAST_STRENGTH", searches._WEAKEST)
    with pytest.warns(ConvergenceWarning, match="where the gap falls no more"):
        assert gap() > 1e-9


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_a_target_that_is_met_takes_the_slope_that_balances_all_slopes(size):
    """Also where the targets are so large that rounding moves the prediction away from the jump."""
    y = size * np.array([1.0, 2.0, 3.0, 4.0])
    rows, loss = as_examples(sparse.csr_matrix((4, 1)), y, None), LOSSES["absolute_error"]
    mean = MeanLoss(rows, y, None, loss, fit_intercept=True)
    np.testing.assert_array_equal(mean.balanced_slopes(np.zeros(4), y[1]), [-1.0, -1.0, 1.0, 1.0])
