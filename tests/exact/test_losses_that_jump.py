"""For losses whose slope jumps, the interior point method finds the minimum of a linear program."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from lazynet import ElasticNet, EpsilonInsensitive
from lazynet.data import as_examples
from lazynet.engines.interior import minimum_inside, suits
from lazynet.engines.mean import MeanLoss
from lazynet.losses import get_loss

LOSSES = ["hinge", "perceptron", "absolute_error", EpsilonInsensitive(0.3)]
L1 = 0.02


def plain_losses(loss, scores, y):
    """The loss of every row, from its definition."""
    if loss.margin:
        return np.maximum(0.0, (1.0 if loss.name == "hinge" else 0.0) - y * scores)
    width = loss.epsilon if loss.name == "epsilon_insensitive" else 0.0
    return np.maximum(0.0, np.abs(y - scores) - width)


def least_objective(X, y, s, loss, l1, fit_intercept):
    """The minimum of the mean loss plus l1 |w|_1, by linear programming over u, v, b, xi."""
    n, p = X.shape
    cost = np.concatenate([np.full(2 * p, l1), [0.0], s / s.sum()])
    b = np.full((n, 1), float(fit_intercept))
    score = np.hstack([X, -X, b])
    if loss.margin:
        # xi >= c - y (x.w + b)
        sides = [(-y[:, None] * score, (-1.0 if loss.name == "hinge" else 0.0) * np.ones(n))]
    else:
        # xi >= |x.w + b - y| - width
        width = loss.epsilon if loss.name == "epsilon_insensitive" else 0.0
        sides = [(score, y + width), (-score, -y + width)]
    rows = np.vstack([np.hstack([side, -np.eye(n)]) for side, _ in sides])
    bounds = [(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * n
    found = linprog(cost, rows, np.concatenate([most for _, most in sides]), bounds=bounds)
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("given", LOSSES, ids=str)
@pytest.mark.parametrize("shape", [(40, 6), (12, 30)])
def test_the_objective_is_that_of_a_linear_program(shape, given, fit_intercept):
    """No point is better than the linear program's, and the one that is found is as good."""
    random = np.random.default_rng(3)
    loss = get_loss(given)
    X = random.standard_normal(shape)
    y = X[:, 0] + 0.5 * random.standard_normal(len(X)) + 0.3
    if loss.margin:
        y = np.where(y > 0, 1.0, -1.0)
    s = random.uniform(0.5, 2.0, len(X))
    mean = MeanLoss(
        as_examples(sparse.csr_matrix(X), y, s), y, s, loss, fit_intercept=fit_intercept
    )
    assert suits(mean)
    found = minimum_inside(mean, ElasticNet(L1, 0.0), 0.0)
    assert fit_intercept or found.intercept == 0.0
    scores = X @ found.weights + found.intercept
    objective = s @ plain_losses(loss, scores, y) / s.sum() + L1 * np.abs(found.weights).sum()
    least = least_objective(X, y, s, loss, L1, fit_intercept)
    assert objective == pytest.approx(least, rel=1e-6, abs=1e-8)
    # Other strengths have other minima: the comparison tells them apart.
    if loss.name != "perceptron":
        assert least < least_objective(X, y, s, loss, 1.01 * L1, fit_intercept) - 1e-6
