"""The drawings of notebook 1: a weight between two touches, visits, and the shortcut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import style


def touched_twice(weights: Mapping[str, Any], touches: Sequence[int], title: str) -> Any:
    """The course of a weight under several penalties; grey lines are at the touches."""
    figure, axes = style.new()
    style.curves(axes, weights, xlabel="step t", ylabel="weight 0", ylim=(-0.03, 0.93), title=title)
    for t in touches:
        axes.axvline(t, color="0.8", linewidth=0.8, zorder=0)
        axes.text(t + 1, 0.93, "touched", color="0.4", transform=axes.get_xaxis_transform())
    return figure


def visits(sizes: Sequence[int], dense: Sequence[float], lazy: Sequence[float]) -> Any:
    """Weights visited per step against the number of features."""
    figure, axes = style.new()
    axes.set(xscale="log", yscale="log")
    series = {"lazy": (sizes, lazy), "dense": (sizes, dense)}
    style.curves(
        axes, series, style=style.look, xlabel="features d", ylabel="weights visited per step",
        title="Dense work grows with the number of features, lazy work does not",
    )  # fmt: skip
    return figure


def by_frequency(frequency: Any, exact: Any, shortcut: Any) -> Any:
    """Sizes of weights against the share of the examples that have their features."""
    figure, axes = style.new(height=3.6)
    for number, weights in ((0, exact), (2, shortcut)):
        axes.semilogx(frequency, np.abs(weights), **style.dots(number))
    axes.invert_xaxis()
    axes.set_xticks([0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005])
    axes.set_xticklabels(["1/2", "1/5", "1/10", "1/20", "1/50", "1/100", "1/200"])
    axes.minorticks_off()
    names = ["every weight shrinks at every step", "a weight shrinks when its feature occurs"]
    style.legend(axes, names, at=(0.5, 0.94), numbers=(0, 2))
    axes.set_xlabel("share of the examples that have the feature (rare features to the right)")
    axes.set(ylabel="size of the weight", ylim=(-0.05, 1.3))
    axes.set_title("Same total shrinkage: the shortcut takes it from the frequent features")
    return figure
