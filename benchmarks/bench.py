"""Study ``bench``: what does an epoch cost with each rule and storage?

All learn logistic regression from the same rows in turns.  Each line of a table is a ratio of two
processor times; most lines have a bound that the package sets out to reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from lazynet import Dense, FoBoS
from paper_repro.documents import Corpus, from_settings
from paper_repro.measure import turns
from paper_repro.render import Content, Dots, Table
from paper_repro.runs import ETA0, L1, L2, Epochs, plan
from paper_repro.score import Spread, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Examples that a dense engine visits in its turn.
DENSE_EXAMPLES = 200
#: Epochs in a round, from zero weights on.
EPOCHS = 5
#: The orders of the rows.
ORDERS = LYING, RANDOM = "as they lie", "in random order"


@dataclass(frozen=True)
class Line:
    """One line of a table: two competitors, and the bound on the ratio of their times."""

    label: str
    slow: str
    fast: str
    bound: float | None = None
    at_most: bool = False

    def verdict(self, measured: Spread) -> tuple[str, str]:
        """The bound in words, and whether the measured ratio keeps it."""
        if self.bound is None:
            return "", ""
        kept = measured.median <= self.bound if self.at_most else measured.median >= self.bound
        return f"{'<=' if self.at_most else '>='} {self.bound:g}", "holds" if kept else "MISSED"


DENSE = Line("dense / clock", "dense predictions", "clock")
LINES = (
    Line("elastic net (clock) / the same kernel, no penalty", "clock", "no penalty", 1.35, True),
    Line("RDA / clock", "rda", "clock", 0.95, True),
    Line("FTRL-Proximal / clock", "ftrl", "clock", 1.4, True),
    Line("AdaGrad, l1 / clock", "adagrad l1", "clock", 1.5, True),
    Line("AdaGrad, elastic net / clock", "adagrad", "clock", 2.2, True),
    Line("clock with exact averages, l2 / clock", "averaged l2", "clock", 1.3, True),
    Line("clock with exact averages, elastic net / clock", "averaged", "clock", 1.7, True),
    Line("tables / clock", "tables", "clock"),
    Line("dense with sparse predictions / clock", "dense", "clock", 150.0),
    DENSE,
)


def cells(settings: Settings) -> Sequence[Cell]:
    bench = Workbench(settings)
    return [
        Cell("corpus", lambda _: {"corpus": bench.corpus.statistics()}),
        *(
            Cell(f"{order}/round {k}", partial(bench.round, order, k), 15.0)
            for order in ORDERS
            for k in range(settings.repeats + 1)
        ),
    ]


class Workbench:
    """The corpora, and the competitors that take turns on them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def corpus(self) -> Corpus:
        return from_settings(self.settings)

    def round(self, order: str, repeat: int, _: Records) -> Record:
        """Seconds per example of all competitors, in turn in each epoch; round 0 does not count."""
        timed = self.learners(order)
        seconds = dict.fromkeys(timed, 0.0)
        for epoch in range(EPOCHS):
            for name in turns(list(timed), repeat + epoch):
                seconds[name] += timed[name]() / EPOCHS
        return seconds

    def learners(self, order: str) -> dict[str, Epochs]:
        """The competitors, at zero weights."""
        corpus, n = self.corpus, self.corpus.X.shape[0]
        visited = np.random.default_rng(0).permutation(n) if order == RANDOM else None
        few = (np.arange(n) if visited is None else visited)[:DENSE_EXAMPLES]

        def clock(*rule_and_penalty: Any, **options: Any) -> Epochs:
            return Epochs(corpus, plan(*rule_and_penalty, **options), visited)

        return {
            "clock": clock(),
            "no penalty": clock(l1=0.0, l2=0.0),
            "tables": clock(FoBoS(storage="tables")),
            "dense": Epochs(corpus, plan(FoBoS(storage="dense")), few),
            "dense predictions": Epochs(corpus, plan(FoBoS(storage=Dense(predictions=True))), few),
            "averaged": clock(FoBoS(average=True)),
            "averaged l2": clock(FoBoS(average=True), l1=0.0),
            **{rule: clock(rule) for rule in ("rda", "ftrl", "adagrad")},
            "adagrad l1": clock("adagrad", l2=0.0),
        }


class EpochTimes(Measured):
    """The times of all competitors, group by group."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.corpus = self.records["corpus"]["corpus"]
        #: The lines whose competitors were measured: an older run may lack some.
        self.lines = [line for line in LINES if line.slow in self.records[f"{LYING}/round 1"]]

    def ratio(self, group: str, line: Line) -> Spread:
        return self.round_ratios(group, line.slow, line.fast)

    def table(self, order: str) -> Table:
        """The ratios for one order of the rows; bounds are for rows as they lie."""
        found = {line: self.ratio(order, line) for line in self.lines}
        if order != LYING:
            rows = [[line.label, ratio] for line, ratio in found.items()]
            return Table([f"rows {order}", "median ratio (range)"], rows)
        judged = [[line.label, ratio, *line.verdict(ratio)] for line, ratio in found.items()]
        return Table([f"rows {order}", "median ratio (range)", "expected", ""], judged)


def content(document: Mapping[str, Any]) -> Content:
    measured = EpochTimes(document)
    corpus = measured.corpus
    nanoseconds = Spread.of([1e9 * each for each in measured.rounds(LYING, "clock")])
    return Content(
        f"An epoch that updates every weight at every example takes {measured.ratio(LYING, DENSE)} "
        "times as long as one on lazynet's clock.",
        [
            f"One thread, {corpus['examples']:,} documents with {corpus['features']:,} features "
            f"and {corpus['nonzeros_per_example']:.2f} nonzeros each on average "
            f"({corpus['origin']}). A round has {EPOCHS} epochs from zero weights on, in which all "
            f"take turns. A line is the ratio of the processor times of a round: its "
            f"median over {measured.repeats} rounds and its range (logistic loss, FoBoS, l1 = "
            f"{L1:g}, l2 = {L2:g}, rates {ETA0:g} / sqrt(t + 1)); where a line names another "
            "penalty, its clock still has both. *Expected* is the goal of the package.",
            *(measured.table(order) for order in ORDERS),
            f"The clock takes {nanoseconds} ns per example, "
            f"{significant(nanoseconds.median / corpus['nonzeros_per_example'])} ns per nonzero.",
        ],
        [
            Dots(
                "An epoch",
                "ratio of times",
                {line.label: dots(measured, line) for line in measured.lines},
            )
        ],
    )


def dots(measured: EpochTimes, line: Line) -> dict[str, float | Spread]:
    """The ratio for every order of the rows, and the bound."""
    found: dict[str, float | Spread] = {order: measured.ratio(order, line) for order in ORDERS}
    return found if line.bound is None else {**found, "expected": line.bound}
