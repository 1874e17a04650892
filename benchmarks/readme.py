"""The numbers and the figure of the README and of two pages, made from the committed results.

``python -m benchmarks readme`` rewrites their blocks between marks, and the figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from matplotlib.figure import Figure

from benchmarks.optimum import Times
from benchmarks.programs.base import LYING, NET, RANDOM
from benchmarks.programs.untuned import OURS as DEFAULT
from benchmarks.programs.untuned import SGD as SGD_HINGE
from benchmarks.programs.untuned import SGD_LOG
from benchmarks.solvers import (
    ADELIE,
    ADELIE_PATH,
    CYANURE,
    LIBLINEAR,
    SAGA,
    SKGLM,
    SKLEARN_LIBLINEAR,
)
from benchmarks.solvers import OURS as DUAL
from benchmarks.studies import RESULTS
from lazynet.plots import DARK, RUST, as_svg, styled
from paper_repro.competitors import PLAINEST
from paper_repro.competitors.base import CLOCK, DENSE, SPARSE_PREDICTIONS
from paper_repro.damaged import DamagedFile, told_of
from paper_repro.pages import Template
from paper_repro.results import RESULTS as PAPERS
from paper_repro.results import load, write_whole
from paper_repro.score import duration, ratios, significant
from paper_repro.studies.table_page import headline
from paper_repro.studies.table_verdicts import reproduction

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
#: The pages of docs/ that have the first block of the README too.
PAGES = ROOT / "docs" / "index.md", ROOT / "docs" / "paper_and_code.md"
FIGURE = ROOT / "docs" / "seconds.svg"
FOLDERS = {"defaults": RESULTS, "throughput": RESULTS, "optimum": RESULTS, "table": PAPERS}
PARTS = Template.beside(__file__)
_REMEDY = "restore the file"

#: The programs of an epoch in the study ``throughput``, and what the figure calls them.
EPOCHS = {
    "lazynet FoBoS": "lazynet",
    "scikit-learn SGD": "SGDClassifier",
    "Vowpal Wabbit --sgd": "Vowpal Wabbit",
}
OURS, SGD, VW = EPOCHS
#: The default rule of lazynet.
ADAGRAD = "lazynet AdaGrad"
#: The datasets of the study ``defaults`` that it generates.
GENERATED = {"documents", "rare class", "half dense"}
#: The problem of the figure's second panel.
PROBLEM = "Medline-like counts/0.01/elastic net"

Documents = Mapping[str, Mapping[str, Any]]


def main() -> int:
    """Draw the figure, and rewrite the blocks between the marks."""
    with told_of(README, _REMEDY):
        text = README.read_text(encoding="utf-8")
    documents = loaded()
    new = blocks(documents)
    written = with_blocks(text, new)
    write_whole(FIGURE, figure(documents))
    write_whole(README, written)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        write_whole(page, with_blocks(text, {"headline": new["headline"]}))
    print(f"{README.name}, {FIGURE.name} and {len(PAGES)} pages written")
    return 0


def loaded() -> dict[str, Any]:
    """The results that README speaks of, by study."""
    documents = {name: load(name, folder) for name, folder in FOLDERS.items()}
    for name, document in documents.items():
        if document is None:
            raise ValueError(f"there is no {FOLDERS[name] / name}.json to write the README from")
    return documents


def with_blocks(text: str, blocks: Mapping[str, str]) -> str:
    """The text with new blocks between their marks."""
    for name, new in blocks.items():
        begin = f"<!-- {name}: written by python -m benchmarks readme -->"
        end = f"<!-- end {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise DamagedFile(README, f"it must hold the marks {begin!r} and {end!r}", _REMEDY)
        text = f"{before}{begin}\n{new}\n{end}{after}"
    return text


def blocks(documents: Documents) -> dict[str, str]:
    """The blocks of the README, by name."""
    throughput, optimum = documents["throughput"], Times(documents["optimum"])
    per_example = {
        name: significant(times_of_epoch(throughput, order, slow, fast), 2)
        for name, order, slow, fast in (
            ("sgd", LYING, SGD, OURS),
            ("vw", LYING, VW, OURS),
            ("sgd_default", LYING, SGD, ADAGRAD),
            ("sgd_random", RANDOM, SGD, ADAGRAD),
            ("vw_default", LYING, VW, ADAGRAD),
        )
    }
    first = PARTS(
        "first",
        **default_results(documents["defaults"]),
    )
    why = PARTS(
        "why",
        liblinear=over_problems(optimum, LIBLINEAR),
        sklearn_liblinear=over_problems(optimum, SKLEARN_LIBLINEAR),
        skglm=over_problems(optimum, SKGLM),
        adelie=over_problems(optimum, ADELIE, ADELIE_PATH),
        numpy=numpy_loop(documents["table"], "numpy"),
        numpy_compiled=numpy_loop(documents["table"], "compiled"),
        **per_example,
    )
    record = optimum.problems[PROBLEM]
    shape = f"{record['rows']:,} rows with {record['features']:,} features"
    caption = PARTS(
        "figure",
        rows=rows_of_epoch(documents["throughput"]),
        shape=shape,
        problems=len(optimum.problems),
    )
    return {
        "headline": printed_and_found(documents["table"]),
        "first": first,
        "why": why,
        "papers": headline(documents["table"]),
        "figure": caption,
    }


def printed_and_found(table: Mapping[str, Any]) -> str:
    """Two ratios of each text as printed and as measured, and the time of a compiled step."""
    found = {(each.tier, each.rule, each.slow): each for each in reproduction(table).rows}
    early, third = found["dicts", "fobos", SPARSE_PREDICTIONS], found[PLAINEST, "sgd", DENSE]
    lazy, dense = (
        duration(median(_seconds(table, "compiled/fobos/round", name))) for name in (CLOCK, DENSE)
    )
    return PARTS(
        "headline",
        early_printed=early.printed,
        printed=third.printed,
        early=significant(early.found.median),
        looked_up=significant(third.found.median),
        spread_out=significant(found["scipy", "sgd", DENSE].found.median),
        nonzeros=table["records"]["corpus"]["nonzeros_per_example"],
        features=table["records"]["corpus"]["features"],
        lazy=lazy,
        dense=dense,
    )


def default_results(defaults: Mapping[str, Any]) -> dict[str, int]:
    """On how many variants lazynet with default settings is at most the better peer's value."""
    variants = {
        key: record
        for key, record in defaults["records"].items()
        if key.startswith("race/") and SGD_LOG in record
    }

    def wins(what: str, *peers: str) -> int:
        """Of the variants: in how many no peer has a lower median over the seeds."""
        return sum(
            median(record[DEFAULT][what]) <= min(median(record[peer][what]) for peer in peers)
            for record in variants.values()
        )

    datasets = {_dataset(key.split("/")[1]) for key in variants}
    return {
        "variants": len(variants),
        "datasets": len(datasets),
        "generated": len(datasets & GENERATED),
        "best": wins("loss", SGD_LOG, "LogisticRegression"),
        "fewer_errors": wins("error", SGD_LOG, "LogisticRegression"),
        "fewer_errors_hinge": wins("error", SGD_HINGE, "LogisticRegression"),
    }


def _dataset(problem: str) -> str:
    """The dataset of a problem, as news20 of "news20 (20 classes)" and rcv1 of "rcv1_vw"."""
    return problem.partition(" (")[0].partition("_")[0]


def times_of_epoch(throughput: Mapping[str, Any], order: str, slow: str, fast: str) -> float:
    """Seconds of a later epoch with an elastic net, over those of another program."""
    found = epochs(throughput, order)
    return ratios(found[slow], found[fast]).median


def epochs(throughput: Mapping[str, Any], order: str = LYING) -> dict[str, list[float]]:
    """Seconds per row of an epoch with an elastic net, round by round, by program."""
    rounds = [
        record for key, record in throughput["records"].items() if key.startswith(f"{order}/{NET}/")
    ]
    return {
        name: [each[name]["later"] for each in rounds]
        for name in (*EPOCHS, ADAGRAD)
        if name in rounds[0]
    }


def rows_of_epoch(throughput: Mapping[str, Any]) -> int:
    return int(throughput["records"]["setting"]["examples"])


def over_problems(times: Times, *names: str) -> str:
    """How many times as long as DualNet the fastest of some programs takes: mean and range."""
    found = [times.quickest(key, names)[0] for key in times.problems]
    values = [ratio for ratio in found if math.isfinite(ratio)]
    mean, lowest, highest = (significant(f(values), 2) for f in (geometric_mean, min, max))
    return f"{mean} ({lowest} - {highest})"


def numpy_loop(table: Mapping[str, Any], tier: str) -> str:
    """A step of the dense loop in NumPy over a lazy step of a tier, in the same run."""
    dense = _seconds(table, "numpy/fobos/round", SPARSE_PREDICTIONS)
    lazy = _seconds(table, f"{tier}/fobos/round", CLOCK)
    return significant(ratios(dense, lazy).median, 2)


def _seconds(table: Mapping[str, Any], rounds: str, name: str) -> list[float]:
    return [record[name] for key, record in table["records"].items() if key.startswith(rounds)]


# --- the figure ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Time:
    """The seconds of one program; ``arrived`` is false if the program was stopped before."""

    name: str
    seconds: float
    #: the median of the ratios to lazynet's time in the same round
    ratio: float
    arrived: bool = True

    def label(self) -> str:
        """The seconds, and for a program other than lazynet the ratio to lazynet's time."""
        if self.name == "lazynet":
            return duration(self.seconds)
        more = "" if self.arrived else "> "
        return f"{more}{duration(self.seconds)}: {more}{significant(self.ratio, 2)} times"


def panels(documents: Documents) -> dict[str, list[Time]]:
    """The questions of the figure, and the times that answer them; lazynet is first."""
    rows, seconds = rows_of_epoch(documents["throughput"]), epochs(documents["throughput"])
    epoch = [
        Time(shown, rows * median(seconds[name]), ratios(seconds[name], seconds[OURS]).median)
        for name, shown in EPOCHS.items()
    ]
    return {
        "How long does an epoch take?": epoch,
        "How long does the minimum take?": minimum(Times(documents["optimum"])),
    }


def minimum(times: Times) -> list[Time]:
    """Times to the minimum, lazynet first; of two programs of one library the faster one."""
    record = times.problems[PROBLEM]
    names = {DUAL.name: "lazynet", SKGLM: "skglm", ADELIE: "adelie", ADELIE_PATH: "adelie"}
    names |= {CYANURE: "cyanure", SAGA: "scikit-learn saga"}
    seconds = {name: median(each) for name, each in record["seconds"].items()} | record["waited"]
    found = [
        Time(names[name], each, times.least(PROBLEM, name) or math.inf, name in record["seconds"])
        for name, each in seconds.items()
        if name in names
    ]
    best = {each.name: each for each in sorted(found, key=lambda each: -each.seconds)}
    ours = best.pop("lazynet")
    return [ours, *sorted(best.values(), key=lambda each: each.seconds)]


def figure(documents: Documents) -> str:
    """The figure as SVG: a question a panel, a point for each program."""
    with styled():
        return as_svg(draw(panels(documents)))


def draw(questions: Mapping[str, Sequence[Time]]) -> Figure:
    figure = Figure(figsize=(4.0, 3.6), layout="constrained")
    axes = figure.subplots(2, 1, height_ratios=[len(times) for times in questions.values()])
    for ax, (question, times) in zip(axes, questions.items(), strict=True):
        for y, each in enumerate(times):
            colour = RUST if y else DARK
            ax.axhline(y, color="0.9", linewidth=0.8, zorder=0)
            filled = colour if each.arrived else "white"
            ax.plot(each.seconds, y, "o", color=colour, markerfacecolor=filled, markersize=7)
            ax.annotate(
                each.label(),
                (each.seconds, y),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                color=colour,
            )
        ax.set_title(question, fontweight="bold")
        ax.set_yticks(range(len(times)), [each.name for each in times])
        ax.set_ylim(len(times) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlabel("seconds")
        least, most = (f(each.seconds for each in times) for f in (min, max))
        ax.set_xlim(least / 1.5, most * (most / least) ** 1.3)
    return figure
