"""Rows to learn from and rows to test on: a corpus that is divided, or two files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

from paper_repro.documents import Corpus, from_svmlight


@dataclass(frozen=True)
class Rows:
    """Rows to learn from and to test on; ``mattering`` are the planted features."""

    X: sparse.csr_matrix
    y: NDArray[np.float64]
    X_test: sparse.csr_matrix
    y_test: NDArray[np.float64]
    origin: str
    mattering: NDArray[np.intp] | None = None


def divided(
    corpus: Corpus,
    share: float,
    seed: int,
    mattering: NDArray[np.intp] | None = None,
    *,
    stratify: bool = True,
) -> Rows:
    """A share of the rows, drawn by the seed, is split off to test on."""
    X, X_test, y, y_test = train_test_split(
        corpus.X,
        corpus.y,
        test_size=share,
        random_state=seed,
        stratify=corpus.y if stratify else None,
    )
    return Rows(X, y, X_test, y_test, corpus.origin, mattering)


def with_test_file(corpus: Corpus, path: str | Path) -> Rows:
    """All rows of the corpus are learned from; the rows of the file are tested on."""
    return beside(corpus, from_svmlight(path, corpus.label))


def beside(corpus: Corpus, test: Corpus) -> Rows:
    """All rows of the first corpus are learned from; those of the second are tested on."""
    width = max(corpus.X.shape[1], test.X.shape[1])
    X, X_test = (_widened(X, width) for X in (corpus.X, test.X))
    return Rows(X, corpus.y, X_test, test.y, f"{corpus.origin}; tested on {test.origin}")


def _widened(X: sparse.csr_matrix, width: int) -> sparse.csr_matrix:
    return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
