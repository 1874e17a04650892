"""The drawings of notebook 1: a weight between two touches, visits, and the shortcut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import drawing
from drawing import COLOURS, MARKERS, SYMBOLS, Axes, Figure


def touched_twice(
    weights: Mapping[str, Sequence[float]], touches: Sequence[int], title: str
) -> Figure:
    """The course of a weight under several penalties; grey lines are at the touches."""
    axes = Axes(title, "step t", "weight 0", ylim=(-0.03, 0.97))
    for t in touches:
        axes.line([t, t], [-0.03, 0.97], "#ccc", width=0.8)
        axes.text(t, 0.92, "touched", "#666", dx=3)
    drawing.curves(axes, weights)
    return Figure(axes)


def visits(sizes: Sequence[int], dense: Sequence[float], lazy: Sequence[float]) -> Figure:
    """Weights visited per step against the number of features."""
    title = "Dense work grows with the number of features, lazy work does not"
    axes = Axes(title, "features d", "weights visited per step", log="xy")
    drawing.curves(axes, {"lazy": (sizes, lazy), "dense": (sizes, dense)}, marked=True)
    return Figure(axes)


def by_frequency(
    frequency: Sequence[float], exact: Sequence[float], shortcut: Sequence[float]
) -> Figure:
    """Sizes of weights against the share of the examples that have their features."""
    axes = Axes(
        "Same total shrinkage: the shortcut takes it from the frequent features",
        "share of the examples that have the feature (rare features to the right)",
        "size of the weight", log="x", xlim=(0.6, 0.004), ylim=(-0.05, 1.3),
        xticks={1 / n: f"1/{n}" for n in (2, 5, 10, 20, 50, 100, 200)},
    )  # fmt: skip
    names = "every weight shrinks at every step", "a weight shrinks when its feature occurs"
    for row, (number, weights) in enumerate(((0, exact), (2, shortcut))):
        marker = MARKERS[number]
        axes.dots(frequency, [abs(w) for w in weights], COLOURS[number], marker)
        words = f"{SYMBOLS[marker]} {names[row]}"
        axes.text(0.045, 1.2 - 0.11 * row, words, COLOURS[number])
    return Figure(axes, height=260)
