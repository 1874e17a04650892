"""Study ``averaging``: what Dekel's averages of the iterates are worth, and what they cost.

Two measurements:

1. objective and test error against passes, of the last iterate and of the average, with and
   without centered rows;
2. the time of a step against the number of features, with lazy and with naive averages (Dekel's
   O(d + T k) against O(T d)).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from lazynet import ASGDClassifier
from lazynet.penalties import ElasticNet
from paper_repro import machine
from paper_repro.competitors.base import CLOCK
from paper_repro.competitors.compiled import (
    AVERAGING,
    LAZY_AVERAGE,
    LAZY_CENTERED,
    NAIVE_AVERAGE,
    NAIVE_CENTERED,
    Clock,
)
from paper_repro.documents import from_settings
from paper_repro.measure import Turn, in_turns
from paper_repro.pages import Template
from paper_repro.render import Content, Curves, Table
from paper_repro.rows import Rows
from paper_repro.score import Spread, duration, equality, ratios, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings
from paper_repro.uniform import uniform_problem

PAGE = Template.beside(__file__)
PASSES = (1, 2, 3, 5, 7, 10)
#: The strength of the penalty, multiplied by the number of training rows.
L2_ROWS = 1.0
SGD, ASGD, CSGD, CASGD = "SGD", "ASGD", "centered SGD", "CASGD"
PREDICTORS = (SGD, ASGD, CSGD, CASGD)
FEATURES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
TIMED_ROWS = 20_000
BYTES_PER_FEATURE = 200
TIMED = {kind.name: kind for kind in (Clock, *AVERAGING)}
PAIRS = ((LAZY_AVERAGE, NAIVE_AVERAGE), (LAZY_CENTERED, NAIVE_CENTERED))


def cells(settings: Settings) -> Sequence[Cell]:
    return [
        Cell("corpus", partial(describe, settings)),
        Cell("curves", partial(curves, settings), 7.0),
        *(
            Cell(f"features/{size}", partial(measure_features, settings, size), 4.0)
            for size in feature_sizes(settings)
        ),
    ]


# --- learning curves -------------------------------------------------------------------------


#: One row in this many is kept for testing.
TEST_SHARE = 5


@lru_cache(maxsize=1)
def split(settings: Settings) -> Rows:
    """Rows of length 1: four fifths to learn from and one fifth to test on, drawn by the seed."""
    corpus = from_settings(settings)
    X = normalize(corpus.X)
    order = np.random.default_rng(settings.seed).permutation(X.shape[0])
    held_back = max(1, len(order) // TEST_SHARE)
    test, train = np.sort(order[:held_back]), np.sort(order[held_back:])
    return Rows(X[train], corpus.y[train], X[test], corpus.y[test], corpus.origin)


def judge(
    rows: Rows, models: list[Any], penalty: ElasticNet, *, last: bool = False
) -> list[dict[str, float]]:
    """Objective on the training rows and share of test rows misjudged, of every model.

    ``last`` judges the last iterate in place of the average.
    """
    curve = []
    for model in models:
        weights = (model.last_coef_ if last else model.coef_).ravel()
        [intercept] = model.last_intercept_ if last else model.intercept_
        margins = rows.y * (rows.X @ weights + intercept)
        loss = float(np.logaddexp(0.0, -margins).mean())
        wrong = rows.y_test * (rows.X_test @ weights + intercept) <= 0
        curve.append({"objective": loss + penalty.value(weights), "error": float(wrong.mean())})
    return curve


def describe(settings: Settings, _: Records) -> Record:
    rows = split(settings)
    return {
        "corpus": from_settings(settings).statistics(),
        "train": len(rows.y),
        "test": len(rows.y_test),
        "positive": float((rows.y_test > 0).mean()),
    }


def curves(settings: Settings, _: Records) -> Record:
    """Objective and error after each number of passes, trained in the same orders."""
    rows = split(settings)
    penalty = ElasticNet(0.0, L2_ROWS / len(rows.y))
    # The order of the rows in a pass is the same for all learners.
    orders = [
        np.random.default_rng([settings.seed, epoch]).permutation(len(rows.y))
        for epoch in range(PASSES[-1])
    ]
    found = {}
    for last, average, center in ((SGD, ASGD, False), (CSGD, CASGD, True)):
        models = []
        with warnings.catch_warnings():
            # After one pass the averages may be worse than no model.
            warnings.simplefilter("ignore", ConvergenceWarning)
            for passes in PASSES:
                model = ASGDClassifier("log_loss", l2=penalty.l2, center=center)
                order = np.concatenate(orders[:passes])
                models.append(model.fit(rows.X, rows.y, sample_order=order))
        found[last] = judge(rows, models, penalty, last=True)
        found[average] = judge(rows, models, penalty)
    return {"curves": found, "l2": penalty.l2}


# --- cost ------------------------------------------------------------------------------------


def feature_sizes(settings: Settings) -> list[int]:
    """Powers of ten up to 10,000,000; two sizes for a small run."""
    if settings.features >= FEATURES[2]:
        return list(FEATURES)
    return sorted({max(10, int(2 * settings.nonzeros)), settings.features})


def measure_features(settings: Settings, features: int, _: Records) -> Record:
    """Seconds per example with this number of features; lazy and naive averages must agree."""
    shortage = machine.memory_shortage(BYTES_PER_FEATURE * features)
    if shortage is not None:
        return {"skipped": shortage}
    problem = uniform_problem(
        rows=min(TIMED_ROWS, settings.examples),
        features=features,
        nonzeros=min(settings.nonzeros, features),
        seed=settings.seed,
    )
    same = {}
    for lazy, naive in PAIRS:
        averages = []
        for name in (lazy, naive):
            learner: Any = TIMED[name](problem)
            learner.begin()
            learner.learn(0, min(100, len(problem.y)))
            averages.append(learner.averages())
        same[lazy] = equality(averages[0], averages[1], f"{lazy} and {naive}")
    seconds = {}
    for name, kind in TIMED.items():
        # One competitor in memory at a time.
        turn = Turn(kind(problem), settings.seconds / 10)
        seconds[name] = in_turns({name: turn}, settings.repeats)[name]
    return {"seconds": seconds, "same": same}


# --- reading what was measured ---------------------------------------------------------------


class Averages(Measured):
    """Curves by predictor, times and deviations by number of features."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        by_size = {int(size): record for [size], record in self.group("features")}
        self.skipped = {size: r["skipped"] for size, r in by_size.items() if "skipped" in r}
        self.timed = {size: r for size, r in sorted(by_size.items()) if "seconds" in r}

    def curve(self, name: str, what: str) -> list[float]:
        return [found[what] for found in self.records["curves"]["curves"][name]]

    def best(self, what: str) -> str:
        """The predictor whose objective or error is the lowest after the last pass."""
        return min(PREDICTORS, key=lambda name: self.curve(name, what)[-1])

    def seconds(self, name: str) -> list[float]:
        return [median(record["seconds"][name]) for record in self.timed.values()]

    def growth(self, name: str) -> float:
        """How many times longer a step takes with the most features than with the fewest."""
        return self.seconds(name)[-1] / self.seconds(name)[0]

    def ratio(self, size: int, slow: str, fast: str) -> Spread:
        seconds = self.timed[size]["seconds"]
        return ratios(seconds[slow], seconds[fast])

    @property
    def worst_equality(self) -> float:
        return max(
            found["relative"] for record in self.timed.values() for found in record["same"].values()
        )


def content(document: Mapping[str, Any]) -> Content:
    found = Averages(document)
    rows = found.records["corpus"]
    sizes = list(found.timed)
    grown = sizes[-1] / sizes[0]
    longer = {"lazy": found.growth(LAZY_AVERAGE), "naive": found.growth(NAIVE_AVERAGE)}
    ratios = {
        f"averaged / {CLOCK}": (LAZY_AVERAGE, CLOCK),
        f"{NAIVE_AVERAGE} / lazily": (NAIVE_AVERAGE, LAZY_AVERAGE),
        f"{NAIVE_CENTERED} / {LAZY_CENTERED}": (NAIVE_CENTERED, LAZY_CENTERED),
    }
    return Content(
        PAGE("finding", grown=grown, **longer),
        [
            PAGE(
                "rows",
                **{name: rows[name] for name in ("train", "test", "positive")},
                **{name: rows["corpus"][name] for name in ("origin", "features")},
                nonzeros=rows["corpus"]["nonzeros_per_example"],
            ),
            "## Dekel's averages and centering",
            PAGE(
                "averages",
                l2=found.records["curves"]["l2"],
                passes=PASSES[-1],
                objective=found.best("objective"),
                error=found.best("error"),
            ),
            curve_table(found),
            "## What averages cost",
            PAGE(
                "costs",
                nonzeros=found.settings["nonzeros"],
                least=sizes[0],
                most=sizes[-1],
                grown=grown,
                **longer,
                lazy_centered=found.growth(LAZY_CENTERED),
                naive_centered=found.growth(NAIVE_CENTERED),
                worst=found.worst_equality,
            ),
            Table(
                ["features", *TIMED, *ratios],
                [
                    [
                        f"{size:,}",
                        *(duration(found.seconds(name)[k]) for name in TIMED),
                        *(found.ratio(size, slow, fast) for slow, fast in ratios.values()),
                    ]
                    for k, size in enumerate(found.timed)
                ],
            ),
            " ".join(f"{size:,} features were left out: {w}." for size, w in found.skipped.items()),
        ],
        [
            *(
                Curves(
                    "l2 alone, rates 1 / (l2 t)",
                    "passes",
                    what,
                    {name: (PASSES, found.curve(name, what)) for name in PREDICTORS},
                    log="x",
                )
                for what in ("objective", "error")
            ),
            Curves(
                "What a step costs",
                "features",
                "time",
                {name: (sizes, found.seconds(name)) for name in TIMED},
                ticks=duration,
            ),
        ],
    )


def curve_table(found: Averages) -> Table:
    """Objective and error of every predictor after every number of passes."""
    rows = []
    for k, passes in enumerate(PASSES):
        objectives = (significant(found.curve(name, "objective")[k], 4) for name in PREDICTORS)
        errors = (f"{found.curve(name, 'error')[k]:.2%}" for name in PREDICTORS)
        rows.append([passes, *map(", ".join, zip(objectives, errors, strict=True))])
    return Table(["passes", *(f"{name}: objective, error" for name in PREDICTORS)], rows)
