"""Linear models that predict the MeSH headings of abstracts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import accuracy_score, average_precision_score, f1_score
from sklearn.model_selection import GridSearchCV, train_test_split

from lazynet import LazyNetClassifier
from paper_repro.curves import curves
from paper_repro.pubmed.bag import Bag

TEST_SHARE = 0.25
# Cross-validation within the training part chooses l1 among these shares of the strength at which
# every weight stays 0.
L1_SHARES = (0.3, 0.1, 0.03, 0.01)
# Rows have length 1, so that rates up to 2 are safe.  The slope of the logistic loss is bounded,
# so that larger first rates cannot diverge, and they need fewer epochs.
TRAINING: dict[str, Any] = dict(
    l2=1e-6, schedule="inverse_sqrt", eta0=10.0, max_iter=1000, tol=1e-4
)
FOLDS = 3
# A class with fewer training examples than this is not learned.
LEAST_OF_A_CLASS = 2 * FOLDS
_FREQUENT = 10
_WORDS = 5


class Split(NamedTuple):
    """Rows to train on and rows to test on: their numbers, and their words weighted by tf-idf."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    X: sparse.csr_matrix
    X_test: sparse.csr_matrix


def split(indexed: Bag, seed: int) -> Split:
    """Part the citations; the weighting knows the training part alone."""
    train, test = train_test_split(
        np.arange(indexed.X.shape[0]), test_size=TEST_SHARE, random_state=seed
    )
    weighting = TfidfTransformer(sublinear_tf=True).fit(indexed.X[train])
    return Split(
        train, test, weighting.transform(indexed.X[train]), weighting.transform(indexed.X[test])
    )


def study(bag: Bag, *, label: str | None = None, top: int = 10, seed: int = 0) -> dict[str, Any]:
    """Figures about the bag, and about models for one label or for the ``top`` most frequent.

    The figures are numbers, strings, lists and dicts only, ready for JSON.
    """
    indexed = bag.indexed()
    counts = bag.label_counts()
    figures: dict[str, Any] = {
        "corpus": {
            **bag.tally.as_dict(),
            "min_df": bag.min_document_frequency,
            "nonzeros_per_citation": bag.X.nnz / bag.X.shape[0],
            "indexed": indexed.X.shape[0],
            "descriptors": len(bag.descriptors),
            "frequent": [
                [*bag.descriptors[i], int(counts[i])] for i in bag.most_frequent(_FREQUENT)
            ],
        },
        "curves": curves(bag.X),
        "seed": seed,
        "labels": [],
    }
    columns = bag.most_frequent(top).tolist() if label is None else [bag.column(label)]
    if indexed.X.shape[0] < 2:
        return figures
    train, test, X, X_test = split(indexed, seed)
    figures["examples"] = {"training": len(train), "test": len(test)}
    for column in columns:
        ui, name = bag.descriptors[column]
        y = indexed.target(ui or name)
        row = {"ui": ui, "name": name, "positives": int((y > 0).sum())}
        model, result = _learn((X, X_test), (y[train], y[test]), bag.vocabulary, seed)
        figures["labels"].append(row | result)
        if model is not None and "verified" not in figures:
            report = model.verify(X, y[train])
            figures["verified"] = {
                "name": name,
                "agrees": bool(report.agrees),
                "report": str(report),
            }
    return figures


def _learn(
    parts: tuple[sparse.csr_matrix, sparse.csr_matrix],
    targets: tuple[NDArray[np.float64], NDArray[np.float64]],
    vocabulary: list[str],
    seed: int,
) -> tuple[LazyNetClassifier | None, dict[str, Any]]:
    """Train a model for one label, and measure it on the test examples."""
    (X, X_test), (y, y_test) = parts, targets
    of_a_class = [int((y == sign).sum()) for sign in (+1, -1)]
    if min(of_a_class) < LEAST_OF_A_CLASS:
        kind = "with" if of_a_class[0] < of_a_class[1] else "without"
        found = f"{min(of_a_class)} of the training citations are {kind} it"
        return None, {"not_trained": f"too few to learn from: {found}"}
    positive = y > 0
    strongest = np.abs(X.T @ (positive - positive.mean())).max() / len(y)
    search = GridSearchCV(
        LazyNetClassifier(**TRAINING, random_state=seed),
        {"l1": [share * strongest for share in L1_SHARES]},
        scoring="neg_log_loss",
        cv=FOLDS,
    ).fit(X, y)
    model = search.best_estimator_
    weights = model.coef_[0]
    predicted = model.predict(X_test)
    positives = int((y_test > 0).sum())
    # Test examples of a single class define neither F1 nor average precision.
    both_kinds = 0 < positives < len(y_test)
    return model, {
        "accuracy": float(accuracy_score(y_test, predicted)),
        "majority": max(positives, len(y_test) - positives) / len(y_test),
        "f1": float(f1_score(y_test, predicted, zero_division=0)) if both_kinds else None,
        "average_precision": (
            float(average_precision_score(y_test, model.decision_function(X_test)))
            if both_kinds
            else None
        ),
        "share_of_positives": positives / len(y_test),
        "l1": float(model.l1),
        "nonzero_weights": int(np.count_nonzero(weights)),
        "words_for": _strongest(weights, vocabulary),
        "words_against": _strongest(-weights, vocabulary),
    }


def _strongest(weights: NDArray[np.float64], vocabulary: list[str]) -> list[str]:
    """The words with the largest positive weights."""
    first = np.argsort(-weights, kind="stable")[:_WORDS]
    return [vocabulary[i] for i in first if weights[i] > 0]
