"""Pure Python over a SciPy matrix: an example is a row of it, weights are a NumPy array.

The loops take every value and every weight as a NumPy scalar, and indices as Python integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import copysign

import numpy as np
from numpy.typing import NDArray

from paper_repro.competitors import interpreted
from paper_repro.competitors.base import DENSE, Competitor, slope


class _Rows(interpreted.Rows):
    def nonzeros(self, i: int) -> Callable[[], Iterable[tuple[int, float]]]:
        row = self.problem.X[i]
        return partial(zip, row.indices.tolist(), row.data, strict=True)

    def counters(self) -> NDArray[np.int64]:
        return np.zeros(self.n_features, dtype=np.int64)


class Dense(Competitor):
    """Predicts and learns over all features; the row is spread out first."""

    name = DENSE

    def learn(self, start: int, stop: int) -> None:
        w, d = self.w, self.n_features
        for i in range(start, stop):
            x, y = self.problem.X[i].toarray()[0], self.labels[i]
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            for j in range(d):
                prediction += w[j] * x[j]
            step = eta * slope(prediction, y)
            for j in range(d):
                moved = w[j] - step * x[j]
                magnitude = keep * abs(moved) - pull
                w[j] = copysign(magnitude, moved) if magnitude > 0.0 else 0.0
            self.intercept -= step
            self.t += 1


class SparsePredictions(interpreted.SparsePredictions, _Rows):
    """Dense updates, with predictions from the row's nonzeros."""


class Tables(interpreted.Tables, _Rows):
    """Lipton & Elkan's lazy updates."""


class Clock(interpreted.Clock, _Rows):
    """Lazy updates on the clock."""


COMPETITORS = (Tables, Clock, SparsePredictions, Dense)
