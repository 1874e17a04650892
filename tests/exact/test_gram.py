"""The Hessian of a few columns is that of dense arrays; the descent ends at the minimum."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support.matrices import compact_rows

from lazynet.kernels import sums
from lazynet.kernels.gram import Gram
from lazynet.kernels.model import descend, largest_violation, of_weights, violations
from lazynet.minimum.gram import NewtonSteps
from lazynet.minimum.screening import HEAD
from lazynet.penalties import ElasticNet

#: The roundoff of floats, in which the products with heads are kept, and of doubles.
FLOAT, DOUBLE = 2.0**-24, 2.0**-53


def added(rows, curvatures, features, n_heads, fit_intercept):
    """The products that the kernel adds to zeros."""
    gram, row = Gram(rows, features, n_heads, fit_intercept), 0
    while row < len(curvatures):
        _, row = gram.add(curvatures, row)
    out = np.empty((len(features) + 1, len(features) + 1))
    gram.read(out)
    return out


@given(st.integers(0, 2**20), st.integers(0, 400), st.integers(1, 40), st.booleans(), st.booleans())
def test_the_hessian_is_that_of_dense_arrays(seed, n, d, full, fit_intercept):
    """Of any columns in any order, with any number of heads, at every level of vector units."""
    random = np.random.default_rng(seed)
    X = np.where(
        random.random((n, d)) < (1.0 if full else 0.4), random.standard_normal((n, d)), 0.0
    )
    curvatures = random.uniform(0.0, 1.0, n) * (random.random(n) < 0.8)
    features = random.permutation(d).astype(np.int32)[: random.integers(0, d + 1)]
    n_heads = int(random.integers(0, len(features) + 1))
    Z = np.hstack([np.full((n, 1), float(fit_intercept)), X[:, features]])
    wanted = Z.T @ (curvatures[:, None] * Z)
    # Two numbers, their product and each of n sums are rounded: n + 4 times at most, by the kernel
    # and by NumPy.  A sum with the intercept is of doubles, but the numbers of a head are floats.
    unit = np.full(wanted.shape, DOUBLE)
    unit[: n_heads + 1] = unit[:, : n_heads + 1] = FLOAT
    unit[0, n_heads + 1 :] = unit[n_heads + 1 :, 0] = unit[0, 0] = DOUBLE
    allowed = 2.0 * (n + 4) * unit * (abs(Z).T @ (curvatures[:, None] * abs(Z)))
    rows, found = compact_rows(sparse.csr_matrix(X)), []
    for level in range(3):
        rows.at_level(level)
        found.append(added(rows, curvatures, features, n_heads, fit_intercept))
        np.testing.assert_array_equal(found[-1], found[0])
    assert (abs(found[0] - wanted) <= allowed).all()


@given(
    st.integers(0, 2**20),
    st.integers(0, 12),
    st.sampled_from([0.0, 1e-3, 0.1]),
    st.sampled_from([0.0, 1e-2]),
    st.booleans(),
)
def test_the_descent_ends_at_the_minimum(seed, n, l1, l2, dependent):
    """No direction goes down, also where columns depend on each other; slopes are those there."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((3 * n + 5, n + 1))
    if dependent:
        rows[:, 1::2] = rows[:, ::2][:, : rows[:, 1::2].shape[1]] * random.choice([-1.0, 2.0])
    H, start = rows.T @ rows / len(rows), random.standard_normal(n + 1)
    start *= random.random(n + 1) < 0.5
    slopes = rows.T @ random.standard_normal(len(rows)) / len(rows)
    weights, left = start.copy(), slopes.copy()
    for _ in range(50):
        if descend(H, weights, left, l1, l2, 1e-13, 1000)[0] <= 1e-13:
            break
    np.testing.assert_allclose(left, slopes - H @ (weights - start), rtol=1e-7, atol=1e-10)
    pull = left - l2 * weights
    assert (np.abs(pull)[weights == 0.0] <= l1 + 1e-10).all()
    away = pull - l1 * np.sign(weights)
    assert (np.abs(away)[weights != 0.0] <= 1e-10).all()


@pytest.mark.parametrize("n", [30, 64, 65, 120])
@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_the_descent_takes_few_sweeps_over_correlated_features(n, l2):
    """Equations settle the nonzeros: up to 64 of them by a factor, more by conjugate gradients."""
    random = np.random.default_rng(n)
    rows = np.cumsum(random.standard_normal((3 * n, n)), axis=1)
    rows *= random.uniform(0.5, 2.0, n) / np.linalg.norm(rows, axis=0)
    H, wanted = rows.T @ rows, random.choice([-1.0, 1.0], n) * random.uniform(1.0, 2.0, n)
    weights = wanted * random.uniform(0.5, 2.0, n)
    slopes = H @ (wanted - weights) + 1e-3 * np.sign(wanted) + l2 * wanted
    met, sweeps = descend(H, weights, slopes, 1e-3, l2, 1e-9, 1000)
    assert met <= 1e-9
    assert sweeps <= {30: 5, 64: 10}.get(n, 15)
    np.testing.assert_allclose(weights, wanted, atol=1e-4)


@given(st.integers(0, 2**20), st.integers(0, 9), st.booleans())
def test_the_intercept_leaves_and_violations_are_those_of_the_conditions(seed, n, moves):
    """The model at its best intercept; u of a zero within l1, of another weight at its sign."""
    random = np.random.default_rng(seed)
    rows, d = random.standard_normal((3 * n + 5, n + 1)), 2 * n + 1
    H, rise = rows.T @ rows, random.standard_normal()
    slopes, w = random.standard_normal(d), random.standard_normal(d) * (random.random(d) < 0.5)
    features = random.permutation(d)[:n].astype(np.int32)
    share = H[0, 1:] / H[0, 0] if moves else np.zeros(n)
    reduced, weights, left = of_weights(H, features, w, slopes, rise, moves)
    np.testing.assert_array_equal(weights, w[features])
    np.testing.assert_allclose(reduced, H[1:, 1:] - np.outer(share, H[0, 1:]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(left, slopes[features] - share * rise, rtol=1e-12, atol=1e-12)
    pull = slopes - 0.1 * w
    wrong = np.where(w, abs(pull - 0.5 * np.sign(w)), abs(pull) - 0.5)
    np.testing.assert_allclose(violations(w, slopes, 0.5, 0.1), wrong, rtol=1e-12, atol=1e-15)
    largest = max(wrong.max(), 0.0), abs(w).sum()
    assert largest_violation(w, slopes, 0.5, 0.1) == pytest.approx(largest, rel=1e-12)


@given(st.integers(0, 2**20), st.integers(0, 9))
def test_a_working_set_has_heads_first(seed, n):
    """The features with a weight or a large slope, each once, and sums of their frequencies."""
    random = np.random.default_rng(seed)
    w, slopes = random.standard_normal((2, n)) * (random.random((2, n)) < 0.5)
    frequencies = 0.3 * random.random(n)
    steps = NewtonSteps(SimpleNamespace(mean=None, frequencies=frequencies), ElasticNet(), 0.0, 1.0)
    found = steps.above(SimpleNamespace(weights=w, correlations=slopes), 0.5)
    of_chosen = frequencies[found.features]
    assert {*found.features} == {*np.flatnonzero((w != 0.0) | (abs(slopes) > 0.5))}
    assert (of_chosen > HEAD).tolist() == sorted(of_chosen > HEAD, reverse=True)
    wanted = np.count_nonzero(w), of_chosen[of_chosen <= HEAD].sum(), of_chosen.sum()
    assert found.n_heads == np.count_nonzero(of_chosen > HEAD)
    assert found[2:] == pytest.approx((*wanted, of_chosen.min(initial=np.inf)), rel=1e-12)


def test_features_and_heads_that_do_not_exist_are_refused():
    """With their bounds; arrays of other sizes: test_kernels_stay_inside_arrays.py."""
    rows, features = compact_rows(sparse.csr_matrix(np.eye(3))), np.arange(3, dtype=np.int32)
    for wrong, words in (
        ((features, 4), "n_heads must be from 0 to 3"),
        ((features + 1, 0), "different columns below 3, got 3"),
        ((features // 2, 0), "different columns below 3, got 0"),
    ):
        with pytest.raises(ValueError, match=words):
            Gram(rows, *wrong, True)
    gram, out = Gram(rows, features, 1, True), np.ones((4, 4))
    gram.read(out)
    assert not out.any()
    with pytest.raises(ValueError, match="hessian"):
        descend(np.eye(4), np.ones(3), np.ones(3), 0.1, 0.1, 1e-9, 9)


def test_compensated_sums_keep_what_rounding_loses():
    """{high, low} of several blocks add up to the exact sum."""
    total = np.array([[1.0, 0.0]])
    for other in ([[1e-20, 0.0]], [[-1.0, 1e-30]]):
        sums.add_compensated(total, np.array(other))
    assert total.sum() == 1e-20 + 1e-30
