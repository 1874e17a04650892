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
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler

from paper_repro.documents import Corpus, from_svmlight, medline, read_svmlight
from paper_repro.folder import TEST_SHARE, sets_in
from paper_repro.rows import Rows, divided, with_test_file
from paper_repro.study import Settings

TWO, SEVERAL, NUMBERS = "two classes", "several classes", "numbers"
RAW, BINARY, TFIDF, SCALED = "raw", "binary", "TF-IDF", "scaled"
#: A file with more labels than this has no several-class problem.
MOST_CLASSES = 50
#: Rows and words of the generated documents in a quick run and in a full one: so many rows to a
#: word that the planted model can be found.
QUICK_DOCUMENTS, FULL_DOCUMENTS = (10_000, 5_000), (40_000, 20_000)
#: The share of the documents that are in a rare class.
RARE = 0.02
#: The other generated sets: rows, features, and the share of values that are not zero.
DENSE_ROWS, DENSE_FEATURES, DENSE_SHARE = 5_000, 100, 0.5
#: Rows of categories: rows, columns, and the categories of a column; the size of the log odds of a
#: category, and how far those of a row lie below 0 in the mean.
CATEGORY_ROWS, CATEGORY_COLUMNS, CATEGORIES = 10_000, 8, 1_000
CATEGORY_WEIGHT, CATEGORY_LEVEL = 0.4, 1.5
#: Rows of the regression on one feature, and the mean of its targets.
ONE_FEATURE, LEVEL = 250, 3.0
#: The noise of the generated targets, in units of their standard deviation.
NOISE = 0.3


@dataclass(frozen=True)
class Problem:
    """What the targets are, the forms of the rows, and how the rows are made."""

    kind: str
    forms: tuple[str, ...]
    rows: Callable[[], Rows]
    classes: int = 2


def in_form(rows: Rows, form: str) -> Rows:
    """The rows in another form."""
    X, X_test = _IN_FORM[form](rows.X, rows.X_test)
    return replace(rows, X=X, X_test=X_test)


def problems(settings: Settings) -> dict[str, Problem]:
    """Every problem by its name; a given file takes the place of what needs no file."""
    found: dict[str, Problem] = {}
    if settings.data is None:
        for name, (kind, forms, make) in _GENERATED.items():
            found[name] = Problem(kind, forms, partial(make, settings, kind))
    else:
        test = None if settings.test is None else Path(settings.test)
        found |= _of_file(Path(settings.data), test, settings.seed, settings.label)
    if settings.folder is not None:
        for files in sets_in(settings.folder).values():
            found |= _of_file(*files, settings.seed, None)
    return found


# --- forms -----------------------------------------------------------------------------------


def _raw(X: sparse.csr_matrix, X_test: sparse.csr_matrix) -> tuple[Any, Any]:
    return X, X_test


def _binary(X: sparse.csr_matrix, X_test: sparse.csr_matrix) -> tuple[Any, Any]:
    return tuple(_ones(each) for each in (X, X_test))  # type: ignore[return-value]


def _tfidf(X: sparse.csr_matrix, X_test: sparse.csr_matrix) -> tuple[Any, Any]:
    """Of the counts, or of the presence of features where the values are not counts."""
    if not _are_counts(X):
        X, X_test = _binary(X, X_test)
    weighting = TfidfTransformer().fit(X)
    return weighting.transform(X), weighting.transform(X_test)


def _scaled(X: sparse.csr_matrix, X_test: sparse.csr_matrix) -> tuple[Any, Any]:
    """Every feature divided by its largest absolute value."""
    scaling = MaxAbsScaler().fit(X)
    return scaling.transform(X), scaling.transform(X_test)


_IN_FORM: Mapping[str, Callable[[sparse.csr_matrix, sparse.csr_matrix], tuple[Any, Any]]] = {
    RAW: _raw,
    BINARY: _binary,
    TFIDF: _tfidf,
    SCALED: _scaled,
}


def forms_of(X: sparse.csr_matrix) -> tuple[str, ...]:
    """Raw, binary and TF-IDF, where they differ."""
    return (RAW, TFIDF) if (X.data == 1).all() else (RAW, BINARY, TFIDF)


def _ones(X: sparse.csr_matrix) -> sparse.csr_matrix:
    ones = X.copy()
    ones.eliminate_zeros()
    ones.data = np.ones_like(ones.data)
    return ones


def _are_counts(X: sparse.csr_matrix) -> bool:
    return bool(((X.data >= 0) & (X.data == np.floor(X.data))).all())


# --- files -----------------------------------------------------------------------------------


def _of_file(train: Path, test: Path | None, seed: int, label: str | None) -> dict[str, Problem]:
    """One label against the rest, and all classes where a file has several; or numbers."""
    name = train.name.partition(".")[0]
    X, targets = read_svmlight(train)
    forms = forms_of(X)
    labels = {label for row in targets for label in row}
    single = all(len(row) == 1 for row in targets)
    if single and label is None and any(each != round(each) for each in labels):
        rows = partial(_targets_of_file, train, test, seed, classes=False)
        return {name: Problem(NUMBERS, forms, rows)}
    found = {name: Problem(TWO, forms, partial(_label_of_file, train, test, seed, label))}
    if single and label is None and 2 < len(labels) <= MOST_CLASSES:
        rows = partial(_targets_of_file, train, test, seed, classes=True)
        found[f"{name} ({len(labels)} classes)"] = Problem(SEVERAL, forms, rows, len(labels))
    return found


def _label_of_file(train: Path, test: Path | None, seed: int, label: str | None) -> Rows:
    corpus = from_svmlight(train, label)
    return divided(corpus, TEST_SHARE, seed) if test is None else with_test_file(corpus, test)


def _targets_of_file(train: Path, test: Path | None, seed: int, classes: bool) -> Rows:
    """The first target of every row, as it is."""
    X, y = _first_targets(train)
    if test is None:
        return _divided(X, y, train.name, seed, stratify=classes)
    X_test, y_test = _first_targets(test)
    width = max(X.shape[1], X_test.shape[1])
    for each in (X, X_test):
        each.resize(each.shape[0], width)
    return Rows(X, y, X_test, y_test, f"{train.name}; tested on {test.name}")


def _first_targets(path: Path) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
    X, targets = read_svmlight(path)
    return X, np.array([row[0] for row in targets])


def _divided(
    X: sparse.csr_matrix,
    y: NDArray[np.float64],
    origin: str,
    seed: int,
    *,
    stratify: bool = True,
) -> Rows:
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, random_state=seed, stratify=y if stratify else None
    )
    return Rows(X, y, X_test, y_test, origin)


# --- what needs no file ----------------------------------------------------------------------


def _documents(settings: Settings, kind: str) -> Rows:
    """Generated documents; their numbers are a planted linear function, and noise."""
    corpus, numbers = _corpus(settings)
    y = numbers if kind == NUMBERS else corpus.y
    return _divided(corpus.X, y, corpus.origin, settings.seed, stratify=kind != NUMBERS)


def _rare_documents(settings: Settings, _: str) -> Rows:
    """The same documents; the few with the largest numbers are a class."""
    corpus, numbers = _corpus(settings)
    y = np.where(numbers > np.quantile(numbers, 1 - RARE), 1.0, -1.0)
    return _divided(corpus.X, y, corpus.origin, settings.seed)


def _corpus(settings: Settings) -> tuple[Corpus, NDArray[np.float64]]:
    rows, words = FULL_DOCUMENTS if settings.full else QUICK_DOCUMENTS
    rows, words = min(settings.examples, rows), min(settings.features, words)
    corpus = medline(rows, words, settings.nonzeros, seed=settings.seed)
    generator = np.random.default_rng(settings.seed)
    numbers = corpus.X.sqrt() @ generator.standard_normal(words)
    numbers += NOISE * numbers.std() * generator.standard_normal(rows)
    return corpus, numbers


def _categories(settings: Settings, _: str) -> Rows:
    """Rows with one of many categories in every column, which tell a little about a rare class."""
    generator = np.random.default_rng(settings.seed)
    n = min(settings.examples, CATEGORY_ROWS)
    shares = 1.0 / np.arange(1, CATEGORIES + 1)
    chosen = generator.choice(CATEGORIES, (n, CATEGORY_COLUMNS), p=shares / shares.sum())
    columns = (chosen + CATEGORIES * np.arange(CATEGORY_COLUMNS)).ravel()
    starts = np.arange(0, columns.size + 1, CATEGORY_COLUMNS)
    shape = n, CATEGORY_COLUMNS * CATEGORIES
    X = sparse.csr_matrix((np.ones(columns.size), columns, starts), shape=shape)
    odds = X @ (CATEGORY_WEIGHT * generator.standard_normal(shape[1])) - CATEGORY_LEVEL
    y = np.where(generator.random(n) < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)
    return _divided(X, y, _seed(settings), settings.seed)


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
    return _divided(X, y, _seed(settings), settings.seed, stratify=kind != NUMBERS)


def _one_feature(settings: Settings, _: str) -> Rows:
    """Targets about a constant, far from zero, beside a short feature that tells nothing."""
    generator = np.random.default_rng(settings.seed)
    X = sparse.csr_matrix(0.1 * generator.standard_normal((ONE_FEATURE, 1)))
    y = LEVEL + generator.standard_normal(ONE_FEATURE)
    return _divided(X, y, _seed(settings), settings.seed, stratify=False)


def _bundled(load: Callable[[], Any], settings: Settings, kind: str) -> Rows:
    found = load()
    X = sparse.csr_matrix(found.data.astype(np.float64))
    y = found.target.astype(np.float64)
    origin = "bundled with scikit-learn"
    return _divided(X, y, origin, settings.seed, stratify=kind != NUMBERS)


def _seed(settings: Settings) -> str:
    return f"generated from seed {settings.seed}"


_DIABETES = partial(load_diabetes, scaled=False)
_GENERATED: Mapping[str, tuple[str, tuple[str, ...], Callable[[Settings, str], Rows]]] = {
    "documents": (TWO, (RAW, BINARY, TFIDF), _documents),
    "rare class": (TWO, (RAW, BINARY, TFIDF), _rare_documents),
    "categories": (TWO, (RAW,), _categories),
    "half dense": (TWO, (RAW,), _half_dense),
    "breast cancer": (TWO, (RAW, SCALED), partial(_bundled, load_breast_cancer)),
    "digits": (SEVERAL, (RAW, SCALED), partial(_bundled, load_digits)),
    "documents, numbers": (NUMBERS, (RAW, TFIDF), _documents),
    "half dense, numbers": (NUMBERS, (RAW,), _half_dense),
    "one feature": (NUMBERS, (RAW,), _one_feature),
    "diabetes": (NUMBERS, (RAW, SCALED), partial(_bundled, _DIABETES)),
}
