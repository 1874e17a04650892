"""The reference of Ma & Zheng's algorithm computes the formulas of the paper."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import rows_without_ties

from lazynet.reference import DenseReference
from lazynet.reference.stabilised import DenseStabilised, base_gravity, rejected_share


def permutations(n, seed):
    """An endless stream of permutations for every path."""

    def draws(path):
        generator = np.random.default_rng([seed, path])
        while True:
            yield from generator.permutation(n).tolist()

    return draws


def fitted(**options):
    options = dict(max_iter=5.0, burst_size=15.0, stability=0.5, gravity="informative") | options
    X, y = rows_without_ties(0, n=60, d=30, density=0.3)
    examples = [(row.indices.tolist(), row.data.tolist(), t) for row, t in zip(X, y, strict=True)]
    return DenseStabilised(30, **options).fit(examples, permutations(60, 1)), examples


@given(
    ratios=st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, 7.0]), min_size=1),
    beta=st.floats(0.001, 1.0),
)
def test_gravity_rejects_the_share_that_is_asked_for(ratios, beta):
    """At least beta at it, at most beta below it, ties included."""
    g = base_gravity(ratios, beta)
    n = len(ratios)
    assert sum(ratio <= g for ratio in ratios) >= beta * n - 1e-9
    assert sum(ratio < g for ratio in ratios) <= beta * n + 1e-9


@given(gamma=st.floats(-20, 20), beta0=st.floats(0.0, 0.99), x=st.floats(0, 1), y=st.floats(0, 1))
def test_the_rejection_rate_anneals(gamma, beta0, x, y):
    """0 for no features, beta0 for all of them, and rising in between."""
    assert rejected_share(0.0, beta0, gamma) == pytest.approx(0.0, abs=1e-12)
    assert rejected_share(1.0, beta0, gamma) == pytest.approx(beta0, abs=1e-12)
    low, high = sorted((x, y))
    assert rejected_share(low, beta0, gamma) <= rejected_share(high, beta0, gamma) + 1e-12


def test_without_rejection_the_paths_are_plain_sgd():
    """The model is the mean of n_paths runs of SGD if rejection_rate=0 and stability=0."""
    model, examples = fitted(rejection_rate=0.0, stability=0.0, n_paths=3)
    assert len(model.stable) == 28  # two features never occur
    for path in range(3):
        twin = DenseReference(30, loss="hinge", schedule=lambda t: 1 / math.sqrt(t + 1))
        rows = permutations(60, 1)(path)
        for row in itertools.islice(rows, model.steps[path]):
            twin.step(*examples[row])
        np.testing.assert_allclose(model.paths[path], twin.weights, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(model.weights, np.mean(model.paths, axis=0))


def test_stable_sets_never_grow_and_what_is_purged_stays_zero():
    """No stage brings a feature back; shares of rejections lie between 0 and 1."""
    model, _ = fitted()
    assert 0 < len(model.trace[-1].stable) < 30
    for before, after in itertools.pairwise(model.trace):
        assert after.stable <= before.stable
    for stage in model.trace:
        assert 0.0 <= stage.realised_rate <= 1.0
    for path in model.paths:
        assert all(w == 0.0 for j, w in enumerate(path) if j not in model.stable)


def test_a_feature_that_was_not_informed_is_left_alone():
    """No gradient, no truncation; and with universal gravity everyone has one."""
    for gravity, expected in (("informative", 0.75), ("universal", 0.25)):
        model = DenseStabilised(2, gravity=gravity, n_paths=1)
        model.paths[0] = [1.0, 0.75]
        model.truncate(0, {0: 5}, 0.1, 5)
        assert model.paths[0] == [0.5, expected]
