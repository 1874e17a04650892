"""Study claims measures what the papers claim beside their tables, and says what fails."""

import copy
from unittest.mock import patch

import numpy as np
import pytest
from scipy import sparse
from support.studies import tiny_run

from paper_repro.competitors.base import Problem
from paper_repro.competitors.dicts import NonzeroWeights, SparsePredictions
from paper_repro.studies import STUDIES, claims, claims_verdicts
from paper_repro.studies.claims import CASGD, SAME, Claims
from paper_repro.study import Settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    larger = {"n": (1_000, 1_000, 20), "T": (100, 10_000, 20), "k": (100, 1_000, 40)}
    sizes = dict(FEATURES=100, STEPS=1_000, LARGER=larger, REGRET_STEPS=(50, 400))
    with (
        patch.multiple(claims, **sizes, REGRET_FEATURES=1_000),
        patch.multiple(claims_verdicts, EPOCH=1_000, ORDERS=3),
    ):
        out = tmp_path_factory.mktemp("claims")
        small = Settings(examples=300, features=400, nonzeros=8, repeats=1, seconds=0.002)
        yield tiny_run(STUDIES["claims"], small, out)[0]


def test_centering_alone_makes_translations_unseen(document):
    """SGD and ASGD see the translation, so that the measurement is no matter of course."""
    changes = document["records"]["translation"]
    assert max(changes[CASGD]) <= SAME
    assert max(changes[claims.CSGD]) <= SAME
    assert min(changes[claims.SGD]) > 0.01
    assert min(changes[claims.ASGD]) > 0.01


def test_skipping_zero_weights_gives_the_same_weights(document):
    """At every penalty that is timed; there is a row for each on the page."""
    page = STUDIES["claims"].page(document)
    found = Claims(document).zero_weights()
    assert list(found) == list(claims_verdicts.STRENGTHS)
    for strength, record in found.items():
        assert set(record["same"]) == set(record["seconds"])
        assert max(same["relative"] for same in record["same"].values()) <= 1e-10
        assert 0 <= record["nonzero"] <= record["features"] == 400
        assert f"\n| {strength:g} | {record['nonzero'] / 400:.1%} | " in page


def test_a_learner_that_skips_zero_weights_visits_the_others_alone():
    """Weights that vanish leave its dictionary, and a feature brings its weight back."""
    X = sparse.csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    problem = Problem(X, np.array([1.0, -1.0]), "fobos", np.array([0.0, 0.0, 0.01]), l1=1.0, l2=0.1)
    learner, dense = NonzeroWeights(problem), SparsePredictions(problem)
    learner.begin()
    dense.begin()
    assert set(learner.nonzero) == {2}
    for row in range(2):
        learner.learn(row, row + 1)
        dense.learn(row, row + 1)
        assert set(learner.nonzero) == set(np.flatnonzero(dense.weights()))
        np.testing.assert_allclose(learner.weights(), dense.weights(), rtol=1e-14)


def test_curves_and_regret_are_judged(document):
    """Every curve has its ends, and no regret is negative or beyond its bound."""
    found = Claims(document)
    assert found.curves_as_described
    for loss in claims.REGRET_LOSSES:
        for steps, regret in found.regrets(loss).items():
            assert 0 < regret < found.bounds(loss)[steps]


def test_verdicts_follow_from_the_records(document):
    """Each verdict turns if its records do."""
    before = Claims(document).verdicts()
    changed = copy.deepcopy(document)
    records = changed["records"]
    for record in records["orders"].values():
        record[claims_verdicts.VARIANCE].reverse()
    records["bursts"]["stages"][-1][0] = 1
    records["flush"]["flush"] = list(records["flush"]["epoch"])
    after = Claims(changed).verdicts()
    assert set(before) == set(after)
    for key, turned in {"average stabler": True, "growing bursts": False, "flush": False}.items():
        assert after[key].startswith("It holds" if turned else "It does not hold"), key
    assert before["growing bursts"].startswith("It holds")
    assert before["average stabler"].startswith("It does not hold")


def test_the_average_and_the_last_iterate_are_compared_under_the_same_orders(document):
    """The last step moves the average less than the last iterate, in every setting."""
    orders = document["records"]["orders"]
    assert len(orders) == len(claims_verdicts.L2) * len(claims_verdicts.PASSES)
    for record in orders.values():
        last, average = record[claims_verdicts.STEP]
        assert 0 < average < last
