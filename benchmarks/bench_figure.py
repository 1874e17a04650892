"""The figure of the study ``bench``: ratios and their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.bench import LINES, EpochTimes
from paper_repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(document: Mapping[str, Any]) -> Figure:
    """Ratio, range and bound of every line that has a bound, for both orders of the rows."""
    measured = EpochTimes(document)
    figure, ax = figures.new(width=7.5, height=4.8)
    bounded = [line for line in LINES if line.bound is not None][::-1]
    looks = {"as they lie": figures.LOOKS["clock"], "in random order": figures.LOOKS["dense"]}
    for y, line in enumerate(bounded):
        ax.axhline(y, color="0.9", linewidth=0.8, zorder=0)
        for shift, (order, look) in zip((0.13, -0.13), looks.items(), strict=True):
            found = measured.ratio(order, line)
            ax.plot([found.least, found.most], [y + shift] * 2, color=look["color"], linewidth=1.2)
            ax.plot(found.median, y + shift, color=look["color"], marker=look["marker"])
            if y == len(bounded) - 2:
                ax.annotate(
                    f"rows {order}",
                    (found.most, y + shift),
                    xytext=(8, 2 if shift > 0 else -2),
                    textcoords="offset points",
                    va="center",
                    color=look["color"],
                )
        ax.plot(line.bound, y, color="black", marker="|", markersize=13, markeredgewidth=1.5)
        ax.annotate(
            f"{'at most' if line.at_most else 'at least'} {line.bound:g}",
            (line.bound, y),
            xytext=(0, -8),
            textcoords="offset points",
            ha="left" if line.at_most else "right",
            va="top",
            fontsize=7.5,
        )
    ax.set_xscale("log")
    ax.set_yticks(range(len(bounded)), [line.label for line in bounded])
    ax.set_ylim(-0.9, len(bounded) - 0.3)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("ratio of times; black: what is expected")
    return figure
