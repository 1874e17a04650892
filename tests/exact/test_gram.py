"""The Hessian of a few columns is that of dense arrays; the descent ends at the minimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.kernels import gram, sums


def added(X, curvatures, places, size):
    """The upper triangle that the kernel adds to zeros."""
    found, row = np.zeros(size * (size + 1) // 2), 0
    while row < X.shape[0]:
        _, row = gram.add_gram(as_examples(X), curvatures, places, found, size, row)
    return found


@given(st.integers(0, 2**20), st.integers(0, 40), st.integers(1, 30), st.booleans(), st.booleans())
def test_the_hessian_is_that_of_dense_arrays(seed, n, d, narrow, sorted_columns):
    """Of columns in any order of places and of rows; some places are taken by no column."""
    random = np.random.default_rng(seed)
    X = sparse.random(n, d, density=0.4, format="csr", random_state=seed)
    X = X.astype(np.float32 if narrow else np.float64)
    if not sorted_columns:
        X = X[:, random.permutation(d)]
    curvatures = random.uniform(0.0, 1.0, n) * (random.random(n) < 0.8)
    size = int(random.integers(1, d + 3))
    places = random.permutation(np.arange(d, dtype=np.int32) - int(random.integers(0, d)))
    wide = np.zeros((n, size))
    wide[:, 0] = 1.0
    for column, place in enumerate(places):
        if 1 <= place < size:
            wide[:, place] = X[:, [column]].toarray().ravel()
    wanted = (wide.T @ (curvatures[:, None] * wide))[np.triu_indices(size)]
    np.testing.assert_allclose(added(X, curvatures, places, size), wanted, rtol=1e-12, atol=1e-13)


@given(
    st.integers(0, 2**20),
    st.integers(0, 12),
    st.sampled_from([0.0, 1e-3, 0.1]),
    st.sampled_from([0.0, 1e-2]),
    st.booleans(),
)
def test_the_descent_ends_at_the_minimum(seed, n, l1, l2, fit_intercept):
    """No direction goes down, also where the intercept moves; and slopes are those at the end."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((3 * n + 5, n + 1))
    H, start = rows.T @ rows / len(rows), random.standard_normal(n)
    slopes = random.standard_normal(n)
    weights, left = start.copy(), slopes.copy()
    for _ in range(50):
        if gram.descend(H, weights, left, l1, l2, fit_intercept, 1e-13) <= 1e-13:
            break
    hessian = H[1:, 1:] - np.outer(H[0, 1:], H[0, 1:]) / H[0, 0] * fit_intercept
    np.testing.assert_allclose(left, slopes - hessian @ (weights - start), rtol=1e-7, atol=1e-10)
    pull = left - l2 * weights
    assert (np.abs(pull)[weights == 0.0] <= l1 + 1e-10).all()
    away = pull - l1 * np.sign(weights)
    assert (np.abs(away)[weights != 0.0] <= 1e-10).all()


def test_arrays_of_the_wrong_size_are_refused():
    """By their names, before anything is changed."""
    X, found = sparse.csr_matrix(np.eye(3)), np.zeros(6)
    places, curvatures = np.arange(3, dtype=np.int32), np.ones(3)
    for wrong, words in (
        ((curvatures[:2], places, found, 3), "curvatures"),
        ((curvatures, places[:2], found, 3), "places must have 3 entries"),
        ((curvatures, places, found, 4), "sums"),
        ((curvatures, places, found, 0), "size must be from 1"),
    ):
        with pytest.raises(ValueError, match=words):
            gram.add_gram(as_examples(X), *wrong, 0)
    assert not found.any()
    for wrong in ((np.eye(3), np.ones(3), np.ones(3)), (np.eye(4), np.ones(3), np.ones(2))):
        with pytest.raises(ValueError, match=r"hessian|slopes"):
            gram.descend(*wrong, 0.1, 0.1, True, 1e-9)


def test_compensated_sums_keep_what_rounding_loses():
    """{high, low} of several blocks add up to the exact sum."""
    total = np.array([[1.0, 0.0]])
    for other in ([[1e-20, 0.0]], [[-1.0, 1e-30]]):
        sums.add_compensated(total, np.array(other))
    assert total.sum() == 1e-20 + 1e-30
