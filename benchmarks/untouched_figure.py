"""The figure of the study ``untouched``: a row of dots for every set, by test loss and by time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.defaults_programs import (
    DUAL,
    LOGISTIC,
    OURS,
    RIDGE,
    SGD,
    SGD_LOG,
    SGD_SQUARED,
    SUPPORT,
    WABBIT,
)
from benchmarks.problems import NUMBERS
from benchmarks.untouched import Set, Untouched
from lazynet.figures import DARK, GREY, LIGHT, PALE, RUST, SAND
from paper_repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Test losses beyond this many times the best are drawn here, as an arrow.
_MOST = 4.0
_TUNED = "best rate of lazynet's grid (an oracle)"
_LOOKS: dict[str, dict[str, Any]] = {
    SGD: dict(color=SAND, marker="v"),
    SGD_LOG: dict(color=RUST, marker="^"),
    SGD_SQUARED: dict(color=RUST, marker="v"),
    LOGISTIC: dict(color="black", marker="s", markerfacecolor="white"),
    RIDGE: dict(color="black", marker="P", markerfacecolor="white"),
    SUPPORT: dict(color=GREY, marker="D", markerfacecolor="white"),
    WABBIT: dict(color=PALE, marker="X"),
    _TUNED: dict(color=LIGHT, marker="|", markersize=10, markeredgewidth=1.6),
    DUAL: dict(color=LIGHT, marker="o", markerfacecolor="white"),
    OURS: dict(color=DARK, marker="o", markersize=6.5),
}
_LABELS = {OURS: "lazynet, nothing set", DUAL: "DualNet (lazynet)", SGD_SQUARED: "SGDRegressor"}


def draw(document: Mapping[str, Any]) -> Figure:
    """Losses in units of the least one on the left, seconds on the right."""
    found = Untouched(document)
    ordered = sorted(found.sets, key=lambda each: found.kind(each) == NUMBERS)
    height = 1.7 + 0.21 * len(ordered)
    figure, (losses, seconds) = figures.new(columns=2, width=9.5, height=height)
    handles: dict[str, Any] = {}
    for y, each in enumerate(reversed(ordered)):
        for ax in (losses, seconds):
            ax.axhline(y, color="0.92", linewidth=0.8, zorder=0)
        _draw_losses(losses, found, each, y, handles)
        _draw_seconds(seconds, found, each, y, handles)
    losses.axvline(1.0, color="0.75", linewidth=0.8, zorder=0)
    losses.set_xscale("log")
    losses.set_xlim(0.95, 1.1 * _MOST)
    losses.set_xticks([1, 1.5, 2, 3, 4], ["1", "1.5", "2", "3", "4 or more"])
    losses.minorticks_off()
    losses.set_xlabel("test loss, in units of the least one")
    losses.set_yticks(range(len(ordered)), [str(each) for each in reversed(ordered)])
    seconds.set_xscale("log")
    seconds.set_xlabel("seconds of fit")
    seconds.set_yticks([])
    for ax in (losses, seconds):
        ax.set_ylim(-0.7, len(ordered) - 0.3)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    names = [name for name in reversed(_LOOKS) if name in handles]
    labels = [_LABELS.get(name, name) for name in names]
    figure.legend([handles[name] for name in names], labels, loc="outside lower center", ncols=5)
    return figure  # type: ignore[no-any-return]


def _draw_losses(ax: Axes, found: Untouched, each: Set, y: int, handles: dict[str, Any]) -> None:
    values = {name: found.found(each, name, "loss") for name in found.race(each)}
    losses = {name: value for name, value in values.items() if value is not None}
    if (tuned := found.tuned(each, None)) is not None:
        losses[_TUNED] = tuned[1]
    least = min(losses.values())
    for name in _LOOKS:
        if name in losses:
            ratio = losses[name] / least
            look = _LOOKS[name] if ratio < _MOST else {**_LOOKS[name], "marker": ">"}
            handles[name] = _dot(ax, min(ratio, _MOST), y, name, _LOOKS[name] | look)


def _draw_seconds(ax: Axes, found: Untouched, each: Set, y: int, handles: dict[str, Any]) -> None:
    for name in _LOOKS:
        value = found.found(each, name, "seconds") if name in found.race(each) else None
        if value is not None:
            handles[name] = _dot(ax, value, y, name, _LOOKS[name])


def _dot(ax: Axes, x: float, y: int, name: str, look: Mapping[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    order = 2 + list(_LOOKS).index(name) / 10
    ax.plot(x, y, linestyle="none", zorder=order, clip_on=False, **look)
    # The legend shows the marker of the name and not the arrow of a point off the scale.
    return Line2D([], [], linestyle="none", **_LOOKS[name])
