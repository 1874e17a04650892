"""The one place where studies make lazynet's learners, and an epoch that is timed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.averaging import FromStep
from lazynet.data import as_examples
from lazynet.engines import Engine
from lazynet.losses import get_loss
from lazynet.penalties import ElasticNet
from lazynet.rules import engine_for, make_rule
from lazynet.schedules import InverseSqrt, Schedule
from lazynet.trainer import Learner, Recipe, run_pass
from paper_repro.documents import Corpus

#: The strengths and the rate that everybody is timed with.
L1 = L2 = 1e-6
ETA0 = 0.05


@dataclass(frozen=True)
class Plan:
    """What is minimised, by which steps, and in which engine."""

    recipe: Recipe
    engine: str
    options: Mapping[str, Any]

    def new_engine(self, n_features: int) -> Engine:
        """An engine at zero weights."""
        return engine_for(
            self.recipe.rule,
            self.recipe.penalty,
            n_features,
            engine=self.engine,
            average=self.recipe.averaging is not None,
            **self.options,
        )


def plan(
    rule: str = "fobos",
    l1: float = L1,
    l2: float = L2,
    eta0: float = ETA0,
    *,
    schedule: Schedule | None = None,
    engine: str = "clock",
    average: bool = False,
    loss: str = "log_loss",
    fit_intercept: bool = True,
    **options: Any,
) -> Plan:
    """By default logistic regression with an elastic net at the rates eta0 / sqrt(t + 1).

    With ``average`` all iterates are averaged; ``options`` are those of the engine.
    """
    return Plan(
        Recipe(
            get_loss(loss),
            ElasticNet(l1, l2),
            make_rule(rule),
            InverseSqrt(eta0) if schedule is None else schedule,
            fit_intercept=fit_intercept,
            averaging=FromStep() if average else None,
        ),
        engine,
        options,
    )


def learner(X: sparse.csr_matrix, y: NDArray[np.float64], chosen: Plan) -> Learner:
    """A learner at zero weights.

    The system hands out memory when an array is first written.  Each array of the engine is
    written here, so that no step takes the time for that.
    """
    engine = chosen.new_engine(X.shape[1])
    for array in engine.per_weight():
        np.positive(array, out=array)
    return Learner(engine, as_examples(X, y), chosen.recipe)


def learn(*learners: Learner, rows: NDArray[np.int64] | None, t: int) -> int:
    """Let every learner visit the rows, None for all in order, from step t; returns the next t."""
    return run_pass(learners, rows, t)


def seconds_per_step(visiting: Learner, rows: NDArray[np.int64] | None, t: int = 0) -> float:
    """What a step takes on average when the learner visits the rows in this order from step t."""
    began = time.perf_counter()
    next_t = learn(visiting, rows=rows, t=t)
    return (time.perf_counter() - began) / (next_t - t)


@dataclass
class Epoch:
    """One pass over the rows in ``order``; call it for its seconds per example."""

    corpus: Corpus
    plan: Plan
    order: NDArray[np.int64] | None = None

    def __call__(self) -> float:
        made = learner(self.corpus.X, self.corpus.y, self.plan)
        seconds = seconds_per_step(made, self.order)
        self.weights = made.engine.weights()
        return seconds
