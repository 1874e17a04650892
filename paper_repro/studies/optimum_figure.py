"""The figure of the study ``optimum``: what is left of the objective, against seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lazynet.plots import DARK, GREY, LIGHT, PALE, RUST, SAND
from paper_repro import figures
from paper_repro.ladders import Ladder
from paper_repro.solvers import OURS, own
from paper_repro.solvers.celer_solvers import CELER
from paper_repro.solvers.scikit_learn import LIBLINEAR, SAGA
from paper_repro.solvers.skglm_solvers import COORDINATES, PROX_NEWTON
from paper_repro.studies.optimum import LEVELS, SHOWN_MULTIPLES, SHOWN_SHARE, shown
from paper_repro.studies.optimum_bounds import Race

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Gaps below this are drawn here: the rounding of an objective is not far below.
_FLOOR = 1e-10
_CERTIFIED = "certified"
_LABELS = {
    OURS.name: "DualNet (lazynet)",
    _CERTIFIED: "what DualNet's certificate says",
    own.FOBOS: "FoBoS, online (lazynet)",
    own.AVERAGED: "FoBoS, averaged (lazynet)",
    own.RDA: "RDA, online (lazynet)",
    own.STABILISED: "stabilised SGD (lazynet)",
}
_LOOKS: dict[str, dict[str, Any]] = {
    OURS.name: dict(color=DARK, marker="o", linestyle="-", linewidth=2.2, zorder=3),
    _CERTIFIED: dict(color=DARK, marker="o", linestyle=":", markerfacecolor="white", zorder=3),
    LIBLINEAR: dict(color="black", marker="D", linestyle="--", markerfacecolor="white"),
    PROX_NEWTON: dict(color=RUST, marker="^", linestyle="-"),
    COORDINATES: dict(color=RUST, marker="^", linestyle=":", markerfacecolor="white"),
    CELER: dict(color=SAND, marker="v", linestyle="-."),
    SAGA: dict(color=GREY, marker="P", linestyle="--"),
    own.SAGA: dict(color=LIGHT, marker="X", linestyle="-"),
    own.FOBOS: dict(color=LIGHT, marker="s", linestyle="-"),
    own.AVERAGED: dict(color=LIGHT, marker="s", linestyle="--", markerfacecolor="white"),
    own.RDA: dict(color=LIGHT, marker="v", linestyle=":", markerfacecolor="white"),
    own.STABILISED: dict(color=PALE, marker="o", linestyle="--", markerfacecolor="white"),
}


def draw(document: Mapping[str, Any]) -> Figure:
    """A curve for each program: every run from zero weights is a point."""
    race = Race(document)
    figure, axes = figures.new(columns=len(SHOWN_MULTIPLES), width=9.5, height=4.4)
    handles: dict[str, Any] = {}
    for ax, multiple in zip(axes, SHOWN_MULTIPLES, strict=True):
        _draw_level_lines(ax)
        for name, ladder in race.shown_ladders(multiple).items():
            seconds, gaps = _curve(race, multiple, ladder)
            if seconds:
                [handles[name]] = ax.loglog(seconds, gaps, **_LOOKS[name])
        seconds, gaps = _certified(race, multiple)
        if seconds:
            [handles[_CERTIFIED]] = ax.loglog(seconds, gaps, **_LOOKS[_CERTIFIED])
        penalty = "l1 alone" if not multiple else f"elastic net, l2 = {multiple:g} l1"
        ax.set_title(f"{penalty}, l1 = {SHOWN_SHARE:g} l1 max")
        ax.set_xlabel("seconds of fit")
    axes[0].set_ylabel("objective above the minimum,\nshare of that of zero weights")
    ordered = {name: handles[name] for name in _LOOKS if name in handles}
    labels = [_LABELS.get(name, name) for name in ordered]
    figure.legend(ordered.values(), labels, loc="outside lower center", ncols=4)
    return figure  # type: ignore[no-any-return]


def _draw_level_lines(ax: Axes) -> None:
    for level in LEVELS:
        ax.axhline(level, color="0.85", linewidth=0.8, zorder=0)


def _certified(race: Race, multiple: float) -> tuple[list[float], list[float]]:
    """The gaps that our own runs prove."""
    ladder = race.shown_ladders(multiple)[OURS.name]
    at_zero = race.races[shown(multiple)]["at zero"]
    runs = sorted((run for run in ladder.runs if run.gap is not None), key=lambda run: run.seconds)
    return [run.seconds for run in runs], [(run.gap or 0.0) / at_zero for run in runs]


def _curve(race: Race, multiple: float, ladder: Ladder) -> tuple[list[float], list[float]]:
    """The runs that come nearer to the minimum than every quicker run and than zero weights."""
    seconds: list[float] = []
    gaps: list[float] = []
    for run in sorted(ladder.runs, key=lambda run: run.seconds):
        gap = max(_FLOOR, race.gap(shown(multiple), run.objective))
        if gap < (gaps[-1] if gaps else 1.0):
            seconds.append(run.seconds)
            gaps.append(gap)
    return seconds, gaps
