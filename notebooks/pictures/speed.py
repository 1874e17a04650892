"""The drawings of notebook 4: times and their ratios, costs, crossings, memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import EngFormatter

import style


def dumbbells(rows: Sequence[tuple[str, float, float, float]], title: str) -> Any:
    """One line a program: its name, its lazy and its dense time per example, and their ratio."""
    figure, axes = style.new(height=1.0 + 0.42 * len(rows))
    for place, (_, lazy, dense, ratio) in enumerate(reversed(rows)):
        axes.plot([lazy, dense], [place, place], color="0.8", zorder=0)
        axes.plot(lazy, place, **style.dots(0))
        axes.plot(dense, place, **style.dots(2))
        times = f"{ratio:,.0f} times" if ratio > 10 else f"{ratio:.1f} times"
        axes.text(math.sqrt(lazy * dense), place + 0.08, times, ha="center", va="bottom")
    top = len(rows) - 1
    _, lazy, dense, _ = rows[0]
    for time, name, colour in ((lazy, "lazy", style.DARK), (dense, "dense", style.RUST)):
        axes.text(time, top + 0.35, name, color=colour, ha="center", va="bottom")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.minorticks_off()
    axes.set_yticks(range(len(rows)), [row[0] for row in reversed(rows)])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set(xlabel="time per example", ylim=(-0.5, top + 0.9))
    axes.set_title(title)
    return figure


def model(price: Any, speedups: Mapping[str, Any], title: str) -> Any:
    """Speedup against the price of a lazy visit; the last series is the ideal."""
    figure, axes = style.new(height=2.9)
    for number, (name, speedup) in zip((0, 1, 5), speedups.items(), strict=True):
        axes.loglog(price, speedup, **style.lines(number), label=name)
    axes.axhline(1, color="0.8", linewidth=0.8, zorder=0)
    axes.text(1, 0.9, "below this line dense updates are faster", color="0.4", va="top")
    axes.legend(loc="upper right", ncols=3)
    axes.set(xlabel="cost of a lazy visit, in dense visits", ylabel="speedup", title=title)
    least, ideal = min(map(np.min, speedups.values())), np.max(speedups["ideal"])
    axes.set_ylim(min(0.2, least / 2), 30 * ideal)
    axes.minorticks_off()
    return figure


def fitted(costs: Mapping[str, Any], lazy: Any, dense: Any) -> Any:
    """Measured times and fitted lines, by nonzeros (lazy) and by features (dense).

    ``lazy`` and ``dense`` are pairs of sizes and, for each program, times; ``costs`` has for each
    program overhead and price of lazy updates, then of dense updates.
    """
    figure, (left, right) = style.new(2, sharey=True)
    for number, (tier, values) in enumerate(costs.items()):
        for axes, (sizes, times), (overhead, price) in (
            (left, lazy, values[:2]), (right, dense, values[2:]),
        ):  # fmt: skip
            fine = np.geomspace(sizes[0], sizes[-1], 25)
            axes.loglog(fine, overhead + price * fine, **style.lines(number))
            axes.loglog(sizes, times[tier], **style.dots(number))
        style.note_end(right, dense[0][-1], dense[1][tier][-1], tier, style.COLOURS[number])
    left.yaxis.set_major_formatter(EngFormatter("s"))
    for axes, (sizes, _) in ((left, lazy), (right, dense)):
        axes.minorticks_off()
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    left.set(xlabel="nonzeros k (of 10,000 features)", ylabel="time per example")
    right.set(xlabel="features d (64 nonzeros)")
    left.set_title("Lazy: an overhead and a slope")
    right.set_title("Dense: mostly slope")
    return figure


def crossing(shares: Any, ratios: Mapping[str, Any]) -> Any:
    """Dense by lazy time against the share of nonzeros."""
    figure, axes = style.new(height=3.6)
    for number, (name, ratio) in enumerate(ratios.items()):
        axes.loglog(shares, ratio, **style.look(number), label=name)
    axes.axhline(1, color="0.5", linewidth=0.8, zorder=0)
    axes.axvline(0.25, color="0.8", linewidth=0.8, zorder=0)
    axes.text(0.24, 0.97, "one quarter", color="0.4", ha="right", va="top",
              transform=axes.get_xaxis_transform())  # fmt: skip
    axes.text(0.00095, 0.92, "dense faster below", color="0.4", va="top")
    axes.legend(loc="upper right", bbox_to_anchor=(1.0, 0.88))
    axes.minorticks_off()
    axes.set(xlabel="share of the features that are nonzero", ylabel="dense time by lazy time")
    axes.set_title("Where dense updates are as fast depends on the program")
    return figure


def memory(features: Sequence[int], costs: Mapping[str, Any], caches: Mapping[str, int]) -> Any:
    """Nanoseconds per nonzero, median and range, against the number of features."""
    figure, axes = style.new(height=3.6)
    axes.set_xscale("log")
    for number, (name, by_size) in enumerate(costs.items()):
        middle = [np.median(values) for values in by_size]
        axes.plot(features, middle, **style.look(number))
        low, high = zip(*((np.min(values), np.max(values)) for values in by_size), strict=True)
        axes.vlines(features, low, high, color=style.COLOURS[number], linewidth=4, alpha=0.4)
        style.note_end(axes, features[-1], middle[-1], name, style.COLOURS[number])
    for name, size in caches.items():
        if size / 8 < features[-1]:
            axes.axvline(size / 8, color="0.8", linewidth=0.8, zorder=0)
            axes.text(size / 8, 1.0, f" weights fill {name}", color="0.4", va="top",
                      transform=axes.get_xaxis_transform())  # fmt: skip
    axes.set(xlabel="features", ylabel="nanoseconds per nonzero")
    axes.set_ylim(0, 1.12 * axes.get_ylim()[1])
    axes.minorticks_off()
    axes.set_title("The more features, the longer the wait for a weight")
    return figure


def ratios(table: Any, dense: Sequence[str], lazy: Sequence[str], alike: Any) -> Any:
    """A table of ratios on grey; the entries in ``alike`` are bold."""
    figure, axes = style.new(height=3.0)
    axes.pcolormesh(np.log10(table), cmap="Greys", vmin=-3, vmax=16, edgecolors="white", lw=2)
    for (row, column), ratio in np.ndenumerate(table):
        axes.text(column + 0.5, row + 0.5, f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}",
                  ha="center", va="center", weight="bold" if alike[row, column] else "normal",
                  color=style.DARK if alike[row, column] else "0.25")  # fmt: skip
    axes.set_xticks(np.arange(len(lazy)) + 0.5, lazy)
    axes.set_yticks(np.arange(len(dense)) + 0.5, dense)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(xlabel="lazy updates", ylabel="dense updates")
    axes.set_title("Dense time by lazy time; bold where both sides are written alike")
    return figure
