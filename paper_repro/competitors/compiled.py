"""lazynet's engines: the tables, the clock, and the dense loops with and without vector units."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lazynet.data import as_examples
from lazynet.engines import make_engine
from lazynet.trainer import Learner, run_pass
from paper_repro.competitors.base import (
    CLOCK,
    DENSE,
    SPARSE_PREDICTIONS,
    TABLES,
    Competitor,
    Problem,
)
from paper_repro.runs import recipe, touch_memory


class _Engine(Competitor):
    engine: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        chosen = recipe(problem.rule, problem.l1, problem.l2, problem.eta0)
        engine = make_engine(self.engine, self.n_features, **self.options)
        touch_memory(engine)
        self.learner = Learner(engine, as_examples(problem.X, problem.y), chosen)
        self.order = np.arange(problem.X.shape[0])

    def begin(self) -> None:
        self.learner.engine.load(self.problem.weights, self.problem.intercept)
        self.intercept, self.t = self.problem.intercept, self.problem.t

    def learn(self, start: int, stop: int) -> None:
        self.t = run_pass([self.learner], self.order[start:stop], self.t)
        self.intercept = self.learner.engine.intercept

    def weights(self) -> NDArray[np.float64]:
        return self.learner.engine.weights()


class Tables(_Engine):
    """Lipton & Elkan's lazy updates, corrected."""

    name = TABLES
    engine = "tables"


class Clock(_Engine):
    """One stored number a weight, two running scalars."""

    name = CLOCK
    engine = "clock"


class SparsePredictions(_Engine):
    """Predicts over the nonzeros; shrinks every weight, several at a time."""

    name = SPARSE_PREDICTIONS
    engine = "dense"


class Dense(_Engine):
    """Predicts, learns and shrinks over all features, several at a time."""

    name = DENSE
    engine = "dense"
    options: ClassVar = {"dense_predictions": True}


class ScalarSparsePredictions(_Engine):
    """Predicts over the nonzeros; shrinks every weight, one at a time."""

    name = f"{SPARSE_PREDICTIONS}, scalar"
    engine = "dense"
    options: ClassVar = {"vectorised": False}


class ScalarDense(_Engine):
    """Predicts, learns and shrinks over all features, one at a time."""

    name = f"{DENSE}, scalar"
    engine = "dense"
    options: ClassVar = {"dense_predictions": True, "vectorised": False}


COMPETITORS = (Tables, Clock, SparsePredictions, Dense, ScalarSparsePredictions, ScalarDense)
