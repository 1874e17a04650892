"""Part (b) of the study ``peers``: seconds per example and memory, pass by pass.

All peers make passes over the same rows in turns, each in a process of its own on one core.
Seconds are those of the processor, of all threads of the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from statistics import median
from typing import Any

from sklearn.linear_model import SGDClassifier

from benchmarks.defaults_programs import CLASSIFIERS, OURS, Program
from benchmarks.defaults_programs import SGD as SGD_HINGE
from benchmarks.defaults_programs import SGD_LOG as SGD_LOGISTIC
from benchmarks.programs import ALL, present
from benchmarks.programs.base import ANY, LASSO, LYING, NET, RANDOM, RIDGE, How, Peer
from benchmarks.programs.cage import DONE, Meter, caged
from lazynet.penalties import ElasticNet
from paper_repro.documents import Corpus, from_settings
from paper_repro.measure import turns
from paper_repro.minima import LOGISTIC, Task
from paper_repro.rows import Rows
from paper_repro.runs import ETA0, L1, L2
from paper_repro.score import Spread, ratios
from paper_repro.study import Cell, Record, Records, Settings

PART = "throughput"
#: Strengths of the penalties.
STRENGTHS = {ANY[0]: (0.0, 0.0), LASSO: (L1, 0.0), RIDGE: (0.0, L2), NET: (L1, L2)}
#: Later passes that are timed together, and the rounds and the rows at most.
FULL_LATER, FULL_ROUNDS, FULL_ROWS = 4, 5, 200_000
QUICK_LATER, QUICK_ROUNDS, QUICK_ROWS = 2, 2, 30_000
#: Seconds after which the passes of one peer are stopped.
QUICK_SECONDS, FULL_SECONDS = 10.0, 60.0
#: Whole fits with nothing set, and scikit-learn with its elastic net and nothing else set.
UNTOUCHED, SGD_NET = "untouched", "SGD (elastic net)"


def cells(settings: Settings) -> Sequence[Cell]:
    bench = Bench(settings)
    found = [Cell(f"{PART}/setting", bench.setting, 3.0)]
    for order in (LYING, RANDOM):
        for kind in ANY:
            found += [
                Cell(f"{PART}/{order}/{kind}/{k}", partial(bench.round, order, kind, k), 10.0)
                for k in range(bench.rounds)
            ]
    return found + [
        Cell(f"{PART}/{UNTOUCHED}/{k}", partial(bench.untouched, k), 10.0)
        for k in range(bench.rounds)
    ]


class Bench:
    """The corpus, and the peers that take turns on it."""

    def __init__(self, settings: Settings) -> None:
        full = settings.full
        rows, rounds = (FULL_ROWS, FULL_ROUNDS) if full else (QUICK_ROWS, QUICK_ROUNDS)
        self.settings = replace(settings, examples=min(rows, settings.examples))
        self.rounds = min(rounds, settings.repeats)
        self.later = FULL_LATER if full else QUICK_LATER
        self.seconds = FULL_SECONDS if full else QUICK_SECONDS
        #: The rows in a peer's own form, which every penalty shares.
        self.prepared = lru_cache(maxsize=None)(self._prepared)

    @cached_property
    def corpus(self) -> Corpus:
        return from_settings(self.settings)

    def setting(self, _: Records) -> Record:
        return self.corpus.statistics()

    def task(self, kind: str, most: int | None = None) -> Task:
        X, y = self.corpus.X[:most], self.corpus.y[:most]
        return Task(Rows(X, y, X[:1], y[:1], ""), LOGISTIC, ElasticNet(*STRENGTHS[kind]))

    def _prepared(self, name: str) -> Any:
        peer = ALL[name]
        return peer.prepare(self.task(NET, peer.most_rows))

    def round(self, order: str, kind: str, repeat: int, _: Records) -> Record:
        """Seconds per example of the first pass and of later ones, and memory, of every peer."""
        found: Record = {}
        for name in turns(list(present()), repeat):
            peer = present()[name]
            task = self.task(kind, peer.most_rows)
            if order in peer.orders and peer.refuses(task) is None:
                rows = self.prepared(name)
                found[name] = caged(
                    partial(passes, peer, rows, task, order, self.later), self.seconds
                )
        return found

    def untouched(self, repeat: int, _: Records) -> Record:
        """Seconds of whole fits with nothing set."""
        rows = self.task(NET).rows
        chosen = whole_fits()
        return {
            name: caged(partial(_whole, chosen[name], rows), self.seconds)
            for name in turns(list(chosen), repeat)
        }


def whole_fits() -> dict[str, Program]:
    named = {name: CLASSIFIERS[name] for name in (OURS, SGD_HINGE, SGD_LOGISTIC)}
    return {**named, SGD_NET: Program(_sgd_net, None)}


def _sgd_net(seed: int) -> SGDClassifier:
    return SGDClassifier(penalty="elasticnet", random_state=seed)


def _whole(program: Program, rows: Rows) -> Record:
    return {"seconds": program.fitted(rows, None, 0)[1]}


def passes(peer: Peer, rows: Any, task: Task, order: str, later: int) -> Record:
    """Seconds per example: a first pass by itself, and what each later pass adds."""
    n = len(task.y)
    how = How(rate=ETA0 if peer.has_rate else None, shuffle=order == RANDOM)
    warm(peer, task)

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


def warm(peer: Peer, task: Task) -> None:
    """A fit of few rows, so that nothing is loaded or compiled on the clock."""
    few = replace(task.rows, X=task.X[:50], y=task.y[:50])
    small = replace(task, rows=few)
    peer.fit(peer.prepare(small), small, How(passes=1))


# --- reading what was measured ---------------------------------------------------------------


class Passes:
    """Seconds per example by order, penalty and peer."""

    def __init__(self, records: Records) -> None:
        self.corpus = records[f"{PART}/setting"]
        self.rounds: dict[tuple[str, str], list[Record]] = {}
        self.whole: list[Record] = []
        for key, record in records.items():
            part, *rest = key.split("/")
            if part == PART and len(rest) == 3:
                self.rounds.setdefault((rest[0], rest[1]), []).append(record)
            elif part == PART and rest[0] == UNTOUCHED:
                self.whole.append(record)

    def seconds(self, order: str, kind: str, name: str, what: str = "later") -> list[float]:
        """Seconds of every round, empty where the peer did not run or did not end."""
        found = [each.get(name) for each in self.rounds[order, kind]]
        return [record[what] for record in found if record and record["outcome"] == DONE]

    def names(self, order: str, kind: str) -> list[str]:
        return [name for name in ALL if self.seconds(order, kind, name)]

    def middle(self, order: str, kind: str, name: str, what: str = "later") -> float | None:
        found = [value for value in self.seconds(order, kind, name, what) if value is not None]
        return median(found) if found else None

    def fastest(self, order: str, kind: str) -> list[tuple[str, float]]:
        """The peers by the seconds of a later pass, the fastest first."""
        times = {name: self.middle(order, kind, name) for name in self.names(order, kind)}
        return sorted(((n, t) for n, t in times.items() if t is not None), key=lambda p: p[1])

    def ratio(self, order: str, kind: str, slow: str, fast: str) -> Spread | None:
        slower, faster = (self.seconds(order, kind, name) for name in (slow, fast))
        if len(slower) != len(faster) or not slower:
            return None
        return ratios(slower, faster)

    def whole_ratio(self, slow: str) -> Spread:
        return ratios(
            [record[slow]["seconds"] for record in self.whole],
            [record[OURS]["seconds"] for record in self.whole],
        )

    def failures(self) -> Mapping[str, str]:
        return {
            f"{name}, {kind}, {order}": record["why"]
            for (order, kind), rounds in self.rounds.items()
            for each in rounds
            for name, record in each.items()
            if record["outcome"] != DONE
        }
