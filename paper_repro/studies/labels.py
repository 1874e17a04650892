"""Study ``labels``: a thousand labels, a part after the other: how much memory, and how long?

Each fit runs in a process of its own, whose peak of memory is measured.  The weights of a fit whose
labels learn in parts are compared, bit for bit, with those of the fit that learns all at once.
"""

from __future__ import annotations

import hashlib
import io
import multiprocessing
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import f1_score

from lazynet import LazyNetClassifier
from paper_repro import figures
from paper_repro.documents import medline
from paper_repro.pages import Template, table
from paper_repro.score import duration, in_bytes, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = Template.beside(__file__)

#: Labels; the words that speak for each; the share of their documents that the label is missing in.
LABELS, WORDS, MISSING = 1_000, 6, 0.1
#: The shares of the documents between which a word must occur to speak for a label.
RARE, FREQUENT = 5e-4, 5e-3
#: Examples of the settings to a document of this study, and the share that is held out.
EXAMPLES_OF_A_DOCUMENT, HELD_OUT = 50, 0.2
#: The types of the weights, and how many labels learn at the same time; None: all.
TYPES = ("float64", "float32")
AT_ONCE = (64, 256, None)
EPOCHS = 5
#: The rate of every step; l1 is the other number divided by the documents that are learned from.
RATE, L1_OF_A_DOCUMENT = 20.0, 0.2
#: Documents that there are at least.
_FEWEST_DOCUMENTS = 40
#: Bytes of a unit of ``ru_maxrss``.
_UNIT = 1 if sys.platform == "darwin" else 1024


def cells(settings: Settings) -> Sequence[Cell]:
    """A fit for every type of the weights and every number of labels at a time."""
    return [
        Cell(f"{dtype}/{_named(at_once)}", partial(_in_a_process, settings, LABELS, dtype, at_once))
        for dtype in TYPES
        for at_once in AT_ONCE
    ]


def _named(at_once: int | None) -> str:
    return "all" if at_once is None else str(at_once)


def documents(settings: Settings, n_labels: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Documents of the corpus, and a column of 0 and 1 per label.

    A label belongs to the documents in which one of its words occurs, but for some of them.
    """
    n_documents = max(settings.examples // EXAMPLES_OF_A_DOCUMENT, _FEWEST_DOCUMENTS)
    X = medline(n_documents, settings.features, settings.nonzeros, seed=settings.seed).X
    generator = np.random.default_rng(settings.seed)
    shares = np.bincount(X.indices, minlength=X.shape[1]) / n_documents
    usual = np.flatnonzero((shares >= RARE) & (shares <= FREQUENT))
    if len(usual) < n_labels:  # few documents, or few words
        usual = np.flatnonzero(shares)
    words = generator.choice(usual, n_labels * WORDS)
    speaks = (np.ones(len(words)), (words, np.repeat(np.arange(n_labels), WORDS)))
    Y = X @ sparse.csr_matrix(speaks, shape=(X.shape[1], n_labels))
    Y.data[:] = generator.random(Y.nnz) >= MISSING
    Y.eliminate_zeros()
    return X, sparse.csr_matrix(Y, dtype=np.int8)


def _in_a_process(
    settings: Settings, n_labels: int, dtype: str, at_once: int | None, _: Records
) -> Record:
    """One fit in a new process, so that the peak of its memory is that of this fit."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, settings, n_labels, dtype, at_once))
    process.start()
    sender.close()
    try:
        return dict(receiver.recv())
    except EOFError:
        process.join()
        raise RuntimeError(f"the process of a fit ended with code {process.exitcode}") from None
    finally:
        process.join()


def _send(sender: Connection, *arguments: Any) -> None:
    sender.send(measured(*arguments))


def measured(settings: Settings, n_labels: int, dtype: str, at_once: int | None) -> Record:
    """The memory, the time and the quality of one fit; prints the estimate before it begins."""
    X, Y = documents(settings, n_labels)
    n_train = X.shape[0] - max(1, round(HELD_OUT * X.shape[0]))
    weighting = TfidfTransformer(sublinear_tf=True).fit(X[:n_train])
    X_train, X_test = weighting.transform(X[:n_train]), weighting.transform(X[n_train:])
    Y_train, Y_test = Y[:n_train], Y[n_train:]
    model = LazyNetClassifier(
        rule="fobos", schedule="constant", eta0=RATE, l1=L1_OF_A_DOCUMENT / n_train,
        max_iter=EPOCHS, tol=None, dtype=dtype, outputs_at_once=at_once,
        random_state=settings.seed, verbose=1,
    )  # fmt: skip
    before = _peak()
    told = _FirstLine()
    began, clock = time.process_time(), time.perf_counter()
    with redirect_stdout(told):
        model.fit(X_train, Y_train)
    seconds, elapsed = time.process_time() - began, time.perf_counter() - clock
    peak = _peak()
    found = model.predict(X_test)
    return {
        "documents": n_train,
        "held_out": X.shape[0] - n_train,
        "features": X.shape[1],
        "labels": n_labels,
        "labels_of_a_document": Y.nnz / Y.shape[0],
        "nonzeros_of_a_document": X.nnz / X.shape[0],
        "estimate": told.line,
        "seconds": seconds,
        "elapsed": elapsed,
        "before": before,
        "peak": peak,
        "micro_f1": float(f1_score(Y_test, found, average="micro", zero_division=0)),
        "nonzeros": int(model.coef_.nnz),
        "digest": _digest(model),
    }


class _FirstLine(io.StringIO):
    """Passes the first line on, as soon as it is written, and drops the others."""

    line = ""

    def write(self, text: str) -> int:
        if not self.line and text.strip():
            self.line = text.strip()
            print(self.line, file=sys.__stdout__, flush=True)
        return len(text)


def _peak() -> int:
    """The largest number of bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def _digest(model: LazyNetClassifier) -> str:
    """A digest of every bit of the weights and intercepts."""
    digest = hashlib.sha256()
    coef = model.coef_
    for array, kind in (
        (coef.indptr, "<i8"), (coef.indices, "<i8"), (coef.data, "<f8"), (model.intercept_, "<f8"),
    ):  # fmt: skip
        digest.update(array.astype(kind).tobytes())
    return digest.hexdigest()


class Fits(Measured):
    """The records of all fits."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.names = [_named(at_once) for at_once in AT_ONCE]

    def of(self, dtype: str, name: str) -> Record:
        return self.records[f"{dtype}/{name}"]

    def all(self) -> list[tuple[str, str, Record]]:
        return [(dtype, name, self.of(dtype, name)) for dtype in TYPES for name in self.names]

    @property
    def equal(self) -> bool:
        """Whether labels in parts have the weights of all labels at once, bit for bit."""
        return all(
            len({self.of(dtype, name)["digest"] for name in self.names}) == 1 for dtype in TYPES
        )


# --- the page --------------------------------------------------------------------------------


def page(document: Mapping[str, Any]) -> str:
    fits = Fits(document)
    first = fits.of(TYPES[0], fits.names[0])
    few, most = fits.of(TYPES[-1], fits.names[0]), fits.of(TYPES[0], fits.names[-1])
    return PAGE(
        "page",
        finding=PAGE(
            "finding",
            labels=first["labels"],
            features=first["features"],
            few=in_bytes(few["peak"] - few["before"]),
            at_once=fits.names[0],
            most=in_bytes(most["peak"] - most["before"]),
            same=PAGE("the same" if fits.equal else "not the same"),
        ),
        labels=first["labels"],
        features=first["features"],
        documents=first["documents"],
        held_out=first["held_out"],
        seed=fits.settings["seed"],
        nonzeros=first["nonzeros_of_a_document"],
        words=WORDS,
        rare=RARE,
        frequent=FREQUENT,
        missing=MISSING,
        of_a_document=first["labels_of_a_document"],
        epochs=EPOCHS,
        rate=RATE,
        l1=L1_OF_A_DOCUMENT,
        table=fits_table(fits),
        equal=PAGE("equal") if fits.equal else PAGE("not equal"),
        few=few["estimate"],
        few_beside=in_bytes(few["peak"] - few["before"]),
        most=most["estimate"],
        most_beside=in_bytes(most["peak"] - most["before"]),
    )


def fits_table(fits: Fits) -> str:
    """A line for every fit."""
    return table(
        [
            "weights", "labels at once", "peak of memory", "before the fit", "processor time",
            "per label and example", "micro-F1", "weights that are not 0",
        ],
        [
            [
                dtype,
                name,
                in_bytes(record["peak"]),
                in_bytes(record["before"]),
                duration(record["seconds"]),
                duration(record["seconds"] / (EPOCHS * record["documents"] * record["labels"])),
                significant(record["micro_f1"]),
                f"{record['nonzeros']:,}",
            ]
            for dtype, name, record in fits.all()
        ],
    )  # fmt: skip


def draw(document: Mapping[str, Any]) -> Figure:
    """The peak of memory of every fit, and what was there before it."""
    fits = Fits(document)
    figure, ax = figures.new(width=6.4, height=3.2)
    looks = dict(zip(TYPES, ("dense", "clock"), strict=True))
    for dtype in TYPES:
        peaks = [fits.of(dtype, name)["peak"] / 1e9 for name in fits.names]
        ax.plot(range(len(peaks)), peaks, **figures.LOOKS[looks[dtype]], label=dtype)
    before = max(record["before"] for _, _, record in fits.all()) / 1e9
    ax.axhline(before, **figures.LOOKS["law"])
    ax.annotate("before the fit", (0, before), xytext=(0, -11), textcoords="offset points")
    ax.set_xticks(range(len(fits.names)), fits.names)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("labels that learn at the same time")
    ax.set_ylabel("peak of memory, GB")
    ax.legend()
    return figure  # type: ignore[no-any-return]
