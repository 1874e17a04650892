"""Study ``crossover``: at what density dense updates catch up with lazy ones.

Lipton & Elkan say that lazy updates win tremendously "when considerably less than one quarter of
all features are nonzero".  Here the density goes from a ten-thousandth to 1, in all four tiers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
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
from paper_repro.score import Spread, ratios, significant
from paper_repro.study import Cell, Record, Records, Settings, Study
from paper_repro.uniform import uniform_problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_FEATURES = 20_000
DENSITIES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.25, 0.3, 1.0)
QUARTER, THOUSANDTH = 0.25, 1e-3
NAMES = (CLOCK, TABLES, SPARSE_PREDICTIONS, DENSE)
LAZY, ALL_FEATURES = (TABLES, CLOCK), (DENSE, SPARSE_PREDICTIONS)
#: The claim in numbers: ahead up to this density, and so many times faster at a thousandth.
CONSIDERABLY_LESS, TREMENDOUSLY = 0.1, 10.0
#: Rows are visited again and again; these bounds keep them small and yet different.  Compiled
#: loops need longer passes, for what a pass costs by itself to vanish.
FEWEST_ROWS, MOST_ROWS = 4, 20_000
PASS_NONZEROS = {"compiled": 2_000_000}
LEAST_PASS_NONZEROS = 100_000


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
        return page(Measured(document))

    def draw(self, document: Mapping[str, Any]) -> Figure:
        return draw(Measured(document))


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
    budget = PASS_NONZEROS.get(tier, LEAST_PASS_NONZEROS)
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


class Measured:
    """A document of the study, asked in its own words."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.curves: dict[str, list[Record]] = {tier: [] for tier in TIERS}
        for name, record in document["records"].items():
            self.curves[name.split("/")[0]].append(record)
        for curve in self.curves.values():
            curve.sort(key=lambda record: record["nonzeros"])
        some = self.curves[next(iter(TIERS))]
        self.features = some[0]["features"]
        self.densities = [record["nonzeros"] / self.features for record in some]
        self.rounds = len(some[0]["seconds"][CLOCK])

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
        return Spread.of(
            [
                crossing(
                    self.densities,
                    [
                        record["seconds"][lazy][k] / record["seconds"][dense][k]
                        for record in self.curves[tier]
                    ],
                )
                for k in range(self.rounds)
            ]
        )


# --- the page --------------------------------------------------------------------------------


def page(measured: Measured) -> str:
    return "\n\n".join(
        [
            _setting(measured),
            crossings(measured),
            *(verdict(measured, tier) for tier in TIERS),
            "How many times longer dense updates take, at "
            f"{_share(measured, QUARTER)} and at {_share(measured, THOUSANDTH)} of the features:",
            ratio_table(measured),
        ]
    )


def _setting(measured: Measured) -> str:
    return (
        'Lipton & Elkan expect lazy updates to win tremendously "when considerably less than one '
        'quarter of all features are nonzero". Here the share of nonzero features goes from '
        f"{measured.densities[0]:g} to {measured.densities[-1]:g} of {measured.features:,} "
        "features: FoBoS with an elastic net, columns drawn uniformly, real values, no weight 0. "
        "The weights fit into the cache, which is the best case for dense updates. The claim is "
        "taken to mean that, of dense updates with and without sparse predictions, the tables are "
        f"ahead up to a density of {CONSIDERABLY_LESS:g} and {TREMENDOUSLY:g} times faster at "
        f"{_share(measured, THOUSANDTH)}.\n\nThese are the densities at which dense updates catch "
        f"up for good. Given are the median over {measured.rounds} "
        "rounds and in brackets their range."
    )


def crossings(measured: Measured) -> str:
    """Tier by tier, the densities at which dense updates catch up."""
    lines = [
        "| | tables, dense | clock, dense "
        "| tables, dense with sparse predictions | clock, dense with sparse predictions |",
        "|---|---|---|---|---|",
    ]
    for tier in TIERS:
        found = [
            _crossing_text(measured, measured.crossing(tier, lazy, dense))
            for dense in ALL_FEATURES
            for lazy in LAZY
        ]
        lines.append(f"| {DESCRIPTIONS[tier]} | {' | '.join(found)} |")
    return "\n".join(lines)


def _crossing_text(measured: Measured, found: Spread) -> str:
    middle, least, most = (
        _density(measured, density) for density in (found.median, found.least, found.most)
    )
    return middle if least == most else f"{middle} ({least} - {most})"


def _density(measured: Measured, density: float) -> str:
    if density == math.inf:
        return f"above {measured.densities[-1]:g}"
    if density == 0:
        return f"below {measured.densities[0]:g}"
    return significant(density, 2)


def ratio_table(measured: Measured) -> str:
    lines = ["| | density | " + " | ".join(f"{dense} / {lazy}" for dense, lazy in _pairs()) + " |"]
    lines.append("|---" * 6 + "|")
    for tier in TIERS:
        for density in (QUARTER, THOUSANDTH):
            found = [str(measured.ratio(tier, density, dense, lazy)) for dense, lazy in _pairs()]
            lines.append(
                f"| {DESCRIPTIONS[tier]} | {_share(measured, density)} | {' | '.join(found)} |"
            )
    return "\n".join(lines)


def _pairs() -> Iterator[tuple[str, str]]:
    for dense in ALL_FEATURES:
        for lazy in LAZY:
            yield dense, lazy


def _share(measured: Measured, density: float) -> str:
    return f"{measured.densities[measured.nearest(density)]:.2g}"


def verdict(measured: Measured, tier: str) -> str:
    """Whether the claim holds in a tier, of the paper's own tables; and how the clock does."""
    reach = {
        lazy: min(measured.crossing(tier, lazy, dense).median for dense in ALL_FEATURES)
        for lazy in LAZY
    }
    quarter, thousandth = (
        " and ".join(significant(measured.lead(tier, density, lazy)) for lazy in LAZY)
        for density in (QUARTER, THOUSANDTH)
    )
    return (
        f"**{DESCRIPTIONS[tier]}: the claim {_judgement(measured, tier, reach[TABLES])}.** The "
        f"faster of the two dense forms catches up with the tables "
        f"{_where(measured, reach[TABLES])} and with the clock {_where(measured, reach[CLOCK])}. "
        f"At {_share(measured, QUARTER)} it takes {quarter} times as long as the two, at "
        f"{_share(measured, THOUSANDTH)} {thousandth} times."
    )


def _judgement(measured: Measured, tier: str, reach: float) -> str:
    far = reach >= CONSIDERABLY_LESS
    much = measured.lead(tier, THOUSANDTH, TABLES) >= TREMENDOUSLY
    if far and much:
        return "holds"
    if far:
        return "holds in part: lazy updates win, but not tremendously"
    if much:
        return "holds in part: lazy updates win tremendously, but at lower densities"
    return "does not hold"


def _where(measured: Measured, reach: float) -> str:
    if reach == math.inf:
        return "at no density"
    return f"below {measured.densities[0]:g}" if reach == 0 else f"at {significant(reach, 2)}"


# --- the figure ------------------------------------------------------------------------------

LOOK_OF = {
    CLOCK: "clock",
    TABLES: "tables",
    SPARSE_PREDICTIONS: "sparse predictions",
    DENSE: "dense",
}


def draw(measured: Measured) -> Figure:
    """Time per example against density, a panel a tier."""
    figure, axes = figures.new(columns=2, rows=2, width=8.2, height=6.6)
    for ax, tier in zip(axes.flat, TIERS, strict=True):
        _draw_tier(ax, measured, tier)
    for ax in axes[:, 0]:
        ax.set_ylabel("time per example")
    for ax in axes[1]:
        ax.set_xlabel("share of features that are nonzero")
    return figure  # type: ignore[no-any-return]


def _draw_tier(ax: Axes, measured: Measured, tier: str) -> None:
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


def _label_lines(ax: Axes, measured: Measured, tier: str) -> None:
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


def _mark_crossings(ax: Axes, measured: Measured, tier: str) -> None:
    """Rings where a lazy line meets a dense one; where the first of them is, beside the title."""
    rings = []
    for dense, lazy in _pairs():
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
