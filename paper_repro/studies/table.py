"""Study ``table``: how many times faster are lazy updates than dense ones, like for like?

Lipton & Elkan's timing tables are rerun in tiers of implementation, from dictionaries in pure
Python to compiled code.  In each tier a lazy learner is measured in turns with a dense one that
computes the same weights, and the weights are compared.  ``table_lookup`` has the tiers that look
every element of a SciPy row up, and ``table_verdicts`` judges the ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse

from paper_repro.competitors import PLAINEST, READINGS, RULES, TIERS
from paper_repro.competitors.base import (
    CLOCK,
    DENSE,
    SPARSE_PREDICTIONS,
    TABLES,
    Competitor,
    Problem,
    weights_after,
)
from paper_repro.competitors.compiled import Dense as CompiledDense
from paper_repro.competitors.compiled import after_a_pass
from paper_repro.documents import Corpus, from_settings
from paper_repro.measure import Turn, in_turns, turns
from paper_repro.score import Spread, ratios
from paper_repro.studies.table_lookup import (
    DENSE_ROWS,
    LARGER,
    LOOKED_UP,
    QUICK_DENSE_ROWS,
    SHARED,
    TURN,
    compared,
    extrapolated,
    learner_name,
    learners,
    same_weights,
    shares,
)
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Converted rows of the interpreted tiers are large: ten kilobytes each as dictionaries.
MOST_ROWS = {"dicts": 10_000, "scipy": 20_000}
#: The weights of a tier are compared after as many examples as dense updates visit in
#: EQUALITY_TURNS turns, within the bounds EQUALITY_ROWS.
EQUALITY_TURNS, EQUALITY_ROWS = 10, (10, 1000)
#: Bytes of an array that outgrows the caches of today's processors.
UNCACHED = 2**30
#: The tiers of the page, of which ``PLAINEST`` stands for all readings.
SHOWN = ("dicts", "scipy", PLAINEST, "numpy", "compiled")


def cells(settings: Settings) -> Sequence[Cell]:
    bench = Workbench(settings)
    turn = settings.seconds
    cells = [
        Cell("corpus", lambda _: bench.corpus().statistics(), 5.0),
        Cell("memory bandwidth", lambda _: bench.bandwidth(), 2.0),
    ]
    for tier, competitors in TIERS.items():
        for rule in RULES:
            cells += bench.rounds(tier, rule, len(competitors) * turn)
            cells.append(
                Cell(
                    f"{tier}/{rule}/same weights",
                    partial(bench.same_weights, tier, rule),
                    2 * EQUALITY_TURNS * turn,
                )
            )
        cells.append(Cell(f"{tier}/empty rows", partial(bench.empty_rows, tier), turn))
    cells.append(Cell(f"{LOOKED_UP}/shares", lambda _: shares(bench.corpus().X)))
    for rule in RULES:
        learners_of_all = sum(map(len, READINGS.values())) + len(SHARED)
        # One example of a dense learner takes longer than a short turn.
        cells += bench.rounds(LOOKED_UP, rule, 1.5 + 2 * learners_of_all * TURN * turn)
        cells.append(
            Cell(
                f"{LOOKED_UP}/{rule}/same weights",
                partial(bench.same_weights_looked_up, rule),
                4.0 * bench.rows_looked_up,
            )
        )
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
        return after_a_pass(Problem(corpus.X, corpus.y, rule, np.zeros(corpus.X.shape[1])))

    @property
    def rows_looked_up(self) -> int:
        """The rows after which the weights are compared where elements are looked up."""
        return DENSE_ROWS if self.settings.full else QUICK_DENSE_ROWS

    def available(self, tier: str) -> int:
        return min(MOST_ROWS.get(tier, len(self.corpus().y)), len(self.corpus().y))

    def make(self, tier: str, rule: str, name: str, rows: int) -> Competitor:
        return TIERS[tier][name](self.start(rule).first(rows))

    def rounds(self, tier: str, rule: str, cost: float) -> list[Cell]:
        """The cells of a group, given about how many seconds a round takes."""
        group = f"{tier}/{rule}"
        return [Cell(f"{group}/warm-up", partial(self.warm_up, tier, rule), 2 * cost)] + [
            Cell(f"{group}/round {k}", partial(self.round, tier, rule, k), cost)
            for k in range(1, self.settings.repeats + 1)
        ]

    def warm_up(self, tier: str, rule: str, _: Records) -> Record:
        """Examples in a turn of each competitor; nothing else is recorded."""
        self.begin_group(tier, rule)
        for turn in self._turns.values():
            turn()
        return {name: turn.examples for name, turn in self._turns.items()}

    def begin_group(self, tier: str, rule: str) -> None:
        """Make the competitors of a group; only one group at a time is in memory."""
        self._turns.clear()
        seconds = self.settings.seconds
        if tier == LOOKED_UP:
            made, seconds = learners(self.start(rule)), TURN * seconds
        else:
            rows = self.available(tier)
            made = {name: self.make(tier, rule, name, rows) for name in TIERS[tier]}
        self._turns = {name: Turn(learner, seconds) for name, learner in made.items()}
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

        found = {name: weights_after(self.make(tier, rule, name, rows)) for name in TIERS[tier]}
        compiled = weights_after(CompiledDense(self.start(rule).first(rows)))
        return compared(found, compiled, tier, rule) | {"rows": rows}

    def same_weights_looked_up(self, rule: str, _: Records) -> Record:
        """The same comparison in every reading, over the weights of the share."""
        return dict(same_weights(self.start(rule), rule, self.rows_looked_up))

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
                began = time.process_time()
                for _ in range(passes):
                    np.multiply(array, 1.0, out=array)
                found.append(16 * size * passes / (time.process_time() - began))
            return found[1:]

        return {"weights": measure(self.corpus().X.shape[1]), "memory": measure(UNCACHED // 8)}


# --- reading what was measured ---------------------------------------------------------------


class TierTimes(Measured):
    """Seconds per example of all competitors, tier by tier and rule by rule."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.corpus = self.records["corpus"]
        #: All features by the nonzeros of an example.
        self.ideal: float = self.corpus["features_per_nonzero"]
        #: The rows and features that dense updates visit where elements are looked up.
        self.shares = self.records[f"{LOOKED_UP}/shares"]

    def seconds(self, tier: str, rule: str, name: str) -> list[float]:
        """Seconds per example, round by round."""
        if tier not in READINGS:
            return self.rounds(f"{tier}/{rule}", name)
        if name not in SHARED:
            return self.rounds(f"{LOOKED_UP}/{rule}", learner_name(tier, name))
        return self.on_share(tier, rule, name, LARGER)

    def on_share(self, tier: str, rule: str, name: str, part: str) -> list[float]:
        """Seconds per example, extrapolated from a share of the features."""
        seconds = self.rounds(f"{LOOKED_UP}/{rule}", learner_name(tier, name, part))
        return extrapolated(seconds, self.shares[part], self.corpus["features"])

    def median(self, tier: str, rule: str, name: str) -> float:
        return Spread.of(self.seconds(tier, rule, name)).median

    def ratio(self, tier: str, rule: str, slow: str, fast: str) -> Spread:
        return ratios(self.seconds(tier, rule, slow), self.seconds(tier, rule, fast))

    def examples(self, tier: str, rule: str, name: str) -> int:
        if tier in READINGS:
            tier, name = LOOKED_UP, learner_name(tier, name)
        return int(self.records[f"{tier}/{rule}/warm-up"][name])

    def equal(self, tier: str, rule: str) -> Record:
        if tier in READINGS:
            return self.records[f"{LOOKED_UP}/{rule}/same weights"][tier]
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
    """The tiers and rules of the page."""
    for tier in SHOWN:
        for rule in RULES:
            yield tier, rule


def all_groups() -> Iterator[tuple[str, str]]:
    """The tiers and rules whose weights are compared: every reading is one."""
    for tier in (*TIERS, *READINGS):
        for rule in RULES:
            yield tier, rule
