"""Study ``averaging``: what averages of the iterates are worth, and what they cost.

Two measurements:

1. objective and test error against passes, of the last iterate and of four averages, with and
   without centered rows;
2. the time of a step against the number of features, with lazy and with naive averages (Dekel's
   O(d + T k) against O(T d)).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lazynet import ASGDClassifier, FoBoS, LazyNetClassifier
from lazynet.penalties import ElasticNet
from lazynet.rules import affine
from lazynet.rules.base import Rule
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
from paper_repro.render import Content, Curves, Table
from paper_repro.score import Spread, duration, equality, ratios, significant
from paper_repro.split import Curve, Split, split
from paper_repro.study import Cell, Measured, Record, Records, Settings
from paper_repro.uniform import uniform_problem

PASSES = (1, 2, 3, 5, 7, 10)
#: Strengths of the penalties, multiplied by the number of training rows.
L1_ROWS, L2_ROWS, DEKEL_ROWS = 0.25, 0.1, 1.0
ETA0 = 1.0
LAST, AVERAGE, SUFFIX, POLYNOMIAL = "last", "average", "last half", "polynomial decay"
SGD, ASGD, CSGD, CASGD = "SGD", "ASGD", "centered SGD", "CASGD"
ELASTIC_NET, RIDGE = "elastic net", "l2"
PREDICTORS = {
    ELASTIC_NET: (LAST, AVERAGE, SUFFIX, POLYNOMIAL),
    RIDGE: (SGD, ASGD, CSGD, CASGD, SUFFIX, POLYNOMIAL),
}
FEATURES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
TIMED_ROWS = 20_000
BYTES_PER_FEATURE = 200
TIMED = {kind.name: kind for kind in (Clock, *AVERAGING)}
PAIRS = ((LAZY_AVERAGE, NAIVE_AVERAGE), (LAZY_CENTERED, NAIVE_CENTERED))
#: The titles of the panels.
TITLES = {ELASTIC_NET: "Elastic net, constant rate", RIDGE: "l2 alone, rates 1 / (l2 t)"}


def cells(settings: Settings) -> Sequence[Cell]:
    return [
        Cell("corpus", partial(describe, settings), 2.0),
        *(Cell(f"curves/{name}", partial(CURVES[name], settings), 8.0) for name in PREDICTORS),
        *(
            Cell(f"features/{size}", partial(measure_features, settings, size), 3.0)
            for size in feature_sizes(settings)
        ),
    ]


# --- learning curves -------------------------------------------------------------------------


def describe(settings: Settings, _: Records) -> Record:
    rows = split(settings)
    return {
        "corpus": from_settings(settings).statistics(),
        "train": rows.n,
        "test": len(rows.y_test),
        "positive": float((rows.y_test > 0).mean()),
    }


def elastic_net(settings: Settings, _: Records) -> Record:
    """Four averages of FoBoS at a constant rate under an elastic net."""
    rows, seed = split(settings), settings.seed
    penalty = ElasticNet(L1_ROWS / rows.n, L2_ROWS / rows.n)
    rule = FoBoS("constant", eta0=ETA0)
    whole = after_passes(rows, seed, partial(logistic, penalty, replace(rule, average=True)))
    curves = {
        LAST: rows.judge(whole, penalty, last=True),
        AVERAGE: rows.judge(whole, penalty),
        **later_averages(rows, seed, penalty, rule),
    }
    return {
        "curves": curves,
        "l1": penalty.l1,
        "l2": penalty.l2,
        "features": rows.X.shape[1],
        "support": int(np.count_nonzero(whole[-1].last_coef_)),
        "averaged support": int(np.count_nonzero(whole[-1].coef_)),
    }


def ridge(settings: Settings, _: Records) -> Record:
    """Dekel's four predictors, and two more averages of SGD at the rates 1 / (l2 t), without l1."""
    rows, seed = split(settings), settings.seed
    penalty = ElasticNet(0.0, DEKEL_ROWS / rows.n)
    rule = affine.SGD("pegasos", step_order="shrink_first")
    curves = later_averages(rows, seed, penalty, rule)
    for last, average, center in ((SGD, ASGD, False), (CSGD, CASGD, True)):
        dekel = partial(ASGDClassifier, "log_loss", l2=penalty.l2, center=center)
        models = after_passes(rows, seed, dekel)
        curves[last] = rows.judge(models, penalty, last=True)
        curves[average] = rows.judge(models, penalty)
    return {"curves": curves, "l2": penalty.l2}


CURVES: dict[str, Callable[[Settings, Records], Record]] = {
    ELASTIC_NET: elastic_net,
    RIDGE: ridge,
}


def later_averages(
    rows: Split, seed: int, penalty: ElasticNet, rule: FoBoS | affine.SGD
) -> dict[str, Curve]:
    """Curves of the averages in which the first steps count little or nothing."""
    curves = {}
    for name, average in ((SUFFIX, "suffix"), (POLYNOMIAL, "polynomial")):
        averaged = partial(logistic, penalty, replace(rule, average=average))
        curves[name] = rows.judge(after_passes(rows, seed, averaged), penalty)
    return curves


def after_passes(rows: Split, seed: int, make: Callable[[], Any]) -> list[Any]:
    """A new model for each number of passes, trained in the orders of ``rows``."""
    orders = [rows.order(epoch, seed) for epoch in range(PASSES[-1])]
    with warnings.catch_warnings():
        # After one pass Dekel's averages may be worse than no model.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [
            make().fit(rows.X, rows.y, sample_order=np.concatenate(orders[:passes]))
            for passes in PASSES
        ]


def logistic(penalty: ElasticNet, rule: Rule) -> LazyNetClassifier:
    """Logistic regression that visits the rows once, in the order given to ``fit``."""
    return LazyNetClassifier(
        "log_loss",
        l1=penalty.l1,
        l2=penalty.l2,
        rule=rule,
        max_iter=1,
        tol=None,
        shuffle=False,
    )


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
    """Curves by predictor, times by number of features, deviations by penalty."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        by_size = {int(size): record for [size], record in self.group("features")}
        self.skipped = {size: r["skipped"] for size, r in by_size.items() if "skipped" in r}
        self.timed = {size: r for size, r in sorted(by_size.items()) if "seconds" in r}

    def curve(self, group: str, name: str, what: str) -> list[float]:
        return [found[what] for found in self.records[f"curves/{group}"]["curves"][name]]

    def best(self, group: str, what: str) -> str:
        """The predictor whose objective or error is the lowest after the last pass."""
        return min(PREDICTORS[group], key=lambda name: self.curve(group, name, what)[-1])

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
    rows, elastic, l2_alone = (
        found.records[key] for key in ("corpus", f"curves/{ELASTIC_NET}", f"curves/{RIDGE}")
    )
    sizes = list(found.timed)
    grown = significant(sizes[-1] / sizes[0])
    longer = {name: significant(found.growth(name)) for name in TIMED}

    def best(group: str) -> str:
        objective, error = (found.best(group, what) for what in ("objective", "error"))
        return (
            f"After {PASSES[-1]} passes *{objective}* has the lowest objective and *{error}* the "
            f"lowest error."
        )

    ratios = {
        f"averaged / {CLOCK}": (LAZY_AVERAGE, CLOCK),
        f"{NAIVE_AVERAGE} / lazily": (NAIVE_AVERAGE, LAZY_AVERAGE),
        f"{NAIVE_CENTERED} / {LAZY_CENTERED}": (NAIVE_CENTERED, LAZY_CENTERED),
    }
    return Content(
        f"With {grown} times as many features a step that also averages all weights takes lazynet "
        f"{longer[LAZY_AVERAGE]} times as long, where adding every weight to a sum takes "
        f"{longer[NAIVE_AVERAGE]} times as long.",
        [
            f"There are {rows['train']:,} rows to learn from and {rows['test']:,} to test on "
            f"({rows['corpus']['origin']}; {rows['corpus']['features']:,} features, "
            f"{rows['corpus']['nonzeros_per_example']:.2f} nonzeros in a row on average). Each row "
            f"is scaled to length one, as is usual for text. {rows['positive']:.1%} of the test "
            f"rows belong to the positive class. The loss is logistic. Every pass visits the rows "
            f"in a new order, which is the same for all predictors. The *objective* is the mean "
            f"loss on the training rows plus the penalty, which leaves out the intercept. The "
            f"*error* is the share of test rows that are misjudged. *average* is the mean of all "
            f"iterates, *last half* the mean of the iterates after half of the steps, *polynomial "
            f"decay* the average of Shamir & Zhang with degree three.",
            "## Elastic net",
            f"FoBoS runs once at the constant rate {ETA0:g} with l1 = {significant(elastic['l1'])} "
            f"and l2 = {significant(elastic['l2'])}, and the run is read in four ways. "
            f"{best(ELASTIC_NET)} An average of sparse weights is not sparse: of "
            f"{elastic['features']:,} weights {elastic['support']:,} are not zero in the last "
            f"iterate and {elastic['averaged support']:,} in the average.",
            curve_table(found, ELASTIC_NET),
            "## Dekel's averages and centering",
            f"The rates are 1 / (l2 t) with l2 = {significant(l2_alone['l2'])}, and there is no l1 "
            f"penalty. SGD and its average ASGD learn from the rows as they are, centered SGD and "
            f"its average CASGD from centered rows. *last half* and *polynomial decay* average the "
            f"iterates of SGD at the rates 1 / (l2 (t + 2)), with an intercept that is not "
            f"penalised. The first steps at such rates are long, and a plain average keeps them. "
            f"{best(RIDGE)}",
            curve_table(found, RIDGE),
            "## What averages cost",
            f"Each row has {found.settings['nonzeros']:g} nonzeros, in columns drawn uniformly. "
            f"*dense, averaged* is a compiled loop that adds every weight to a sum after every "
            f"step. *naive CASGD* centers every row and adds every weight to a sum, with NumPy's "
            f"loops. From {sizes[0]:,} to {sizes[-1]:,} features, {grown} times as many, a step "
            f"takes {longer[LAZY_AVERAGE]} times as long with the lazy average and "
            f"{longer[NAIVE_AVERAGE]} times as long with *dense, averaged*, "
            f"{longer[LAZY_CENTERED]} times as long with CASGD and {longer[NAIVE_CENTERED]} times "
            f"as long with *naive CASGD*. These are the costs O(d + T k) and O(T d) of T steps on "
            f"rows of k nonzeros among d features, apart from the latency of memory. The same run "
            f"compares the averages of each lazy loop with those of its naive loop: they differ by "
            f"{found.worst_equality:.2g} of the largest average at most.",
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
                    title,
                    "passes",
                    what,
                    {name: (PASSES, found.curve(group, name, what)) for name in PREDICTORS[group]},
                    log="x",
                )
                for what in ("objective", "error")
                for group, title in TITLES.items()
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


def curve_table(found: Averages, group: str) -> Table:
    """Objective and error of every predictor after every number of passes."""
    names = PREDICTORS[group]
    rows = []
    for k, passes in enumerate(PASSES):
        objectives = (significant(found.curve(group, name, "objective")[k], 4) for name in names)
        errors = (f"{found.curve(group, name, 'error')[k]:.2%}" for name in names)
        rows.append([passes, *map(", ".join, zip(objectives, errors, strict=True))])
    return Table(["passes", *(f"{name}: objective, error" for name in names)], rows)
