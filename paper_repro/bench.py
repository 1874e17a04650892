"""``python -m paper_repro.bench``: what the clock costs, and what the others do.

One thread, a corpus of Medline's shape, logistic loss, FoBoS, one epoch.  Prints what was measured
and what each line is expected to reach.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import SGDClassifier

from lazynet import LazyNetClassifier
from paper_repro.competitors.base import ETA0, L1, L2
from paper_repro.corpus import MEDLINE_FEATURES, Corpus, medline
from paper_repro.machine import describe_machine, provenance
from paper_repro.measure import in_turns
from paper_repro.runs import Epoch, recipe
from paper_repro.score import Spread, ratios

WIDER = 16
DENSE_EXAMPLES = 200
EPOCHS = 4


@dataclass(frozen=True)
class Line:
    """One line of the table: two competitors, and the bound on the ratio of their times."""

    label: str
    slow: str
    fast: str
    bound: float
    at_most: bool

    def verdict(self, measured: Spread) -> str:
        holds = measured.median <= self.bound if self.at_most else measured.median >= self.bound
        return "holds" if holds else "MISSED"

    def expected(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.bound:g}"


LINES = (
    Line("elastic net (clock) / the same kernel, no penalty", "clock", "no penalty", 1.35, True),
    Line("scikit-learn SGD, elastic net / clock", "sklearn en", "clock in fit", 4.0, False),
    Line("scikit-learn SGD, no penalty / clock", "sklearn none", "clock in fit", 1.0, False),
    Line("tables / clock", "tables", "clock", 2.5, False),
    Line("dense (vectorised) / clock", "dense", "clock", 150.0, False),
    Line(f"clock, {WIDER}x the features / clock", "clock wide", "clock", 2.0, True),
)


def epoch_of(fit: Callable[[int], object], n_examples: int) -> Callable[[], float]:
    """Seconds per example of an epoch inside ``fit``: what EPOCHS more of them add, each.

    What ``fit`` does once - checking the input above all - is in neither side of a ratio.
    """

    def run() -> float:
        seconds = []
        for epochs in (1, 1 + EPOCHS):
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit(epochs)
            seconds.append(time.perf_counter() - began)
        return (seconds[1] - seconds[0]) / EPOCHS / n_examples

    return run


def whole(fit: Callable[[int], object], n_examples: int, epochs: int) -> Callable[[], float]:
    """Seconds per example of a whole ``fit`` of so many epochs."""

    def run() -> float:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit(epochs)
        return (time.perf_counter() - began) / n_examples

    return run


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


def lazynet_fit(corpus: Corpus, shuffle: bool, record: bool) -> Callable[[int], object]:
    """The same by LazyNetClassifier, with or without evaluating the objective every epoch."""

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
            record_history=record,
        )
        return model.fit(corpus.X, corpus.y)

    return fit


def measure(corpus: Corpus, wide: Corpus, shuffle: bool, repeats: int) -> str:
    """One table, as text."""
    n = corpus.X.shape[0]
    order = np.random.default_rng(0).permutation(n) if shuffle else None
    clock = Epoch(corpus, "clock", recipe(), order)
    clock_wide = Epoch(wide, "clock", recipe(), order)
    dense = Epoch(corpus, "dense", recipe(), order, min(n, DENSE_EXAMPLES))
    prefix = replace(dense, engine="clock")
    tables = Epoch(corpus, "tables", recipe(), order)
    ours, theirs = lazynet_fit(corpus, shuffle, False), sklearn_fit(corpus, "elasticnet", shuffle)
    narrow = Corpus(corpus.X.astype(np.float32), corpus.y, corpus.origin)
    seconds = in_turns(
        {
            "clock": clock,
            "no penalty": Epoch(corpus, "clock", recipe(l1=0.0, l2=0.0), order),
            "tables": tables,
            "tables small": replace(tables, table_budget=4096),
            "dense": dense,
            "dense predictions": replace(dense, dense_predictions=True),
            "clock wide": clock_wide,
            "clock in fit": epoch_of(ours, n),
            "clock in fit, history": epoch_of(lazynet_fit(corpus, shuffle, True), n),
            "sklearn en": epoch_of(theirs, n),
            "sklearn none": epoch_of(sklearn_fit(corpus, None, shuffle), n),
            "clock fit": whole(ours, n, 1),
            "sklearn fit": whole(theirs, n, 1),
            "clock, float32": Epoch(narrow, "clock", recipe(), order),
        },
        repeats,
    )
    prefix()
    # Each line is held to what it should reach on rows as they lie; in random order the latency
    # of memory, which every competitor pays, takes its share of each ratio.
    judged = not shuffle
    lines = [
        "| one epoch, logistic loss, FoBoS, rows "
        + ("in random order" if shuffle else "as they lie")
        + " | median ratio (range) | expected | |",
        "|---|---|---|---|",
    ]
    for line in LINES:
        found = ratios(seconds[line.slow], seconds[line.fast])
        marks = f"{line.expected()} | {line.verdict(found)}" if judged else "|"
        lines.append(f"| {line.label} | {found} | {marks} |")
    for label, slow, fast in (
        ("dense, dense predictions too / clock", "dense predictions", "clock"),
        ("scikit-learn, elastic net / clock, whole fits of one epoch", "sklearn fit", "clock fit"),
        ("clock with the objective in history_ / without", "clock in fit, history", "clock in fit"),
        ("tables of 4,096 steps / clock", "tables small", "clock"),
        ("clock, float32 values / float64", "clock, float32", "clock"),
    ):
        lines.append(f"| {label} | {ratios(seconds[slow], seconds[fast])} | | |")
    lines += [
        "",
        f"clock: {Spread.of([s * 1e9 for s in seconds['clock']])} ns per example, "
        f"{statistics_per_nonzero(seconds['clock'], corpus)} ns per nonzero; reading all weights "
        f"at the end takes {clock.read_seconds * 1e3:.2g} ms ({corpus.X.shape[1]:,} features) and "
        f"{clock_wide.read_seconds * 1e3:.2g} ms ({wide.X.shape[1]:,})",
        f"same weights: max |clock - tables| = {np.abs(clock.weights - tables.weights).max():.2g} "
        f"after {n:,} steps, max |clock - dense| = "
        f"{np.abs(prefix.weights - dense.weights).max():.2g} after {dense.n_examples} "
        f"(largest weight {np.abs(clock.weights).max():.3g})",
    ]
    return "\n".join(lines)


def statistics_per_nonzero(seconds: list[float], corpus: Corpus) -> str:
    per_row = corpus.X.nnz / corpus.X.shape[0]
    return str(Spread.of([s * 1e9 / per_row for s in seconds]))


def memory(corpus: Corpus) -> str:
    """Bytes per feature that ``fit`` needs at its peak, beyond X and the coefficients."""
    y = corpus.y
    tracemalloc.start()
    model = LazyNetClassifier(l1=L1, l2=L2, eta0=ETA0, max_iter=2, tol=None).fit(corpus.X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    coefficients = model.coef_.nbytes
    features = corpus.X.shape[1]
    return (
        f"memory: fit on {features:,} features peaks at {peak / 1e6:.1f} MB beyond X and y, of "
        f"which {coefficients / 1e6:.1f} MB are the coefficients it returns: "
        f"{(peak - coefficients) / features:.2f} bytes per feature"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m paper_repro.bench", description=__doc__)
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=MEDLINE_FEATURES)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(describe_machine(provenance()))
    corpus = medline(options.examples, options.features, seed=options.seed)
    wide = medline(options.examples, WIDER * options.features, seed=options.seed)
    print(f"corpus: {corpus.describe()}\n  wide: {wide.describe()}\n")
    print(measure(corpus, wide, False, options.repeats) + "\n", flush=True)
    print(measure(corpus, wide, True, options.repeats) + "\n")
    print(memory(wide))


if __name__ == "__main__":
    main()
