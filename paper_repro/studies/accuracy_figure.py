"""The figure of the study ``accuracy``: errors against steps and against missed steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from lazynet.checks.tolerance import UNIT_ROUNDOFF
from paper_repro import figures
from paper_repro.competitors import RULES
from paper_repro.score import FOUR_FIGURES
from paper_repro.studies.accuracy import (
    ENGINES,
    FORMS,
    GAP_PENALTIES,
    LONGEST_GAP,
    SCHEDULES,
    UNWATCHED,
    WRONG,
    gap_key,
    unwatched_key,
)
from paper_repro.study import Records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The looks of the lines that only this study draws.
LOOKS: dict[str, dict[str, Any]] = {
    "unwatched": dict(color="#8a2f2f", linestyle="-", linewidth=1.2),
    "nothing": dict(color="#8a2f2f", linestyle="none", marker="x", markersize=7),
    "statement": dict(color="0.6", linestyle="--"),
    "proof": dict(color="#c4622d", linestyle="-"),
    "corrected": dict(color="#0b3c6f", linestyle="-", linewidth=1.2),
}


def draw(document: Mapping[str, Any]) -> Figure:
    records = document["records"]
    if "skipped" in records["setting"]:
        return _draw_reason(records["setting"]["skipped"])
    figure, axes = figures.new(columns=3, width=10.5, height=3.7)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
    _draw_long_run(axes[0], records)
    _draw_unwatched(axes[1], records)
    _draw_theorem(axes[2], records)
    return figure  # type: ignore[no-any-return]


def _draw_reason(reason: str) -> Figure:
    figure, ax = figures.new(height=1.0)
    ax.set_axis_off()
    ax.text(0.5, 0.5, f"Skipped: {reason}.", ha="center", va="center")
    return figure  # type: ignore[no-any-return]


def _draw_long_run(ax: Axes, records: Records) -> None:
    runs = [records[f"long run/{rule}/{rate}"] for rule, rate in product(RULES, SCHEDULES)]
    steps = runs[0]["checkpoints"]
    ax.axhline(UNIT_ROUNDOFF, **figures.LOOKS["law"])
    _say(ax, steps[-1], UNIT_ROUNDOFF, "one rounding of a double", "0.35", above=False, ha="right")
    for engine in ENGINES:
        errors = np.max([run[engine]["error"] for run in runs], axis=0)
        ax.plot(steps, errors, **figures.LOOKS[engine])
        figures.label_end(ax, steps[-1], errors[-1], engine, engine)
    ax.set_ylim(bottom=2e-17)
    ax.set_title("a   Greatest error over all settings")
    ax.set_xlabel("steps")
    ax.set_ylabel("max |w - truth| / (1 + max |truth|)")


def _draw_unwatched(ax: Axes, records: Records) -> None:
    found = {each: records[unwatched_key("sgd", *each)] for each in UNWATCHED}
    for (rate, l2), run in found.items():
        _draw_breakdown(ax, run, f"η = {rate:g}, λ₂ = {l2:g}")
    longest = found[UNWATCHED[-1]]
    ax.plot(longest["samples"], longest["lazynet error"], **_plain("tables"))
    last, error = longest["samples"][-1], longest["lazynet error"][-1]
    _say(
        ax,
        last,
        error,
        "lazynet's tables",
        figures.LOOKS["tables"]["color"],
        above=False,
        ha="right",
    )
    ax.set_xlim(30, 1.3 * last)
    ax.set_ylim(1e-18, 100)
    ax.set_title("b   Tables never begun again (SGD)")
    ax.set_xlabel("steps")
    ax.set_ylabel("greatest error so far / largest |truth|")


def _draw_breakdown(ax: Axes, run: Mapping[str, Any], name: str) -> None:
    """The error of unwatched tables up to the step at which the weight is NaN."""
    alive = [
        (step, error)
        for step, error in zip(run["samples"], run["unwatched error"], strict=True)
        if error is not None
    ]
    if run["NaN"] is None:
        ax.plot(*zip(*alive, strict=True), **LOOKS["unwatched"])
        return
    alive = [(step, error) for step, error in alive if step < run["NaN"] and error < WRONG]
    alive += [(run["NaN"], alive[-1][1]), (run["NaN"], 1.0)]
    ax.plot(*zip(*alive, strict=True), **LOOKS["unwatched"])
    ax.plot(run["NaN"], 1.0, **LOOKS["nothing"])
    ax.annotate(
        name,
        (run["NaN"], 1e-9),
        xytext=(-3, 0),
        textcoords="offset points",
        rotation=90,
        ha="right",
        va="center",
        color=LOOKS["unwatched"]["color"],
    )
    _say(ax, run["NaN"], 2.0, "NaN", LOOKS["unwatched"]["color"], ha="center")


def _draw_theorem(ax: Axes, records: Records) -> None:
    for l1, l2 in GAP_PENALTIES:
        found = records["theorem 1"][gap_key(l1, l2)]
        for form in FORMS:
            # An error of exactly zero has no place on a log axis.
            drawn = [(n, e) for n, e in zip(found["gaps"], found[form], strict=True) if e > 0]
            ax.plot(*zip(*drawn, strict=True), **LOOKS[form])
        middle = found["proof"][len(found["gaps"]) * 3 // 4]
        name = f"proof: λ₁ = {_power(l1)}, λ₂ = {_power(l2)}"
        _say(ax, 1, middle, name, LOOKS["proof"]["color"])
    ax.axhline(FOUR_FIGURES, **figures.LOOKS["law"])
    _say(ax, LONGEST_GAP, FOUR_FIGURES, "four significant figures", "0.35", above=False, ha="right")
    _say(ax, 1, 1.0, "statement: both", "0.4")
    _say(ax, 1, 1e-15, "corrected: both", LOOKS["corrected"]["color"])
    ax.set_ylim(1e-18, 30)
    ax.set_title("c   Theorem 1 as printed")
    ax.set_xlabel("missed steps")
    ax.set_ylabel("relative error of the weight")


def _power(value: float) -> str:
    """A power of ten as a formula."""
    return f"$10^{{{round(math.log10(value))}}}$"


def _plain(look: str) -> dict[str, Any]:
    """A look without its marker, for lines of many points."""
    return {**figures.LOOKS[look], "marker": "none"}


def _say(
    ax: Axes, x: float, y: float, text: str, color: str, *, above: bool = True, ha: str = "left"
) -> None:
    """Write a note beside a line."""
    ax.annotate(
        text,
        (x, y),
        xytext=(0, 3 if above else -3),
        textcoords="offset points",
        ha=ha,
        va="bottom" if above else "top",
        color=color,
        fontsize=8,
    )
