"""One epoch of an engine on a corpus, timed and kept for comparison."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.averaging import FromStep
from lazynet.data import as_examples
from lazynet.engines import DEFAULT_BUDGET, Engine, make_engine
from lazynet.losses import get_loss
from lazynet.penalties import ElasticNet
from lazynet.rules import engine_for, make_rule
from lazynet.schedules import InverseSqrt
from lazynet.trainer import Learner, Recipe, run_pass
from paper_repro.documents import Corpus

#: The strengths and the rate that everybody is timed with.
L1 = L2 = 1e-6
ETA0 = 0.05


def recipe(
    rule: str = "fobos",
    l1: float = L1,
    l2: float = L2,
    eta0: float = ETA0,
    *,
    average: bool = False,
) -> Recipe:
    """Logistic regression with an elastic net; with ``average`` all iterates are averaged."""
    return Recipe(
        get_loss("log_loss"),
        ElasticNet(l1, l2),
        make_rule(rule),
        InverseSqrt(eta0),
        fit_intercept=True,
        averaging=FromStep() if average else None,
    )


def touch_memory(engine: Engine) -> None:
    """Have the system hand out an engine's memory, which it does on first use."""
    for array in engine.per_weight():
        array.fill(0)


def learner_on(
    X: sparse.csr_matrix, y: NDArray[np.float64], chosen: Recipe, engine: str, **options: Any
) -> Learner:
    """A learner over these rows whose memory has been handed out."""
    made = make_engine(engine, X.shape[1], **options)
    touch_memory(made)
    return Learner(made, as_examples(X, y), chosen)


def seconds_per_step(learner: Learner, order: NDArray[np.int64], t: int = 0) -> float:
    """What a step takes on average when the learner visits the rows in this order from step t."""
    began = time.perf_counter()
    run_pass([learner], order, t)
    return (time.perf_counter() - began) / len(order)


@dataclass
class Epoch:
    """One pass of ``engine`` over the first ``n_examples`` rows; call it for its seconds."""

    corpus: Corpus
    engine: str
    recipe: Recipe
    order: NDArray[np.int64] | None = None
    n_examples: int | None = None
    dense_predictions: bool = False
    table_budget: int = DEFAULT_BUDGET

    def __call__(self) -> float:
        X, y = self.corpus.X, self.corpus.y
        order = self.order
        if self.n_examples is not None:
            order = np.arange(X.shape[0]) if order is None else order
            order = order[: self.n_examples]
        engine = engine_for(
            self.recipe.rule,
            self.recipe.penalty,
            X.shape[1],
            engine=self.engine,
            dense_predictions=self.dense_predictions,
            table_budget=self.table_budget,
            average=self.recipe.averaging is not None,
        )
        touch_memory(engine)
        learner = Learner(engine, as_examples(X, y), self.recipe)
        began = time.perf_counter()
        steps = run_pass([learner], order, 0)
        seconds = time.perf_counter() - began
        self.weights = engine.weights()
        return seconds / steps
