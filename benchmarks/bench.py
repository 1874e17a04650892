"""Study ``bench``: what does an epoch cost beside scikit-learn and the other engines?

All competitors learn logistic regression from the same rows in turns.  Each line of a table is a
ratio of two times; most lines have a bound that the package sets out to reach.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from lazynet import Dense, FoBoS, LazyNetClassifier
from paper_repro.documents import Corpus, from_settings
from paper_repro.measure import turns
from paper_repro.render import Content, Dots, Table
from paper_repro.runs import ETA0, L1, L2, Epoch, plan
from paper_repro.score import Spread, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Examples that a dense engine visits in its turn.
DENSE_EXAMPLES = 200
#: Epochs that a fit is timed over.
EPOCHS = 4
Timed = Callable[[], float]
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


SKLEARN = Line("scikit-learn SGD, elastic net / clock", "sklearn en", "clock in fit", 4.0)
DENSE = Line("dense / clock", "dense predictions", "clock")
LINES = (
    Line("elastic net (clock) / the same kernel, no penalty", "clock", "no penalty", 1.35, True),
    SKLEARN,
    Line("scikit-learn SGD, no penalty / clock", "sklearn none", "clock in fit", 1.0),
    Line("tables / clock", "tables", "clock", 2.5),
    Line("dense with sparse predictions / clock", "dense", "clock", 150.0),
    Line("clock with exact averages / clock", "averaged", "clock", 1.6, True),
    Line("RDA / clock", "rda", "clock", 2.0, True),
    Line("FTRL-Proximal / clock", "ftrl", "clock", 2.0, True),
    Line("AdaGrad / clock", "adagrad", "clock", 1.6, True),
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
        """Seconds per example of all competitors in turn; round 0 does not count."""
        timed = self.epochs(order)
        return {name: timed[name]() for name in turns(list(timed), repeat)}

    def epochs(self, order: str) -> dict[str, Timed]:
        """Seconds per example of an epoch."""
        corpus, n = self.corpus, self.corpus.X.shape[0]
        visited = np.random.default_rng(0).permutation(n) if order == RANDOM else None
        few = (np.arange(n) if visited is None else visited)[:DENSE_EXAMPLES]

        def clock(*rule_and_penalty: Any, **options: Any) -> Epoch:
            return Epoch(corpus, plan(*rule_and_penalty, **options), visited)

        ours = lazynet_fit(corpus, shuffle=order == RANDOM)
        theirs, plain = (
            lambda epochs, penalty=penalty: sklearn_sgd(
                epochs, penalty=penalty, shuffle=order == RANDOM
            ).fit(corpus.X, corpus.y)
            for penalty in ("elasticnet", None)
        )
        return {
            "clock": clock(),
            "no penalty": clock(l1=0.0, l2=0.0),
            "tables": clock(FoBoS(storage="tables")),
            "dense": Epoch(corpus, plan(FoBoS(storage="dense")), few),
            "dense predictions": Epoch(corpus, plan(FoBoS(storage=Dense(predictions=True))), few),
            "averaged": clock(FoBoS(average=True)),
            **{rule: clock(rule) for rule in ("rda", "ftrl", "adagrad")},
            "clock in fit": epoch_of(ours, n),
            "sklearn en": epoch_of(theirs, n),
            "sklearn none": epoch_of(plain, n),
        }


def epoch_of(fit: Callable[[int], object], n_examples: int, epochs: int = EPOCHS) -> Timed:
    """Seconds per example of an epoch inside ``fit``: 1 + ``epochs`` epochs less one, divided.

    Work that ``fit`` does once, such as checking its input, cancels.
    """
    return lambda: (
        (seconds(lambda: fit(1 + epochs)) - seconds(lambda: fit(1))) / epochs / n_examples
    )


def seconds(fit: Callable[[], object]) -> float:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit()
    return time.perf_counter() - began


def sklearn_sgd(
    epochs: int, *, penalty: str | None = "elasticnet", shuffle: bool = True
) -> SGDClassifier:
    """scikit-learn with the same loss, rates and strengths."""
    return SGDClassifier(
        "log_loss", penalty=penalty, alpha=L1 + L2, l1_ratio=L1 / (L1 + L2), power_t=0.5,
        learning_rate="invscaling", eta0=ETA0, max_iter=epochs, tol=None, shuffle=shuffle,
        random_state=0,
    )  # fmt: skip


def lazynet_fit(corpus: Corpus, *, shuffle: bool) -> Callable[[int], object]:
    """LazyNetClassifier with the same loss, rates and strengths, for a number of epochs."""
    rule = FoBoS("inverse_sqrt", eta0=ETA0)
    return lambda epochs: LazyNetClassifier(
        l1=L1, l2=L2, rule=rule, max_iter=epochs, tol=None, shuffle=shuffle, random_state=0
    ).fit(corpus.X, corpus.y)


class EpochTimes(Measured):
    """The times of all competitors, group by group."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.corpus = self.records["corpus"]["corpus"]

    def ratio(self, group: str, line: Line) -> Spread:
        return self.round_ratios(group, line.slow, line.fast)

    def table(self, order: str) -> Table:
        """The ratios for one order of the rows; bounds are for rows as they lie."""
        rows = [
            [line.label, found, *(line.verdict(found) if order == LYING else ("", ""))]
            for line in LINES
            for found in [self.ratio(order, line)]
        ]
        return Table([f"rows {order}", "median ratio (range)", "expected", ""], rows)


def content(document: Mapping[str, Any]) -> Content:
    measured = EpochTimes(document)
    corpus = measured.corpus
    nanoseconds = Spread.of([1e9 * each for each in measured.rounds(LYING, "clock")])
    sklearn, dense = (measured.ratio(LYING, line) for line in (SKLEARN, DENSE))
    return Content(
        f"An epoch of scikit-learn's SGD with an elastic net takes {sklearn} times as long as "
        f"lazynet's, and updating every weight at every example {dense} times as long.",
        [
            f"One thread, {corpus['examples']:,} documents with {corpus['features']:,} features "
            f"and {corpus['nonzeros_per_example']:.2f} nonzeros each on average "
            f"({corpus['origin']}). A line is the ratio of two times taken in turns in one run: "
            f"its median over {measured.repeats} rounds and its range (logistic loss, FoBoS, l1 = "
            f"{L1:g}, l2 = {L2:g}, rates {ETA0:g} / sqrt(t + 1)). *Expected* is the goal of the "
            "package. The lines with scikit-learn compare the additional time of one more epoch.",
            *(measured.table(order) for order in ORDERS),
            f"The clock takes {nanoseconds} ns per example, "
            f"{significant(nanoseconds.median / corpus['nonzeros_per_example'])} ns per nonzero.",
        ],
        [Dots("An epoch", "ratio of times", {line.label: dots(measured, line) for line in LINES})],
    )


def dots(measured: EpochTimes, line: Line) -> dict[str, float | Spread]:
    """The ratio for every order of the rows, and the bound."""
    found: dict[str, float | Spread] = {order: measured.ratio(order, line) for order in ORDERS}
    return found if line.bound is None else {**found, "expected": line.bound}
