"""The figure of the study ``table``: ratios on a log axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper_repro import figures
from paper_repro.competitors import (
    CLOCK,
    DENSE,
    DESCRIPTIONS,
    RULES,
    SPARSE_PREDICTIONS,
    TABLES,
)
from paper_repro.published import PUBLISHED
from paper_repro.studies.table import TierTimes, groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(document: Mapping[str, Any]) -> Figure:
    """Ratios of the tables, of the clock, and as printed; one panel per dense learner."""
    measured = TierTimes(document)
    figure, axes = figures.new(columns=2, width=8.2, height=3.8)
    rows = [(tier, rule) for tier, rule in groups()]
    for ax, slow, title in (
        (axes[0], DENSE, "dense / lazy"),
        (axes[1], SPARSE_PREDICTIONS, "dense with sparse predictions / lazy"),
    ):
        for y, (tier, rule) in enumerate(reversed(rows)):
            ax.axhline(y, color="0.9", linewidth=0.8, zorder=0)
            for name, look in ((TABLES, "tables"), (CLOCK, "clock")):
                found = measured.ratio(tier, rule, slow, name)
                style = figures.LOOKS[look]
                ax.plot([found.least, found.most], [y, y], color=style["color"], linewidth=1.2)
                ax.plot(found.median, y, color=style["color"], marker=style["marker"])
                if y == 0:
                    ax.annotate(
                        look,
                        (found.median, y),
                        xytext=(0, -7),
                        textcoords="offset points",
                        ha="center",
                        va="top",
                        color=style["color"],
                    )
            printed = PUBLISHED.get((tier, rule))
            ratio = printed and (printed.dense_ratio if slow == DENSE else printed.sparse_ratio)
            if ratio:
                ax.plot(ratio, y, **{**figures.LOOKS["paper"], "markersize": 6.5}, zorder=0.5)
                ax.annotate(
                    f"printed {ratio:,.0f}",
                    (ratio, y),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=7.5,
                    bbox=dict(facecolor="white", edgecolor="none", pad=0.5),
                )
        ideal = measured.ideal
        ax.axvline(ideal, **figures.LOOKS["law"])
        ax.annotate(
            f"features by nonzeros: {ideal:,.0f} ",
            (ideal, len(rows) - 0.4),
            ha="right",
            va="center",
            color="0.35",
            fontsize=7.5,
        )
        ax.set_xscale("log")
        ax.set_ylim(-0.9, len(rows) - 0.2)
        ax.set_title(title)
        ax.set_yticks(range(len(rows)))
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    axes[0].set_yticklabels(
        [f"{DESCRIPTIONS[tier]}, {RULES[rule]}" for tier, rule in reversed(rows)]
    )
    axes[1].set_yticklabels([])
    figure.supxlabel("times faster than dense updates", fontsize=9)
    return figure
