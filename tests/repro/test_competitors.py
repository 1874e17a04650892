"""Every competitor that is timed computes the weights of the dense reference."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from lazynet.reference import DenseReference
from paper_repro.competitors import PLAINEST, READINGS, TIERS
from paper_repro.competitors.base import CLOCK, DENSE, SPARSE_PREDICTIONS, TABLES, Problem

EVERY_TIER = {**TIERS, **READINGS}
ALL = [(tier, name) for tier, competitors in EVERY_TIER.items() for name in competitors]


def problem(rule):
    """Some rows are empty, penalties clip weights, and the first weights are not zero."""
    generator = np.random.default_rng(0)
    X = sparse.random(60, 40, 0.1, "csr", random_state=generator)
    X.sort_indices()
    weights = generator.standard_normal(40) * (generator.random(40) < 0.7)
    y = np.where(generator.random(60) < 0.5, 1.0, -1.0)
    return Problem(X, y, rule, weights, 0.3, t=5, l1=0.02, l2=0.5, eta0=0.4)


def reference(given, stop):
    """The plain dense algorithm from the same first weights."""
    options = dict(loss="log_loss", rule=given.rule, l1=given.l1, l2=given.l2, fit_intercept=True)
    twin = DenseReference(given.X.shape[1], schedule=lambda t: given.rate(t + given.t), **options)
    twin.weights, twin.intercept = given.weights.tolist(), given.intercept
    for i in range(stop):
        row = given.X[i]
        twin.step(row.indices.tolist(), row.data.tolist(), given.y[i])
    return twin


@pytest.mark.parametrize("rule", ["sgd", "fobos"])
@pytest.mark.parametrize(("tier", "name"), ALL)
def test_every_competitor_equals_the_reference(tier, name, rule):
    """After any number of examples, in pieces, after beginning anew; the problem is unchanged."""
    given, shared = problem(rule), problem(rule)
    learner = EVERY_TIER[tier][name](given)
    for stop in (0, 1, 17, 60, 1):
        learner.begin()
        learner.learn(0, stop // 3)
        learner.learn(stop // 3, stop)
        twin = reference(shared, stop)
        np.testing.assert_allclose(learner.weights(), twin.weights, rtol=0, atol=1e-13)
        assert learner.intercept == pytest.approx(twin.intercept, abs=1e-13)
    assert np.count_nonzero(reference(shared, 60).weights) < given.X.shape[1]
    np.testing.assert_array_equal(given.weights, shared.weights)
    assert (given.X != shared.X).nnz == 0


def test_tables_that_are_full_begin_again(monkeypatch):
    """NumPy's tables have a budget, as in the paper; the weights do not depend on the budget."""
    monkeypatch.setattr("paper_repro.competitors.numpy_vectors.BUDGET", 7)
    given = problem("fobos")
    learner = TIERS["numpy"][TABLES](given)
    learner.begin()
    learner.learn(0, 60)
    np.testing.assert_allclose(learner.weights(), reference(given, 60).weights, rtol=0, atol=1e-13)


class Counted:
    """A matrix of one row that counts how often each of its elements is looked up."""

    def __init__(self, X):
        self.X, self.shape, self.indices, self.counts = X, X.shape, X.indices, Counter()

    def __getitem__(self, where):
        if where == 0:
            return self
        self.counts[where[1]] += 1
        return self.X[where]


@pytest.mark.parametrize(
    ("name", "at_each_use"), [(DENSE, 2), (SPARSE_PREDICTIONS, 1), (TABLES, 2), (CLOCK, 2)]
)
@pytest.mark.parametrize("tier", READINGS)
def test_a_reading_looks_elements_up_as_often_as_it_says(tier, name, at_each_use):
    """Counted are the zeros of the features that it visits, for lazy learners the nonzeros."""
    given = problem("fobos").first(1)
    row, lazy = Counted(given.X), name in (TABLES, CLOCK)
    share, nonzeros = range(0, 40, 2), set(given.X.indices)
    of_features = {} if lazy else dict(features=share)
    learner = READINGS[tier][name](replace(given, X=row), **of_features)
    learner.begin()
    learner.learn(0, 1)
    visited = nonzeros if lazy else set(share) - nonzeros
    assert row.counts.keys() - nonzeros == visited - nonzeros
    assert {row.counts[j] for j in visited} == {at_each_use if "at each use" in tier else 1}
    assert PLAINEST == "looked up at each use, weights in an array"
