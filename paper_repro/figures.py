"""What the studies' figures share: the looks of the competitors, and labels beside lines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lazynet.plots import DARK, LIGHT, RUST, SAND
from paper_repro.score import duration

#: The look of every kind of competitor, the same in all figures.
LOOKS: dict[str, dict[str, Any]] = {
    "clock": dict(color=DARK, marker="o", linestyle="-"),
    "tables": dict(color=LIGHT, marker="s", linestyle="-"),
    "dense": dict(color=RUST, marker="^", linestyle="--"),
    "sparse predictions": dict(color=SAND, marker="v", linestyle="--"),
    "paper": dict(color="black", marker="D", linestyle="none", markerfacecolor="white"),
    "law": dict(color="0.45", linestyle=":", linewidth=1.2),
}


def new(columns: int = 1, rows: int = 1, width: float = 7.5, height: float = 3.6) -> Any:
    """A figure and its axes: one Axes, or an array of them."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns)


def label_end(
    ax: Axes, x: float, y: float, text: str, look: str, *, dx: float = 5.0, dy: float = 0.0
) -> None:
    """Write a line's name where the line ends, in its colour."""
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
    """Write the names of lines where the lines end, and move names apart that would overlap."""
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
