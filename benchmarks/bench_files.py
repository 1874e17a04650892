"""Files of several classes or labels, for the study ``bench``: whole fits and their scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

from benchmarks.problems import MOST_CLASSES
from lazynet import LazyNetClassifier
from paper_repro.documents import read_svmlight
from paper_repro.folder import sets_in
from paper_repro.measure import turns
from paper_repro.score import Spread, ratios
from paper_repro.study import Record

#: The group of the cells, and the competitor that the others are compared with.
FILES, SCIKIT_LEARN = "files", "scikit-learn"
#: Fits with no parameter set but the type of the weights.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "nothing set": {},
    "nothing set but `dtype='float32'`": dict(dtype="float32"),
}
#: The share of the rows that a model is judged on; every round has a division of its own.
TEST_SHARE = 0.25
#: Fits that suit labels, and classes: fewer epochs and a smaller penalty than the defaults.
SUITED_TO_LABELS: Mapping[str, Any] = dict(loss="hinge", l1=2e-6, max_iter=5, dtype="float32")
SUITED_TO_CLASSES: Mapping[str, Any] = dict(l1=0.0, max_iter=4, dtype="float32")
#: How many times faster than scikit-learn a fit sets out to be that predicts no worse.
BOUND_OF_LABELS, BOUND_OF_CLASSES = 3.0, 2.0


@dataclass(frozen=True)
class Labelled:
    """The rows of a file, and their classes or a sparse matrix with a column per label."""

    X: sparse.csr_matrix
    Y: Any

    @property
    def has_labels(self) -> bool:
        return sparse.issparse(self.Y)

    @property
    def n_outputs(self) -> int:
        return int(self.Y.shape[1]) if self.has_labels else len(np.unique(self.Y))

    def score(self, Y: Any, predicted: Any) -> float:
        """Micro-F1 of labels, the accuracy of classes."""
        if self.has_labels:
            return float(f1_score(Y, predicted, average="micro"))
        return float(accuracy_score(Y, predicted))

    def competitors(self) -> dict[str, Callable[[], Any]]:
        theirs = SGDClassifier(random_state=0)
        suited = SUITED_TO_LABELS if self.has_labels else SUITED_TO_CLASSES
        told = ", ".join(f"{name}={value!r}" for name, value in suited.items())
        options = {**DEFAULTS, f"`{told}`": suited}
        return {
            SCIKIT_LEARN: lambda: OneVsRestClassifier(theirs) if self.has_labels else theirs,
            **{
                name: partial(LazyNetClassifier, random_state=0, **given)
                for name, given in options.items()
            },
        }


def labelled_in(folder: str) -> dict[str, Labelled]:
    """The files of a folder whose rows have several labels, or one of several classes."""
    found = {}
    for name, (path, _) in sets_in(folder).items():
        X, targets = read_svmlight(path)
        several = any(len(row) != 1 for row in targets)
        labels = {label for row in targets for label in row}
        if several:
            Y = MultiLabelBinarizer(sparse_output=True).fit_transform(targets)
            found[name] = Labelled(X, sparse.csr_matrix(Y))
        elif 2 < len(labels) <= MOST_CLASSES and all(each == round(each) for each in labels):
            y = np.array([row[0] for row in targets])
            found[name] = Labelled(X, y)
            found[f"{name}, TF-IDF"] = Labelled(TfidfTransformer().fit_transform(X), y)
    return found


def round_of_files(files: Mapping[str, Labelled], repeat: int) -> Record:
    """Seconds and scores of all whole fits on one division of the rows."""
    return {name: _round(file, repeat) for name, file in files.items()}


def _round(file: Labelled, repeat: int) -> Record:
    rows = np.arange(file.X.shape[0])
    train, test = map(np.sort, train_test_split(rows, test_size=TEST_SHARE, random_state=repeat))
    X, X_test, Y, Y_test = file.X[train], file.X[test], file.Y[train], file.Y[test]
    competitors = file.competitors()
    found: Record = {"labels": file.has_labels, "outputs": file.n_outputs, "fits": {}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in turns(list(competitors), repeat):
            model = competitors[name]()
            began = time.perf_counter()
            model.fit(X, Y)
            seconds = time.perf_counter() - began
            score = file.score(Y_test, model.predict(X_test))
            found["fits"][name] = {"seconds": seconds, "score": score}
    return found


@dataclass(frozen=True)
class FileLine:
    """One line of the table: a fit beside scikit-learn's on the same divisions of a file."""

    file: str
    fit: str
    labels: bool
    outputs: int
    ratio: Spread
    score: float
    their_score: float
    bound: float

    @property
    def verdict(self) -> str:
        """Whether the fit is as much faster as the bound says, and predicts no worse."""
        if self.score < self.their_score:
            return "predicts worse"
        return "holds" if self.ratio.median >= self.bound else "MISSED"


def file_lines(rounds: Sequence[Record]) -> list[FileLine]:
    """The lines of all files, from the records of their rounds; the first round does not count."""
    lines = []
    for name, first in rounds[0].items():
        records = [each[name]["fits"] for each in rounds[1:]]
        suited = sorted(set(first["fits"]) - {SCIKIT_LEARN, *DEFAULTS})

        def of(fit: str, what: str, records: Sequence[Record] = records) -> list[float]:
            return [record[fit][what] for record in records]

        theirs = of(SCIKIT_LEARN, "seconds"), of(SCIKIT_LEARN, "score")
        lines += [
            FileLine(
                name,
                fit,
                first["labels"],
                first["outputs"],
                ratios(theirs[0], of(fit, "seconds")),
                float(np.mean(of(fit, "score"))),
                float(np.mean(theirs[1])),
                BOUND_OF_LABELS if first["labels"] else BOUND_OF_CLASSES,
            )
            for fit in (*DEFAULTS, *suited)
        ]
    return lines
