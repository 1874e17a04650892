"""The drawings of notebook 2: missed shrinks, the closed form, and the search for a misprint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import drawing
from drawing import COLOURS, DARK, GREY, MARKERS, PALE, RUST, Axes, Figure


def clipped_and_not(never: Sequence[float], at_each_step: Sequence[float]) -> Figure:
    """A magnitude over missed shrinks, clipped at each step (triangles) and never (line)."""
    title = "Once below zero, the unclipped value stays below zero"
    axes = Axes(title, "missed shrinks", "magnitude of the weight")
    last = len(never) - 1
    axes.line(range(last + 1), never, DARK)
    axes.dots(range(last + 1), at_each_step, RUST, "^", size=3.5)
    axes.name(last, never[-1], "never clipped", DARK)
    axes.name(last, at_each_step[-1], "clipped at each step", RUST)
    return Figure(axes)


def arc(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], height: float,
    colour: str, width: float = 1.6,
) -> None:  # fmt: skip
    """A jump from one point to another, drawn as a parabola."""
    (x0, y0), (x1, y1) = start, end
    part = [k / 24 for k in range(25)]
    heights = [y0 + s * (y1 - y0) + height * 4 * s * (1 - s) for s in part]
    axes.line([x0 + s * (x1 - x0) for s in part], heights, colour, width=width)


def hops(done: int, stepped: Sequence[float], at_once: float) -> Figure:
    """The closed form as one arc, and the first ``done`` shrinks as small ones."""
    n_missed = len(stepped) - 1
    title = "The steps end where the closed form ends"
    axes = Axes(title, "step t", "magnitude of the weight", xlim=(-0.6, 17), ylim=(0, 1.15))
    arc(axes, (0, 1), (n_missed, at_once), 0.35, DARK)
    axes.dots([n_missed], [at_once], DARK, size=11, hollow=True)
    points = list(enumerate(stepped[: done + 1]))
    for here, there in pairwise(points):
        arc(axes, here, there, 0.05, RUST, width=1)
    axes.dots(range(done + 1), stepped[: done + 1], RUST, "^")
    axes.text(8.7, 1.03, "closed form: one computation", DARK)
    axes.text(2, 0.12, f"by steps: {done} of {n_missed} shrinks done", RUST)
    return Figure(axes)


def schedules(
    chosen: str, lines: Mapping[str, Sequence[float]], dots: Sequence[float], title: str
) -> Figure:
    """The closed form under every schedule, the chosen one dark, and its shrinks one by one."""
    axes = Axes(title, "missed shrinks of SGD", "magnitude of the weight", ylim=(-0.03, 1.03))
    for line in lines.values():
        axes.line(range(len(line)), line, PALE, width=0.8)
    axes.line(range(len(dots)), lines[chosen], DARK)
    axes.dots(range(len(dots)), dots, RUST, "^", size=3.5)
    axes.name(len(dots) - 1, dots[-1], chosen, DARK)
    return Figure(axes, height=208)


def search(
    sizes: Sequence[tuple[int, bool]], rates: Sequence[float], words: Sequence[str]
) -> Figure:
    """Left the size of every trial and whether it passed, right the rates of the last trial.

    ``words`` are the title of the right part and the two lines in it.
    """
    left = Axes(
        "Dots: the theorem fails.  Crosses: it holds.", "trial", "characters to write it down",
        xlim=(-2, 94), ylim=(0, 55),
    )  # fmt: skip
    for passes, colour, marker in ((True, PALE, "x"), (False, DARK, "o")):
        seen = [(n, size) for n, (size, ok) in enumerate(sizes) if ok == passes]
        left.dots([n for n, _ in seen], [size for _, size in seen], colour, marker, size=4)
    right = Axes(
        words[0], "missed step", "its rate", xlim=(-0.7, 11.7), ylim=(0, 1.35),
        xticks={n: str(n) for n in range(0, 12, 2)}, yticks={0: "0.0", 0.5: "0.5", 1: "1.0"},
    )  # fmt: skip
    for step, eta in enumerate(rates):
        right.line([step, step], [0, eta], RUST)
    right.dots(range(len(rates)), rates, RUST, "^")
    right.text(0, 1.2, words[1])
    right.text(0, 1.08, words[2])
    return Figure(left, right, ratios=(3, 2))


def one_step(
    before: Sequence[float], after: Mapping[str, Any], between: tuple[float, float, float]
) -> Figure:
    """Three shrinks as lines, and an arrow between two of them with its length as a formula."""
    title = "The printed step has SGD's slope and leaves zero where FoBoS does"
    axes = Axes(title, "magnitude before the step", "magnitude after the step")
    series = {name: (before, values) for name, values in after.items()}
    drawing.curves(axes, series, nudge={"SGD": -6, "FoBoS": 4, "printed": -2})
    at, low, high = between
    axes.arrow((at, low), (at, high), GREY, both=True)
    axes.text(at - 0.03, 0.25, "eta² l1 l2", GREY, anchor="end")
    return Figure(axes)


def misprint(
    strengths: Sequence[float], runs: Mapping[str, Any], rings: Sequence[tuple[float, float]]
) -> Figure:
    """Relative differences (markers) and their estimates (lines) against l2."""
    title = "The error of the misprint grows with l1 l2"
    axes = Axes(title, "l2", "relative difference", log="xy", xlim=(6e-7, 0.16), ylim=(1e-12, 2e-2))
    axes.area([6e-7, 0.16], [1e-12] * 2, [5e-5] * 2, "#ededed")
    axes.text(1.1e-6, 1.5e-5, "four figures do not show it", GREY)
    for number, (name, (computed, estimated)) in enumerate(runs.items()):
        shown = [(l2, y) for l2, y in zip(strengths, computed, strict=True) if y > 0]
        axes.dots(*zip(*shown, strict=True), COLOURS[number], MARKERS[number])
        axes.line(strengths, estimated, COLOURS[number], width=0.8)
        axes.name(0.13, estimated[-1], name, COLOURS[number])
    axes.dots(*zip(*rings, strict=True), GREY, size=11, hollow=True)
    return Figure(axes)
