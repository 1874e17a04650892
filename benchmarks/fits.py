"""Study ``fits``: whole fits with nothing set, fits to the minimum, and many labels at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.multiclass import OneVsRestClassifier

from benchmarks.bench import (
    Line,
    Timed,
    epoch_of,
    lazynet_fit,
    ratios_and_bounds,
    seconds,
    sklearn_sgd,
)
from lazynet import DualNetClassifier, DualNetClassifierCV, LazyNetClassifier, net_path
from paper_repro.documents import Corpus, from_settings
from paper_repro.measure import turns
from paper_repro.minima import LOGISTIC, largest_l1
from paper_repro.render import Content, Table
from paper_repro.rows import Rows
from paper_repro.score import Spread
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Rows that fits to the minimum are timed on, the points of their path, its smallest penalty as a
#: share of the largest, and the epochs of the clock beside one such fit.
MINIMUM_ROWS, POINTS, SMALLEST, CLOCK_EPOCHS = 10_000, 50, 1e-2, 10
#: Labels, more labels, the share of the rows that has a label, and the share of deciding features.
LABELS, MORE_LABELS, POSITIVES, DECIDING = 32, 128, 0.05, 0.02
#: Epochs of many labels: what a fit does besides takes as long as several of them.
EPOCHS = 16
FITS, OUTPUTS = "whole fits", "many outputs"
FIRST = Line("LazyNetClassifier / SGDClassifier", "lazynet", "sklearn", 2.0, True)
SKLEARN = Line(f"scikit-learn / {LABELS} labels at once, float32", "sklearn", "few, float32", 20.0)
LINES: dict[str, tuple[Line, ...]] = {
    FITS: (
        FIRST,
        Line("LazyNetClassifier / SGDClassifier with the log loss", "lazynet", "sklearn log loss"),
        Line(f"net_path, {POINTS} points / a fit at its smallest l1", "path", "its end", 6.0, True),
        Line("DualNetClassifierCV: one thread / two", "choice, one thread", "choice, two threads"),
        Line(f"DualNetClassifier / {CLOCK_EPOCHS} epochs of the clock", "minimum", "epochs"),
    ),
    OUTPUTS: (
        SKLEARN,
        Line(f"scikit-learn / {LABELS} labels at once, float64", "sklearn", "few, float64", 10.0),
        Line(
            f"{MORE_LABELS} labels / {LABELS} labels, per label, float32",
            *("many, float32", "few, float32"),
            bound=1.1,
            at_most=True,
        ),
        Line(f"{MORE_LABELS} labels: one thread / two", "many, float32", "many, two threads", 1.8),
    ),
}


def cells(settings: Settings) -> Sequence[Cell]:
    def corpus(_: Records) -> Record:
        return {"corpus": from_settings(settings).statistics()}

    return [
        Cell("corpus", corpus),
        *(
            Cell(f"{group}/round {k}", partial(one_round, settings, group, k), 20.0)
            for group in LINES
            for k in range(settings.repeats + 1)
        ),
    ]


def one_round(settings: Settings, group: str, repeat: int, _: Records) -> Record:
    """The times of all competitors in turn; round 0 does not count."""
    corpus = from_settings(settings)
    timed = fits(corpus) if group == FITS else outputs(corpus)
    return {name: timed[name]() for name in turns(list(timed), repeat)}


def fits(corpus: Corpus) -> dict[str, Timed]:
    """Seconds of fits of all rows with nothing set, and of a few rows to the minimum."""
    X, y = corpus.X, corpus.y
    few, few_y = X[:MINIMUM_ROWS], y[:MINIMUM_ROWS]
    epochs = lazynet_fit(Corpus(few, few_y, corpus.origin), shuffle=True)
    l1 = SMALLEST * largest_l1(Rows(few, few_y, few, few_y, corpus.origin), LOGISTIC)
    end = DualNetClassifier(l1=l1, l2=0.0, fit_intercept=False, random_state=0)
    path: dict[str, Any] = dict(l1s=POINTS, smallest=SMALLEST, random_state=0)
    choice = partial(DualNetClassifierCV, l1s=POINTS, random_state=0)
    found: dict[str, Callable[[], object]] = {
        "lazynet": lambda: LazyNetClassifier(random_state=0).fit(X, y),
        "sklearn": lambda: SGDClassifier(random_state=0).fit(X, y),
        "sklearn log loss": lambda: SGDClassifier("log_loss", random_state=0).fit(X, y),
        "path": lambda: net_path(few, few_y, **path, fit_intercept=False),
        "its end": lambda: end.fit(few, few_y),
        "choice, one thread": lambda: choice(n_jobs=1).fit(few, few_y),
        "choice, two threads": lambda: choice(n_jobs=2).fit(few, few_y),
        "minimum": lambda: DualNetClassifier(random_state=0).fit(few, few_y),
        "epochs": lambda: epochs(CLOCK_EPOCHS),
    }
    return {name: partial(seconds, fit) for name, fit in found.items()}


def outputs(corpus: Corpus) -> dict[str, Timed]:
    """Seconds per example and label of an epoch."""
    n = corpus.X.shape[0]
    few, many = labels_of(corpus, LABELS), labels_of(corpus, MORE_LABELS)

    def ours(Y: sparse.csr_matrix, dtype: str, n_jobs: int = 1) -> Timed:
        fit = lazynet_fit(
            Corpus(corpus.X, Y, corpus.origin), shuffle=True, dtype=dtype, n_jobs=n_jobs
        )
        return epoch_of(fit, n * Y.shape[1], EPOCHS)

    def scikit_learn(epochs: int) -> object:
        return OneVsRestClassifier(sklearn_sgd(epochs)).fit(corpus.X, few)

    return {
        "sklearn": epoch_of(scikit_learn, n * LABELS),
        "few, float32": ours(few, "float32"),
        "few, float64": ours(few, "float64"),
        "many, float32": ours(many, "float32"),
        "many, two threads": ours(many, "float32", 2),
    }


def labels_of(corpus: Corpus, n_labels: int) -> sparse.csr_matrix:
    """Labels that depend on a few features each."""
    planted = sparse.random(corpus.X.shape[1], n_labels, DECIDING, format="csc", random_state=0)
    scores = (corpus.X @ planted).toarray()
    return sparse.csr_matrix(scores > np.quantile(scores, 1.0 - POSITIVES, axis=0), dtype=np.int8)


def content(document: Mapping[str, Any]) -> Content:
    measured = Measured(document)
    corpus = measured.records["corpus"]["corpus"]

    def ratio(group: str, line: Line) -> Spread:
        return measured.round_ratios(group, line.slow, line.fast)

    def table(group: str) -> Table:
        rows = [
            [line.label, found, *line.verdict(found)]
            for line in LINES[group]
            for found in [ratio(group, line)]
        ]
        return Table([group, "median ratio (range)", "expected", ""], rows)

    return Content(
        f"With default settings a fit of LazyNetClassifier takes {ratio(FITS, FIRST)} times as "
        f"long as one of scikit-learn's SGDClassifier; for {LABELS} labels scikit-learn takes "
        f"{ratio(OUTPUTS, SKLEARN)} times as long.",
        [
            f"{corpus['examples']:,} documents with {corpus['features']:,} features and "
            f"{corpus['nonzeros_per_example']:.2f} nonzeros each on average ({corpus['origin']}). "
            f"A line is the ratio of two times taken in turns in one run: its median over "
            f"{measured.repeats} rounds and its range. *Expected* is the goal of the package.",
            table(FITS),
            f"The lines with SGDClassifier are fits of all rows with default settings. The others "
            f"find the minimum for the first {min(MINIMUM_ROWS, corpus['examples']):,} rows; the "
            f"path ends at {SMALLEST:g} of the smallest l1 at which every weight is zero.",
            table(OUTPUTS),
            f"An epoch over rows in random order, in time per label. Every label is on "
            f"{POSITIVES:.0%} of the documents; scikit-learn fits each label against the rest.",
        ],
        [
            ratios_and_bounds(group.capitalize(), lines, ratio, [group])
            for group, lines in LINES.items()
        ],
        columns=1,
    )
