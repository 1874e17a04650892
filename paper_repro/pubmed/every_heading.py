"""One model that predicts all MeSH headings of the abstracts, learned in passes over all citations.

The labels are a sparse matrix with a column per heading, so that a pass over the citations learns
all headings.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import f1_score

from lazynet import LazyNetClassifier
from paper_repro.machine import memory_shortage
from paper_repro.pubmed.bag import Bag
from paper_repro.pubmed.study import split

# A fixed number of epochs: to judge the epochs, a fit would keep a second copy of all weights.
TRAINING: dict[str, Any] = dict(rule="fobos", max_iter=20, tol=None, dtype="float32")
# l1 is this number divided by the number of training citations.
L1_OF_A_CITATION = 0.03
# While rows are learned from, every weight takes a float32.  Then those that are not 0, taken as
# one in ten, become a sparse matrix: a double and an index each, in parts and as a whole.
_BYTES_OF_A_WEIGHT = 4 + 0.1 * 2 * (8 + 4)


def needed_bytes(n_words: int, n_headings: int) -> int:
    """An estimate of the memory for the weights.

    >>> needed_bytes(100_000, 1_000)
    640000000
    """
    return round(n_words * n_headings * _BYTES_OF_A_WEIGHT)


def learn_every_heading(
    bag: Bag, *, seed: int = 0, tell: Callable[[str], None] = print
) -> dict[str, Any] | None:
    """Figures about one model of all headings that training citations have, ready for JSON.

    None if there is nothing to learn from.  ``tell`` gets a line about the memory before training
    starts; too little memory is a figure, and no error.
    """
    indexed = bag.indexed()
    if indexed.X.shape[0] < 2:
        return None
    parts = split(indexed, seed)
    labels, labels_of_test = indexed.mesh[parts.train], indexed.mesh[parts.test]
    columns = np.flatnonzero(np.bincount(labels.indices, minlength=labels.shape[1]))
    n_words, n_headings = parts.X.shape[1], len(columns)
    needed = needed_bytes(n_words, n_headings)
    tell(
        f"all headings at once: {n_words:,} words x {n_headings:,} headings of the training "
        f"citations, about {needed / 1e9:.2g} GB of memory for the weights"
    )
    figures: dict[str, Any] = {
        "headings": n_headings,
        "all_headings": labels.shape[1],
        "training": len(parts.train),
        "test": len(parts.test),
        "weights": n_words * n_headings,
        "estimated_bytes": needed,
    }
    if shortage := memory_shortage(needed):
        return figures | {"not_trained": f"{shortage}; a larger --min-df leaves fewer words"}
    model = LazyNetClassifier(**TRAINING, l1=L1_OF_A_CITATION / len(parts.train), random_state=seed)
    started = time.perf_counter()
    model.fit(parts.X, labels[:, columns])
    seconds = time.perf_counter() - started
    width = labels.shape[1]
    predicted = _widened(model.predict(parts.X_test), columns, width)
    frequent = columns[np.asarray(labels[:, columns].sum(axis=0)).ravel() * 2 > len(parts.train)]
    guess = sparse.csr_matrix(np.ones((len(parts.test), len(frequent)), dtype=np.int64))
    return figures | {
        "epochs": int(model.n_iter_),
        "l1": float(model.l1),
        "seconds": seconds,
        "micro_f1": _micro_f1(labels_of_test, predicted),
        "guess": _micro_f1(labels_of_test, _widened(guess, frequent, width)),
        "frequent": len(frequent),
        "nonzero_weights": int(model.coef_.nnz),
    }


def _widened(found: sparse.csr_matrix, columns: NDArray[np.int64], width: int) -> sparse.csr_matrix:
    """The matrix with its columns at these places among ``width`` columns."""
    indices = columns[found.indices]
    return sparse.csr_matrix((found.data, indices, found.indptr), (found.shape[0], width))


def _micro_f1(labels: sparse.csr_matrix, predicted: sparse.csr_matrix) -> float:
    """F1 over all pairs of a citation and a heading."""
    return float(f1_score(labels, predicted, average="micro", zero_division=0))
