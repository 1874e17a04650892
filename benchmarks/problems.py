"""Problems for whole fits: rows in several forms, of two classes, several classes, or numbers.

The files of a folder, generated rows, and the small sets that scikit-learn brings along.  A form is
made of the raw values, and whatever it computes, it computes from the training rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler

from paper_repro.documents import Corpus, medline, read_svmlight
from paper_repro.folder import TEST_SHARE, rows_of_files, sets_in
from paper_repro.rows import Rows, beside, divided
from paper_repro.study import Settings

TWO, SEVERAL, NUMBERS = "two classes", "several classes", "numbers"
RAW, TFIDF, SCALED = "raw", "TF-IDF", "scaled"
#: A file with more labels than this has no several-class problem.
MOST_CLASSES = 50
#: Rows and words of the generated documents in a quick run and in a full one: so many rows to a
#: word that the planted model can be found.
QUICK_DOCUMENTS, FULL_DOCUMENTS = (10_000, 5_000), (40_000, 20_000)
#: The share of the documents that are in a rare class.
RARE = 0.02
#: The other generated set: rows, features, and the share of values that are not zero.
DENSE_ROWS, DENSE_FEATURES, DENSE_SHARE = 5_000, 100, 0.5
#: The noise of the generated targets, in units of their standard deviation.
NOISE = 0.3


@dataclass(frozen=True)
class Problem:
    """What the targets are, the forms of the rows, and how the rows are made."""

    kind: str
    forms: tuple[str, ...]
    rows: Callable[[], Rows]
    classes: int = 2


def problems(settings: Settings) -> dict[str, Problem]:
    """The generated problems by their names, and those of the files in the folder."""
    found = {
        name: Problem(kind, forms, partial(make, settings, kind))
        for name, (kind, forms, make) in _GENERATED.items()
    }
    for files in sets_in(settings.folder).values() if settings.folder else ():
        found |= _of_file(*files, settings.seed)
    return found


def in_form(rows: Rows, form: str) -> Rows:
    """The rows in another form."""
    X, X_test = rows.X, rows.X_test
    if form == TFIDF:
        counts = bool(((X.data >= 0) & (X.data == np.floor(X.data))).all())
        if not counts:  # the presence of features is weighted
            X, X_test = _ones(X), _ones(X_test)
        made = TfidfTransformer().fit(X)
    elif form == SCALED:
        made = MaxAbsScaler().fit(X)
    else:
        return rows
    return replace(rows, X=made.transform(X), X_test=made.transform(X_test))


def _ones(X: sparse.csr_matrix) -> sparse.csr_matrix:
    ones = X.copy()
    ones.eliminate_zeros()
    ones.data = np.ones_like(ones.data)
    return ones


def _of_file(train: Path, test: Path | None, seed: int) -> dict[str, Problem]:
    """One label against the rest, and all classes where a file has several; or numbers."""
    name = train.name.partition(".")[0]
    _, targets = read_svmlight(train)
    labels = {label for row in targets for label in row}
    single = all(len(row) == 1 for row in targets)
    if single and any(each != round(each) for each in labels):
        rows = partial(_targets_of_file, train, test, seed, classes=False)
        return {name: Problem(NUMBERS, (RAW, TFIDF), rows)}
    found = {name: Problem(TWO, (RAW, TFIDF), partial(rows_of_files, train, test, seed))}
    if single and 2 < len(labels) <= MOST_CLASSES:
        rows = partial(_targets_of_file, train, test, seed, classes=True)
        found[f"{name} ({len(labels)} classes)"] = Problem(SEVERAL, (RAW, TFIDF), rows, len(labels))
    return found


def _targets_of_file(train: Path, test: Path | None, seed: int, classes: bool) -> Rows:
    """The first target of every row, as it is."""
    corpus = _first_targets(train)
    if test is None:
        return divided(corpus, TEST_SHARE, seed, stratify=classes)
    return beside(corpus, _first_targets(test))


def _first_targets(path: Path) -> Corpus:
    X, targets = read_svmlight(path)
    return Corpus(X, np.array([row[0] for row in targets]), path.name)


def _documents(settings: Settings, kind: str, *, rare: bool = False) -> Rows:
    """Generated documents; their numbers are a planted linear function, and noise.

    Where a class is rare, it is the documents with the largest numbers.
    """
    rows, words = FULL_DOCUMENTS if settings.full else QUICK_DOCUMENTS
    rows, words = min(settings.examples, rows), min(settings.features, words)
    corpus = medline(rows, words, settings.nonzeros, seed=settings.seed)
    generator = np.random.default_rng(settings.seed)
    numbers = corpus.X.sqrt() @ generator.standard_normal(words)
    numbers += NOISE * numbers.std() * generator.standard_normal(rows)
    y = numbers if kind == NUMBERS else corpus.y
    if rare:
        y = np.where(numbers > np.quantile(numbers, 1 - RARE), 1.0, -1.0)
    return _divided(replace(corpus, y=y), settings, kind)


def _half_dense(settings: Settings, kind: str) -> Rows:
    """Rows of which half is not zero, whose features differ in scale, and noisy margins."""
    generator = np.random.default_rng(settings.seed)
    n = min(settings.examples, DENSE_ROWS)
    values = generator.standard_normal((n, DENSE_FEATURES))
    values *= generator.random(values.shape) < DENSE_SHARE
    y = values @ generator.standard_normal(DENSE_FEATURES)
    y += NOISE * y.std() * generator.standard_normal(n)
    if kind != NUMBERS:
        y = np.where(y > 0, 1.0, -1.0)
    X = sparse.csr_matrix(values * np.exp(generator.standard_normal(DENSE_FEATURES)))
    origin = f"generated from seed {settings.seed}"
    return _divided(Corpus(X, y, origin), settings, kind)


def _bundled(load: Callable[[], Any], settings: Settings, kind: str) -> Rows:
    found = load()
    X = sparse.csr_matrix(found.data.astype(np.float64))
    y = found.target.astype(np.float64)
    return _divided(Corpus(X, y, "bundled with scikit-learn"), settings, kind)


def _divided(corpus: Corpus, settings: Settings, kind: str) -> Rows:
    return divided(corpus, TEST_SHARE, settings.seed, stratify=kind != NUMBERS)


_DIABETES = partial(load_diabetes, scaled=False)
_GENERATED: Mapping[str, tuple[str, tuple[str, ...], Callable[[Settings, str], Rows]]] = {
    "documents": (TWO, (RAW, TFIDF), _documents),
    "rare class": (TWO, (RAW, TFIDF), partial(_documents, rare=True)),
    "half dense": (TWO, (RAW,), _half_dense),
    "breast cancer": (TWO, (RAW, SCALED), partial(_bundled, load_breast_cancer)),
    "digits": (SEVERAL, (RAW, SCALED), partial(_bundled, load_digits)),
    "documents, numbers": (NUMBERS, (RAW, TFIDF), _documents),
    "half dense, numbers": (NUMBERS, (RAW,), _half_dense),
    "diabetes": (NUMBERS, (RAW, SCALED), partial(_bundled, _DIABETES)),
}
