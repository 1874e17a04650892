"""What the competitors have in common: the problem, and the methods that are timed.

Every competitor learns logistic regression with an elastic net at the rates eta0 / sqrt(t + 1).  A
step takes the gradient first and then shrinks; the intercept is not penalised.  Every competitor
begins from the same weights at the same step.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from paper_repro.runs import ETA0, L1, L2

#: The names of the learners that every tier has.
TABLES, CLOCK = "lazy, tables", "lazy, clock"
SPARSE_PREDICTIONS, DENSE = "dense, sparse predictions", "dense"
#: The weaker dense learner of the papers, which skips weights that are zero.
NONZERO_WEIGHTS = "dense, nonzero weights"


@dataclass(frozen=True)
class Problem:
    """The rows to learn from, the rule and its penalty, and the weights and step to begin from."""

    X: sparse.csr_matrix
    y: NDArray[np.float64]
    rule: str
    weights: NDArray[np.float64]
    intercept: float = 0.0
    t: int = 0
    l1: float = L1
    l2: float = L2
    eta0: float = ETA0

    def rate(self, t: int) -> float:
        return self.eta0 / math.sqrt(t + 1)

    def shrink(self, eta: float) -> tuple[float, float]:
        """``keep`` and ``pull`` of the shrink |w| <- [keep |w| - pull]+ of SGD or FoBoS."""
        if self.rule == "sgd":
            return 1.0 - eta * self.l2, eta * self.l1
        keep = 1.0 / (1.0 + eta * self.l2)
        return keep, keep * eta * self.l1

    def first(self, rows: int) -> Problem:
        """The problem on its first rows only."""
        if rows >= len(self.y):
            return self
        return replace(self, X=self.X[:rows], y=self.y[:rows])


def weights_after(learner: Competitor) -> NDArray[np.float64]:
    """The weights after all rows of the learner."""
    learner.begin()
    learner.learn(0, learner.n_rows)
    return learner.weights()


def slope(prediction: float, label: float) -> float:
    """The derivative of log(1 + exp(-y p)) in p."""
    margin = label * prediction
    if margin > 0:
        decayed = math.exp(-margin)
        return -label * decayed / (1.0 + decayed)
    return -label / (1.0 + math.exp(margin))


def as_array(weights: Any) -> NDArray[np.float64]:
    """A copy of weights in a list, an array or a SciPy vector."""
    return weights.toarray() if sparse.issparse(weights) else np.array(weights)


def table_weights(w: Any, psi: Any, P: Any, B: Any) -> NDArray[np.float64]:
    """All weights, brought current from the tables of Lipton & Elkan."""
    w, psi, P, B = (as_array(each) for each in (w, psi, P, B))
    magnitudes = np.abs(w) * (P[-1] / P[psi]) - P[-1] * (B[-1] - B[psi])
    return np.copysign(np.maximum(magnitudes, 0.0), w)


def clock_weights(stored: Any, scale: float, shift: float) -> NDArray[np.float64]:
    """All weights, brought current from the clock."""
    stored = as_array(stored)
    magnitudes = np.maximum(np.abs(stored) - shift, 0.0) * scale
    return np.copysign(magnitudes, stored)


class Competitor(ABC):
    """A learner that is timed.

    The constructor of a subclass converts the problem's rows to its own form, and ``begin`` copies
    the problem's weights and step.  Only ``learn`` is timed.
    """

    name: ClassVar[str]
    #: the weights, or the numbers that represent them
    w: Any
    intercept: float
    t: int

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_rows, self.n_features = problem.X.shape
        self.labels = problem.y.tolist()

    def stored(self, weights: NDArray[np.float64]) -> Any:
        """A copy of the weights in the form of the learner."""
        return weights.copy()

    def begin(self) -> None:
        """Start from the problem's weights, intercept and step."""
        self.w = self.stored(self.problem.weights)
        self.intercept, self.t = self.problem.intercept, self.problem.t

    @abstractmethod
    def learn(self, start: int, stop: int) -> None:
        """Visit the rows start ... stop - 1, once each, in this order."""

    def weights(self) -> NDArray[np.float64]:
        """All weights, brought current."""
        return as_array(self.w)
