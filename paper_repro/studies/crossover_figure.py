"""The figure of the study ``crossover``: time per example against density."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
from paper_repro.score import significant
from paper_repro.studies.crossover import (
    ALL_FEATURES,
    LAZY,
    NAMES,
    PAIRS,
    QUARTER,
    THOUSANDTH,
    DensityCurves,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LOOK_OF = {
    CLOCK: "clock",
    TABLES: "tables",
    SPARSE_PREDICTIONS: "sparse predictions",
    DENSE: "dense",
}


def draw(document: Mapping[str, Any]) -> Figure:
    """Time per example against density, one panel per tier."""
    measured = DensityCurves(document)
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
    """Write the names of the lines: the upper one of a pair above its line, the lower one below."""
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
    """Draw rings where a lazy line meets a dense one; write the first density beside the title."""
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
    """y at x on the line through the points on log axes."""
    return float(np.exp(np.interp(np.log(x), np.log(xs), np.log(ys))))
