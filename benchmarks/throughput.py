"""Study ``throughput``: seconds per example and memory of an epoch, for lazynet and other programs.

All programs train on the same rows in turns, each in a separate process on one core.
Seconds are those of the processor, of all threads of the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from statistics import median
from typing import Any

from benchmarks.minima import Task
from benchmarks.programs import ALL, participants, present
from benchmarks.programs.base import ANY, LASSO, LYING, NET, RANDOM, RIDGE, How, Peer
from benchmarks.programs.cage import DONE, Meter, caged
from benchmarks.programs.own import FoBoS
from benchmarks.programs.river_rows import River
from benchmarks.programs.sgd import SGD
from benchmarks.programs.wabbit import Plain
from lazynet.penalties import ElasticNet
from paper_repro.documents import Corpus, from_settings
from paper_repro.measure import turns
from paper_repro.render import Content, Dots, Table
from paper_repro.rows import Rows
from paper_repro.runs import ETA0, L1, L2
from paper_repro.score import Spread, in_bytes, ratios, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Strengths of the penalties.
STRENGTHS = {ANY[0]: (0.0, 0.0), LASSO: (L1, 0.0), RIDGE: (0.0, L2), NET: (L1, L2)}
#: Later passes that are timed together, the rounds and the rows at most, and the seconds after
#: which the passes of one program are stopped.
FULL = {"later": 4, "rounds": 5, "rows": 200_000, "seconds": 60.0}
QUICK = {"later": 2, "rounds": 2, "rows": 30_000, "seconds": 10.0}
#: The bounds: other programs' seconds in units of lazynet's, with an elastic net.
BOUNDS = ((LYING, Plain.name, 8.0), (LYING, SGD.name, 5.0), (RANDOM, SGD.name, 4.0))


def cells(settings: Settings) -> Sequence[Cell]:
    bench = Bench(settings)
    return [
        Cell("setting", bench.setting, 3.0),
        *(
            Cell(f"{order}/{kind}/{k}", partial(bench.round, order, kind, k), 10.0)
            for order in (LYING, RANDOM)
            for kind in ANY
            for k in range(bench.rounds)
        ),
    ]


class Bench:
    """The corpus, and the programs that take turns on it."""

    def __init__(self, settings: Settings) -> None:
        self.size = FULL if settings.full else QUICK
        rows = min(int(self.size["rows"]), settings.examples)
        self.settings = replace(settings, examples=rows)
        self.rounds = min(int(self.size["rounds"]), settings.repeats)
        #: The rows in a program's own form, which every penalty shares.
        self.prepared = lru_cache(maxsize=None)(self._prepared)

    @cached_property
    def corpus(self) -> Corpus:
        return from_settings(self.settings)

    def setting(self, _: Records) -> Record:
        return {**participants(), **self.corpus.statistics()}

    def task(self, kind: str, most: int | None) -> Task:
        X, y = self.corpus.X[:most], self.corpus.y[:most]
        return Task(Rows(X, y, X[:1], y[:1], ""), ElasticNet(*STRENGTHS[kind]))

    def _prepared(self, name: str) -> Any:
        return ALL[name].prepare(self.task(NET, ALL[name].most_rows))

    def round(self, order: str, kind: str, repeat: int, _: Records) -> Record:
        """Seconds per example of the first pass and of later ones, and memory, of every program."""
        found: Record = {}
        for name in turns(list(present()), repeat):
            peer = present()[name]
            task = self.task(kind, peer.most_rows)
            if order in peer.orders and peer.takes(task):
                rows, later = self.prepared(name), int(self.size["later"])
                run = partial(passes, peer, rows, task, order, later)
                found[name] = caged(run, float(self.size["seconds"]))
        return found


def passes(peer: Peer, rows: Any, task: Task, order: str, later: int) -> Record:
    """Seconds per example: a first pass by itself, and what each later pass adds."""
    n = len(task.y)
    how = How(rate=ETA0 if peer.has_rate else None, shuffle=order == RANDOM)
    # A fit of few rows comes first, so that nothing is loaded or compiled on the clock.
    small = replace(task, rows=replace(task.rows, X=task.X[:50], y=task.y[:50]))
    peer.fit(peer.prepare(small), small, How(passes=1))

    def run(count: int) -> Meter:
        meter = Meter()
        with meter.measuring():
            peer.fit(rows, task, replace(how, passes=count))
        return meter

    peer.fresh(rows)
    first, one, more = run(1), run(1), run(1 + later)
    return {
        "first": first.seconds / n,
        # Of few rows a pass may be shorter than the clock can tell.
        "later": max(more.seconds - one.seconds, 1e-9) / later / n,
        "peak": first.peak,
    }


class Passes(Measured):
    """Seconds per example by order, penalty and program."""

    def rounds_of(self, order: str, kind: str) -> list[Record]:
        return [record for (k, *_), record in self.group(order) if k == kind]

    def values(self, order: str, kind: str, name: str, what: str = "later") -> list[float]:
        """The values of every round, empty where the program did not run or did not end."""
        found = [each.get(name) for each in self.rounds_of(order, kind)]
        return [record[what] for record in found if record and record["outcome"] == DONE]

    def ratio(self, order: str, slow: str) -> Spread | None:
        """The seconds of a program in units of lazynet's, with an elastic net."""
        slower, faster = (self.values(order, NET, name) for name in (slow, FoBoS.name))
        return ratios(slower, faster) if slower and len(slower) == len(faster) else None

    def table(self, order: str) -> Table:
        """Nanoseconds of a later pass, and of the first one, for each penalty; and memory."""
        rows = []
        for name in ALL:
            cells, peaks = [], []
            for kind in ANY:
                later, first = (self.values(order, kind, name, w) for w in ("later", "first"))
                peaks += self.values(order, kind, name, "peak")
                told = f"{_ns(later)} ({_ns(first)})" if later else "-"
                cells.append(told)
            if any(cell != "-" for cell in cells):
                rows.append([name, *cells, in_bytes(max(peaks)) if peaks else "-"])
        return Table([f"{order}: ns of a later epoch (of the first)", *ANY, "memory"], rows)

    def failures(self) -> list[str]:
        found = {
            f"{name}, {kind}, {order}: {each['why']}"
            for order in (LYING, RANDOM)
            for kind in ANY
            for record in self.rounds_of(order, kind)
            for name, each in record.items()
            if each["outcome"] != DONE
        }
        return sorted(found)


def _ns(seconds: Sequence[float]) -> str:
    return significant(1e9 * median(seconds))


def content(document: Mapping[str, Any]) -> Content:
    found = Passes(document)
    setting = found.records["setting"]
    bounds = [
        [f"{name} / {FoBoS.name}, {order}", ratio, f">= {bound:g}",
         "holds" if ratio.median >= bound else "MISSED"]
        for order, name, bound in BOUNDS
        if (ratio := found.ratio(order, name)) is not None
    ]  # fmt: skip
    theirs = found.ratio(LYING, SGD.name)
    wabbit = found.ratio(LYING, Plain.name)
    failures = found.failures()
    return Content(
        f"One more epoch in the order of the rows with an elastic net: scikit-learn's "
        f"SGDClassifier takes {theirs} times as long as lazynet, and Vowpal Wabbit "
        f"{'(not measured)' if wabbit is None else wabbit} times.",
        [
            setting["text"],
            f"{setting['examples']:,} documents with {setting['features']:,} features and "
            f"{setting['nonzeros_per_example']:.1f} nonzeros each. Seconds are processor "
            f"seconds of all threads of the process, which runs on one core; medians of "
            f"{len(found.rounds_of(LYING, NET))} rounds. A *later* epoch is the additional time of "
            f"one more epoch; the *first* is a fit of one epoch, with all checks and copies. "
            f"Vowpal Wabbit parses text in its first epoch, and reads its own cache in later ones. "
            f"River runs on {min(River.most_rows, setting['examples']):,} rows. Memory is the "
            f"growth of the process during a fit of one epoch.",
            "The expected ratios were set on an AMD EPYC processor. lazynet waits for memory, the "
            "other programs compute; so the ratios are smaller where memory is slower.",
            Table(["elastic net", "ratio of a later epoch (range)", "expected", ""], bounds),
            *(found.table(order) for order in (LYING, RANDOM)),
            f"No figures, because the epochs did not end: {'; '.join(failures)}."
            if failures
            else "",
        ],
        [
            Dots(
                "A later epoch, elastic net",
                "seconds per example",
                {
                    name: {order: Spread.of(v) for order in (LYING, RANDOM)
                           if (v := found.values(order, NET, name))}
                    for name in ALL
                    if found.values(LYING, NET, name) or found.values(RANDOM, NET, name)
                },
            )
        ],
        width=7.5,
    )  # fmt: skip
