"""Seconds of an epoch and of a fit to the minimum: the README's figure, and what it says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from lazynet.figures import DARK, RUST
from paper_repro import figures
from paper_repro.score import duration
from paper_repro.solvers import OURS
from paper_repro.solvers.celer_solvers import CELER
from paper_repro.solvers.scikit_learn import LIBLINEAR, SAGA
from paper_repro.solvers.skglm_solvers import PROX_NEWTON
from paper_repro.studies.bench import EpochTimes
from paper_repro.studies.optimum import LEVELS, shown
from paper_repro.studies.optimum_bounds import Race

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The studies that the figure is made from.
STUDIES = ("bench", "optimum")
#: The competitors of an epoch, by their names in the study.
_EPOCHS = {
    "lazynet": "clock in fit",
    "scikit-learn SGD": "sklearn en",
    "dense, sparse predictions": "dense",
    "dense": "dense predictions",
}
_FITS = {
    "lazynet": OURS.name,
    "liblinear": LIBLINEAR,
    "skglm": PROX_NEWTON,
    "celer": CELER,
    "scikit-learn saga": SAGA,
}


@dataclass(frozen=True)
class Time:
    """What one program takes; ``arrived`` is false where it was stopped before it arrived."""

    name: str
    seconds: float
    arrived: bool = True

    def __str__(self) -> str:
        return f"{'' if self.arrived else '> '}{duration(self.seconds)}"


def epochs(document: Mapping[str, Any]) -> list[Time]:
    """One pass over the rows as they lie."""
    measured = EpochTimes(document)
    examples = measured.corpus["examples"]
    return [
        Time(label, examples * median(measured.rounds("as they lie", name)))
        for label, name in _EPOCHS.items()
    ]


def fits(document: Mapping[str, Any]) -> list[Time]:
    """Fits to the first level above the minimum, with an l1 penalty alone."""
    race, asked = Race(document), shown(0)
    times = []
    for label, name in _FITS.items():
        taken = race.seconds(asked, name, LEVELS[0])
        if taken is None:
            ladder = race.ladder(asked, name)
            assert ladder is not None, f"{name} did not run"
            waited = max([*(run.seconds for run in ladder.runs), ladder.stopped or 0.0])
            times.append(Time(label, waited, arrived=False))
        else:
            times.append(Time(label, taken))
    return times


def draw(documents: Mapping[str, Mapping[str, Any]]) -> Figure:
    """A point for each program, the quicker the farther to the left."""
    figure, axes = figures.new(columns=2, width=7.5, height=2.2)
    for ax, title, times in (
        (axes[0], "one pass over the rows", epochs(documents["bench"])),
        (axes[1], "to the minimum", fits(documents["optimum"])),
    ):
        for y, each in enumerate(times):
            colour = DARK if each.name == "lazynet" else RUST
            filled = colour if each.arrived else "white"
            ax.axhline(y, color="0.9", linewidth=0.8, zorder=0)
            ax.plot(each.seconds, y, "o", color=colour, markerfacecolor=filled, markersize=6)
            ax.annotate(
                str(each),
                (each.seconds, y),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                color=colour,
            )
        ax.set_title(title)
        ax.set_yticks(range(len(times)), [each.name for each in times])
        ax.set_ylim(len(times) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_xscale("log")
        ax.set_xlabel("seconds")
        ax.set_xlim(
            min(each.seconds for each in times) / 2, max(each.seconds for each in times) * 9
        )
    return figure  # type: ignore[no-any-return]


def caption(documents: Mapping[str, Mapping[str, Any]]) -> str:
    """What the figure shows, in words."""
    corpus = EpochTimes(documents["bench"]).corpus
    stopped = [each.name for each in fits(documents["optimum"]) if not each.arrived]
    return (
        "*Seconds of one thread on a logarithmic scale; less is better. The rows are "
        f"{corpus['examples']:,} generated texts with {corpus['features']:,} features. "
        "Left: one pass over them, logistic loss with an elastic net. Right: the time until the "
        f"objective with an l1 penalty is above its minimum by at most {LEVELS[0]:g} of the loss "
        "at zero weights"
        + (f" ({', '.join(stopped)} was stopped before)" if stopped else "")
        + "; lazynet's time includes the proof. Machines and all numbers: "
        "[one pass](paper_repro/results/bench.md), [the minimum](paper_repro/results/optimum.md).*"
    )
