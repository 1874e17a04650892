"""The drawings of notebook 10: lower bounds, the gap, sizes of weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import style
from pictures.objects import lines_below


def bounds(p: Any, loss: Any, straight: Sequence[tuple[float, float]], w: Any, above: Any,
           below: Mapping[float, Any]) -> Any:  # fmt: skip
    """Left a loss and lines below it, right the objective and the curves that the lines make."""
    figure, (left, right) = style.new(columns=2, width=9.5, height=3.6)
    lines_below(left, p, loss, straight)
    left.set(xlabel="prediction p", ylabel="loss", title="Lines that lie below the loss (y = +1)")
    right.plot(w, above, color=style.DARK)
    for number, (alpha, heights) in enumerate(below.items(), start=1):
        lowest = int(heights.argmin())
        right.plot(w, heights, **style.lines(number))
        right.plot(w[lowest], heights[lowest], "o", color=style.COLOURS[number])
        right.annotate(
            f"alpha = {alpha:g}", (w[lowest], heights[lowest]), (-16, -13),
            textcoords="offset points", ha="center", color=style.COLOURS[number],
        )  # fmt: skip
    right.text(0.75, 0.68, "F (solid line)", color=style.DARK, ha="center")
    right.set(xlabel="weight w", ylabel="F and lower curves", ylim=(-0.55, 1.6))
    right.set_title("Their curves lie below F; dots: D(alpha)")
    return figure


def one_bound(w: Any, above: Any, below: Any, alphas: Any, duals: Any, alpha: float) -> Any:
    """Left F and one lower curve, right D and its value at one dual variable."""
    figure, (left, right) = style.new(columns=2, width=9.5, height=2.9, sharey=True)
    bound = float(below.min())
    left.plot(w, above, color=style.DARK)
    left.plot(w, below, color=style.RUST, linestyle="-.")
    left.plot(w[below.argmin()], bound, "o", color=style.RUST)
    left.axhline(above.min(), color="0.8", linewidth=0.8, zorder=0)
    left.text(w[0] + 0.05, above.min() + 0.015, "least F", color=style.GREY)
    left.set(xlabel="weight w", ylabel="height", ylim=(0.1, 0.9), xlim=(-1, 2.5))
    left.set_title(f"alpha = {alpha:g}: D = {bound:.3f}, gap {above.min() - bound:.3f}")
    right.plot(alphas, duals, color=style.LIGHT, linestyle="--")
    right.plot(alpha, bound, "o", color=style.RUST)
    right.axhline(above.min(), color="0.8", linewidth=0.8, zorder=0)
    right.set(xlabel="dual variable alpha", title="all bounds D(alpha)")
    return figure


def conjugate(betas: Any, by_formula: Any, by_search: tuple[Any, Any]) -> Any:
    """The height of the highest line below the logistic loss, by formula and by search."""
    figure, axes = style.new(width=6, height=2.8)
    axes.plot(betas, by_formula, color=style.DARK)
    axes.plot(*by_search, **style.dots(2))
    axes.set(xlabel="beta = y alpha", ylabel="height of the line")
    axes.set_title("line: formula; points: the highest line, found by search")
    return figure


def closing(searches: Mapping[str, Any], gaps: Any, distances: Any) -> Any:
    """Left the gaps of several searches, right one gap and the true distance from the minimum."""
    figure, (left, right) = style.new(columns=2, width=9.5, height=3.6)
    for axes in (left, right):
        axes.set(yscale="log", xlabel="epoch")
    style.curves(
        left, searches, nudge=dict(zip(searches, (8, -6, 0), strict=True)), ylabel="duality gap",
        title="Three searches",
    )  # fmt: skip
    style.curves(
        right, {"gap": gaps, "true distance": distances}, nudge={"gap": 4, "true distance": -4},
        ylabel="above the minimum", title="The gap is never below the true distance",
    )  # fmt: skip
    return figure


def sizes(models: Mapping[str, Any]) -> Any:
    """The sizes of all weights of several models, the largest first; zeros are not drawn."""
    figure, axes = style.new(height=3.6)
    for number, weights in enumerate(models.values()):
        size = np.sort(abs(weights[weights != 0]))[::-1]
        places = np.arange(1, len(size) + 1)
        axes.loglog(places, size, **style.look(number), markevery=0.05)
    counted = [f"{name}: {np.count_nonzero(w):,} weights" for name, w in models.items()]
    style.legend(axes, counted, at=(0.02, 0.3))
    axes.set(xlabel="weights, the largest first", ylabel="size of the weight")
    axes.set_title("A line ends where the exact zeros begin")
    return figure
