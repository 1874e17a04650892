"""Study ``bench``: what does an epoch of the clock cost beside scikit-learn and the other engines?

All competitors learn logistic regression from the same rows in turns.  Each line of the table is a
ratio of two times; most lines have a bound that the package sets out to reach.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier

from benchmarks.bench_files import FILES, Labelled, labelled_in, round_of_files
from benchmarks.bench_outputs import LABELS, MORE_LABELS, SETTINGS
from benchmarks.bench_outputs import fits as fits_of_outputs
from lazynet import (
    Dense,
    DualNetClassifier,
    DualNetClassifierCV,
    LazyNetClassifier,
    StabilisedSGDClassifier,
    Tables,
    net_path,
)
from paper_repro.documents import Corpus, from_settings, medline
from paper_repro.measure import turns
from paper_repro.minima import LOGISTIC, largest_l1
from paper_repro.rows import Rows
from paper_repro.runs import ETA0, L1, L2, Epoch, plan
from paper_repro.score import Spread, equality
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: How many times more features the wide corpus has.
WIDER = 16
#: Examples that a dense engine visits in its turn.
DENSE_EXAMPLES = 200
#: Epochs that a fit is timed over, and epochs of each path of stabilised SGD.
EPOCHS, PATH_EPOCHS = 4, 5
#: Epochs of many outputs: what a fit does besides takes as long as several of them.
OUTPUT_EPOCHS = 16
#: Orders of the rows, and whether they are shuffled.
ORDERS = {"as they lie": False, "in random order": True}
#: Steps that small tables hold.
SMALL_TABLES = 4096
#: A penalty under which most weights vanish.
STRONG_L1 = 1e-4
#: Rows that fits to the minimum are timed on, the points of their path, its smallest penalty as a
#: share of the largest, and the epochs of the clock beside one such fit.
MINIMUM_ROWS, POINTS, SMALLEST, CLOCK_EPOCHS = 10_000, 50, 1e-2, 10


@dataclass(frozen=True)
class Line:
    """One line of the table: two competitors, and the bound on the ratio of their times."""

    label: str
    slow: str
    fast: str
    bound: float | None = None
    at_most: bool = False

    def verdict(self, measured: Spread) -> tuple[str, str]:
        """The bound in words, and whether the measured ratio keeps it."""
        if self.bound is None:
            return "", ""
        if self.at_most:
            return f"<= {self.bound:g}", _holds(measured.median <= self.bound)
        return f">= {self.bound:g}", _holds(measured.median >= self.bound)


def _holds(holds: bool) -> str:
    return "holds" if holds else "MISSED"


LINES = (
    Line("elastic net (clock) / the same kernel, no penalty", "clock", "no penalty", 1.35, True),
    Line("scikit-learn SGD, elastic net / clock", "sklearn en", "clock in fit", 4.0),
    Line("scikit-learn SGD, no penalty / clock", "sklearn none", "clock in fit", 1.0),
    Line("tables / clock", "tables", "clock", 2.5),
    Line("dense with sparse predictions / clock", "dense", "clock", 150.0),
    Line(f"clock, {WIDER}x the features / clock", "clock wide", "clock", 2.0, True),
    Line("clock with exact averages / clock", "averaged", "clock", 1.6, True),
    Line("RDA / clock", "rda", "clock", 2.0, True),
    Line("FTRL-Proximal / clock", "ftrl", "clock", 2.0, True),
    Line("AdaGrad / clock", "adagrad", "clock", 1.6, True),
    Line("AdaGrad / clock, both with l1 alone", "adagrad l1", "clock l1", 1.6, True),
    Line("stabilised SGD, 4 paths: one thread / two", "one thread", "two threads", 1.6),
    Line("dense / clock", "dense predictions", "clock"),
    Line("clock with exact averages / clock, both without l1", "averaged l2", "clock l2"),
    Line(
        f"clock with exact averages / clock, both with l1 = {STRONG_L1:g}",
        "averaged strong",
        "clock strong",
    ),
    Line("scikit-learn, elastic net / clock, whole fits of one epoch", "sklearn fit", "clock fit"),
    Line("clock with the objective in history_ / without", "clock in fit, history", "clock in fit"),
    Line(f"tables of {SMALL_TABLES:,} steps / clock", "tables small", "clock"),
    Line("clock, float32 values / float64", "clock, float32", "clock"),
)
FITS = "whole fits"
#: Whole fits: with nothing set on all rows, and to the minimum on the first ones.
FIT_LINES = (
    Line("LazyNetClassifier / SGDClassifier", "lazynet", "sklearn", 2.0, True),
    Line("LazyNetClassifier / SGDClassifier with the log loss", "lazynet", "sklearn log loss"),
    Line(f"net_path of {POINTS} points / a fit at its smallest l1", "path", "its end", 6.0, True),
    Line("DualNetClassifierCV: one thread / two", "choice, one thread", "choice, two threads"),
    Line(f"DualNetClassifier / {CLOCK_EPOCHS} epochs of the clock", "minimum", "epochs"),
)
OUTPUTS = "many outputs"
#: Epochs of many outputs, each in seconds per example and output.
OUTPUT_LINES = (
    Line(
        f"one against the rest of scikit-learn SGD, elastic net / {LABELS} labels in one pass, "
        f"float32",
        "sklearn",
        "few, float32",
        20.0,
    ),
    Line("the same, float64", "sklearn", "few, float64", 10.0),
    Line(
        f"{MORE_LABELS} labels / {LABELS} labels, per label, float32",
        "many, float32",
        "few, float32",
        1.1,
        True,
    ),
    Line(f"{MORE_LABELS} labels: one thread / two", "many, float32", "many, two threads", 1.8),
    Line(f"a grid of {SETTINGS} settings, float32 / one setting", "grid", "one setting", 5.0, True),
)


def cells(settings: Settings) -> Sequence[Cell]:
    bench = Workbench(settings)
    return [
        Cell("corpus", bench.corpora),
        *(
            Cell(f"{order}/round {k}", partial(bench.round, order, k), 15.0)
            for order in ORDERS
            for k in range(settings.repeats + 1)
        ),
        *(
            Cell(f"{FITS}/round {k}", partial(bench.round_of_fits, k), 15.0)
            for k in range(settings.repeats + 1)
        ),
        *(
            Cell(f"{OUTPUTS}/round {k}", partial(bench.round_of_outputs, k), 30.0)
            for k in range(settings.repeats + 1)
        ),
        *(
            Cell(f"{FILES}/round {k}", partial(bench.round_of_files, k), 20.0)
            for k in range(settings.repeats + 1 if settings.folder is not None else 0)
        ),
        Cell("same weights", bench.same_weights),
        Cell("memory", bench.memory, 2.0),
    ]


# --- measuring -------------------------------------------------------------------------------


class Workbench:
    """The corpora, and the competitors that take turns on them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def corpus(self) -> Corpus:
        return from_settings(self.settings)

    @cached_property
    def wide(self) -> Corpus:
        rows, columns = self.corpus.X.shape
        nonzeros = self.corpus.X.nnz / rows
        return medline(rows, WIDER * columns, nonzeros, seed=self.settings.seed)

    def corpora(self, _: Records) -> Record:
        return {"corpus": self.corpus.statistics(), "wide": self.wide.statistics()}

    def competitors(self, shuffle: bool) -> dict[str, Callable[[], float]]:
        corpus, n = self.corpus, self.corpus.X.shape[0]
        order = np.random.default_rng(0).permutation(n) if shuffle else None
        few = (np.arange(n) if order is None else order)[:DENSE_EXAMPLES]

        def clock(*rule_and_penalty: Any, **options: Any) -> Epoch:
            return Epoch(corpus, plan(*rule_and_penalty, **options), order)

        ours, theirs = lazynet_fit(corpus, shuffle), sklearn_fit(corpus, "elasticnet", shuffle)
        narrow = Corpus(corpus.X.astype(np.float32), corpus.y, corpus.origin)
        return {
            "clock": clock(),
            "no penalty": clock(l1=0.0, l2=0.0),
            "tables": Epoch(corpus, plan(engine="tables"), order),
            "tables small": Epoch(corpus, plan(engine=Tables(SMALL_TABLES)), order),
            "dense": Epoch(corpus, plan(engine="dense"), few),
            "dense predictions": Epoch(corpus, plan(engine=Dense(predictions=True)), few),
            "clock wide": Epoch(self.wide, plan(), order),
            "clock in fit": epoch_of(ours, n),
            "clock in fit, history": epoch_of(lazynet_fit(corpus, shuffle, record=True), n),
            "sklearn en": epoch_of(theirs, n),
            "sklearn none": epoch_of(sklearn_fit(corpus, None, shuffle), n),
            "clock fit": whole(ours, n),
            "sklearn fit": whole(theirs, n),
            "averaged": clock(average=True),
            "clock l1": clock(l2=0.0),
            "adagrad l1": clock("adagrad", l2=0.0),
            "clock l2": clock(l1=0.0),
            "averaged l2": clock(l1=0.0, average=True),
            "clock strong": clock(l1=STRONG_L1),
            "averaged strong": clock(l1=STRONG_L1, average=True),
            **{rule: clock(rule) for rule in ("rda", "ftrl", "adagrad")},
            "clock, float32": Epoch(narrow, plan(), order),
            "one thread": paths_fit(corpus, 1),
            "two threads": paths_fit(corpus, 2),
        }

    def round(self, order: str, repeat: int, _: Records) -> Record:
        """Seconds per example of all competitors; round 0 does not count."""
        competitors = self.competitors(ORDERS[order])
        return {name: competitors[name]() for name in turns(list(competitors), repeat)}

    @cached_property
    def few_rows(self) -> Corpus:
        X, y = self.corpus.X[:MINIMUM_ROWS], self.corpus.y[:MINIMUM_ROWS]
        return Corpus(X, y, self.corpus.origin)

    @cached_property
    def smallest_l1(self) -> float:
        few = self.few_rows
        return SMALLEST * largest_l1(Rows(few.X, few.y, few.X, few.y, few.origin), LOGISTIC)

    def fits(self) -> dict[str, Callable[[], object]]:
        """Whole fits of all rows with nothing set, and fits of a few rows to the minimum."""
        X, y = self.corpus.X, self.corpus.y
        few, few_y = self.few_rows.X, self.few_rows.y
        epochs = lazynet_fit(self.few_rows, shuffle=True)
        end = DualNetClassifier(l1=self.smallest_l1, l2=0.0, fit_intercept=False, random_state=0)
        path: dict[str, Any] = dict(n_points=POINTS, smallest=SMALLEST, random_state=0)

        def choice(n_jobs: int) -> object:
            return DualNetClassifierCV(**path, n_jobs=n_jobs).fit(few, few_y)

        return {
            "lazynet": lambda: LazyNetClassifier(random_state=0).fit(X, y),
            "sklearn": lambda: SGDClassifier(random_state=0).fit(X, y),
            "sklearn log loss": lambda: SGDClassifier("log_loss", random_state=0).fit(X, y),
            "path": lambda: net_path(few, few_y, **path, fit_intercept=False),
            "its end": lambda: end.fit(few, few_y),
            "choice, one thread": lambda: choice(1),
            "choice, two threads": lambda: choice(2),
            "minimum": lambda: DualNetClassifier(random_state=0).fit(few, few_y),
            "epochs": lambda: epochs(CLOCK_EPOCHS),
        }

    def round_of_fits(self, repeat: int, _: Records) -> Record:
        """Seconds of all whole fits; round 0 does not count."""
        fits = self.fits()
        return {name: _clocked(fits[name]) for name in turns(list(fits), repeat)}

    def round_of_outputs(self, repeat: int, _: Records) -> Record:
        """Seconds per example and output of an epoch; round 0 does not count."""
        competitors, n = fits_of_outputs(self.corpus), self.corpus.X.shape[0]
        return {
            name: epoch_of(fit, n, EPOCHS if name == "sklearn" else OUTPUT_EPOCHS)() / n_outputs
            for name in turns(list(competitors), repeat)
            for fit, n_outputs in [competitors[name]]
        }

    @cached_property
    def files(self) -> dict[str, Labelled]:
        assert self.settings.folder is not None
        return labelled_in(self.settings.folder)

    def round_of_files(self, repeat: int, _: Records) -> Record:
        """Seconds and scores of whole fits of the files; round 0 does not count."""
        return round_of_files(self.files, repeat)

    def same_weights(self, _: Records) -> Record:
        """Compare the clock with the tables after an epoch, with the dense loop after few rows."""
        n = self.corpus.X.shape[0]
        few = min(n, DENSE_EXAMPLES)

        def weights(engine: str, rows: int) -> NDArray[np.float64]:
            epoch = Epoch(self.corpus, plan(engine=engine), np.arange(rows))
            epoch()
            return epoch.weights

        return {
            "few": few,
            "tables": equality(weights("clock", n), weights("tables", n), "clock and tables"),
            "dense": equality(weights("clock", few), weights("dense", few), "clock and dense"),
        }

    def memory(self, _: Records) -> Record:
        """The peak of the bytes that ``fit`` allocates, X and y not included."""
        tracemalloc.start()
        model = LazyNetClassifier(l1=L1, l2=L2, eta0=ETA0, max_iter=2, tol=None)
        model.fit(self.wide.X, self.wide.y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return {
            "features": self.wide.X.shape[1],
            "peak": peak,
            "coefficients": model.coef_.nbytes,
        }


def epoch_of(
    fit: Callable[[int], object], n_examples: int, epochs: int = EPOCHS
) -> Callable[[], float]:
    """Seconds per example of an epoch inside ``fit``: 1 + ``epochs`` epochs less one, divided.

    Work that ``fit`` does once, such as checking its input, cancels.
    """

    def run() -> float:
        return (_seconds(fit, 1 + epochs) - _seconds(fit, 1)) / epochs / n_examples

    return run


def whole(fit: Callable[[int], object], n_examples: int) -> Callable[[], float]:
    """Seconds per example of a whole ``fit`` of one epoch."""
    return lambda: _seconds(fit, 1) / n_examples


def paths_fit(corpus: Corpus, n_jobs: int) -> Callable[[], float]:
    """Seconds per step of a whole fit of stabilised SGD, its paths dealt out to threads.

    Each path visits the rows in random orders of its own.
    """

    def fit(epochs: int) -> object:
        model = StabilisedSGDClassifier("log_loss", max_iter=epochs, n_jobs=n_jobs, random_state=0)
        return model.fit(corpus.X, corpus.y)

    paths = StabilisedSGDClassifier().n_paths
    return lambda: _seconds(fit, PATH_EPOCHS) / (PATH_EPOCHS * paths * corpus.X.shape[0])


def _seconds(fit: Callable[[int], object], epochs: int) -> float:
    return _clocked(lambda: fit(epochs))


def _clocked(fit: Callable[[], object]) -> float:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit()
    return time.perf_counter() - began


def sklearn_fit(corpus: Corpus, penalty: str | None, shuffle: bool) -> Callable[[int], object]:
    """scikit-learn with the same loss, rates and strengths."""
    alpha = L1 + L2

    def fit(epochs: int) -> object:
        model = SGDClassifier(
            loss="log_loss",
            penalty=penalty,
            alpha=alpha,
            l1_ratio=L1 / alpha,
            learning_rate="invscaling",
            power_t=0.5,
            eta0=ETA0,
            max_iter=epochs,
            tol=None,
            shuffle=shuffle,
            random_state=0,
        )
        return model.fit(corpus.X, corpus.y)

    return fit


def lazynet_fit(corpus: Corpus, shuffle: bool, record: bool = False) -> Callable[[int], object]:
    """LazyNetClassifier with the same loss; ``record`` evaluates the objective every epoch."""

    def fit(epochs: int) -> object:
        model = LazyNetClassifier(
            l1=L1,
            l2=L2,
            schedule="inverse_sqrt",
            eta0=ETA0,
            max_iter=epochs,
            tol=None,
            shuffle=shuffle,
            random_state=0,
        )
        callback = (lambda epoch: epoch.objective < 0.0) if record else None
        return model.fit(corpus.X, corpus.y, callback=callback)

    return fit


# --- reading what was measured ---------------------------------------------------------------


class EpochTimes(Measured):
    """Seconds per example of all competitors, for both orders of the rows."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.corpus = self.records["corpus"]["corpus"]

    def ratio(self, group: str, line: Line) -> Spread:
        """The ratio of a line, in an order of the rows or of whole fits."""
        return self.round_ratios(group, line.slow, line.fast)

    @property
    def has_fits(self) -> bool:
        return f"{FITS}/round 1" in self.records

    @property
    def has_outputs(self) -> bool:
        return f"{OUTPUTS}/round 1" in self.records

    @property
    def rounds_of_files(self) -> list[Record]:
        """The rounds of the files, where the run has them."""
        if f"{FILES}/round 1" not in self.records:
            return []
        return [self.records[f"{FILES}/round {k}"] for k in range(self.repeats + 1)]
