"""The drawings of notebook 0: losses, subgradients, proximal steps, convergence and regret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import style


def losses(margins: Any, values: Mapping[str, Any], slopes: Mapping[str, Any]) -> Any:
    """Left losses against the margin, right their slopes."""
    figure, (left, right) = style.new(columns=2, width=9)
    style.curves(
        left, {name: (margins, value) for name, value in values.items()},
        nudge={"logistic": 3, "hinge": -3}, xlabel="margin m = p y", ylabel="loss",
        title="Both losses fall as the margin grows",
    )  # fmt: skip
    style.curves(
        right, {name: (margins, slope) for name, slope in slopes.items()},
        nudge={"logistic": -5, "hinge": 5}, xlabel="margin m = p y",
        ylabel="slope of the loss, for y = +1", title="The slope of the hinge loss jumps at m = 1",
    )  # fmt: skip
    return figure


def lines_below(axes: Any, x: Any, heights: Any, straight: Iterable[tuple[float, float]]) -> None:
    """Draw a function and straight lines (slope, height at 0), which should not lie above it."""
    axes.plot(x, heights, color=style.DARK)
    low, high = min(heights), max(heights)
    for slope, at_zero in straight:
        axes.plot(x, slope * x + at_zero, color=style.RUST, linestyle="--", linewidth=0.9)
    axes.set_ylim(low - 0.4 * (high - low), high + 0.1 * (high - low))


def corners() -> Any:
    """Straight lines through the corners of the absolute value and of the hinge loss."""
    figure, (left, right) = style.new(columns=2, width=9)
    w, m = np.linspace(-1.5, 1.5, 301), np.linspace(-1, 3, 301)
    lines_below(left, w, abs(w), [(s, 0.0) for s in (-1, -0.5, 0, 0.5, 1)])
    left.set(xlabel="w", ylabel="|w|", title="|w| and five subgradients at w = 0")
    lines_below(right, m, np.maximum(1 - m, 0), [(s, -s) for s in (-1, -0.6, -0.3, 0)])
    right.set(xlabel="margin m", ylabel="hinge loss")
    right.set_title("The hinge loss and four subgradients at m = 1")
    return figure


def with_minimum(axes: Any, x: Any, heights: Any, number: int, name: str) -> None:
    """Draw a function in the look of series ``number``, with a dot and its name at its minimum."""
    lowest = int(heights.argmin())
    axes.plot(x, heights, **style.lines(number))
    axes.plot(x[lowest], heights[lowest], "o", color=style.COLOURS[number])
    axes.annotate(
        name, (x[lowest], heights[lowest]), (0, -13), textcoords="offset points", ha="center",
        color=style.COLOURS[number],
    )  # fmt: skip
    axes.margins(y=0.15)


def along_weights(around: Any, above: Mapping[str, Any]) -> Any:
    """The objective along single weights, above its minimum."""
    figure, axes = style.new(height=3.4)
    for number, (word, heights) in enumerate(above.items()):
        with_minimum(axes, around, heights, number, word)
    axes.set(xlabel="value of the one weight that moves", ylabel="F above its minimum")
    axes.set_title("The minimum of 'today' is in the corner at zero")
    return figure


def proximal(compromises: Mapping[float, Any], w: Any, v: Any, maps: Mapping[str, Any]) -> Any:
    """Left three compromises and their minima, right the weight after against the weight before."""
    figure, (left, right) = style.new(columns=2, width=9, height=3.6)
    for number, (before, heights) in enumerate(compromises.items()):
        with_minimum(left, w, heights, number, f"v = {before:g}")
    left.set(xlabel="w", ylabel="½ (w - v)² + 0.3 |w|", ylim=(-0.3, 2.3))
    left.set_title("A minimum on the right, on the left, in the corner")
    style.curves(
        right, {name: (v, after) for name, after in maps.items()}, nudge={"l2": 3, "l1 and l2": -3},
        xlabel="v, the weight before", ylabel="w, the weight after",
        title="What the penalty does to a weight",
    )  # fmt: skip
    return figure


def one_proximal(w: Any, heights: Any, v: float, after: Any, maps: tuple[Any, Any]) -> Any:
    """Left one compromise and its minimum, right the map from v to w and the point of this v."""
    figure, (left, right) = style.new(columns=2, width=8, height=2.8)
    with_minimum(left, w, heights, 0, f"w = {after:.2f}")
    left.set(xlabel="w", ylabel="what is minimised")
    right.plot(maps[0], maps[0], color=style.PALE, linestyle="--")
    right.plot(*maps, color=style.DARK)
    right.plot(v, after, "o", color=style.RUST)
    right.set(xlabel="v, the weight before", ylabel="w, the weight after", ylim=(-1.25, 1.25))
    right.set_title("dashed: no penalty")
    return figure


def arriving(
    steps: Any, distances: Mapping[str, Any], regrets: Mapping[str, Sequence[float]]
) -> Any:
    """Left the distance from the minimum, right the regret per step, on logarithmic axes."""
    figure, (left, right) = style.new(columns=2, width=9.5, height=3.6, sharey=True)
    left.set(xscale="log", yscale="log")
    right.set(xscale="log")
    style.curves(
        left, {name: (steps, values) for name, values in distances.items()},
        nudge={"falling, last": 5, "falling, average": -5}, xlabel="steps",
        ylabel="distance, or regret per step", title="Convergence: F above its minimum",
    )  # fmt: skip
    # The same colour and line belong to the same rate: constant is series 0, falling series 2.
    for number, (name, values) in zip((0, 2), regrets.items(), strict=True):
        right.plot(steps, values, **style.lines(number))
        style.note_end(right, steps[-1], values[-1], name, style.COLOURS[number])
    right.set(xlabel="steps", title="Regret per step")
    return figure
