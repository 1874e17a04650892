"""Many outputs in one pass, for the study ``bench``: labels, threads and a grid of settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.multiclass import OneVsRestClassifier

from lazynet import LazyNetClassifier
from lazynet.choice import Fold
from lazynet.grids import GridTraining, planned, settings_of
from lazynet.problems import Classes
from lazynet.threads import Workers
from paper_repro.documents import Corpus
from paper_repro.runs import ETA0, L1, L2

#: Labels, more labels, settings of a grid; the share of the documents that has a label, and the
#: share of the features that decide on it.
LABELS, MORE_LABELS, SETTINGS = 32, 128, 32
POSITIVES, DECIDING = 0.05, 0.02
Fit = Callable[[int], object]


def labels_of(corpus: Corpus, n_labels: int) -> sparse.csr_matrix:
    """Labels that depend on a few features each."""
    X = corpus.X
    planted = sparse.random(X.shape[1], n_labels, DECIDING, format="csc", random_state=0)
    scores = (X @ planted).toarray()
    return sparse.csr_matrix(scores > np.quantile(scores, 1.0 - POSITIVES, axis=0), dtype=np.int8)


def fits(corpus: Corpus) -> dict[str, tuple[Fit, int]]:
    """Every competitor: what trains it for some epochs, and the number of its outputs."""
    X, y = corpus.X, corpus.y
    few, many = labels_of(corpus, LABELS), labels_of(corpus, MORE_LABELS)
    common: dict[str, Any] = dict(tol=None, random_state=0)
    clock = dict(l2=L2, schedule="inverse_sqrt", eta0=ETA0, **common)
    alpha = L1 + L2

    def ours(Y: sparse.csr_matrix, dtype: str, n_jobs: int = 1) -> Fit:
        options = dict(l1=L1, dtype=dtype, n_jobs=n_jobs, **clock)
        return lambda epochs: LazyNetClassifier(max_iter=epochs, **options).fit(X, Y)

    def scikit_learn(epochs: int) -> object:
        model = SGDClassifier(
            "log_loss",
            penalty="elasticnet",
            alpha=alpha,
            l1_ratio=L1 / alpha,
            learning_rate="invscaling",
            power_t=0.5,
            eta0=ETA0,
            max_iter=epochs,
            **common,
        )
        return OneVsRestClassifier(model).fit(X, few)

    def one_setting(epochs: int) -> object:
        return LazyNetClassifier(max_iter=epochs, l1=L1, **clock).fit(X, y)

    def grid(epochs: int) -> object:
        rows, problems = np.arange(len(y)), Classes((y > 0).astype(np.int64), 2, None)
        settings = settings_of(L1 * np.geomspace(0.1, 10.0, SETTINGS), np.array([L2]))
        plans = planned(LazyNetClassifier(l1=L1, **clock)._settle(), settings, ETA0)
        fold, generator = Fold(rows, rows[:0]), np.random.RandomState(0)
        training = GridTraining(plans, X, problems, [fold], None, np.float32)
        with Workers(1) as workers:
            for _ in range(epochs):
                training.epoch(generator.permutation(rows), workers)
        return training

    return {
        "sklearn": (scikit_learn, LABELS),
        "few, float32": (ours(few, "float32"), LABELS),
        "few, float64": (ours(few, "float64"), LABELS),
        "many, float32": (ours(many, "float32"), MORE_LABELS),
        "many, two threads": (ours(many, "float32", 2), MORE_LABELS),
        "one setting": (one_setting, 1),
        "grid": (grid, 1),
    }
