"""The drawings of notebook 2: missed shrinks, the closed form, and the search for a misprint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import style


def clipped_and_not(never: Sequence[float], at_each_step: Sequence[float]) -> Any:
    """A magnitude over missed shrinks, clipped at each step (triangles) and never (line)."""
    figure, axes = style.new()
    axes.plot(never, color=style.DARK)
    axes.plot(at_each_step, **style.dots(2) | {"markersize": 3})
    style.note_end(axes, len(never) - 1, never[-1], "never clipped", style.DARK)
    style.note_end(axes, len(never) - 1, at_each_step[-1], "clipped at each step", style.RUST)
    axes.set(xlabel="missed shrinks", ylabel="magnitude of the weight")
    axes.set_title("Once below zero, the unclipped value stays below zero")
    return figure


def arc(axes: Any, start: Any, end: Any, height: float, **options: Any) -> None:
    """A jump from one point to another, drawn as a parabola."""
    s = np.linspace(0, 1, 25)
    (x0, y0), (x1, y1) = start, end
    axes.plot(x0 + s * (x1 - x0), y0 + s * (y1 - y0) + height * 4 * s * (1 - s), **options)


def hops(done: int, stepped: Sequence[float], at_once: float) -> Any:
    """The closed form as one arc, and the first ``done`` shrinks as small ones."""
    n_missed = len(stepped) - 1
    figure, axes = style.new()
    arc(axes, (0, 1), (n_missed, at_once), 0.35, color=style.DARK)
    axes.plot(n_missed, at_once, "o", color=style.DARK, markersize=11, fillstyle="none")
    points = list(enumerate(stepped[: done + 1]))
    for here, there in pairwise(points):
        arc(axes, here, there, 0.05, color=style.RUST, linewidth=1)
    axes.plot(*zip(*points, strict=True), "^", color=style.RUST)
    axes.text(8.7, 1.03, "closed form: one computation", color=style.DARK)
    axes.text(2, 0.12, f"by steps: {done} of {n_missed} shrinks done", color=style.RUST)
    axes.set(xlabel="step t", ylabel="magnitude of the weight", xlim=(-0.6, 17), ylim=(0, 1.15))
    axes.set_title("The steps end where the closed form ends")
    return figure


def schedules(chosen: str, lines: Mapping[str, Sequence[float]], dots: Any, title: str) -> Any:
    """The closed form under every schedule, the chosen one dark, and its shrinks one by one."""
    figure, axes = style.new(height=2.9)
    for name, line in lines.items():
        axes.plot(line, color=style.PALE, linewidth=0.8, zorder=0 if name != chosen else 1)
    axes.plot(lines[chosen], color=style.DARK)
    axes.plot(dots, **style.dots(2) | {"markersize": 3.5})
    style.note_end(axes, len(dots) - 1, dots[-1], chosen, style.DARK)
    axes.set(xlabel="missed shrinks of SGD", ylabel="magnitude of the weight", ylim=(-0.03, 1.03))
    axes.set_title(title)
    return figure


def search(sizes: Sequence[tuple[int, bool]], rates: Sequence[float], words: Sequence[str]) -> Any:
    """Left the size of every trial and whether it passed, right the rates of the last trial.

    ``words`` are the title of the right part and the two lines in it.
    """
    figure, (left, right) = style.new(columns=2, width_ratios=(3, 2))
    for passes, colour, marker in ((True, style.PALE, "x"), (False, style.DARK, "o")):
        seen = [(n, size) for n, (size, ok) in enumerate(sizes) if ok == passes]
        if seen:
            options = dict(marker=marker, markersize=4, linestyle="none")
            left.plot(*zip(*seen, strict=True), color=colour, **options)
    left.set(xlim=(-2, 94), ylim=(0, 55), xlabel="trial", ylabel="characters to write it down")
    left.set_title("Dots: the theorem fails.  Crosses: it holds.")
    for step, eta in enumerate(rates):
        right.plot([step, step], [0, eta], color=style.RUST)
        right.plot(step, eta, "^", color=style.RUST)
    right.text(0, 1.2, words[1])
    right.text(0, 1.08, words[2])
    right.set(xlim=(-0.7, 11.7), ylim=(0, 1.35), xlabel="missed step", ylabel="its rate")
    right.set(xticks=range(0, 12, 2), yticks=[0, 0.5, 1], title=words[0])
    return figure


def one_step(before: Any, after: Mapping[str, Any], between: tuple[float, float, float]) -> Any:
    """Three shrinks as lines, and an arrow between two of them with its length as a formula."""
    figure, axes = style.new()
    series = {name: (before, values) for name, values in after.items()}
    style.curves(axes, series, nudge={"SGD": 8, "FoBoS": 4, "printed": -2})
    at, low, high = between
    axes.annotate("", (at, low), (at, high), arrowprops=dict(arrowstyle="<->", color=style.GREY))
    axes.text(at - 0.03, 0.25, "eta² l1 l2", color=style.GREY, va="center", ha="right")
    axes.set(xlabel="magnitude before the step", ylabel="magnitude after the step")
    axes.set_title("The printed step has SGD's slope and leaves zero where FoBoS does")
    return figure


def misprint(strengths: Any, runs: Mapping[str, Any], rings: Sequence[tuple[float, float]]) -> Any:
    """Relative differences (markers) and their estimates (lines) against l2."""
    figure, axes = style.new()
    for number, (name, (computed, estimated)) in enumerate(runs.items()):
        axes.loglog(strengths, computed, **style.dots(number))
        axes.loglog(strengths, estimated, color=style.COLOURS[number], linewidth=0.8)
        style.note_end(axes, 1.3 * strengths[-1], estimated[-1], name, style.COLOURS[number])
    for ring in rings:
        axes.plot(*ring, "o", color=style.GREY, markersize=11, fillstyle="none")
    axes.axhspan(1e-12, 5e-5, color="0.93", zorder=0)
    axes.text(1.1e-6, 1.5e-5, "four figures do not show it", color=style.GREY)
    axes.set(xlabel="l2", ylabel="relative difference", ylim=(1e-12, 2e-2))
    axes.minorticks_off()
    axes.set_title("The error of the misprint grows with l1 l2")
    return figure
