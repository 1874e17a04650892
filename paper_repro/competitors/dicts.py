"""Pure Python; an example is a dictionary from feature to count, weights are a list."""

from __future__ import annotations

from itertools import pairwise
from math import copysign

import numpy as np
from numpy.typing import NDArray

from paper_repro.competitors.base import (
    CLOCK,
    DENSE,
    NONZERO_WEIGHTS,
    SPARSE_PREDICTIONS,
    TABLES,
    Competitor,
    Problem,
    slope,
)


class _Dicts(Competitor):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        X = problem.X
        columns, values, starts = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
        self.rows = [dict(zip(columns[a:b], values[a:b], strict=True)) for a, b in pairwise(starts)]
        self.w: list[float] = []

    def begin(self) -> None:
        self.w = self.problem.weights.tolist()
        self.intercept = self.problem.intercept
        self.t = self.problem.t

    def weights(self) -> NDArray[np.float64]:
        return np.array(self.w)


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


class SparsePredictions(_Dicts):
    """Predicts and takes the gradient over the example's features; shrinks every weight."""

    name = SPARSE_PREDICTIONS

    def learn(self, start: int, stop: int) -> None:
        w, d = self.w, self.n_features
        for x, y in zip(self.rows[start:stop], self.labels[start:stop], strict=True):
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            for j, value in x.items():
                prediction += w[j] * value
            step = eta * slope(prediction, y)
            for j, value in x.items():
                w[j] -= step * value
            for j in range(d):
                magnitude = keep * abs(w[j]) - pull
                w[j] = copysign(magnitude, w[j]) if magnitude > 0.0 else 0.0
            self.intercept -= step
            self.t += 1


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


class Tables(_Dicts):
    """Lipton & Elkan's lazy updates: psi for every weight, P and B for every step."""

    name = TABLES

    def begin(self) -> None:
        super().begin()
        self.psi = [0] * self.n_features
        self.P, self.B = [1.0], [0.0]

    def learn(self, start: int, stop: int) -> None:
        w, psi, P, B = self.w, self.psi, self.P, self.B
        for x, y in zip(self.rows[start:stop], self.labels[start:stop], strict=True):
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            now = len(P) - 1
            prediction = self.intercept
            for j, value in x.items():
                then = psi[j]
                magnitude = abs(w[j]) * P[now] / P[then] - P[now] * (B[now] - B[then])
                w[j] = copysign(magnitude, w[j]) if magnitude > 0.0 else 0.0
                psi[j] = now
                prediction += w[j] * value
            step = eta * slope(prediction, y)
            for j, value in x.items():
                w[j] -= step * value
            P.append(P[now] * keep)
            B.append(B[now] + pull / P[now + 1])
            self.intercept -= step
            self.t += 1

    def weights(self) -> NDArray[np.float64]:
        w, P, B = np.array(self.w), np.array(self.P), np.array(self.B)
        psi = np.array(self.psi)
        return np.copysign(
            np.maximum(np.abs(w) * P[-1] / P[psi] - P[-1] * (B[-1] - B[psi]), 0.0), w
        )


class Clock(_Dicts):
    """Lazy updates on the clock: one stored number per weight, and two running scalars."""

    name = CLOCK

    def begin(self) -> None:
        super().begin()
        self.scale, self.shift = 1.0, 0.0

    def learn(self, start: int, stop: int) -> None:
        stored, scale, shift = self.w, self.scale, self.shift
        for x, y in zip(self.rows[start:stop], self.labels[start:stop], strict=True):
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            current = []
            for j, value in x.items():
                magnitude = (abs(stored[j]) - shift) * scale
                weight = copysign(magnitude, stored[j]) if magnitude > 0.0 else 0.0
                current.append(weight)
                prediction += weight * value
            step = eta * slope(prediction, y)
            for (j, value), weight in zip(x.items(), current, strict=True):
                moved = weight - step * value
                stored[j] = copysign(abs(moved) / scale + shift, moved) if moved else 0.0
            scale *= keep
            shift += pull / scale
            self.intercept -= step
            self.t += 1
        self.scale, self.shift = scale, shift

    def weights(self) -> NDArray[np.float64]:
        stored = np.array(self.w)
        return np.copysign(np.maximum((np.abs(stored) - self.shift) * self.scale, 0.0), stored)


COMPETITORS = (Tables, Clock, SparsePredictions, Dense)
#: The learners whose times depend on how many weights are zero, and the tables.
ON_ZEROS = (Tables, SparsePredictions, NonzeroWeights)
