"""Rows and targets of the tests of this folder."""

import numpy as np
from scipy import sparse

KINDS = ("two classes", "classes", "labels", "weights", "numbers")


def problem(seed, n_rows, n_features=40, kind="two classes"):
    """X with a full feature, y of a kind, and the weights of rows or None."""
    X = sparse.random(n_rows, n_features - 1, density=0.1, format="csr", random_state=seed)
    random = np.random.default_rng(seed)
    X = sparse.hstack([random.normal(3.0, 0.3, (n_rows, 1)), X], format="csr")
    numbers = X @ random.standard_normal(n_features) + 0.1 * random.standard_normal(n_rows)
    cuts = np.quantile(numbers, [0.3, 0.6])
    y = {
        "classes": np.digitize(numbers, cuts).astype(float),
        "labels": sparse.csr_matrix(np.digitize(numbers, cuts)[:, None] > np.arange(2)),
        "numbers": numbers,
    }.get(kind, (numbers > cuts[0]).astype(float))
    return X, y, np.linspace(0.5, 2.0, n_rows) if kind == "weights" else None


def estimators(module, kind, certified=False):
    """The estimator of a module for a kind of y."""
    kind = "Regressor" if kind == "numbers" else "Classifier"
    return getattr(module, ("DualNet" if certified else "LazyNet") + kind)
