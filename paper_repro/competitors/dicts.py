"""Pure Python; an example is a dictionary from feature to count, weights are a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from math import copysign
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_repro.competitors import interpreted
from paper_repro.competitors.base import DENSE, NONZERO_WEIGHTS, Problem, slope


class _Dicts(interpreted.Rows):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        X = problem.X
        columns, values, starts = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
        self.rows = [dict(zip(columns[a:b], values[a:b], strict=True)) for a, b in pairwise(starts)]

    def stored(self, weights: NDArray[np.float64]) -> Any:
        return weights.tolist()

    def nonzeros(self, i: int) -> Callable[[], Iterable[tuple[int, float]]]:
        return self.rows[i].items


class Dense(_Dicts):
    """Predicts and learns over all features, whether the example has them or not."""

    name = DENSE

    def learn(self, start: int, stop: int) -> None:
        w, d = self.w, self.n_features
        for x, y in zip(self.rows[start:stop], self.labels[start:stop], strict=True):
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            for j in range(d):
                prediction += w[j] * x.get(j, 0.0)
            step = eta * slope(prediction, y)
            for j in range(d):
                moved = w[j] - step * x.get(j, 0.0)
                magnitude = keep * abs(moved) - pull
                w[j] = copysign(magnitude, moved) if magnitude > 0.0 else 0.0
            self.intercept -= step
            self.t += 1


class SparsePredictions(interpreted.SparsePredictions, _Dicts):
    """Dense updates, with predictions from the example's features."""


class NonzeroWeights(_Dicts):
    """Visits the features of the example and the weights that are not zero, and no others.

    The weights are a dictionary that holds the nonzero ones.
    """

    name = NONZERO_WEIGHTS

    def begin(self) -> None:
        super().begin()
        self.nonzero = {j: weight for j, weight in enumerate(self.w) if weight}

    def learn(self, start: int, stop: int) -> None:
        w = self.nonzero
        for x, y in zip(self.rows[start:stop], self.labels[start:stop], strict=True):
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            for j, value in x.items():
                prediction += w.get(j, 0.0) * value
            step = eta * slope(prediction, y)
            for j, value in x.items():
                w[j] = w.get(j, 0.0) - step * value
            vanished = []
            for j, weight in w.items():
                magnitude = keep * abs(weight) - pull
                if magnitude > 0.0:
                    w[j] = copysign(magnitude, weight)
                else:
                    vanished.append(j)
            for j in vanished:
                del w[j]
            self.intercept -= step
            self.t += 1

    def weights(self) -> NDArray[np.float64]:
        weights = np.zeros(self.n_features)
        weights[list(self.nonzero)] = list(self.nonzero.values())
        return weights


class Tables(interpreted.Tables, _Dicts):
    """Lipton & Elkan's lazy updates."""


class Clock(interpreted.Clock, _Dicts):
    """Lazy updates on the clock."""


COMPETITORS = (Tables, Clock, SparsePredictions, Dense)
#: The learners whose times depend on how many weights are zero, and the tables.
ON_ZEROS = (Tables, SparsePredictions, NonzeroWeights)
