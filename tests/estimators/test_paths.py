"""Paths of penalties: every point is a minimum, the grid begins where the weights do."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from support.matrices import make_data

from lazynet import net_path


def mean_loss(loss, predictions, targets, weights):
    """The mean loss by NumPy."""
    if loss == "log_loss":
        values = np.logaddexp(0, -targets * predictions)
    else:
        values = (predictions - targets) ** 2 / 2
    return np.average(values, weights=weights)


def problem(loss, weighted):
    """Rows, targets and sample weights, one of them 0."""
    X, y = make_data(n=80, d=30, n_classes=2 if loss == "log_loss" else 0)
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float) if weighted else None
    return X, y, (2.0 * y - 1 if loss == "log_loss" else y), weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_every_point_is_certified(loss, l1_ratio, weighted):
    """Objectives are those of the weights, gaps bound them, and the first point has no weights."""
    X, y, targets, weights = problem(loss, weighted)
    path = net_path(
        X, y, loss=loss, l1_ratio=l1_ratio, l1s=12, smallest=0.01, sample_weight=weights
    )
    assert path.converged.all()
    np.testing.assert_allclose(path.l1s, path.l1s[0] * 0.01 ** (np.arange(12) / 11), rtol=1e-12)
    np.testing.assert_allclose(path.l1s + path.l2s, path.l1s / l1_ratio)
    assert (path.gaps >= 0).all()
    assert (path.gaps <= 1e-4 * path.at_zero).all()
    coefs = path.coefs.toarray()
    for k, weight in enumerate(coefs):
        mean = mean_loss(loss, X @ weight + path.intercepts[k], targets, weights)
        penalty = path.l1s[k] * np.abs(weight).sum() + path.l2s[k] / 2 * weight @ weight
        assert path.objectives[k] == pytest.approx(mean + penalty, rel=1e-12)
        assert path.objectives[k] - path.dual_objectives[k] <= path.gaps[k] * (1 + 1e-9) + 1e-15
    assert path.nonzeros.tolist() == np.count_nonzero(coefs, axis=1).tolist()
    assert path.nonzeros[0] == path.n_iter[0] == 0
    assert path.nonzeros[1] > 0
    assert path.n_iter[1] > 0
    assert path.objectives[0] == pytest.approx(path.at_zero, rel=1e-9)
    np.testing.assert_allclose(path.decision_function(X), X @ coefs.T + path.intercepts, rtol=1e-12)


def test_a_path_of_ridge_penalties():
    """l1s=0.0 with l2s is ridge regression at every l2, from the largest down."""
    X, y = make_data(n=80, d=30, n_classes=0)
    path = net_path(X, y, loss="squared_error", l1s=0.0, l2s=[0.01, 1.0, 0.1], tol=1e-10)
    assert path.l2s.tolist() == [1.0, 0.1, 0.01]
    assert path.l1s.tolist() == [0.0] * 3
    for k, l2 in enumerate(path.l2s):
        ridge = Ridge(alpha=l2 * len(y)).fit(X.toarray(), y)
        np.testing.assert_allclose(path.coefs[k].toarray().ravel(), ridge.coef_, atol=1e-4)
        assert path.intercepts[k] == pytest.approx(ridge.intercept_, abs=1e-4)
    assert "l2 from 1 to 0.01" in str(path)


def test_penalties_that_are_given():
    """l1s are taken from the largest down; l2 follows from l1_ratio, or is given itself."""
    X, y = make_data(n=80, d=30)
    by_ratio = net_path(X, y, l1s=[0.01, 0.03], l1_ratio=0.25)
    assert by_ratio.l1s.tolist() == [0.03, 0.01]
    np.testing.assert_allclose(by_ratio.l2s, [0.09, 0.03])
    one_l2 = net_path(X, y, l1s=4, l2s=0.5)
    assert one_l2.l2s.tolist() == [0.5] * 4
    assert one_l2.nonzeros[0] == 0
    pairs = net_path(X, y, l1s=[0.01, 0.03], l2s=[1.0, 2.0])
    assert list(zip(pairs.l1s, pairs.l2s, strict=True)) == [(0.03, 2.0), (0.01, 1.0)]


def test_the_weights_of_a_path_stay_sparse():
    """A path over many features keeps only the nonzeros of each point."""
    X, y = make_data(n=80, d=30)
    wide = sparse.hstack([X, sparse.csr_matrix((80, 20_000))], format="csr")
    path, narrow = (net_path(rows, y, l1s=4, smallest=0.2, random_state=0) for rows in (wide, X))
    assert path.coefs.shape == (4, 20_030)
    assert path.coefs.nnz == path.nonzeros.sum()
    np.testing.assert_array_equal(path.nonzeros, narrow.nonzeros)


def test_points_that_do_not_arrive_are_named():
    """A warning says which points are above tol, and how far; the path is returned."""
    X, y = make_data(n=80, d=30)
    with pytest.warns(ConvergenceWarning) as caught:
        path = net_path(X, y, l1s=12, tol=1e-9, max_iter=2)
    (message,) = (str(warning.message) for warning in caught)
    late = np.flatnonzero(~path.converged)
    assert 5 < len(late) < 12
    assert f"{len(late)} of 12 points" in message
    assert f"l1 = {path.l1s[late[0]]:.3g}, " in message
    assert f" and {len(late) - 5} more" in message
    assert f"largest gap is {path.gaps[late].max():.3g}" in message
    assert "The search ended after max_iter=2 epochs: raise max_iter or tol" in message
    assert f"{len(late)} points not within tol" in str(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net_path(X, y, l1s=3)


REFUSED = [
    (dict(l1_ratio=0.0), ValueError, r"l1_ratio=0 leaves only .* write l1s=0\.0 and l2s"),
    (dict(l1_ratio=0.0, l1s=[0.1]), ValueError, "l1_ratio=0 leaves only the l2 penalty"),
    (dict(l1_ratio=0.5, l2s=0.1), ValueError, r"l1_ratio=0\.5 and l2s both say what l2 is"),
    (dict(l1_ratio=1.5), ValueError, "l1_ratio must lie between 0 and 1"),
    (dict(l1s=[]), ValueError, "l1s must be one number or a list of numbers"),
    (dict(l1s=[0.1, -0.1]), ValueError, "l1s must be finite and not negative"),
    (dict(l2s=[[0.1]]), ValueError, "l2s must be one number or a list of numbers"),
    (dict(l1s="many"), TypeError, "l1s must hold real numbers"),
    (dict(l1s=True), TypeError, "l1s must hold real numbers"),
    (dict(l1s=[0.1, 0.2], l2s=[0.1, 0.2, 0.3]), ValueError, "l2s must be one number or as many"),
    (dict(l1s=4, l2s=[0.1, 0.2, 0.3]), ValueError, "got 3 and 4 l1s"),
    (dict(l1s=[0.1, 0.0]), ValueError, "l1s and l2s must not both be 0 at a point"),
    (dict(l1s=0), ValueError, "l1s must be at least 2, got 0; an integer is a count"),
    (dict(smallest=0.0), ValueError, "smallest must lie between 1e-12 and 1"),
    (dict(loss="log"), ValueError, "loss must be one of"),
    (dict(tol=0.0), ValueError, "tol must be finite and positive"),
    (dict(sample_weight=[1.0]), ValueError, "sample_weight must hold one real number"),
]


def test_what_cannot_be_a_path_is_refused():
    """The error names the argument and what to write; targets that do not suit the loss, too."""
    X, y = make_data(n=20, d=5)
    for options, kind, message in REFUSED:
        with pytest.raises(kind, match=message):
            net_path(X, y, **options)
    X, three = make_data(n=30, d=5, n_classes=3)
    for targets, message in (
        (
            make_data(n=30, d=5, n_classes=0)[1],
            r"loss='log_loss' is for .* write loss='squared_err",
        ),
        (three, "got 3 classes: give y == label for a path.* write loss='squared_error'"),
    ):
        with pytest.raises(ValueError, match=message):
            net_path(X, targets)
    with pytest.raises(ValueError, match="features"):
        net_path(X, three == 1, l1s=2).decision_function(X[:, :3])
