"""Pure Python loops over the nonzeros of a row, whatever the form of the rows and of the weights.

``dicts`` and ``scipy_rows`` combine these loops with rows of their form.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from math import copysign
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_repro.competitors.base import (
    CLOCK,
    SPARSE_PREDICTIONS,
    TABLES,
    Competitor,
    clock_weights,
    slope,
    table_weights,
)


class Rows(Competitor):
    """A competitor whose weights ``w`` are read and written one by one."""

    @abstractmethod
    def nonzeros(self, i: int) -> Callable[[], Iterable[tuple[int, float]]]:
        """What gives, again and again, the columns and values of a row."""

    def counters(self) -> Any:
        """A zero for every feature."""
        return [0] * self.n_features


class SparsePredictions(Rows):
    """Predicts and takes the gradient over the row's nonzeros; shrinks every weight."""

    name = SPARSE_PREDICTIONS

    def learn(self, start: int, stop: int) -> None:
        w, d = self.w, self.n_features
        for i in range(start, stop):
            nonzeros, y = self.nonzeros(i), self.labels[i]
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            for j, value in nonzeros():
                prediction += w[j] * value
            step = eta * slope(prediction, y)
            for j, value in nonzeros():
                w[j] -= step * value
            for j in range(d):
                magnitude = keep * abs(w[j]) - pull
                w[j] = copysign(magnitude, w[j]) if magnitude > 0.0 else 0.0
            self.intercept -= step
            self.t += 1


class Tables(Rows):
    """Lipton & Elkan's lazy updates: psi for every weight, P and B for every step."""

    name = TABLES

    def begin(self) -> None:
        super().begin()
        self.psi = self.counters()
        self.P, self.B = [1.0], [0.0]

    def learn(self, start: int, stop: int) -> None:
        w, psi, P, B = self.w, self.psi, self.P, self.B
        for i in range(start, stop):
            nonzeros, y = self.nonzeros(i), self.labels[i]
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            now = len(P) - 1
            prediction = self.intercept
            for j, value in nonzeros():
                then = psi[j]
                magnitude = abs(w[j]) * P[now] / P[then] - P[now] * (B[now] - B[then])
                w[j] = copysign(magnitude, w[j]) if magnitude > 0.0 else 0.0
                psi[j] = now
                prediction += w[j] * value
            step = eta * slope(prediction, y)
            for j, value in nonzeros():
                w[j] -= step * value
            P.append(P[now] * keep)
            B.append(B[now] + pull / P[now + 1])
            self.intercept -= step
            self.t += 1

    def weights(self) -> NDArray[np.float64]:
        return table_weights(self.w, self.psi, self.P, self.B)


class Clock(Rows):
    """Lazy updates on the clock: one stored number per weight, and two running scalars."""

    name = CLOCK

    def begin(self) -> None:
        super().begin()
        self.scale, self.shift = 1.0, 0.0

    def learn(self, start: int, stop: int) -> None:
        stored, scale, shift = self.w, self.scale, self.shift
        for i in range(start, stop):
            nonzeros, y = self.nonzeros(i), self.labels[i]
            eta = self.problem.rate(self.t)
            keep, pull = self.problem.shrink(eta)
            prediction = self.intercept
            current = []
            for j, value in nonzeros():
                magnitude = (abs(stored[j]) - shift) * scale
                weight = copysign(magnitude, stored[j]) if magnitude > 0.0 else 0.0
                current.append(weight)
                prediction += weight * value
            step = eta * slope(prediction, y)
            for (j, value), weight in zip(nonzeros(), current, strict=True):
                moved = weight - step * value
                stored[j] = copysign(abs(moved) / scale + shift, moved) if moved else 0.0
            scale *= keep
            shift += pull / scale
            self.intercept -= step
            self.t += 1
        self.scale, self.shift = scale, shift

    def weights(self) -> NDArray[np.float64]:
        return clock_weights(self.w, self.scale, self.shift)
