"""The drawings of notebook 8: a rule beside its dense reference, and broken rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import style


def distances(wrong: Any, bound: Any, right: Any, title: str) -> Any:
    """The distances of a wrong and of the mended rule from the reference, beside the bound."""
    figure, axes = style.new(height=3.2)
    axes.set_yscale("log")
    axes.axhline(1e-6, color=style.PALE, linestyle=":", linewidth=1.2)
    axes.text(299, 1.5e-6, "a fixed tolerance", color=style.GREY, ha="right")
    named = (("l1 wrong", wrong, 2, 6), ("bound", bound, 4, 0), ("mended", right, 0, -6))
    for name, values, number, dy in named:
        axes.plot(np.where(values > 0, values, np.nan), **style.lines(number))
        style.note_end(axes, 299, values[-1], name, style.COLOURS[number], dy=dy)
    axes.set(xlabel="step t", ylabel="distance from the dense reference", ylim=(1e-17, 1e-3))
    axes.set_title(title)
    return figure


def examples_needed(first: Mapping[str, Any], at_most: int) -> Any:
    """For each broken rule the number of examples until it is caught, in several runs."""
    figure, axes = style.new(height=3.8)
    for row, numbers in enumerate(first.values()):
        heights = row + np.linspace(-0.26, 0.26, len(numbers))
        caught = numbers <= at_most
        axes.axhline(row, color="0.9", linewidth=0.8, zorder=0)
        axes.plot(numbers[caught], heights[caught], **style.dots(0) | {"markersize": 3})
        axes.plot(np.full((~caught).sum(), 130), heights[~caught], **style.dots(2))
    for x in (25, at_most):
        axes.axvline(x, color="0.6", linewidth=0.8, zorder=0)
    axes.set(xscale="log", xlim=(0.9, 160))
    axes.set_xticks([1, 3, 10, 25, 100], labels=["1", "3", "10", "25", "100"])
    axes.set_yticks(range(len(first)), labels=list(first))
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("examples until caught, in five runs (triangle: not within 100)")
    axes.set_title("Some mistakes show within a few examples, others after dozens")
    return figure


def watched(seen: Sequence[tuple[Any, Any, float]], step: int, touched: Any, title: str) -> Any:
    """The reference's weights and ours after a step; their differences; the distance by the bound.

    The scale of the differences fits the greatest of them at this step.
    """
    exact, mine, _ = seen[step]
    figure, (left, middle, right) = style.new(3, height=2.9, width=8.6)
    for axes in (left, middle):
        axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
        axes.set_xticks(range(6), labels=[f"{j}*" if j in touched else str(j) for j in range(6)])
        axes.set_xlabel("feature (* in the example)")
    left.plot(exact, **style.dots(0) | {"markersize": 10, "markerfacecolor": "none"})
    left.plot(mine, **style.dots(2))
    left.set(ylabel="weight", ylim=(-1.45, 1.75), title=title)
    left.text(0.04, 0.92, "○ dense", color=style.DARK, transform=left.transAxes)
    left.text(0.34, 0.92, "▲ mine", color=style.RUST, transform=left.transAxes)
    difference = np.asarray(mine) - np.asarray(exact)
    middle.bar(range(6), difference, color=style.RUST)
    reach = 1.35 * max(np.abs(difference).max(), 1e-3)
    for j in np.flatnonzero(np.abs(difference) > 1e-9):
        up = difference[j] > 0
        middle.annotate(f"{difference[j]:+.3f}", (j, difference[j]), (0, 3 if up else -3),
                        textcoords="offset points", ha="center", va="bottom" if up else "top",
                        fontsize=8)  # fmt: skip
    if not np.any(np.abs(difference) > 1e-9):
        middle.text(2.5, 0.1 * reach, "all below 1e-9", ha="center", color=style.GREY)
    middle.set(ylim=(-reach, reach), title="mine minus dense")
    far = np.maximum([by_bound for _, _, by_bound in seen], 1e-3)
    right.axhline(1, color=style.PALE, linestyle="--", linewidth=1)
    right.text(14, 2, "bound", color=style.GREY, ha="right")
    right.semilogy(far, color=style.RUST, marker=".")
    right.axvline(step, color=style.GREY, linewidth=0.8)
    right.set(xlabel="step t", xticks=[0, 5, 10, 14], ylim=(5e-4, 1e18))
    right.set_title("distance by bound")
    return figure
