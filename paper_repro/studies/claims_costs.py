"""Study ``claims``: what full tables cost, and what it gains to skip weights that are zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet import FoBoS, Tables
from paper_repro import published
from paper_repro.competitors.base import (
    NONZERO_WEIGHTS,
    SPARSE_PREDICTIONS,
    TABLES,
    Competitor,
    Problem,
)
from paper_repro.competitors.compiled import Clock
from paper_repro.competitors.dicts import ON_ZEROS
from paper_repro.documents import from_settings
from paper_repro.measure import Turn, in_turns
from paper_repro.pages import table
from paper_repro.runs import L1, learner, plan, seconds_per_step
from paper_repro.score import Spread, equality, ratios
from paper_repro.study import Record, Records, Settings
from paper_repro.uniform import uniform_rows

#: Steps after which the tables are full; the last number is more than all steps that are timed.
#: They stand beside as many features as Lipton & Elkan have, and rows of as many nonzeros.
BUDGETS = (10_000, 100_000, 2**27)
STEPS, ROWS, NONZEROS = 200_000, 2_000, 89
#: Strengths l1 = l2 at which a dense learner that skips zero weights is timed.
STRENGTHS = (L1, 1e-4, 1e-3, 1e-2)
#: Rows as dictionaries, and those after which all learners have the same weights.
MOST_ROWS, EQUALITY_ROWS = 10_000, 10


def budgets(settings: Settings, _: Records) -> Record:
    """Seconds per step of the tables, by the number of steps after which they are full."""
    generator = np.random.default_rng(settings.seed)
    X = uniform_rows(generator, ROWS, published.FEATURES, NONZEROS)
    y = np.where(generator.random(ROWS) < 0.5, -1.0, 1.0)
    order = generator.integers(ROWS, size=STEPS)
    learners = {
        str(budget): partial(
            seconds_per_step, learner(X, y, plan(FoBoS(storage=Tables(budget=budget)))), order
        )
        for budget in BUDGETS
    }
    return {"seconds": in_turns(learners, settings.repeats)}


def zero_weights(settings: Settings, strength: float, _: Records) -> Record:
    """Seconds per example of FoBoS over dictionaries, from the weights after a pass over all."""
    corpus = from_settings(settings)
    zeros = np.zeros(corpus.X.shape[1])
    fresh = Problem(corpus.X, corpus.y, "fobos", zeros, l1=strength, l2=strength)
    first = Clock(fresh)
    first.begin()
    first.learn(0, len(corpus.y))
    problem = replace(
        fresh, weights=first.weights(), intercept=first.intercept, t=len(corpus.y)
    ).first(MOST_ROWS)
    ends = {kind.name: _after(kind(problem.first(EQUALITY_ROWS))) for kind in ON_ZEROS}
    turns = {kind.name: Turn(kind(problem), settings.seconds) for kind in ON_ZEROS}
    return {
        "features": len(problem.weights),
        "nonzero": int(np.count_nonzero(problem.weights)),
        "same": {
            name: equality(found, ends[SPARSE_PREDICTIONS], f"{name}, l1 = l2 = {strength:g}")
            for name, found in ends.items()
        },
        "seconds": in_turns(turns, settings.repeats),
    }


def _after(learner: Competitor) -> NDArray[np.float64]:
    """The weights after one visit of every row."""
    learner.begin()
    learner.learn(0, learner.n_rows)
    return learner.weights()


def told(costs: Mapping[int, Spread], skipping: Mapping[float, Record]) -> dict[str, Any]:
    """What the page says of both."""
    return {
        "budget_features": published.FEATURES,
        "budget_nonzeros": NONZEROS,
        "budgets": table(
            ["the tables are full after", "a step, beside tables that never get full"],
            [[f"{budget:,} steps", f"{ratio} times as long"] for budget, ratio in costs.items()],
        ),
        "zero_weights": table(
            [
                "l1 = l2",
                "weights that are not zero",
                f"{NONZERO_WEIGHTS} / {TABLES}",
                f"{SPARSE_PREDICTIONS} / {TABLES}",
            ],
            [
                [
                    f"{strength:g}",
                    f"{record['nonzero'] / record['features']:.1%}",
                    ratios(record["seconds"][NONZERO_WEIGHTS], record["seconds"][TABLES]),
                    ratios(record["seconds"][SPARSE_PREDICTIONS], record["seconds"][TABLES]),
                ]
                for strength, record in skipping.items()
            ],
        ),
    }
