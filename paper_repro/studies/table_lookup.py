"""The learners of the study ``table`` that look every element of a SciPy row up.

A dense update of all features would take seconds.  What it does for a feature does not depend on
which feature it is, so it visits a share of the features, and its time is extrapolated in
proportion.  A smaller share shows whether the time for a feature depends on the share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from paper_repro.competitors import PLAINEST, READINGS
from paper_repro.competitors.base import (
    DENSE,
    SPARSE_PREDICTIONS,
    Competitor,
    Problem,
    weights_after,
)
from paper_repro.competitors.compiled import Dense as CompiledDense
from paper_repro.score import equality
from paper_repro.study import Record

#: The group of all readings: they take turns with each other.
LOOKED_UP = "looked up"
#: Rows that the dense learners visit, and rows that the lazy ones visit.
DENSE_ROWS, LAZY_ROWS = 10, 20_000
#: A short run compares the weights after so many of the dense learners' rows; the full run and the
#: tests compare longer gaps.
QUICK_DENSE_ROWS = 2
#: A share holds the features of the dense learners' rows, and of the others one in so many.
LARGER, SMALLER = "larger share", "smaller share"
ONE_IN = {LARGER: 40, SMALLER: 200}
#: The learners that visit a share.
SHARED = (SPARSE_PREDICTIONS, DENSE)
#: A turn lasts this part of a turn of other tiers; there are more learners.
TURN = 1 / 3


def share(X: sparse.csr_matrix, name: str) -> NDArray[np.int64]:
    """The features of a share; none of the dense learners' rows has a nonzero elsewhere."""
    return np.union1d(X[:DENSE_ROWS].indices, np.arange(0, X.shape[1], ONE_IN[name]))


def shares(X: sparse.csr_matrix) -> Record:
    """How many rows and features the dense learners visit."""
    return {"rows": min(DENSE_ROWS, X.shape[0])} | {each: len(share(X, each)) for each in ONE_IN}


def learner_name(tier: str, name: str, part: str = LARGER) -> str:
    """The name of a learner in the group of all readings."""
    return f"{tier}: {name}" if part == LARGER else f"{tier}: {name}, {part}"


def learners(problem: Problem) -> dict[str, Competitor]:
    """The learners of all readings; those of the plainest one on both shares."""
    lazy, dense = problem.first(LAZY_ROWS), problem.first(DENSE_ROWS)
    features = {part: share(problem.X, part).tolist() for part in ONE_IN}
    found = {}
    for tier, competitors in READINGS.items():
        for name, make in competitors.items():
            if name not in SHARED:
                found[learner_name(tier, name)] = make(lazy)
                continue
            for part in ONE_IN if tier == PLAINEST else (LARGER,):
                found[learner_name(tier, name, part)] = make(dense, features=features[part])
    return found


def same_weights(
    problem: Problem, rule: str, n_rows: int = DENSE_ROWS
) -> Iterator[tuple[str, Record]]:
    """By reading, the comparison of all weights of the share after so many of the dense rows."""
    few = problem.first(n_rows)
    features = share(problem.X, LARGER)
    compiled = weights_after(CompiledDense(few))[features]
    for tier, competitors in READINGS.items():
        found = {}
        for name, make in competitors.items():
            learner = make(few, features=features.tolist()) if name in SHARED else make(few)
            found[name] = weights_after(learner)[features]
        yield tier, compared(found, compiled, tier, rule) | {"rows": len(few.y)}


def compared(
    found: Mapping[str, NDArray[np.float64]], compiled: NDArray[np.float64], tier: str, rule: str
) -> Record:
    """The weights of a tier's learners beside its dense ones, and these beside compiled ones."""
    return {
        "against dense": {
            name: equality(found[name], found[DENSE], f"{tier}, {rule}: {name} and {DENSE}")
            for name in found
            if name != DENSE
        },
        "against compiled": equality(
            found[DENSE], compiled, f"{rule}: {DENSE} in {tier} and compiled"
        ),
    }


def extrapolated(seconds: Sequence[float], visited: int, features: int) -> list[float]:
    """The seconds of updates of all features, from those of updates of the features visited."""
    return [features / visited * each for each in seconds]
