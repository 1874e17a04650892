"""Study ``blocks``: one model on several blocks of rows at once, or one row after the other?

A round takes the steps of all K blocks from the same z and adds what they have moved.  The gap is
followed against the rounds, the bytes that move between the blocks and the model, and the seconds.

Seconds are those of the processor, because the machine may have other work.  Each block is timed by
itself, one after the other; with a processor for every block, a round takes as long as its slowest
block and what is done once for all blocks.  Beside it stand today's default without blocks and dual
ascent without blocks, on one processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lazynet.losses import get_loss
from lazynet.minimise import EpochOfSearch, Minimiser, Problem
from lazynet.rounds import Rounds
from lazynet.searches import Ascent, Place
from paper_repro import figures
from paper_repro.documents import medline
from paper_repro.pages import Template, table
from paper_repro.score import duration, in_bytes, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = Template.beside(__file__)

#: Rows of a quick run, and those that a full run adds.
FEW_ROWS, MANY_ROWS = 100_000, 1_000_000
BLOCKS = (1, 2, 4, 8)
#: l1 as a share of the least l1 at which every weight is 0, and l2 as a multiple of l1.
PENALTIES = {"elastic net": (0.01, 1.0), "l1 alone": (0.01, 0.0)}
#: The gap to arrive at, in units of the objective at zero weights, and the most rounds.
LEVEL, MOST_ROUNDS = 1e-4, 100
DEFAULT, ASCENT = "default", "ascent"


def sizes(settings: Settings) -> list[int]:
    """The numbers of rows."""
    few = min(settings.examples, FEW_ROWS)
    return [few, MANY_ROWS] if settings.full and settings.examples >= MANY_ROWS else [few]


def ways() -> list[str]:
    """The two searches without blocks, and every number of blocks."""
    return [DEFAULT, ASCENT, *map(str, BLOCKS)]


def cells(settings: Settings) -> Sequence[Cell]:
    """A search for every number of rows, every penalty and every way."""
    course = Course(settings)
    return [
        Cell(f"{rows}/{penalty}/{way}", partial(course.search, rows, penalty, way), rows * 1e-4)
        for rows in sizes(settings)
        for penalty in PENALTIES
        for way in ways()
    ]


# --- measuring -------------------------------------------------------------------------------


class Course:
    """The rows, of one size at a time, and the searches on them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.problem = lru_cache(maxsize=1)(self._problem)

    def _problem(self, rows: int) -> tuple[Problem, float]:
        """The rows, and the largest l1."""
        chosen = self.settings
        corpus = medline(rows, chosen.features, chosen.nonzeros, seed=chosen.seed)
        problem = Problem(corpus.X, corpus.y, None, get_loss("log_loss"), True)
        return problem, Minimiser(problem, np.random.RandomState(0)).largest_l1

    def search(self, rows: int, penalty: str, way: str, _: Records) -> Record:
        """The gap after every epoch, with the seconds and the bytes until then."""
        problem, largest = self.problem(rows)
        share, multiple = PENALTIES[penalty]
        l1 = share * largest
        watch = Watch()
        minimiser = Watched(problem, way, watch, self.settings.seed)
        watch.begin()
        found = minimiser.to(l1, multiple * l1, tol=LEVEL, max_iter=MOST_ROUNDS, after=watch.after)
        return {
            "gaps": [gap / minimiser.at_zero for gap in watch.gaps],
            "seconds": watch.seconds,
            "bytes": watch.bytes,
            "work": watch.work,
            "solver": found.solver,
            "arrived": bool(found.converged),
            "certified": found.gap / minimiser.at_zero,
            "nonzeros": int(np.count_nonzero(found.coef)),
        }


class Watch:
    """Counts seconds and bytes after every epoch of a search."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.seconds: list[float] = []
        self.work: list[float] = []
        self.bytes: list[int] = []
        #: seconds that several blocks would have worked at the same time, and bytes so far
        self.saved, self.moved = 0.0, 0

    def begin(self) -> None:
        self._began = time.process_time()

    def run(self, numbers: Sequence[int], task: Callable[[int], None]) -> None:
        """Call the task for one block after the other, and time each call."""
        taken = []
        for number in numbers:
            began = time.process_time()
            task(number)
            taken.append(time.process_time() - began)
        self.saved += sum(taken) - max(taken)

    def after(self, epoch: EpochOfSearch) -> None:
        spent = time.process_time() - self._began
        self.gaps.append(epoch["gap"])
        self.work.append(spent)
        self.seconds.append(spent - self.saved)
        self.bytes.append(self.moved)


class Watched(Minimiser):
    """A minimiser that searches in one given way."""

    def __init__(self, problem: Problem, way: str, watch: Watch, seed: int) -> None:
        super().__init__(problem, np.random.RandomState(seed))
        self.way, self.watch = way, watch

    @property
    def _by_rows(self) -> bool:
        return self.way != DEFAULT

    def _ascent(self, penalty: Any) -> Ascent:
        if self.way == ASCENT:
            return Ascent(self.mean, penalty, self.generator)
        options = self._X, self.mean, penalty, self.generator, int(self.way)
        return CountedRounds(self.watch, *options, self.watch.run)


class CountedRounds(Rounds):
    """Rounds that count what would move if every block were elsewhere.

    In a round every block is sent z and, to measure the gap, the weights; it sends back its move.
    """

    def __init__(self, watch: Watch, *given: Any) -> None:
        super().__init__(*given)
        self.watch = watch

    def epoch(self, last: Place) -> Place:
        self.watch.moved += 3 * self.rounds.mean.n_blocks * self.rounds.z.nbytes
        return super().epoch(last)


# --- reading ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrival:
    """When a search has arrived at the level."""

    rounds: int
    seconds: float
    work: float
    bytes: int


class Searches(Measured):
    """The records of all searches."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        keys = [key.split("/") for key in self.records]
        self.sizes = sorted({int(rows) for rows, _, _ in keys})

    def of(self, rows: int, penalty: str, way: str) -> Record:
        return self.records[f"{rows}/{penalty}/{way}"]

    def arrival(self, rows: int, penalty: str, way: str) -> Arrival | None:
        """The end of the search, if it has arrived."""
        record = self.of(rows, penalty, way)
        if not record["arrived"]:
            return None
        last = len(record["gaps"]) - 1
        return Arrival(last, record["seconds"][-1], record["work"][-1], record["bytes"][-1])

    def times_as_fast(self, rows: int, penalty: str, way: str) -> float:
        """How many times as fast as the default this number of blocks is; 0: it has not arrived."""
        ours, theirs = (self.arrival(rows, penalty, each) for each in (DEFAULT, way))
        return ours.seconds / theirs.seconds if ours and theirs else 0.0


# --- the page --------------------------------------------------------------------------------


def page(document: Mapping[str, Any]) -> str:
    searches = Searches(document)
    return PAGE(
        "page",
        finding=finding(document),
        features=searches.settings["features"],
        nonzeros=searches.settings["nonzeros"],
        seed=searches.settings["seed"],
        share=PENALTIES["l1 alone"][0],
        level=LEVEL,
        most=MOST_ROUNDS,
        tables="\n\n".join(
            PAGE("table", rows=rows, penalty=penalty, table=arrivals(searches, rows, penalty))
            for rows in searches.sizes
            for penalty in PENALTIES
        ),
    )


def finding(document: Mapping[str, Any]) -> str:
    """How many times as fast as the default several blocks are."""
    searches = Searches(document)
    several = [str(count) for count in BLOCKS if count > 1]
    parts = [
        PAGE(
            "times",
            rows=rows,
            penalty=penalty,
            times=_listed(
                significant(times, 2) if times else "(not arrived)"
                for times in (searches.times_as_fast(rows, penalty, way) for way in several)
            ),
        )
        for rows in searches.sizes
        for penalty in PENALTIES
    ]
    return PAGE("finding", blocks=_listed(several), parts="; ".join(parts))


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}"


def arrivals(searches: Searches, rows: int, penalty: str) -> str:
    """A line for every way to the minimum."""
    lines = []
    for way in ways():
        name = PAGE(way) if way in (DEFAULT, ASCENT) else PAGE("blocks", blocks=way)
        record, at = searches.of(rows, penalty, way), searches.arrival(rows, penalty, way)
        if at is None:
            gap = f"{record['gaps'][-1]:.1e}"
            lines.append([name, f"not after {len(record['gaps']) - 1}: {gap}", "", "", ""])
        else:
            moved = in_bytes(at.bytes) if at.bytes else "0"
            seconds = duration(at.seconds), duration(at.work)
            lines.append([name, str(at.rounds), *seconds, moved])
    return table(["", "epochs", "seconds", "of all processors", "bytes moved"], lines)


# --- the figure ------------------------------------------------------------------------------

_LOOKS = {
    DEFAULT: dict(color="black", linestyle="--", marker="D"),
    "1": {**figures.LOOKS["law"], "marker": "x"},
    "2": figures.LOOKS["clock"],
    "4": figures.LOOKS["tables"],
    "8": figures.LOOKS["dense"],
}


def draw(document: Mapping[str, Any]) -> Figure:
    """The gap against rounds, bytes and seconds, a row of panels for every size and penalty."""
    searches = Searches(document)
    rows = [(size, penalty) for size in searches.sizes for penalty in PENALTIES]
    figure, axes = figures.new(columns=3, rows=len(rows), width=9.6, height=2.9 * len(rows))
    for (size, penalty), (by_rounds, by_bytes, by_seconds) in zip(rows, axes, strict=True):
        for way in _LOOKS:
            record = searches.of(size, penalty, way)
            gaps = np.maximum(record["gaps"], 1e-7)
            rounds = np.arange(len(gaps))
            _line(by_seconds, record["seconds"], gaps, way)
            if way != DEFAULT:
                _line(by_rounds, rounds, gaps, way)
            if way not in (DEFAULT, "1"):
                _line(by_bytes, np.array(record["bytes"]) / 1e6, gaps, way)
        by_rounds.set_ylabel(f"{size:,} rows, {penalty}\ngap")
        for ax, label in (
            (by_rounds, "rounds"), (by_bytes, "MB moved"),
            (by_seconds, "seconds, a processor per block"),
        ):  # fmt: skip
            ax.set_xlabel(label)
            ax.axhline(LEVEL, color="0.8", linewidth=0.8, zorder=0)
    axes[0][2].legend(fontsize="small")
    return figure  # type: ignore[no-any-return]


def _line(ax: Axes, x: Any, gaps: Any, way: str) -> None:
    name = "default" if way == DEFAULT else f"K = {way}"
    every = max(1, len(gaps) // 8)
    ax.semilogy(x, gaps, **{**_LOOKS[way], "markersize": 3.5}, markevery=every, label=name)
