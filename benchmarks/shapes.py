"""Rows of several shapes, generated, of scikit-learn or from a folder, for fits to the minimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from paper_repro.documents import medline
from paper_repro.folder import rows_of_files, sets_in
from paper_repro.rows import Rows
from paper_repro.study import Settings

TABLES, DENSE, TEXTS, MEDLINE, FILES = "tables", "dense", "texts", "like Medline", "files"


@dataclass(frozen=True)
class Shape:
    """The kind of some rows, how they are made, and whether a short run leaves them out."""

    kind: str
    rows: Callable[[Settings], Rows]
    large: bool = False


def documents(rows: int, features: int, nonzeros: float, form: str, settings: Settings) -> Rows:
    """Generated documents: their counts, TF-IDF, or the presence of words."""
    corpus = medline(min(rows, settings.examples), features, nonzeros, seed=settings.seed)
    X = corpus.X.sign() if form == "binary" else corpus.X
    if form == "TF-IDF":
        X = sparse.csr_matrix(TfidfTransformer().fit_transform(X))
    return _whole(X, corpus.y, corpus.origin)


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
    return _whole(X, _drawn(generator, odds), f"generated from seed {settings.seed}")


def numbers(rows: int, columns: int, correlation: float, settings: Settings) -> Rows:
    """Dense normal numbers, neighbours correlated, and labels from a planted sparse model."""
    generator = np.random.default_rng(settings.seed)
    X = generator.standard_normal((min(rows, settings.examples), columns))
    for j in range(1, columns):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1.0 - correlation**2) * X[:, j]
    planted = np.where(generator.random(columns) < 0.1, generator.standard_normal(columns), 0.0)
    return _whole(X, _drawn(generator, X @ planted), f"generated from seed {settings.seed}")


def shipped(name: str, settings: Settings) -> Rows:
    """A set that scikit-learn brings along: standardised, or grey values of at most 1."""
    if name == "digits":
        X, digits = load_digits(return_X_y=True)
        X, positive = X / 16.0, digits % 2 == 0
    else:
        X, positive = load_breast_cancer(return_X_y=True)
        X = StandardScaler().fit_transform(X)
    n = settings.examples
    return _whole(np.ascontiguousarray(X[:n]), np.where(positive[:n], 1.0, -1.0), "scikit-learn")


def _drawn(generator: np.random.Generator, odds: Any) -> Any:
    """Labels with these log odds."""
    return np.where(generator.random(len(odds)) < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)


def _whole(X: Any, y: Any, origin: str) -> Rows:
    """Rows to learn from; nothing is tested."""
    return Rows(X, y, X[:1], y[:1], origin)


SHAPES: dict[str, Shape] = {
    "short binary rows": Shape(TABLES, partial(documents, 50_000, 300, 12.0, "binary")),
    "short counts": Shape(TABLES, partial(documents, 12_000, 80, 14.0, "counts")),
    "one-hot categories": Shape(TABLES, partial(categories, 32_000, 12, 10)),
    "one-hot, few rows": Shape(TABLES, partial(categories, 1_500, 20, 60)),
    "breast cancer": Shape(DENSE, partial(shipped, "breast cancer")),
    "digits": Shape(DENSE, partial(shipped, "digits")),
    "dense, many rows": Shape(DENSE, partial(numbers, 6_000, 240, 0.5)),
    "dense, correlated": Shape(DENSE, partial(numbers, 2_000, 400, 0.95)),
    "dense, few rows": Shape(DENSE, partial(numbers, 120, 5_000, 0.5)),
    "word counts": Shape(TEXTS, partial(documents, 7_700, 7_700, 60.0, "counts")),
    "word counts, few rows": Shape(TEXTS, partial(documents, 1_000, 14_000, 110.0, "counts")),
    "TF-IDF texts": Shape(TEXTS, partial(documents, 10_700, 133_000, 120.0, "TF-IDF")),
    "TF-IDF, few rows": Shape(TEXTS, partial(documents, 800, 20_000, 90.0, "TF-IDF")),
    "TF-IDF, many rows": Shape(TEXTS, partial(documents, 30_000, 40_000, 60.0, "TF-IDF")),
    "Medline-like counts": Shape(MEDLINE, partial(documents, 60_000, 260_941, 88.54, "counts")),
    "Medline-like, a million rows": Shape(
        MEDLINE, partial(documents, 1_000_000, 260_941, 88.54, "counts"), large=True
    ),
}


def shapes(settings: Settings) -> Mapping[str, Shape]:
    """The rows by the name of their shape or of their file, as far as the settings choose them."""
    found = {name: each for name, each in SHAPES.items() if settings.full or not each.large}
    for name, files in (sets_in(settings.folder) if settings.folder else {}).items():
        found[name] = Shape(FILES, partial(_of_files, *files))
    words = [word.strip() for word in (settings.only or "").split(";")]
    chosen = {n: s for n, s in found.items() if any(w in f"{s.kind}: {n}" for w in words)}
    if not chosen:
        raise ValueError(
            f"no rows have {settings.only!r} in their kind or name: {', '.join(found)}"
        )
    return chosen


def _of_files(train: Any, test: Any, settings: Settings) -> Rows:
    return rows_of_files(train, test, settings.seed)
