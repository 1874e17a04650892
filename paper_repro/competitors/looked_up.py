"""Pure Python over a SciPy matrix: every element of a row is looked up by its index, ``x[0, j]``.

This is the plainest reading of "standard sparse SciPy matrices", as version 3 of Lipton & Elkan
calls its examples.  The text does not show the loop.  A ``Reading`` fills in how often an element
is looked up, and what the weights are stored in.

A dense learner visits ``features``, by default all.  The weights of these features are the same as
if it visited all features, as long as the rows have no nonzeros outside of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import copysign
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from paper_repro.competitors import interpreted
from paper_repro.competitors.base import DENSE, SPARSE_PREDICTIONS, Problem, slope

#: What gives, again and again, columns and values.
Elements = Callable[[], Iterable[tuple[int, float]]]


def at_each_use(row: sparse.csr_matrix, columns: Sequence[int]) -> Elements:
    """Every loop over these columns looks the elements up again."""
    return lambda: ((j, row[0, j]) for j in columns)


def once(row: sparse.csr_matrix, columns: Sequence[int]) -> Elements:
    """All loops over these columns take what was looked up before the first one."""
    kept = [(j, row[0, j]) for j in columns]
    return lambda: kept


class Reading(NamedTuple):
    """How elements are looked up, and what makes the stored weights from an array."""

    looked_up: Callable[[sparse.csr_matrix, Sequence[int]], Elements]
    stored: Callable[[NDArray[np.float64]], Any]


#: By how often an element is looked up, and by what the weights are stored in.
READINGS = {
    f"looked up {often}, {container}": Reading(looked_up, stored)
    for often, looked_up in (("at each use", at_each_use), ("once", once))
    for container, stored in (
        ("weights in an array", np.copy),
        ("weights in a list", np.ndarray.tolist),
        ("weights in a SciPy vector", sparse.dok_array),
    )
}


class _Rows(interpreted.Rows):
    def __init__(self, problem: Problem, reading: Reading) -> None:
        super().__init__(problem)
        self.reading = reading

    def stored(self, weights: NDArray[np.float64]) -> Any:
        return self.reading.stored(weights)

    def nonzeros(self, i: int) -> Elements:
        row = self.problem.X[i]
        return self.reading.looked_up(row, row.indices.tolist())


class Dense(_Rows):
    """Predicts and learns over all features."""

    name = DENSE

    def __init__(
        self, problem: Problem, reading: Reading, features: Sequence[int] | None = None
    ) -> None:
        super().__init__(problem, reading)
        self.features = range(self.n_features) if features is None else features

    def predicting(self, row: sparse.csr_matrix, updating: Elements) -> Elements:
        """The elements of which the prediction is made."""
        return updating

    def learn(self, start: int, stop: int) -> None:
        w, X = self.w, self.problem.X
        for i in range(start, stop):
            x, y = X[i], self.labels[i]
            updating = self.reading.looked_up(x, self.features)
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            for j, value in self.predicting(x, updating)():
                prediction += w[j] * value
            step = eta * slope(prediction, y)
            for j, value in updating():
                moved = w[j] - step * value
                magnitude = keep * abs(moved) - pull
                w[j] = copysign(magnitude, moved) if magnitude > 0.0 else 0.0
            self.intercept -= step
            self.t += 1


class SparsePredictions(Dense):
    """Predicts over the row's nonzeros; learns over all features."""

    name = SPARSE_PREDICTIONS

    def predicting(self, row: sparse.csr_matrix, updating: Elements) -> Elements:
        return self.reading.looked_up(row, row.indices.tolist())


class Tables(interpreted.Tables, _Rows):
    """Lipton & Elkan's lazy updates."""


class Clock(interpreted.Clock, _Rows):
    """Lazy updates on the clock."""


COMPETITORS = (Tables, Clock, SparsePredictions, Dense)
