"""The one renderer: makes a page in Markdown and a figure of what a study has found.

A study describes both as values, computed from its recorded numbers: a sentence with the finding,
texts and tables, and panels with curves or with rows of dots.

>>> found = Content(
...     "A step takes 12 ns.", ["Two engines.", Table(["", "steps"], [["clock", 4]])], []
... )
>>> print(page(found))
**A step takes 12 ns.**
<BLANKLINE>
Two engines.
<BLANKLINE>
| | steps |
|---|---|
| clock | 4 |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

from lazynet.plots import DARK, GREY, LIGHT, RUST, SAND
from paper_repro.pages import paragraphs, table
from paper_repro.score import Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The looks of names that have no look of their own, in the order in which they appear.
_STYLES: tuple[dict[str, Any], ...] = (
    dict(color=LIGHT, marker="s", linestyle="-"),
    dict(color=RUST, marker="^", linestyle="--"),
    dict(color=SAND, marker="v", linestyle="--"),
    dict(color="black", marker="D", linestyle=":", markerfacecolor="white"),
    dict(color=GREY, marker="X", linestyle="-."),
    dict(color=DARK, marker="P", linestyle=":", markerfacecolor="white"),
    dict(color=RUST, marker="o", linestyle=":", markerfacecolor="white"),
    dict(color=SAND, marker="*", linestyle="-."),
    dict(color=LIGHT, marker="h", linestyle="--", markerfacecolor="white"),
    dict(color="black", marker="<", linestyle="-."),
    dict(color=GREY, marker=">", linestyle=":", markerfacecolor="white"),
    dict(color=DARK, marker="p", linestyle="--"),
)
#: Names that begin like this have the look of lazynet.
OURS = ("lazynet", "clock", "lazy, clock")
_OUR_STYLE: dict[str, Any] = dict(color=DARK, marker="o", linestyle="-")


@dataclass(frozen=True)
class Table:
    """A table of a page; its cells are texts, or numbers that are printed as they are."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Curves:
    """A panel with a line for each name through its x and y values.

    ``log`` names the logarithmic axes.  ``ticks`` writes the numbers of the y axis, ``across`` is
    where a horizontal line is drawn, ``upright`` where a vertical one is.
    """

    title: str
    x: str
    y: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    log: str = "xy"
    ticks: Callable[[float], str] | None = None
    across: float | None = None
    upright: float | None = None


@dataclass(frozen=True)
class Dots:
    """A panel with a row for each label, and a dot on it for each name.

    A value is a number, or a spread, which is drawn with its range.  ``most`` is where larger
    values are drawn, as an arrow; ``across`` is where a vertical line is drawn.
    """

    title: str
    x: str
    rows: Mapping[str, Mapping[str, float | Spread]]
    log: bool = True
    most: float = math.inf
    across: float | None = None


@dataclass(frozen=True)
class Content:
    """What a page and a figure show; ``columns`` says how many panels stand in a row."""

    finding: str
    parts: Sequence[str | Table]
    panels: Sequence[Curves | Dots]
    columns: int = 2
    width: float = 9.0
    legend: bool = True


def page(found: Content) -> str:
    """The finding, the texts and the tables in Markdown."""
    parts = (
        table(part.columns, part.rows) if isinstance(part, Table) else part for part in found.parts
    )
    return paragraphs([f"**{found.finding}**", *parts])


def figure(found: Content) -> Figure:
    """All panels, with one legend below them."""
    from matplotlib.figure import Figure as NewFigure

    panels = [panel for panel in found.panels if _has_values(panel)]
    if not panels:
        made = NewFigure(figsize=(found.width, 1.0), layout="constrained")
        made.text(0.5, 0.5, "nothing was measured", ha="center", va="center")
        return made
    columns = min(found.columns, len(panels))
    lines = -(-len(panels) // columns)
    rows = [len(panel.rows) if isinstance(panel, Dots) else 10 for panel in panels]
    heights = [1.2 + 0.2 * max(rows[k * columns : (k + 1) * columns]) for k in range(lines)]
    made = NewFigure(figsize=(found.width, 0.5 + sum(heights)), layout="constrained")
    grid = made.subplots(lines, columns, squeeze=False, height_ratios=heights)
    looks, axes = _Looks(), iter(grid.flat)
    for panel, ax in zip(panels, axes, strict=False):
        (_draw_curves if isinstance(panel, Curves) else _draw_dots)(ax, panel, looks)  # type: ignore
        ax.set_title(panel.title)
        ax.set_xlabel(panel.x)
    for unused in axes:
        unused.remove()
    if found.legend and len(looks.known) > 1:
        made.legend(looks.handles(), [*looks.known], loc="outside lower center", ncols=4)
    return made


def _has_values(panel: Curves | Dots) -> bool:
    if isinstance(panel, Curves):
        return any(len(xs) for xs, _ in panel.lines.values())
    return any(panel.rows.values())


class _Looks:
    """The look of every name, the same in all panels of a figure."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {}
        self.styles: Iterator[dict[str, Any]] = cycle(_STYLES)

    def of(self, name: str) -> dict[str, Any]:
        if name not in self.known:
            ours = name.startswith(OURS) and _OUR_STYLE not in self.known.values()
            self.known[name] = _OUR_STYLE if ours else next(self.styles)
        return self.known[name]

    def handles(self) -> list[Any]:
        from matplotlib.lines import Line2D

        return [Line2D([], [], **look) for look in self.known.values()]


def _draw_curves(ax: Axes, panel: Curves, looks: _Looks) -> None:
    for name, (xs, ys) in panel.lines.items():
        every = max(1, len(xs) // 10)
        ax.plot(xs, ys, markersize=3.5, markevery=every, **looks.of(name))
    ax.set_xscale("log" if "x" in panel.log else "linear")
    ax.set_yscale("log" if "y" in panel.log else "linear")
    ax.set_ylabel(panel.y)
    if panel.ticks is not None:
        write = panel.ticks
        ax.yaxis.set_major_formatter(lambda value, _: write(value))
        ax.yaxis.set_minor_formatter(lambda *_: "")
    if panel.across is not None:
        ax.axhline(panel.across, color="0.6", linewidth=0.8, zorder=0)
    if panel.upright is not None:
        ax.axvline(panel.upright, color="0.6", linewidth=0.8, zorder=0)


def _draw_dots(ax: Axes, panel: Dots, looks: _Looks) -> None:
    for y, values in enumerate(panel.rows.values()):
        ax.axhline(y, color="0.92", linewidth=0.8, zorder=0)
        for name, value in values.items():
            look = {**looks.of(name), "linestyle": "none"}
            found = Spread(value, value, value) if isinstance(value, (int, float)) else value
            if found.least < found.most:
                ax.plot([found.least, found.most], [y, y], color=look["color"], linewidth=1.2)
            if found.median > panel.most:
                look["marker"] = ">"
            ax.plot(min(found.median, panel.most), y, markersize=5, clip_on=False, **look)
    if panel.across is not None:
        ax.axvline(panel.across, color="0.6", linewidth=0.8, zorder=0)
    ax.set_xscale("log" if panel.log else "linear")
    ax.set_yticks(range(len(panel.rows)), [*panel.rows])
    ax.set_ylim(len(panel.rows) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
