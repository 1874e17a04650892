"""Vectorised NumPy: what a competent user writes today, dense and lazy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paper_repro.competitors.base import (
    CLOCK,
    DENSE,
    SPARSE_PREDICTIONS,
    TABLES,
    Competitor,
    Problem,
    clock_weights,
    slope,
    table_weights,
)

#: Steps that the tables hold.  When they are full, all weights are brought current and the tables
#: begin again.
BUDGET = 2**20


class _Vectors(Competitor):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        X = problem.X
        # Slicing the three arrays of the matrix is far cheaper than slicing the matrix.
        self.columns, self.values, self.starts = X.indices, X.data, X.indptr.tolist()


class _Dense(_Vectors):
    def begin(self) -> None:
        super().begin()
        self.magnitudes = np.empty(self.n_features)
        self.spread = np.zeros(self.n_features)

    def shrink_all(self, keep: float, pull: float) -> None:
        magnitudes = self.magnitudes
        np.abs(self.w, out=magnitudes)
        magnitudes *= keep
        magnitudes -= pull
        np.maximum(magnitudes, 0.0, out=magnitudes)
        np.copysign(magnitudes, self.w, out=self.w)


class Dense(_Dense):
    """Predicts and learns over all features; the row is spread out first."""

    name = DENSE

    def learn(self, start: int, stop: int) -> None:
        w, x, starts = self.w, self.spread, self.starts
        for i in range(start, stop):
            columns = self.columns[starts[i] : starts[i + 1]]
            x[columns] = self.values[starts[i] : starts[i + 1]]
            eta = self.problem.rate(self.t)
            step = eta * slope(float(x @ w) + self.intercept, self.labels[i])
            np.multiply(x, step, out=self.magnitudes)
            w -= self.magnitudes
            self.shrink_all(*self.problem.shrink(eta))
            x[columns] = 0.0
            self.intercept -= step
            self.t += 1


class SparsePredictions(_Dense):
    """Predicts and takes the gradient over the row's nonzeros; shrinks every weight."""

    name = SPARSE_PREDICTIONS

    def learn(self, start: int, stop: int) -> None:
        w, starts = self.w, self.starts
        for i in range(start, stop):
            columns = self.columns[starts[i] : starts[i + 1]]
            values = self.values[starts[i] : starts[i + 1]]
            eta = self.problem.rate(self.t)
            step = eta * slope(float(values @ w[columns]) + self.intercept, self.labels[i])
            w[columns] -= step * values
            self.shrink_all(*self.problem.shrink(eta))
            self.intercept -= step
            self.t += 1


class Tables(_Vectors):
    """Lipton & Elkan's lazy updates: psi for every weight, P and B for every step."""

    name = TABLES

    def begin(self) -> None:
        super().begin()
        self.psi = np.zeros(self.n_features, dtype=np.int64)
        self.P, self.B = np.empty(BUDGET + 1), np.empty(BUDGET + 1)
        self.P[0], self.B[0] = 1.0, 0.0
        self.now = 0

    def learn(self, start: int, stop: int) -> None:
        w, psi, P, B, starts = self.w, self.psi, self.P, self.B, self.starts
        now = self.now
        for i in range(start, stop):
            columns = self.columns[starts[i] : starts[i + 1]]
            values = self.values[starts[i] : starts[i + 1]]
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            then, old = psi[columns], w[columns]
            magnitudes = np.abs(old) * (P[now] / P[then]) - P[now] * (B[now] - B[then])
            current = np.copysign(np.maximum(magnitudes, 0.0), old)
            step = eta * slope(float(values @ current) + self.intercept, self.labels[i])
            w[columns] = current - step * values
            psi[columns] = now
            P[now + 1] = P[now] * keep
            B[now + 1] = B[now] + pull / P[now + 1]
            now += 1
            if now == BUDGET:
                self.now = now
                self.flush()
                now = self.now
            self.intercept -= step
            self.t += 1
        self.now = now

    def flush(self) -> None:
        """Bring every weight current and begin the tables again."""
        self.w[:] = self.weights()
        self.psi[:] = 0
        self.now = 0

    def weights(self) -> NDArray[np.float64]:
        now = self.now + 1
        return table_weights(self.w, self.psi, self.P[:now], self.B[:now])


class Clock(_Vectors):
    """Lazy updates on the clock: one stored number per weight, and two running scalars."""

    name = CLOCK

    def begin(self) -> None:
        super().begin()
        self.scale, self.shift = 1.0, 0.0

    def learn(self, start: int, stop: int) -> None:
        stored, starts = self.w, self.starts
        scale, shift = self.scale, self.shift
        for i in range(start, stop):
            columns = self.columns[starts[i] : starts[i + 1]]
            values = self.values[starts[i] : starts[i + 1]]
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            old = stored[columns]
            current = np.copysign(np.maximum(np.abs(old) - shift, 0.0) * scale, old)
            step = eta * slope(float(values @ current) + self.intercept, self.labels[i])
            moved = current - step * values
            stored[columns] = np.copysign(np.abs(moved) / scale + shift, moved)
            scale *= keep
            shift += pull / scale
            self.intercept -= step
            self.t += 1
        self.scale, self.shift = scale, shift

    def weights(self) -> NDArray[np.float64]:
        return clock_weights(self.w, self.scale, self.shift)


COMPETITORS = (Tables, Clock, SparsePredictions, Dense)
