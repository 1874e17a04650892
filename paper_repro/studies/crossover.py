"""Study ``crossover``: at what density dense updates catch up with lazy ones.

Lipton & Elkan say that lazy updates win tremendously where "considerably less than one quarter of
all features" have nonzero values.  Here the density goes from a ten-thousandth to 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from statistics import median
from typing import Any

from paper_repro.competitors import DESCRIPTIONS, TIERS
from paper_repro.competitors.base import CLOCK, DENSE, SPARSE_PREDICTIONS, TABLES
from paper_repro.measure import Turn, in_turns
from paper_repro.pages import Template
from paper_repro.render import Content, Curves, Table
from paper_repro.score import Spread, duration, ratios, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings
from paper_repro.uniform import uniform_problem

PAGE = Template.beside(__file__)
MOST_FEATURES = 20_000
DENSITIES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.25, 0.3, 1.0)
QUARTER, THOUSANDTH = 0.25, 1e-3
NAMES = (CLOCK, TABLES, SPARSE_PREDICTIONS, DENSE)
LAZY, ALL_FEATURES = (TABLES, CLOCK), (DENSE, SPARSE_PREDICTIONS)
#: Every dense learner with every lazy one.
PAIRS = tuple(product(ALL_FEATURES, LAZY))
#: The claim in numbers: up to a density of CONSIDERABLY_LESS lazy updates are faster, and at a
#: density of a thousandth they are TREMENDOUSLY times faster.
CONSIDERABLY_LESS, TREMENDOUSLY = 0.1, 10.0
#: Bounds on the number of rows, which are visited again and again, and on the nonzeros of all rows.
#: Compiled loops get more nonzeros, so that the fixed cost of a call vanishes.
FEWEST_ROWS, MOST_ROWS = 4, 20_000
NONZEROS_OF_ALL_ROWS = {"compiled": 2_000_000}
DEFAULT_NONZEROS = 100_000


def cells(settings: Settings) -> Sequence[Cell]:
    cost = (settings.repeats + 5) * len(NAMES) * settings.seconds / 10
    return [
        Cell(key(tier, nonzeros), partial(measure, settings, tier, nonzeros), cost)
        for tier in TIERS
        for nonzeros in steps_of_density(settings)
    ]


# --- measuring -------------------------------------------------------------------------------


def features_of(settings: Settings) -> int:
    return min(MOST_FEATURES, settings.features)


def steps_of_density(settings: Settings) -> list[int]:
    """The densities as nonzeros per example, sparsest first."""
    features = features_of(settings)
    return sorted({max(1, round(density * features)) for density in DENSITIES})


def key(tier: str, nonzeros: int) -> str:
    return f"{tier}/{nonzeros} nonzeros"


def measure(settings: Settings, tier: str, nonzeros: int, _: Records) -> Record:
    """Seconds per example of one tier's competitors at one density, round by round."""
    features = features_of(settings)
    budget = NONZEROS_OF_ALL_ROWS.get(tier, DEFAULT_NONZEROS)
    problem = uniform_problem(
        rows=max(FEWEST_ROWS, min(MOST_ROWS, settings.examples, budget // nonzeros)),
        features=features,
        nonzeros=nonzeros,
        seed=settings.seed,
    )
    turns = {name: Turn(TIERS[tier][name](problem), settings.seconds / 10) for name in NAMES}
    return {
        "features": features,
        "nonzeros": nonzeros,
        "seconds": in_turns(turns, settings.repeats),
        "examples": {name: turn.examples for name, turn in turns.items()},
    }


# --- reading what was measured ---------------------------------------------------------------


def crossing(densities: Sequence[float], lazy_by_dense: Sequence[float]) -> float:
    """The density from which on dense updates are faster, by log-log interpolation.

    It is infinite where lazy updates are faster at the last density, and 0 where they never are.
    """
    ahead = [i for i, ratio in enumerate(lazy_by_dense) if ratio < 1]
    if not ahead:
        return 0.0
    last = ahead[-1]
    if last == len(densities) - 1:
        return math.inf
    below, above = (math.log(lazy_by_dense[i]) for i in (last, last + 1))
    share = below / (below - above)
    return float(densities[last] * (densities[last + 1] / densities[last]) ** share)


class DensityCurves(Measured):
    """Seconds per example of all competitors against density, tier by tier."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.curves: dict[str, list[Record]] = {tier: [] for tier in TIERS}
        for name, record in self.records.items():
            self.curves[name.split("/")[0]].append(record)
        for curve in self.curves.values():
            curve.sort(key=lambda record: record["nonzeros"])
        some = self.curves[next(iter(TIERS))]
        self.features = some[0]["features"]
        self.densities = [record["nonzeros"] / self.features for record in some]
        self.quarter, self.thousandth = (
            self.densities[self.nearest(density)] for density in (QUARTER, THOUSANDTH)
        )

    def medians(self, tier: str, name: str) -> list[float]:
        return [median(record["seconds"][name]) for record in self.curves[tier]]

    def nearest(self, density: float) -> int:
        """The position of the measured density that is nearest to ``density``."""
        return min(
            range(len(self.densities)), key=lambda i: abs(math.log(self.densities[i] / density))
        )

    def ratio(self, tier: str, density: float, slow: str, fast: str) -> Spread:
        """slow / fast at the measured density nearest to ``density``."""
        seconds = self.curves[tier][self.nearest(density)]["seconds"]
        return ratios(seconds[slow], seconds[fast])

    def lead(self, tier: str, density: float, lazy: str) -> float:
        """How many times longer the faster of the two dense learners takes than the lazy one."""
        return min(self.ratio(tier, density, dense, lazy).median for dense in ALL_FEATURES)

    def crossing(self, tier: str, lazy: str, dense: str) -> Spread:
        """The densities at which the two cross, taken round by round."""
        seconds = [record["seconds"] for record in self.curves[tier]]
        by_round = [
            [slow / fast for slow, fast in zip(each[lazy], each[dense], strict=True)]
            for each in seconds
        ]
        return Spread.of(
            [crossing(self.densities, ratios) for ratios in zip(*by_round, strict=True)]
        )

    def reach(self, tier: str, lazy: str) -> float:
        """The density up to which lazy updates are faster than both dense learners."""
        return min(self.crossing(tier, lazy, dense).median for dense in ALL_FEATURES)


# --- the verdict -----------------------------------------------------------------------------


def judgement(reach: float, lead: float) -> str:
    """Whether the claim holds, given the density of the crossing and the lead at a thousandth."""
    match reach >= CONSIDERABLY_LESS, lead >= TREMENDOUSLY:
        case True, True:
            return "holds"
        case True, False:
            return "holds in part: lazy updates win, but not tremendously"
        case False, True:
            return "holds in part: lazy updates win tremendously, but at lower densities"
    return "does not hold"


def content(document: Mapping[str, Any]) -> Content:
    measured = DensityCurves(document)
    low, high, features = measured.densities[0], measured.densities[-1], measured.features
    quarter, thousandth = measured.quarter, measured.thousandth

    def where(density: float) -> str:
        if density == math.inf:
            return f"above {high:g}"
        return f"below {low:g}" if density == 0 else significant(density, 2)

    def crossing_of(tier: str, lazy: str, dense: str) -> str:
        found = measured.crossing(tier, lazy, dense)
        told, *ends = (where(each) for each in (found.median, found.least, found.most))
        return told if len({told, *ends}) == 1 else f"{told} ({' - '.join(ends)})"

    verdicts = []
    for tier in TIERS:
        reach, lead = measured.reach(tier, TABLES), measured.lead(tier, THOUSANDTH, TABLES)
        leads = (
            significant(measured.lead(tier, density, lazy))
            for density in (QUARTER, THOUSANDTH)
            for lazy in LAZY
        )
        row = [DESCRIPTIONS[tier], judgement(reach, lead), where(reach)]
        verdicts.append([*row, where(measured.reach(tier, CLOCK)), *leads])
    fast = {lazy: where(measured.reach("compiled", lazy)) for lazy in LAZY}
    return Content(
        PAGE("finding", clock=fast[CLOCK], tables=fast[TABLES]),
        [
            PAGE(
                "page",
                **{"low": low, "high": high, "features": features, "thousandth": thousandth},
                less=CONSIDERABLY_LESS,
                times=TREMENDOUSLY,
            ),
            Table(
                [
                    "",
                    "the claim",
                    "dense catches up with the tables",
                    "and with the clock",
                    *(
                        f"dense / {lazy} at {density:.2g}"
                        for density in (quarter, thousandth)
                        for lazy in LAZY
                    ),
                ],
                verdicts,
            ),
            PAGE("each", repeats=measured.repeats),
            Table(
                ["", *(f"{dense}, {lazy}" for dense, lazy in PAIRS)],
                [
                    [DESCRIPTIONS[tier], *(crossing_of(tier, lazy, dense) for dense, lazy in PAIRS)]
                    for tier in TIERS
                ],
            ),
        ],
        [
            Curves(
                DESCRIPTIONS[tier],
                "share of features that are nonzero",
                "time per example",
                {name: (measured.densities, measured.medians(tier, name)) for name in NAMES},
                ticks=duration,
                upright=QUARTER,
            )
            for tier in TIERS
        ],
    )
