"""Rows of several shapes, generated or from a folder of svmlight files, for fits to the minimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from paper_repro.documents import medline
from paper_repro.folder import rows_of_files, sets_in
from paper_repro.rows import Rows
from paper_repro.study import Settings


def documents(rows: int, features: int, nonzeros: float, form: str, settings: Settings) -> Rows:
    """Generated documents: their counts, TF-IDF, or the presence of words."""
    corpus = medline(min(rows, settings.examples), features, nonzeros, seed=settings.seed)
    X = corpus.X.sign() if form == "binary" else corpus.X
    if form == "TF-IDF":
        X = sparse.csr_matrix(TfidfTransformer().fit_transform(X))
    return Rows(X, corpus.y, X[:1], corpus.y[:1], corpus.origin)


def categories(rows: int, columns: int, each: int, settings: Settings) -> Rows:
    """One of ``each`` categories in every column, one-hot, and labels from a planted model."""
    generator = np.random.default_rng(settings.seed)
    n = min(rows, settings.examples)
    shares = 1.0 / np.arange(1, each + 1)
    chosen = generator.choice(each, (n, columns), p=shares / shares.sum())
    chosen = (chosen + each * np.arange(columns)).ravel()
    starts = np.arange(0, chosen.size + 1, columns)
    X = sparse.csr_matrix((np.ones(chosen.size), chosen, starts), shape=(n, columns * each))
    odds = X @ generator.standard_normal(X.shape[1]) - 2.0
    y = np.where(generator.random(n) < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)
    return Rows(X, y, X[:1], y[:1], f"generated from seed {settings.seed}")


SHAPES: dict[str, Callable[[Settings], Rows]] = {
    "short binary rows": partial(documents, 50_000, 300, 12.0, "binary"),
    "one-hot categories": partial(categories, 32_000, 12, 10),
    "word counts": partial(documents, 7_700, 7_700, 60.0, "counts"),
    "TF-IDF texts": partial(documents, 10_700, 133_000, 120.0, "TF-IDF"),
    "Medline-like counts": partial(documents, 60_000, 260_941, 88.54, "counts"),
}


def shapes(settings: Settings) -> Mapping[str, Callable[[], Rows]]:
    """What makes the rows, by the name of their shape or of their file."""
    made: dict[str, Callable[[], Rows]] = {n: partial(make, settings) for n, make in SHAPES.items()}
    for name, files in (sets_in(settings.folder) if settings.folder else {}).items():
        made[name] = partial(rows_of_files, *files, settings.seed)
    return made
