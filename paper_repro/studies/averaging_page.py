"""The page of the study ``averaging``: curves, times of a step, deviations from the mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paper_repro.competitors.base import CLOCK
from paper_repro.competitors.compiled import (
    LAZY_AVERAGE,
    LAZY_CENTERED,
    NAIVE_AVERAGE,
    NAIVE_CENTERED,
)
from paper_repro.pages import Template, paragraphs, table
from paper_repro.score import duration, significant
from paper_repro.studies.averaging import (
    ELASTIC_NET,
    ETA0,
    LAZYNET,
    PASSES,
    PREDICTORS,
    RIDGE,
    SKLEARN,
    TIMED,
    Averages,
)

PAGE = Template.beside(__file__)


def page(document: Mapping[str, Any]) -> str:
    found = Averages(document)
    rows, elastic, ridge = (
        found.records[key] for key in ("corpus", f"curves/{ELASTIC_NET}", f"curves/{RIDGE}")
    )
    sizes, some = list(found.timed), next(iter(found.stopped.values()))
    return PAGE(
        "page",
        finding=PAGE(
            "finding",
            grown=sizes[-1] / sizes[0],
            lazy=found.growth(LAZY_AVERAGE),
            naive=found.growth(NAIVE_AVERAGE),
            sklearn=max(found.deviations(SKLEARN, l1=True)),
        ),
        train=rows["train"],
        test=rows["test"],
        origin=rows["corpus"]["origin"],
        features=rows["corpus"]["features"],
        nonzeros=rows["corpus"]["nonzeros_per_example"],
        positive=rows["positive"],
        passes=PASSES[-1],
        # Elastic net
        eta0=ETA0,
        l1=elastic["l1"],
        l2=elastic["l2"],
        best_objective=found.best(ELASTIC_NET, "objective"),
        best_error=found.best(ELASTIC_NET, "error"),
        weights=elastic["features"],
        support=elastic["support"],
        averaged_support=elastic["averaged support"],
        elastic_net_curves=curve_table(found, ELASTIC_NET),
        # Dekel's averages and centering
        ridge_l2=ridge["l2"],
        ridge_best_objective=found.best(RIDGE, "objective"),
        ridge_best_error=found.best(RIDGE, "error"),
        ridge_curves=curve_table(found, RIDGE),
        # What averages cost
        timed_nonzeros=found.settings["nonzeros"],
        fewest=sizes[0],
        most=sizes[-1],
        grown=sizes[-1] / sizes[0],
        lazy_average=found.growth(LAZY_AVERAGE),
        naive_average=found.growth(NAIVE_AVERAGE),
        lazy_centered=found.growth(LAZY_CENTERED),
        naive_centered=found.growth(NAIVE_CENTERED),
        difference=found.worst_equality,
        costs=cost_table(found),
        left_out=paragraphs(
            PAGE("left out", size=size, why=why) for size, why in found.skipped.items()
        ),
        # Averages under an l1 penalty, and scikit-learn's
        stopped_rows=some["rows"],
        stopped_features=some["features"],
        sklearn_l2=max(found.deviations(SKLEARN, l1=False)),
        sklearn_least=min(found.deviations(SKLEARN, l1=True)),
        sklearn_most=max(found.deviations(SKLEARN, l1=True)),
        lazynet_most=max(found.deviations(LAZYNET, l1=True) + found.deviations(LAZYNET, l1=False)),
        deviations=deviation_table(found),
    )


def curve_table(found: Averages, group: str) -> str:
    """Objective and error of every predictor after every number of passes."""
    names = PREDICTORS[group]
    return table(
        ["passes", *(f"{name}: objective, error" for name in names)],
        [
            [
                passes,
                *(
                    f"{significant(found.curve(group, name, 'objective')[k], 4)}, "
                    f"{found.curve(group, name, 'error')[k]:.2%}"
                    for name in names
                ),
            ]
            for k, passes in enumerate(PASSES)
        ],
    )


def cost_table(found: Averages) -> str:
    """Time of a step with every number of features, and ratios round by round."""
    ratios = {
        f"averaged / {CLOCK}": (LAZY_AVERAGE, CLOCK),
        f"{NAIVE_AVERAGE} / lazily": (NAIVE_AVERAGE, LAZY_AVERAGE),
        f"{NAIVE_CENTERED} / {LAZY_CENTERED}": (NAIVE_CENTERED, LAZY_CENTERED),
    }
    return table(
        ["features", *TIMED, *ratios],
        [
            [
                f"{size:,}",
                *(duration(found.seconds(name)[k]) for name in TIMED),
                *(found.ratio(size, slow, fast) for slow, fast in ratios.values()),
            ]
            for k, size in enumerate(found.timed)
        ],
    )


def deviation_table(found: Averages) -> str:
    """By how much the averages of both packages are wrong under every penalty."""
    pairs = [(name, what) for name in (SKLEARN, LAZYNET) for what in ("largest", "norm")]
    header = [f"{name}, {'largest entry' if what == 'largest' else what}" for name, what in pairs]
    return table(
        ["alpha", "l1_ratio", *header],
        [
            [f"{alpha:g}", f"{ratio:g}", *(f"{record[name][what]:.2g}" for name, what in pairs)]
            for (ratio, alpha), record in sorted(found.stopped.items())
        ],
    )
