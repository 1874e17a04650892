"""Study ``table``: how many times faster are lazy updates than dense ones, like for like?

Lipton & Elkan's timing tables are rerun in four tiers of implementation, from dictionaries in pure
Python to compiled code.  In each tier a lazy learner takes turns with a dense one that computes the
same weights, and the weights are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from paper_repro.competitors import DESCRIPTIONS, RULES, TIERS
from paper_repro.competitors.base import (
    CLOCK,
    DENSE,
    SPARSE_PREDICTIONS,
    TABLES,
    Competitor,
    Problem,
)
from paper_repro.competitors.compiled import Clock
from paper_repro.competitors.compiled import Dense as CompiledDense
from paper_repro.documents import Corpus, from_settings
from paper_repro.measure import Turn, in_turns, turns
from paper_repro.published import IDEAL, PUBLISHED
from paper_repro.score import Spread, equality, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Converted rows of the interpreted tiers are large: ten kilobytes each as dictionaries.
MOST_ROWS = {"dicts": 10_000, "scipy": 20_000}
#: The weights of a tier are compared after as many examples as dense updates visit in
#: EQUALITY_TURNS turns, within the bounds EQUALITY_ROWS.
EQUALITY_TURNS, EQUALITY_ROWS = 10, (10, 1000)
#: Bytes of an array that outgrows the caches of today's processors.
UNCACHED = 2**30
#: A ratio is called reproduced if its share of the ideal is within the first factor of the printed
#: share, and of the same order within the second.
REPRODUCED, SAME_ORDER = 1.5, 3.0
#: The printed ratios are compared only if the ideal of the corpus is within this factor of the
#: paper's.
ALIKE = 1.5


def cells(settings: Settings) -> Sequence[Cell]:
    bench = Workbench(settings)
    turn = settings.seconds
    cells = [
        Cell("corpus", lambda _: bench.corpus().statistics(), 5.0),
        Cell("memory bandwidth", lambda _: bench.bandwidth(), 2.0),
        Cell("element of a row", lambda _: bench.element_of_a_row()),
    ]
    for tier, competitors in TIERS.items():
        for rule in RULES:
            group = f"{tier}/{rule}"
            round_cost = len(competitors) * turn
            cells.append(
                Cell(f"{group}/warm-up", partial(bench.warm_up, tier, rule), 2 * round_cost)
            )
            cells += [
                Cell(f"{group}/round {k}", partial(bench.round, tier, rule, k), round_cost)
                for k in range(1, settings.repeats + 1)
            ]
            cells.append(
                Cell(
                    f"{group}/same weights",
                    partial(bench.same_weights, tier, rule),
                    2 * EQUALITY_TURNS * turn,
                )
            )
        cells.append(Cell(f"{tier}/empty rows", partial(bench.empty_rows, tier), turn))
    return cells


# --- measuring -------------------------------------------------------------------------------


class Workbench:
    """The corpus, the first weights of every run, and the competitors of the group under way."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.start: Callable[[str], Problem] = cache(self._start)
        self._group: tuple[str, str] | None = None
        self._turns: dict[str, Turn] = {}

    def corpus(self) -> Corpus:
        return from_settings(self.settings)

    def _start(self, rule: str) -> Problem:
        """The problem after a pass of the clock over the corpus.

        As in the middle of a long run, most weights are not zero, and dense updates have real work
        with each.
        """
        corpus = self.corpus()
        fresh = Problem(corpus.X, corpus.y, rule, np.zeros(corpus.X.shape[1]))
        first = Clock(fresh)
        first.begin()
        first.learn(0, len(corpus.y))
        return replace(fresh, weights=first.weights(), intercept=first.intercept, t=len(corpus.y))

    def available(self, tier: str) -> int:
        return min(MOST_ROWS.get(tier, len(self.corpus().y)), len(self.corpus().y))

    def make(self, tier: str, rule: str, name: str, rows: int) -> Competitor:
        return TIERS[tier][name](self.start(rule).first(rows))

    def warm_up(self, tier: str, rule: str, _: Records) -> Record:
        """Examples in a turn of each competitor; nothing else is recorded."""
        self.begin_group(tier, rule)
        for turn in self._turns.values():
            turn()
        return {name: turn.examples for name, turn in self._turns.items()}

    def begin_group(self, tier: str, rule: str) -> None:
        """Make the competitors of a group; only one group at a time is in memory."""
        self._turns.clear()
        rows = self.available(tier)
        self._turns = {
            name: Turn(self.make(tier, rule, name, rows), self.settings.seconds)
            for name in TIERS[tier]
        }
        self._group = (tier, rule)

    def round(self, tier: str, rule: str, repeat: int, records: Records) -> Record:
        """Seconds per example of all competitors, one after the other."""
        if self._group != (tier, rule):
            # A resumed run continues in a new process with cold caches.
            self.begin_group(tier, rule)
            for name, examples in records[f"{tier}/{rule}/warm-up"].items():
                self._turns[name].examples = examples
                self._turns[name]()
        return {name: self._turns[name]() for name in turns(list(self._turns), repeat)}

    def same_weights(self, tier: str, rule: str, records: Records) -> Record:
        """Compare all competitors' weights with the dense weights after the same examples."""
        dense_rate = records[f"{tier}/{rule}/round 1"][DENSE]
        least, most = EQUALITY_ROWS
        wanted = int(EQUALITY_TURNS * self.settings.seconds / dense_rate)
        rows = min(max(least, min(most, wanted)), self.available(tier))

        def weights(learner: Competitor) -> NDArray[np.float64]:
            learner.begin()
            learner.learn(0, rows)
            return learner.weights()

        found = {name: weights(self.make(tier, rule, name, rows)) for name in TIERS[tier]}
        compiled = weights(CompiledDense(self.start(rule).first(rows)))
        return {
            "rows": rows,
            "against dense": {
                name: equality(found[name], found[DENSE], f"{tier}, {rule}: {name} and {DENSE}")
                for name in found
                if name != DENSE
            },
            "against compiled": equality(
                found[DENSE], compiled, f"{rule}: {DENSE} in {tier} and compiled"
            ),
        }

    def empty_rows(self, tier: str, _: Records) -> Record:
        """Seconds per example of the lazy learners when examples have no features at all."""
        problem = self.start("fobos").first(min(2000, self.available(tier)))
        empty = replace(problem, X=sparse.csr_matrix(problem.X.shape))
        turn = self.settings.seconds / 10
        learners = {name: Turn(TIERS[tier][name](empty), turn) for name in (TABLES, CLOCK)}
        return in_turns(learners, self.settings.repeats)

    def bandwidth(self) -> Record:
        """Bytes a second that an in-place multiplication moves: one double read, one written."""

        def measure(size: int) -> list[float]:
            array = np.ones(size)
            found = []
            for _ in range(self.settings.repeats + 1):
                passes = max(1, int(2e7 / size))
                began = time.perf_counter()
                for _ in range(passes):
                    np.multiply(array, 1.0, out=array)
                found.append(16 * size * passes / (time.perf_counter() - began))
            return found[1:]

        return {"weights": measure(self.corpus().X.shape[1]), "memory": measure(UNCACHED // 8)}

    def element_of_a_row(self) -> Record:
        """Seconds to look up one element of a row of a SciPy matrix by its index."""
        row = self.corpus().X[0]
        wanted = range(0, row.shape[1], max(1, row.shape[1] // 2000))
        found = []
        for _ in range(self.settings.repeats):
            began = time.perf_counter()
            for j in wanted:
                row[0, j]
            found.append((time.perf_counter() - began) / len(wanted))
        return {"seconds": found}


# --- reading what was measured ---------------------------------------------------------------


class TierTimes(Measured):
    """Seconds per example of all competitors, tier by tier and rule by rule."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.corpus = self.records["corpus"]
        #: All features by the nonzeros of an example.
        self.ideal: float = self.corpus["features_per_nonzero"]

    def seconds(self, tier: str, rule: str, name: str) -> list[float]:
        """Seconds per example, round by round."""
        return self.rounds(f"{tier}/{rule}", name)

    def median(self, tier: str, rule: str, name: str) -> float:
        return Spread.of(self.seconds(tier, rule, name)).median

    def ratio(self, tier: str, rule: str, slow: str, fast: str) -> Spread:
        return self.round_ratios(f"{tier}/{rule}", slow, fast)

    def examples(self, tier: str, rule: str, name: str) -> int:
        return int(self.records[f"{tier}/{rule}/warm-up"][name])

    def equal(self, tier: str, rule: str) -> Record:
        return self.records[f"{tier}/{rule}/same weights"]

    def per_feature(self, tier: str, name: str = SPARSE_PREDICTIONS) -> float:
        """Seconds that dense updates of FoBoS spend on a feature."""
        return self.median(tier, "fobos", name) / self.corpus["features"]

    def per_nonzero(self, tier: str) -> float:
        """Seconds per nonzero of lazy updates of FoBoS, with the fixed cost of an example."""
        return self.median(tier, "fobos", TABLES) / self.corpus["nonzeros_per_example"]

    def overhead(self, tier: str) -> float:
        """Seconds that a lazy update spends on an example without features."""
        return Spread.of(self.records[f"{tier}/empty rows"][TABLES]).median

    def bytes_per_second(self, where: str) -> float:
        return Spread.of(self.records["memory bandwidth"][where]).median


def groups() -> Iterator[tuple[str, str]]:
    for tier in TIERS:
        for rule in RULES:
            yield tier, rule


class PrintedRatio(NamedTuple):
    """A printed ratio with the ratio found here; ``factor`` is the quotient of their shares."""

    where: str
    ratio: float
    found: Spread
    factor: float


def printed_ratios(measured: TierTimes) -> Iterator[PrintedRatio]:
    for (tier, rule), printed in PUBLISHED.items():
        for label, slow, ratio in (
            ("dense updates", DENSE, printed.dense_ratio),
            ("dense updates with sparse predictions", SPARSE_PREDICTIONS, printed.sparse_ratio),
        ):
            if ratio is None:
                continue
            found = measured.ratio(tier, rule, slow, TABLES)
            factor = (found.median / measured.ideal) / (ratio / IDEAL)
            yield PrintedRatio(
                f"{DESCRIPTIONS[tier]}, {RULES[rule]}, {label}", ratio, found, factor
            )


def is_alike(measured: TierTimes) -> bool:
    """Whether the printed ratios can be compared with those of this corpus."""
    return 1 / ALIKE <= measured.ideal / IDEAL <= ALIKE


def is_reproduced(factor: float) -> bool:
    return max(factor, 1 / factor) <= REPRODUCED


def verdict(factor: float) -> str:
    """The verdict in words on a factor: the share of the ideal found here by the printed share."""
    size = max(factor, 1 / factor)
    change = f"{significant(size, 2)} times {'larger' if factor > 1 else 'smaller'}"
    if is_reproduced(factor):
        return f"reproduced ({change})"
    return f"not reproduced ({change}{', of the same order' if size < SAME_ORDER else ''})"
