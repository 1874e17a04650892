"""The drawings of notebook 9: rules that are not the clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import style


def after_against_before(
    weights: Mapping[str, tuple[Any, Any]], lines: Mapping[str, Any], common: Any
) -> Any:
    """For each rule the sizes of weights after a pause against their sizes before, and a line.

    Weights of ``common`` features have a marker of their own.
    """
    figure, panels = style.new(columns=len(weights), width=11, height=3.1, sharey=True)
    for axes, (name, (before, after)) in zip(panels, weights.items(), strict=True):
        slope, at_zero = lines[name]
        ends = np.array([0, before.max()])
        axes.plot(ends, np.maximum(slope * ends + at_zero, 0), color=style.PALE, linestyle="--")
        for number, group in ((0, common), (2, ~common)):
            axes.plot(before[group], after[group], **style.dots(number))
        axes.set(title=name, xlabel="|w| before the pause")
    panels[0].set_ylabel("|w| after 300 empty rows")
    names = ["common feature", "rare feature"]
    style.legend(panels[0], names, at=(0.02, 0.9), numbers=(0, 2))
    return figure


def ratios(sizes: Sequence[float], after: Mapping[str, Sequence[float]]) -> Any:
    """What one step leaves of each of a few weights, as shares."""
    figure, panels = style.new(columns=len(after), width=8, height=2.6, sharey=True)
    for number, (axes, (name, values)) in enumerate(zip(panels, after.items(), strict=True)):
        shares = [value / size for value, size in zip(values, sizes, strict=True)]
        axes.bar([str(size) for size in sizes], shares, color=style.COLOURS[2 * number], width=0.6)
        for place, share in enumerate(shares):
            axes.text(place, share + 0.02, f"{share:.3f}", ha="center")
        axes.set(title=name, xlabel="size of the weight before", ylim=(0, 1.1))
    panels[0].set_ylabel("size after, as a share")
    return figure


def running_out(steps: Any, scale: Any, stored: Any) -> Any:
    """The scale and a stored number on a logarithmic axis, with the ends of the doubles."""
    figure, axes = style.new(height=3.4)
    for number, (name, values) in enumerate((("c", scale), ("v", stored))):
        finite = np.isfinite(values) & (values > 0)
        height = np.log10(values[finite])
        axes.plot(steps[finite], height, **style.lines(2 * number))
        style.note_end(axes, steps[finite][-1], height[-1], name, style.COLOURS[2 * number])
    for level, text in ((308.25, "largest double"), (-323.3, "smallest double above 0")):
        axes.axhline(level, color="0.8", linewidth=0.8, zorder=0)
        axes.text(0, level + 12, text, color=style.GREY)
    axes.set(xlabel="step", ylabel="power of ten", ylim=(-360, 370))
    axes.set_title("c = 0.9^t runs out of small numbers, v = 1 / c out of large ones")
    return figure


def kept(exact: Any, linear: Any, gap: int, title: str) -> Any:
    """What is left of a weight after a gap: by all shrinks, and by one linear step."""
    figure, axes = style.new(height=2.8)
    axes.axvline(gap, color="0.8", linewidth=0.8, zorder=0)
    series = {"all shrinks, one by one (solid)": exact, "one linear step (dashed)": linear}
    style.curves(
        axes, series, named=False, xlabel="gap: missed shrinks", ylabel="share that is left",
        ylim=(-0.05, 1.05), title=title,
    )  # fmt: skip
    for row, name in enumerate(series):
        axes.text(0.6, 0.88 - 0.13 * row, name, color=style.COLOURS[row], transform=axes.transAxes)
    return figure


def errors(gaps: Any, by_strength: Mapping[float, Any], periods: Mapping[str, Any]) -> Any:
    """Left the error of one linear step, right that of a whole learner against its period."""
    figure, (left, right) = style.new(columns=2, width=9.5, height=3.4)
    for number, (strength, error) in enumerate(by_strength.items()):
        shown = error > 0
        left.loglog(gaps[shown], error[shown], **style.lines(number))
        name = f"eta l2 = {strength:g}"
        style.note_end(left, gaps[-1], error[-1], name, style.COLOURS[number], dy=2 - 5 * number)
    left.set(xlabel="gap: missed shrinks", ylabel="exact share - linear share", ylim=(1e-8, 2))
    left.set_title("One weight: four times the error for twice the gap")
    for number, (name, (steps, error)) in enumerate(periods.items()):
        right.loglog(steps, error, **style.look(number))
        style.note_end(right, steps[-1], error[-1], name, style.COLOURS[number])
    right.set(xlabel="period: steps between sweeps", ylabel="largest difference from dense")
    right.set_title("A learner: the longer the period, the worse")
    return figure


def own_rates(rates: Mapping[str, Any], sizes: Mapping[str, tuple[Any, Any]]) -> Any:
    """Left the rates of three features, right three untouched weights, by steps and at once."""
    figure, (left, right) = style.new(columns=2, width=9.5, height=3.4)
    left.set(yscale="log")
    style.curves(left, rates, xlabel="step", ylabel="rate of the weight")
    left.set_title("A rate falls when its feature occurs")
    for number, (name, (by_steps, at_once)) in enumerate(sizes.items()):
        right.plot(at_once, **style.lines(number))
        places = np.arange(0, len(by_steps), 10)
        right.plot(places, np.array(by_steps)[places], **style.dots(number))
        style.note_end(right, len(at_once) - 1, at_once[-1], name, style.COLOURS[number])
    right.set(xlabel="missed shrinks", ylabel="size of the weight", ylim=(-0.03, 0.85))
    right.set_title("points: step by step; lines: closed form")
    return figure
