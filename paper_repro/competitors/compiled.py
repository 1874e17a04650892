"""lazynet's engines: the tables, the clock, and the dense loops with and without vector units."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import lazynet
from lazynet.data.arrays import as_examples
from lazynet.engines.base import Engine
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.engines.clock import DenseEngine
from lazynet.engines.dekel import DekelEngine
from lazynet.losses import get_loss
from lazynet.rules.storage import Storage
from lazynet.training.passes import run_pass
from lazynet.training.plan import Plan
from paper_repro.competitors.base import (
    CLOCK,
    DENSE,
    SPARSE_PREDICTIONS,
    TABLES,
    Competitor,
    Problem,
    slope,
    weights_after,
)
from paper_repro.runs import learner, plan

#: The names of the learners that average their iterates, lazily and naively.
LAZY_AVERAGE, NAIVE_AVERAGE = "clock, averaged", "dense, averaged"
LAZY_CENTERED, NAIVE_CENTERED = "CASGD", "naive CASGD"
#: lambda of the centered learners, whose rates are 1 / (lambda t).
CENTERED_STRENGTH = 1e-2


class _Engine(Competitor):
    storage: ClassVar[Storage]
    average: ClassVar[bool] = False

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        rule = ALGORITHMS[problem.rule].rule(storage=self.storage, average=self.average)
        chosen = plan(rule, problem.l1, problem.l2, problem.eta0)
        self.learner = learner(problem.X, problem.y, chosen, self.new_engine(chosen))
        self.order = np.arange(problem.X.shape[0])

    def new_engine(self, chosen: Plan) -> Engine:
        return chosen.new_engines(self.n_features)[0]

    def begin(self) -> None:
        intercepts = np.array([self.problem.intercept])
        self.learner.engine.set_coefficients(self.problem.weights[None], intercepts)
        self.intercept, self.t = self.problem.intercept, self.problem.t

    def learn(self, start: int, stop: int) -> None:
        self.t = run_pass([self.learner], self.order[start:stop], self.t)
        self.intercept = self.learner.engine.intercept

    def weights(self) -> NDArray[np.float64]:
        return self.learner.engine.weights()


class Tables(_Engine):
    """Lipton & Elkan's lazy updates, corrected."""

    name = TABLES
    storage = lazynet.Tables()


class Clock(_Engine):
    """Lazy updates on the clock: one stored number per weight, and two running scalars."""

    name = CLOCK
    storage = lazynet.Clock()


def after_a_pass(problem: Problem) -> Problem:
    """The problem that begins after a pass of the clock over its rows."""
    clock = Clock(problem)
    weights = weights_after(clock)
    return replace(problem, weights=weights, intercept=clock.intercept, t=clock.n_rows)


class SparsePredictions(_Engine):
    """Predicts over the nonzeros; shrinks every weight, several at a time."""

    name = SPARSE_PREDICTIONS
    storage = lazynet.Dense()


class Dense(_Engine):
    """Predicts, learns and shrinks over all features, several at a time."""

    name = DENSE
    storage = lazynet.Dense(predictions=True)


class ScalarSparsePredictions(SparsePredictions):
    """Predicts over the nonzeros; shrinks every weight, one at a time."""

    name = f"{SPARSE_PREDICTIONS}, scalar"

    def new_engine(self, chosen: Plan) -> Engine:
        return DenseEngine(self.n_features, vectorised=False)


class ScalarDense(Dense):
    """Predicts, learns and shrinks over all features, one at a time."""

    name = f"{DENSE}, scalar"

    def new_engine(self, chosen: Plan) -> Engine:
        return DenseEngine(self.n_features, predictions=True, vectorised=False)


class AveragedClock(_Engine):
    """The clock with the exact average of its iterates."""

    name = LAZY_AVERAGE
    storage = lazynet.Clock()
    average = True

    def averages(self) -> NDArray[np.float64]:
        """The mean of every weight over all iterates."""
        return self.learner.engine.coefficients()[0]


class AveragedDense(AveragedClock):
    """Shrinks every weight and adds it to a sum, several weights at a time."""

    name = NAIVE_AVERAGE
    storage = lazynet.Dense()


class CenteredAverage(Competitor):
    """Dekel's CASGD: averages and centers without touching the features that a row lacks."""

    name = LAZY_CENTERED

    def begin(self) -> None:
        problem = self.problem
        mean = np.asarray(problem.X.mean(axis=0)).ravel()
        self.learner = DekelEngine(self.n_features, get_loss("log_loss"), CENTERED_STRENGTH, mean)
        self.learner.cells.fill(0)
        self.examples = as_examples(problem.X, problem.y)
        self.order = np.arange(problem.X.shape[0])

    def learn(self, start: int, stop: int) -> None:
        self.learner.take(self.examples, self.order[start:stop])

    def weights(self) -> NDArray[np.float64]:
        return self.learner.last()[0]

    def averages(self) -> NDArray[np.float64]:
        """The mean of every weight over all iterates."""
        return self.learner.average()[0]


class NaiveCenteredAverage(Competitor):
    """CASGD computed naively: NumPy centers every row and adds up every weight."""

    name = NAIVE_CENTERED

    def begin(self) -> None:
        self.mean = np.asarray(self.problem.X.mean(axis=0)).ravel()
        self.w, self.sums = np.zeros(self.n_features), np.zeros(self.n_features)
        self.x, self.intercept, self.t = np.empty(self.n_features), 0.0, 0

    def learn(self, start: int, stop: int) -> None:
        X, w, x = self.problem.X, self.w, self.x
        for row in range(start, stop):
            span = slice(X.indptr[row], X.indptr[row + 1])
            np.negative(self.mean, out=x)
            x[X.indices[span]] += X.data[span]
            g = slope(float(w @ x) + self.intercept, self.labels[row])
            self.t += 1
            keep, step = 1.0 - 1.0 / self.t, g / (CENTERED_STRENGTH * self.t)
            w *= keep
            x *= step
            w -= x
            self.sums += w
            self.intercept = keep * self.intercept - step

    def weights(self) -> NDArray[np.float64]:
        return self.w.copy()

    def averages(self) -> NDArray[np.float64]:
        """The mean of every weight over all iterates."""
        return self.sums / max(self.t, 1)


AVERAGING = (AveragedClock, AveragedDense, CenteredAverage, NaiveCenteredAverage)
COMPETITORS = (Tables, Clock, SparsePredictions, Dense, ScalarSparsePredictions, ScalarDense)
