"""The figure of the study ``scaling``: times and bytes against each size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paper_repro import figures
from paper_repro.competitors import CLOCK, SPARSE_PREDICTIONS, TABLES
from paper_repro.score import in_bytes
from paper_repro.studies.scaling import NUMPY_CLOCK, Times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LOOKS = {
    CLOCK: figures.LOOKS["clock"],
    TABLES: figures.LOOKS["tables"],
    SPARSE_PREDICTIONS: figures.LOOKS["sparse predictions"],
    NUMPY_CLOCK: dict(color="0.35", marker="D", linestyle="-."),
}
#: The place of a name beside a point of its line: distance in points, and alignment.
_ABOVE = dict(xytext=(-3, 6), ha="right", va="bottom")
_OVER_LEFT = dict(xytext=(0, 6), ha="right", va="bottom")
_OVER = dict(xytext=(0, 9), ha="left", va="bottom")
_UNDER = dict(xytext=(3, -6), ha="left", va="top")
_BEFORE = dict(xytext=(-12, 2), ha="right", va="center")


def draw(document: Mapping[str, Any]) -> Figure:
    """Time against features and against nonzeros, memory against steps."""
    times = Times(document)
    figure, (left, middle, right) = figures.new(columns=3, width=9.6, height=3.5)
    _draw_features(left, times)
    _draw_nonzeros(middle, times)
    _draw_steps(right, times)
    return figure  # type: ignore[no-any-return]


def _draw_features(ax: Axes, times: Times) -> None:
    sizes = times.sizes("features")
    for name, at, side in (
        (CLOCK, 0.25, _UNDER),
        (TABLES, 1.0, _OVER_LEFT),
        (SPARSE_PREDICTIONS, 0.75, _BEFORE),
    ):
        _line(ax, sizes, times.medians("features", name), name)
        _name(ax, sizes, times.medians("features", name), name, at, side)
    nonzeros = times.settings["nonzeros"]
    _panel(ax, f"Time, at {nonzeros:g} nonzeros", "features", "time per example")
    figures.times_in_words(ax)


def _draw_nonzeros(ax: Axes, times: Times) -> None:
    sizes = times.sizes("nonzeros")
    for name, at, side in ((CLOCK, 0.5, _UNDER), (TABLES, 0.5, _ABOVE), (NUMPY_CLOCK, 0.0, _OVER)):
        _line(ax, sizes, times.medians("nonzeros", name), name)
        _name(ax, sizes, times.medians("nonzeros", name), name, at, side)
    features = times.settings["features"]
    _panel(ax, f"Time, at {features:,} features", "nonzeros per example", "time per example")
    figures.times_in_words(ax)


def _draw_steps(ax: Axes, times: Times) -> None:
    sizes = times.sizes("steps")
    for name, at, side in ((CLOCK, 0.5, _UNDER), (TABLES, 1.0, _BEFORE)):
        _line(ax, sizes, times.total_bytes(name), name)
        _name(ax, sizes, times.total_bytes(name), name, at, side)
    _panel(ax, f"Memory, at {times.settings['features']:,} features", "steps", "state")
    held = [*times.total_bytes(CLOCK), *times.total_bytes(TABLES)]
    # Whole powers of ten, so that there is more than one to read from.
    ax.set_ylim(10.0 ** math.floor(math.log10(min(held))), 10.0 ** math.ceil(math.log10(max(held))))
    ax.yaxis.set_major_formatter(
        lambda count, _: in_bytes(count).replace(".00", "").replace(".0", "")
    )
    ax.yaxis.set_minor_formatter(lambda *_: "")


def _line(ax: Axes, sizes: Sequence[float], values: Sequence[float], name: str) -> None:
    ax.loglog(sizes, values, **{**_LOOKS[name], "markersize": 3.5})


def _name(
    ax: Axes,
    sizes: Sequence[float],
    values: Sequence[float],
    name: str,
    at: float,
    side: Mapping[str, Any],
) -> None:
    """Write a line's name beside the point at the share ``at`` of the line."""
    if not sizes:
        return
    point = round(at * (len(sizes) - 1))
    ax.annotate(
        name.replace("dense, ", "dense,\n"),
        (sizes[point], values[point]),
        textcoords="offset points",
        color=_LOOKS[name]["color"],
        **side,
    )


def _panel(ax: Axes, title: str, x: str, y: str) -> None:
    ax.set_title(title)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.margins(y=0.12)
