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

from paper_repro.documents import from_svmlight, medline, read_svmlight
from paper_repro.folder import TEST_SHARE, rows_of_files, sets_in
from paper_repro.rows import Rows, with_test_file
from paper_repro.study import Settings

TWO, SEVERAL, NUMBERS = "two classes", "several classes", "numbers"
RAW, BINARY, TFIDF, SCALED = "raw", "binary", "TF-IDF", "scaled"
#: A file with more labels than this has no several-class problem.
MOST_CLASSES = 50
#: Rows and words of the generated documents: as many as let the planted model be found.
DOCUMENTS, WORDS = 40_000, 20_000
#: The other generated sets: rows, features, and the share of values that are not zero.
DENSE_ROWS, DENSE_FEATURES, DENSE_SHARE = 5_000, 100, 0.5
#: Rows of the regression on one feature, and what its targets are about.
ONE_FEATURE, LEVEL = 250, 3.0


@dataclass(frozen=True)
class Problem:
    """Rows to learn from and to test on, what the targets are, and the forms worth a look."""

    rows: Rows
    kind: str
    forms: tuple[str, ...]

    def in_form(self, form: str) -> Rows:
        """The rows in another form."""
        X, X_test = _IN_FORM[form](self.rows.X, self.rows.X_test)
        return replace(self.rows, X=X, X_test=X_test)


def problems(settings: Settings) -> dict[str, Callable[[], Problem]]:
    """How to make every problem, by name; a given file takes the place of what needs no file."""
    found: dict[str, Callable[[], Problem]] = {}
    if settings.data is None:
        found |= {name: partial(make, settings) for name, make in _GENERATED.items()}
    else:
        test = None if settings.test is None else Path(settings.test)
        name = Path(settings.data).name.partition(".")[0]
        found |= _of_file(name, Path(settings.data), test, settings)
    if settings.folder is not None:
        for name, files in sets_in(settings.folder).items():
            found |= _of_file(name, *files, settings)
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


def _of_file(
    name: str, train: Path, test: Path | None, settings: Settings
) -> dict[str, Callable[[], Problem]]:
    """One label against the rest, and all classes where a file has several."""
    X, targets = read_svmlight(train)
    labels = sorted({label for row in targets for label in row})
    single = all(len(row) == 1 for row in targets)
    if single and any(label != round(label) for label in labels):
        return {name: partial(_numbers_of_file, train, test, settings.seed)}
    label = settings.label if settings.data is not None else None
    found = {name: partial(_label_of_file, train, test, settings.seed, label)}
    if single and 2 < len(labels) <= MOST_CLASSES and label is None:
        several = partial(_classes_of_file, train, test, settings.seed)
        found[f"{name} ({len(labels)} classes)"] = several
    return found


def _label_of_file(train: Path, test: Path | None, seed: int, label: str | None) -> Problem:
    if label is None:
        rows = rows_of_files(train, test, seed)
    else:
        corpus = from_svmlight(train, label)
        rows = (
            _divided(corpus.X, corpus.y, corpus.origin, seed)
            if test is None
            else with_test_file(corpus, test)
        )
    return Problem(rows, TWO, forms_of(rows.X))


def _classes_of_file(train: Path, test: Path | None, seed: int) -> Problem:
    rows = _targets_of_file(train, test, seed, classes=True)
    return Problem(rows, SEVERAL, forms_of(rows.X))


def _numbers_of_file(train: Path, test: Path | None, seed: int) -> Problem:
    rows = _targets_of_file(train, test, seed, classes=False)
    return Problem(rows, NUMBERS, forms_of(rows.X))


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


def _documents(settings: Settings) -> Problem:
    corpus = _corpus(settings)
    rows = _divided(corpus.X, corpus.y, corpus.origin, settings.seed)
    return Problem(rows, TWO, (RAW, BINARY, TFIDF))


def _corpus(settings: Settings) -> Any:
    rows, words = min(settings.examples, DOCUMENTS), min(settings.features, WORDS)
    return medline(rows, words, settings.nonzeros, seed=settings.seed)


def _document_numbers(settings: Settings) -> Problem:
    """Documents whose targets are a planted linear function, plus noise of a fifth of its sd."""
    corpus = _corpus(settings)
    generator = np.random.default_rng(settings.seed)
    weights = generator.standard_normal(corpus.X.shape[1])
    y = corpus.X.sqrt() @ weights
    y += 0.2 * y.std() * generator.standard_normal(len(y))
    rows = _divided(corpus.X, y, corpus.origin, settings.seed, stratify=False)
    return Problem(rows, NUMBERS, (RAW, TFIDF))


def _dense_values(settings: Settings) -> tuple[sparse.csr_matrix, NDArray[np.float64], Any]:
    """Rows of which half is not zero, whose features differ in scale, and noisy margins."""
    generator = np.random.default_rng(settings.seed)
    n = min(settings.examples, DENSE_ROWS)
    values = generator.standard_normal((n, DENSE_FEATURES))
    values *= generator.random(values.shape) < DENSE_SHARE
    margins = values @ generator.standard_normal(DENSE_FEATURES)
    margins += 0.5 * margins.std() * generator.standard_normal(n)
    scales = np.exp(generator.standard_normal(DENSE_FEATURES))
    return sparse.csr_matrix(values * scales), margins, generator


def _dense(settings: Settings) -> Problem:
    X, margins, _ = _dense_values(settings)
    y = np.where(margins > 0, 1.0, -1.0)
    return Problem(_divided(X, y, _origin(settings), settings.seed), TWO, (RAW,))


def _dense_numbers(settings: Settings) -> Problem:
    X, margins, _ = _dense_values(settings)
    origin = _origin(settings)
    return Problem(_divided(X, margins, origin, settings.seed, stratify=False), NUMBERS, (RAW,))


def _one_feature(settings: Settings) -> Problem:
    """Targets about a constant, far from zero, beside a short feature that tells nothing."""
    generator = np.random.default_rng(settings.seed)
    X = sparse.csr_matrix(0.1 * generator.standard_normal((ONE_FEATURE, 1)))
    y = LEVEL + generator.standard_normal(ONE_FEATURE)
    origin = _origin(settings)
    return Problem(_divided(X, y, origin, settings.seed, stratify=False), NUMBERS, (RAW,))


def _bundled(load: Callable[[], Any], kind: str, forms: tuple[str, ...], settings: Settings) -> Any:
    found = load()
    rows = _divided(
        sparse.csr_matrix(found.data.astype(np.float64)),
        found.target.astype(np.float64),
        "bundled with scikit-learn",
        settings.seed,
        stratify=kind != NUMBERS,
    )
    return Problem(rows, kind, forms)

def _origin(settings: Settings) -> str:
    return f"generated from seed {settings.seed}"


_GENERATED: Mapping[str, Callable[[Settings], Problem]] = {
    "documents": _documents,
    "half dense": _dense,
    "breast cancer": partial(_bundled, load_breast_cancer, TWO, (RAW, SCALED)),
    "digits": partial(_bundled, load_digits, SEVERAL, (RAW, SCALED)),
    "documents, numbers": _document_numbers,
    "half dense, numbers": _dense_numbers,
    "one feature": _one_feature,
    "diabetes": partial(_bundled, partial(load_diabetes, scaled=False), NUMBERS, (RAW, SCALED)),
}
