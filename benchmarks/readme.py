"""The README's figure of seconds and what stands below it, made from the committed results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from benchmarks.bench import EpochTimes
from benchmarks.index import RESULTS
from benchmarks.optimum import SHOWN, SHOWN_SHARE, Races
from benchmarks.solvers import ADELIE, CELER, LEVEL, LIBLINEAR, OURS, SAGA, SKGLM
from lazynet.plots import DARK, RUST, as_svg, styled
from paper_repro.damaged import DamagedFile, told_of
from paper_repro.results import load
from paper_repro.runs import L1, L2
from paper_repro.score import duration
from paper_repro.whole import write_whole

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
FIGURE = ROOT / "docs" / "seconds.svg"
#: The block of the README lies between these marks.
BEGIN = "<!-- seconds: from the results of the benchmarks by python -m benchmarks readme -->"
END = "<!-- end of seconds -->"
_REMEDY = "restore the file"
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
    "skglm": SKGLM,
    "celer": CELER,
    "adelie": ADELIE,
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
    record = Races(document).problems[SHOWN]
    times = []
    for label, name in _FITS.items():
        if name in record["seconds"]:
            times.append(Time(label, median(record["seconds"][name])))
        elif name in record["waited"]:
            times.append(Time(label, record["waited"][name], arrived=False))
    return times


def draw(documents: Mapping[str, Mapping[str, Any]]) -> Figure:
    """A point for each program, the quicker the farther to the left; both panels have one axis."""
    panels = {
        "one pass over the rows, elastic net": epochs(documents["bench"]),
        "to the minimum, l1 penalty": fits(documents["optimum"]),
    }
    figure = Figure(figsize=(4.6, 3.7), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True, height_ratios=[*map(len, panels.values())])
    for ax, (title, times) in zip(axes, panels.items(), strict=True):
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
    every = [each.seconds for times in panels.values() for each in times]
    axes[-1].set_xlim(min(every) / 2, max(every) * 14)
    axes[-1].set_xlabel("seconds")
    return figure


def caption(documents: Mapping[str, Mapping[str, Any]]) -> str:
    """What the figure shows, in words."""
    corpus = EpochTimes(documents["bench"]).corpus
    problem = Races(documents["optimum"]).problems[SHOWN]
    stopped = [each.name for each in fits(documents["optimum"]) if not each.arrived]
    return (
        "*Seconds of one thread on a logarithmic scale; less is better. The rows are "
        f"{corpus['examples']:,} generated texts with {corpus['features']:,} features. "
        f"Above: one pass over them, logistic loss, l1 = {L1:g}, l2 = {L2:g}. "
        '"Dense" updates every weight at every row and predicts with every weight; with "sparse '
        'predictions" it predicts with the weights of the row alone. '
        f"Below: {problem['rows']:,} such rows, the time until the objective is above its "
        f"minimum by at most {LEVEL:g} of the loss at zero weights, every program at the loosest "
        f"tolerance that comes so near. There l1 is {SHOWN_SHARE:g} of the least l1 at which "
        "every weight is 0, and l2 = 0."
        + (f" Open circles: stopped before they arrived ({', '.join(stopped)})." if stopped else "")
        + " All numbers: "
        "[one pass](benchmarks/results/bench.md), [the minimum](benchmarks/results/optimum.md).*"
    )


def main() -> int:
    """Draw the figure, and rewrite the block between the marks."""
    with told_of(README, _REMEDY):
        text = README.read_text(encoding="utf-8")
    documents = loaded()
    written = with_block(text, caption(documents))
    write_whole(FIGURE, figure(documents))
    write_whole(README, written)
    print(f"{README.name} and {FIGURE.name} written")
    return 0


def loaded() -> dict[str, Any]:
    """The results that the figure is made from, by study."""
    documents = {name: load(name, RESULTS) for name in STUDIES}
    for name, document in documents.items():
        if document is None:
            raise ValueError(f"the README's figure needs {RESULTS / name}.json")
    return documents


def figure(documents: dict[str, Any]) -> str:
    """The figure as SVG."""
    with styled():
        return as_svg(draw(documents))


def with_block(text: str, new: str) -> str:
    """The text with a new block between the marks."""
    before, found, rest = text.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not (found and closed):
        raise DamagedFile(README, f"it must hold the marks {BEGIN!r} and {END!r}", _REMEDY)
    return f"{before}{BEGIN}\n\n{new}\n\n{END}{after}"
