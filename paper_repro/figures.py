"""One style for all figures: labelled directly, readable in grey, small as SVG.

Series differ by grey level, line style and marker together, so that a black-and-white print and
an eye that sees no colour lose nothing.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_repro.score import duration

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.grid": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    # Text stays text, and the same figure is the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "lazynet",
}

#: A look for every kind of competitor, the same in all figures.
LOOKS: dict[str, dict[str, Any]] = {
    "clock": dict(color="#0b3c6f", marker="o", linestyle="-"),
    "tables": dict(color="#3f7fb5", marker="s", linestyle="-"),
    "dense": dict(color="#a8481a", marker="^", linestyle="--"),
    "sparse predictions": dict(color="#c0803f", marker="v", linestyle="--"),
    "paper": dict(color="black", marker="D", linestyle="none", markerfacecolor="white"),
    "law": dict(color="0.45", linestyle=":", linewidth=1.2),
}


def styled() -> Any:
    """The context in which figures are drawn and saved."""
    return mpl.rc_context(STYLE)


def new(columns: int = 1, rows: int = 1, width: float = 7.5, height: float = 3.6) -> Any:
    """A figure and its axes: one Axes, or an array of them."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns)


def label_end(
    ax: Axes, x: float, y: float, text: str, look: str, *, dx: float = 5.0, dy: float = 0.0
) -> None:
    """Name a line where it ends, in its own colour."""
    ax.annotate(
        text,
        (x, y),
        xytext=(dx, dy),
        textcoords="offset points",
        va="center",
        color=LOOKS[look]["color"],
        annotation_clip=False,
    )


def label_apart(ax: Axes, x: float, ends: Mapping[str, float], look_of: Mapping[str, str]) -> None:
    """Name lines where they end, and move names apart that would lie upon each other."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    lowest = -math.inf
    for name in sorted(ends, key=ends.__getitem__):
        own = 72.0 / figure.dpi * float(ax.transData.transform((x, ends[name]))[1])
        height = max(own, lowest)
        label_end(ax, x, ends[name], name, look_of[name], dy=height - own)
        lowest = height + 11.0


def times_in_words(ax: Axes) -> None:
    """Ticks of a time axis as 1 µs, 1 ms."""
    ax.yaxis.set_major_formatter(lambda seconds, _: _short(seconds))
    ax.yaxis.set_minor_formatter(lambda *_: "")


def _short(seconds: float) -> str:
    number, unit = duration(seconds).split()
    return f"{float(number.replace(',', '')):g} {unit}"


def as_svg(figure: Figure) -> str:
    """Without the date, so that the same numbers give the same file."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()
