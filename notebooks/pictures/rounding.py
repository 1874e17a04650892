"""The drawings of notebook 11: scale and shift in the long run, overflow, and rounding errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import style


def long_run(runs: Mapping[str, Any]) -> Any:
    """Left the shift in units of weights, right scale, for runs of (step, scale, shift)."""
    figure, (left, right) = style.new(columns=2, width=8.4, height=3.2)
    left.set_yscale("log")
    offsets = {name: (t[1:], (scale * shift)[1:]) for name, (t, scale, shift) in runs.items()}
    scales = {name: (t, np.log2(scale)) for name, (t, scale, _) in runs.items()}
    nudge = dict(zip(runs, (6, -5, 0, 0), strict=False))
    ticks = (0, 25_000, 50_000)
    style.curves(
        left, offsets, nudge=nudge, xlabel="step t", ylabel="scale times shift", xticks=ticks,
        title="Scale times shift levels off at l1 / l2",
    )  # fmt: skip
    style.curves(
        right, scales, nudge=nudge, xlabel="step t", ylabel="scale, as a power of two",
        xticks=ticks, ylim=(None, 60), title="With l2 scale falls without end",
    )  # fmt: skip
    return figure


def one_run(t: Any, scale: Any, shift: Any, level: float, title: str) -> Any:
    """Left scale times shift and its level, right scale and 2^-500, for one run."""
    figure, (left, right) = style.new(columns=2, width=8.4, height=2.7)
    left.axhline(level, color="0.8", linewidth=0.8, zorder=0)
    left.text(20_000, 1.03 * level, "l1 / l2", color=style.GREY, ha="right", va="bottom")
    left.plot(t, scale * shift, color=style.DARK)
    left.set(xlabel="step t", ylabel="scale times shift", ylim=(0, 0.6), title=title)
    left.set_xlim(-500, 20_500)
    right.axhline(-500, color="0.8", linewidth=0.8, zorder=0)
    right.text(0, -510, "2^-500", color=style.GREY, va="top")
    right.plot(t, np.log2(scale), color=style.DARK)
    right.set(xlabel="step t", ylabel="scale, as a power of two", ylim=(-1_000, 30))
    right.set_xlim(-500, 20_500)
    powers = np.log2(scale)
    at = int(np.ceil(np.interp(500, -powers, t)))  # scale falls evenly, as a power of two
    right.set_title(f"below 2^-500 at step {at:,}" if powers[-1] < -500 else "above 2^-500")
    for axes in (left, right):
        axes.set_xticks([0, 10_000, 20_000], ["0", "10,000", "20,000"])
    return figure


def overflow(first: int, sums: Any, stored: Any, ends: tuple[int, int]) -> Any:
    """The sum of the tables and the stored number of the clock, up to the largest double."""
    figure, axes = style.new(height=2.8)
    axes.axhline(1024, color="0.6", linewidth=0.8)
    axes.text(first + 2, 1024.6, "the largest double", color=style.GREY)
    for values, number in ((sums, 2), (stored, 0)):
        axes.plot(first + np.arange(len(values)), values, **style.lines(number))
    axes.text(first + 65, 1017.5, "stored by the clock", color=style.DARK, ha="right")
    axes.text(first + 90, 1010, "B of the tables", color=style.RUST)
    for at, colour in zip(ends, (style.DARK, style.RUST), strict=True):
        axes.plot(at, 1024, "x", color=colour, markersize=8, markeredgewidth=2)
        axes.text(at, 1025.2, f"step {at:,}", color=colour, ha="center")
    axes.set(xlabel="step t", xlim=(first, first + 200), ylim=(1004, 1028))
    axes.set_ylabel("size, as a power of two")
    axes.set_title("Without a rebase both forms overflow, the clock first")
    return figure


def errors(checkpoints: Sequence[int], runs: Mapping[str, Any]) -> Any:
    """The greatest error so far against the steps, with two laws of growth as thin lines."""
    figure, axes = style.new(height=3.4)
    axes.set(xscale="log", yscale="log")
    for power, text, at in ((1, "t roundings", 8), (0.5, "√t roundings", 18)):
        law = 2.0**-53 * np.array(checkpoints) ** power
        axes.plot(checkpoints, law, color="0.75", linewidth=0.8)
        axes.text(checkpoints[at], (1.6, 1.2)[power < 1] * law[at], text, ha="right", color="0.45")
    style.curves(
        axes, {name: (checkpoints, of_run) for name, of_run in runs.items()},
        nudge=dict(zip(runs, (4, -4, 5, -5), strict=True)),
        style=lambda number: style.look(number) | {"markevery": 4},
        xlabel="steps t", ylabel="greatest error so far",
        title="With two extended scalars the clock is more exact than the dense loop",
    )  # fmt: skip
    return figure
