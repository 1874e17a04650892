"""Part (d) of the study ``peers``: more features, nonzeros, labels, 64-bit indices; who fails?

Every run generates its rows, and learns them in a process of its own, which is ended where it takes
too long or too much memory.  A peer that failed at one size is not asked for a larger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.multiclass import OneVsRestClassifier

from benchmarks.programs import ALL, present
from benchmarks.programs.base import LASSO, How, Peer
from benchmarks.programs.cage import DONE, Meter, caged
from lazynet import LazyNetClassifier
from lazynet.penalties import ElasticNet
from paper_repro.minima import LOGISTIC, SQUARED_HINGE, Task, largest_l1
from paper_repro.rows import Rows
from paper_repro.study import Cell, Record, Records, Settings

PART = "scale"
ROWS, FEATURES, NONZEROS = 2_000, 10_000, 50
#: The sizes of every axis in a full run; a quick run takes the first, and the last two.
AXES: dict[str, tuple[int, ...]] = {
    "features": (10**4, 10**5, 10**6, 10**7, 10**8),
    "nonzeros": (10, 100, 1_000, 5_000),
    "labels": (1, 10, 100, 1_000),
    "index bits": (32, 64),
}
QUICK_SIZES: dict[str, tuple[int, ...]] = {
    "features": (10**4, 10**6, 10**8),
    "nonzeros": (10, 1_000),
    "labels": (1, 100),
    "index bits": (32, 64),
}
#: Seconds after which a run is stopped.
QUICK_SECONDS, FULL_SECONDS = 2.0, 10.0
#: l1 as a share of the least l1 at which every weight is 0; C where there is no l1.
SHARE, COST = 0.1, 1.0
NOT_ASKED = "not asked"


def sizes(full: bool) -> dict[str, tuple[int, ...]]:
    return AXES if full else QUICK_SIZES


def cells(settings: Settings) -> Sequence[Cell]:
    seconds = FULL_SECONDS if settings.full else QUICK_SECONDS
    return [
        Cell(f"{PART}/{axis}/{size}/{name}", partial(asked, axis, size, name, seconds), 2.0)
        for axis, chosen in sizes(settings.full).items()
        for size in chosen
        for name in present()
    ]


def asked(axis: str, size: int, name: str, seconds: float, records: Records) -> Record:
    for key, record in records.items():
        part, *rest = key.split("/")
        if part == PART and rest[0] == axis and rest[2] == name and record["outcome"] != DONE:
            at = record["size"] if record["outcome"] == NOT_ASKED else int(rest[1])
            return {"outcome": NOT_ASKED, "why": f"failed at {at:,}", "size": at}
    return caged(partial(learned, present()[name], axis, size), seconds)


def learned(peer: Peer, axis: str, size: int) -> Record:
    """Rows of the size are generated and learned: one pass, or to the peer's own tolerance."""
    features = size if axis == "features" else FEATURES
    nonzeros = size if axis == "nonzeros" else NONZEROS
    X = generated(ROWS, features, nonzeros, wide=axis == "index bits" and size == 64)
    n_labels = size if axis == "labels" else 1
    Y = labels_of(X, n_labels)
    if n_labels > 1 and peer.name in TOGETHER:
        meter = Meter()
        with meter.measuring():
            TOGETHER[peer.name]().fit(X, Y)
        return meter.record()
    first = task_of(peer, X, np.where(Y[:, 0] > 0, 1.0, -1.0))
    how = How(passes=1) if peer.orders and not peer.to_minimum else How()
    meter = Meter()
    with meter.measuring():
        for label in range(n_labels):
            y = np.where(Y[:, label] > 0, 1.0, -1.0)
            task = Task(Rows(X, y, X[:1], y[:1], ""), first.loss, first.penalty)
            # Preparing counts: at these sizes it may be what fails.
            model = peer.fit(peer.prepare(task), task, how)
    if axis != "features" or size <= 10**6:
        weights = peer.weights(model, task)
        if not np.isfinite(weights).all():
            raise FloatingPointError("the weights are not finite")
    return meter.record()


def _ours() -> Any:
    return LazyNetClassifier(max_iter=1, tol=None)


def _theirs() -> Any:
    return OneVsRestClassifier(SGDClassifier("log_loss", max_iter=1, tol=None, random_state=0))


#: The peers that take many labels at once.
TOGETHER = {"lazynet AdaGrad": _ours, "scikit-learn SGD": _theirs}


def generated(rows: int, features: int, nonzeros: int, wide: bool) -> sparse.csr_matrix:
    generator = np.random.default_rng(0)
    # One column of each of as many equal ranges, so that no row has a column twice.
    step = features // nonzeros
    columns = generator.integers(0, step, (rows, nonzeros)) + step * np.arange(nonzeros)
    starts = np.arange(0, rows * nonzeros + 1, nonzeros)
    kind = np.int64 if wide else np.int32
    X = sparse.csr_matrix((rows, features))
    X.data = generator.random(rows * nonzeros)
    # Set one by one: SciPy narrows indices that it is given at once.
    X.indices, X.indptr = columns.ravel().astype(kind), starts.astype(kind)
    return X


def labels_of(X: sparse.csr_matrix, n_labels: int) -> Any:
    generator = np.random.default_rng(1)
    return (generator.random((X.shape[0], n_labels)) < 0.3).astype(np.int64)


def task_of(peer: Peer, X: sparse.csr_matrix, y: Any) -> Task:
    loss = LOGISTIC if LOGISTIC in peer.losses else SQUARED_HINGE
    rows = Rows(X, y, X[:1], y[:1], "")
    if LASSO in peer.penalties:
        return Task(rows, loss, ElasticNet(SHARE * largest_l1(rows, loss)))
    return Task(rows, loss, ElasticNet(0.0, 1.0 / (COST * len(y))))


# --- reading what was measured ---------------------------------------------------------------


class Scales:
    """The outcome of every run, by axis, peer and size."""

    def __init__(self, records: Records) -> None:
        self.found: dict[str, dict[str, dict[int, Record]]] = {}
        for key, record in records.items():
            part, *rest = key.split("/")
            if part == PART:
                axis, size, name = rest
                self.found.setdefault(axis, {}).setdefault(name, {})[int(size)] = record

    def peers(self, axis: str) -> list[str]:
        return [name for name in ALL if name in self.found[axis]]

    def sizes(self, axis: str) -> list[int]:
        return sorted({size for each in self.found[axis].values() for size in each})

    def share_of_wall(self) -> float:
        """The median share of the seconds on the wall in which a fit had a processor."""
        shares = [
            record["seconds"] / record["wall"]
            for axis in self.found.values()
            for records in axis.values()
            for record in records.values()
            if record["outcome"] == DONE
        ]
        return min(1.0, median(shares))

    def failures(self, axis: str) -> dict[str, str]:
        """Where every peer that failed failed first, and how."""
        return {
            name: f"{size:,}: {record['why']}"
            for name in self.peers(axis)
            for size, record in sorted(self.found[axis][name].items())
            if record["outcome"] not in (DONE, NOT_ASKED)
        }
