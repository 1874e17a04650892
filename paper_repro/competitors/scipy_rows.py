"""Pure Python over a SciPy matrix: an example is a row of it, weights are a NumPy array.

The loops take every value and every weight as a NumPy scalar, and indices as Python integers.
"""

from __future__ import annotations

from math import copysign

import numpy as np
from numpy.typing import NDArray

from paper_repro.competitors.base import CLOCK, DENSE, SPARSE_PREDICTIONS, TABLES, OnArray, slope


class Dense(OnArray):
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


class SparsePredictions(OnArray):
    """Predicts and takes the gradient over the row's nonzeros; shrinks every weight."""

    name = SPARSE_PREDICTIONS

    def learn(self, start: int, stop: int) -> None:
        w, d = self.w, self.n_features
        for i in range(start, stop):
            row, y = self.problem.X[i], self.labels[i]
            columns = row.indices.tolist()
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            for j, value in zip(columns, row.data, strict=True):
                prediction += w[j] * value
            step = eta * slope(prediction, y)
            for j, value in zip(columns, row.data, strict=True):
                w[j] -= step * value
            for j in range(d):
                magnitude = keep * abs(w[j]) - pull
                w[j] = copysign(magnitude, w[j]) if magnitude > 0.0 else 0.0
            self.intercept -= step
            self.t += 1


class Tables(OnArray):
    """Lipton & Elkan's lazy updates: psi for every weight, P and B for every step."""

    name = TABLES

    def begin(self) -> None:
        super().begin()
        self.psi = np.zeros(self.n_features, dtype=np.int64)
        self.P, self.B = [1.0], [0.0]

    def learn(self, start: int, stop: int) -> None:
        w, psi, P, B = self.w, self.psi, self.P, self.B
        for i in range(start, stop):
            row, y = self.problem.X[i], self.labels[i]
            columns = row.indices.tolist()
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            now = len(P) - 1
            prediction = self.intercept
            for j, value in zip(columns, row.data, strict=True):
                then = psi[j]
                magnitude = abs(w[j]) * P[now] / P[then] - P[now] * (B[now] - B[then])
                w[j] = copysign(magnitude, w[j]) if magnitude > 0.0 else 0.0
                psi[j] = now
                prediction += w[j] * value
            step = eta * slope(prediction, y)
            for j, value in zip(columns, row.data, strict=True):
                w[j] -= step * value
            P.append(P[now] * keep)
            B.append(B[now] + pull / P[now + 1])
            self.intercept -= step
            self.t += 1

    def weights(self) -> NDArray[np.float64]:
        P, B = np.array(self.P), np.array(self.B)
        magnitudes = np.abs(self.w) * P[-1] / P[self.psi] - P[-1] * (B[-1] - B[self.psi])
        return np.copysign(np.maximum(magnitudes, 0.0), self.w)


class Clock(OnArray):
    """Lazy updates on the clock: one stored number per weight, and two running scalars."""

    name = CLOCK

    def begin(self) -> None:
        super().begin()
        self.scale, self.shift = 1.0, 0.0

    def learn(self, start: int, stop: int) -> None:
        stored, scale, shift = self.w, self.scale, self.shift
        for i in range(start, stop):
            row, y = self.problem.X[i], self.labels[i]
            columns = row.indices.tolist()
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            current = []
            for j, value in zip(columns, row.data, strict=True):
                magnitude = (abs(stored[j]) - shift) * scale
                weight = copysign(magnitude, stored[j]) if magnitude > 0.0 else 0.0
                current.append(weight)
                prediction += weight * value
            step = eta * slope(prediction, y)
            for j, value, weight in zip(columns, row.data, current, strict=True):
                moved = weight - step * value
                stored[j] = copysign(abs(moved) / scale + shift, moved) if moved else 0.0
            scale *= keep
            shift += pull / scale
            self.intercept -= step
            self.t += 1
        self.scale, self.shift = scale, shift

    def weights(self) -> NDArray[np.float64]:
        magnitudes = (np.abs(self.w) - self.shift) * self.scale
        return np.copysign(np.maximum(magnitudes, 0.0), self.w)


COMPETITORS = (Tables, Clock, SparsePredictions, Dense)
