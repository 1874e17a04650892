"""Study ``crossover``: at what density dense updates catch up with lazy ones.

Lipton & Elkan say that lazy updates win tremendously "when considerably less than one quarter of
all features are nonzero".  Here the density goes from a ten-thousandth to 1, in all four tiers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from paper_repro import figures
from paper_repro.competitors import (
    CLOCK,
    DENSE,
    DESCRIPTIONS,
    SPARSE_PREDICTIONS,
    TABLES,
    TIERS,
)
from paper_repro.measure import Turn, in_turns
from paper_repro.pages import Template, paragraphs, table
from paper_repro.score import Spread, ratios, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings, Study
from paper_repro.uniform import uniform_problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = Template.beside(__file__)

MOST_FEATURES = 20_000
DENSITIES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.25, 0.3, 1.0)
QUARTER, THOUSANDTH = 0.25, 1e-3
NAMES = (CLOCK, TABLES, SPARSE_PREDICTIONS, DENSE)
LAZY, ALL_FEATURES = (TABLES, CLOCK), (DENSE, SPARSE_PREDICTIONS)
#: Every dense form with every lazy one.
PAIRS = tuple(product(ALL_FEATURES, LAZY))
#: The claim in numbers: lazy updates are faster up to this density, and so many times faster at a
#: density of a thousandth.
CONSIDERABLY_LESS, TREMENDOUSLY = 0.1, 10.0
#: Bounds on the number of rows, which are visited again and again, and on the nonzeros of all rows.
#: Compiled loops get more of them, so that the fixed cost of a call vanishes.
FEWEST_ROWS, MOST_ROWS = 4, 20_000
NONZEROS_OF_ALL_ROWS = {"compiled": 2_000_000}
DEFAULT_NONZEROS = 100_000


class Crossover(Study):
    """Time per example against density, lazy and dense, in every tier."""

    name = "crossover"
    title = "At what density dense updates catch up"
    on_corpus = False

    def cells(self, settings: Settings) -> Sequence[Cell]:
        cost = (settings.repeats + 2) * len(NAMES) * settings.seconds / 10
        return [
            Cell(key(tier, nonzeros), partial(measure, settings, tier, nonzeros), cost)
            for tier in TIERS
            for nonzeros in steps_of_density(settings)
        ]

    def page(self, document: Mapping[str, Any]) -> str:
        return page(DensityCurves(document))

    def draw(self, document: Mapping[str, Any]) -> Figure:
        return draw(DensityCurves(document))


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

    Infinite where the lazy ones are still ahead at the last density, 0 where they never were.
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
    """Seconds per example of everybody against density, tier by tier."""

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
        """Which of the measured densities is nearest to this one."""
        return min(
            range(len(self.densities)),
            key=lambda i: abs(math.log(self.densities[i] / density)),
        )

    def ratio(self, tier: str, density: float, slow: str, fast: str) -> Spread:
        """slow / fast at the measured density nearest to ``density``."""
        seconds = self.curves[tier][self.nearest(density)]["seconds"]
        return ratios(seconds[slow], seconds[fast])

    def lead(self, tier: str, density: float, lazy: str) -> float:
        """How many times longer the faster of the two dense forms takes."""
        return min(self.ratio(tier, density, dense, lazy).median for dense in ALL_FEATURES)

    def crossing(self, tier: str, lazy: str, dense: str) -> Spread:
        """Where the two cross, in every round by itself."""
        seconds = [record["seconds"] for record in self.curves[tier]]
        by_round = [
            [slow / fast for slow, fast in zip(each[lazy], each[dense], strict=True)]
            for each in seconds
        ]
        return Spread.of(
            [crossing(self.densities, ratios) for ratios in zip(*by_round, strict=True)]
        )

    def reach(self, tier: str, lazy: str) -> float:
        """The density up to which lazy updates are faster than both dense forms."""
        return min(self.crossing(tier, lazy, dense).median for dense in ALL_FEATURES)


# --- the page --------------------------------------------------------------------------------


def page(measured: DensityCurves) -> str:
    return PAGE(
        "page",
        setting=PAGE(
            "setting",
            lowest=measured.densities[0],
            highest=measured.densities[-1],
            features=measured.features,
            considerably_less=CONSIDERABLY_LESS,
            tremendously=TREMENDOUSLY,
            thousandth=measured.thousandth,
        ),
        rounds=measured.repeats,
        crossings=crossings(measured),
        verdicts=paragraphs(verdict(measured, tier) for tier in TIERS),
        quarter=measured.quarter,
        thousandth=measured.thousandth,
        ratios=ratio_table(measured),
    )


def verdict(measured: DensityCurves, tier: str) -> str:
    """Whether the paper's claim, which is about tables, holds in a tier; and how the clock does."""
    return PAGE(
        "verdict",
        tier=DESCRIPTIONS[tier],
        judgement=judgement(measured.reach(tier, TABLES), measured.lead(tier, THOUSANDTH, TABLES)),
        tables_reach=_where(measured, measured.reach(tier, TABLES)),
        clock_reach=_where(measured, measured.reach(tier, CLOCK)),
        quarter=measured.quarter,
        tables_at_quarter=measured.lead(tier, QUARTER, TABLES),
        clock_at_quarter=measured.lead(tier, QUARTER, CLOCK),
        thousandth=measured.thousandth,
        tables_at_thousandth=measured.lead(tier, THOUSANDTH, TABLES),
        clock_at_thousandth=measured.lead(tier, THOUSANDTH, CLOCK),
    )


def judgement(reach: float, lead: float) -> str:
    """Of the density that lazy updates reach, and of their lead at a density of a thousandth."""
    match reach >= CONSIDERABLY_LESS, lead >= TREMENDOUSLY:
        case True, True:
            return "holds"
        case True, False:
            return "holds in part: lazy updates win, but not tremendously"
        case False, True:
            return "holds in part: lazy updates win tremendously, but at lower densities"
    return "does not hold"


def _where(measured: DensityCurves, reach: float) -> str:
    if reach == math.inf:
        return "at no density"
    return f"below {measured.densities[0]:g}" if reach == 0 else f"at {significant(reach, 2)}"


def crossings(measured: DensityCurves) -> str:
    """Tier by tier, the densities at which dense updates catch up."""
    return table(
        [
            "",
            "tables, dense",
            "clock, dense",
            "tables, dense with sparse predictions",
            "clock, dense with sparse predictions",
        ],
        [
            [
                DESCRIPTIONS[tier],
                *(_range(measured, measured.crossing(tier, lazy, dense)) for dense, lazy in PAIRS),
            ]
            for tier in TIERS
        ],
    )


def _range(measured: DensityCurves, found: Spread) -> str:
    middle, least, most = (
        _density(measured, density) for density in (found.median, found.least, found.most)
    )
    return middle if least == most else f"{middle} ({least} - {most})"


def _density(measured: DensityCurves, density: float) -> str:
    if density == math.inf:
        return f"above {measured.densities[-1]:g}"
    if density == 0:
        return f"below {measured.densities[0]:g}"
    return significant(density, 2)


def ratio_table(measured: DensityCurves) -> str:
    return table(
        ["", "density", *(f"{dense} / {lazy}" for dense, lazy in PAIRS)],
        [
            [
                DESCRIPTIONS[tier],
                f"{density:.2g}",
                *(measured.ratio(tier, density, dense, lazy) for dense, lazy in PAIRS),
            ]
            for tier in TIERS
            for density in (measured.quarter, measured.thousandth)
        ],
    )


# --- the figure ------------------------------------------------------------------------------

LOOK_OF = {
    CLOCK: "clock",
    TABLES: "tables",
    SPARSE_PREDICTIONS: "sparse predictions",
    DENSE: "dense",
}


def draw(measured: DensityCurves) -> Figure:
    """Time per example against density, a panel a tier."""
    figure, axes = figures.new(columns=2, rows=2, width=8.2, height=6.6)
    for ax, tier in zip(axes.flat, TIERS, strict=True):
        _draw_tier(ax, measured, tier)
    for ax in axes[:, 0]:
        ax.set_ylabel("time per example")
    for ax in axes[1]:
        ax.set_xlabel("share of features that are nonzero")
    return figure  # type: ignore[no-any-return]


def _draw_tier(ax: Axes, measured: DensityCurves, tier: str) -> None:
    for name in NAMES:
        look = figures.LOOKS[LOOK_OF[name]]
        ax.loglog(measured.densities, measured.medians(tier, name), **{**look, "markersize": 3.5})
    figures.times_in_words(ax)
    ax.margins(y=0.1)
    ax.set_title(DESCRIPTIONS[tier])
    ax.axvline(QUARTER, color="0.45", linewidth=0.7, zorder=0)
    ax.annotate(
        "one quarter",
        (QUARTER, 0.02),
        xycoords=ax.get_xaxis_transform(),
        xytext=(-3, 0),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color="0.35",
        fontsize=8,
    )
    _label_lines(ax, measured, tier)
    _mark_crossings(ax, measured, tier)


def _label_lines(ax: Axes, measured: DensityCurves, tier: str) -> None:
    """The dense and the lazy pair by name, on either side and clear of all that the names span."""
    start, middle = 0, measured.nearest(THOUSANDTH)
    end = measured.nearest(10 * THOUSANDTH)
    for pair, at, of_upper, of_lower in (
        (ALL_FEATURES, start, (start, end), (start, end)),
        (LAZY, middle, (start, middle), (middle, end)),
    ):
        there = {name: measured.medians(tier, name)[at] for name in pair}
        lower, upper = sorted(pair, key=there.__getitem__)
        for name, up, (first, last) in ((upper, True, of_upper), (lower, False, of_lower)):
            spanned = measured.medians(tier, name)[first : last + 1]
            to_the_left = pair is LAZY and up
            ax.annotate(
                name,
                (measured.densities[at], max(spanned) if up else min(spanned)),
                xytext=(-3 if to_the_left else 3, 5 if up else -5),
                textcoords="offset points",
                ha="right" if to_the_left else "left",
                va="bottom" if up else "top",
                color=figures.LOOKS[LOOK_OF[name]]["color"],
                fontsize=8,
            )


def _mark_crossings(ax: Axes, measured: DensityCurves, tier: str) -> None:
    """Rings where a lazy line meets a dense one; where the first of them is, beside the title."""
    rings = []
    for dense, lazy in PAIRS:
        density = measured.crossing(tier, lazy, dense).median
        if 0 < density < math.inf:
            seconds = _between(measured.densities, measured.medians(tier, lazy), density)
            rings.append((density, seconds))
    for ring in rings:
        ax.plot(
            *ring,
            marker="o",
            markersize=9,
            markerfacecolor="none",
            markeredgewidth=1.0,
            color="black",
            zorder=5,
        )
    first = f"first at {significant(min(rings)[0], 2)}" if rings else "none"
    ax.set_title(f"\N{WHITE CIRCLE} crossings: {first}", loc="right", fontsize=8.5)


def _between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """y at x on the line that is drawn through the points on log axes."""
    return float(np.exp(np.interp(np.log(x), np.log(xs), np.log(ys))))
