"""What estimators learn from: rows in memory or of a source, classes, labels in columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from lazynet.data.arrays import checked_csr, unusable, usable_rows
from lazynet.data.mapped_files import mapped
from lazynet.data.source import Source
from lazynet.training.rows import check_alone

Method = TypeVar("Method", bound=Callable[..., Any])


# --- X and y ---------------------------------------------------------------------------


def checked_rows(
    estimator: Any, X: Any, reset: bool, *, for_training: bool = True, **options: Any
) -> Any:
    """A tuple of X as CSR and, if ``options`` hold y, the checked y.

    Every X passes through here.  Predicting needs neither sorted columns nor a second check of
    the values.
    """
    y = options.get("y")
    if sparse.issparse(y) and not options.get("multi_output"):
        raise TypeError(
            f"y must be an array of a class or a number for every row, got a sparse matrix: "
            f"{type(estimator).__name__} does not learn several labels a row, and "
            f"LazyNetClassifier does"
        )
    if getattr(getattr(y, "dtype", None), "kind", "") == "c":
        raise ValueError("Complex data not supported: y must hold real numbers")
    if np.ma.is_masked(y):
        raise ValueError("y must not have masked entries: leave their rows out, or fill them")
    already_checked = False
    if sparse.issparse(X):
        # Check this first: SciPy and scikit-learn would follow indices that leave the matrix.
        X = checked_csr(X, only_range=not for_training)
        already_checked = for_training and X.dtype in (np.float32, np.float64)
        if already_checked and _is_sound(X, y) and _has_the_features(estimator, X, reset):
            return X, y
    else:
        _check_no_rows_elsewhere(X)
    # A value that the cast to float64 makes infinite or NaN is refused as infinite or NaN.
    casts = np.errstate(over="ignore", invalid="ignore")
    with casts, unusable("X or y" if "y" in options else "X"):
        checked = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            order="C",  # a dense product gives other bits in another order
            ensure_all_finite=not already_checked,
            reset=reset,
            **options,
        )
    X, *rest = checked if isinstance(checked, tuple) else (checked,)
    if not already_checked and for_training:
        X = usable_rows(X if sparse.issparse(X) else sparse.csr_matrix(X))
    return X, *rest


def _check_no_rows_elsewhere(X: Any) -> None:
    """Refuse the name of a file, a source of rows and complex numbers as rows in memory."""
    if isinstance(X, (str, os.PathLike)):
        raise TypeError(
            f"X must be rows, got the name {os.fspath(X)!r}: lazynet.data has readers of files, "
            f"such as SvmlightFile({os.fspath(X)!r}), from which fit and partial_fit learn"
        )
    if isinstance(X, Source):
        raise TypeError(
            f"X must be rows in memory, got a {type(X).__name__}: take its rows a chunk at a time, "
            f"for X, y, weights in source.chunks()"
        )
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError("Complex data not supported: X must hold real numbers")


def _has_the_features(estimator: Any, X: sparse.csr_matrix, reset: bool) -> bool:
    """Whether X has the features of the model; with ``reset`` the model takes those of X.

    A matrix has no names of features.
    """
    if reset:
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
    attributes = vars(estimator)
    same_number = attributes.get("n_features_in_") == X.shape[1]
    return same_number and "feature_names_in_" not in attributes


def _is_sound(X: sparse.csr_matrix, y: Any) -> bool:
    """Whether scikit-learn would return checked rows and y unchanged; its checks take longer.

    >>> rows = sparse.csr_matrix([[1.0], [2.0]])
    >>> _is_sound(rows, np.array([0, 1])), _is_sound(rows, np.array([0.0, np.nan]))
    (True, False)
    >>> _is_sound(rows, [0, 1]), _is_sound(rows, np.array([0]))
    (False, False)
    """
    if type(y) is not np.ndarray or y.shape != X.shape[:1] or 0 in X.shape:
        return False
    return y.dtype.kind in "biu" or (y.dtype.kind == "f" and bool(np.isfinite(y).all()))


# --- rows of a source -------------------------------------------------------------------


@contextmanager
def in_memory(X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """X, y and the weights that were passed, or those of a source, mapped into memory."""
    if not isinstance(X, Source):
        yield X, y, sample_weight
        return
    check_alone(y, sample_weight)
    if X.n_labels is not None:
        raise ValueError(
            "y must have one class or one number for every row, and the rows of the source have "
            "several labels: LazyNetClassifier learns all labels in one pass"
        )
    with mapped(X) as rows:
        yield rows.X, rows.y, rows.weight


def takes_sources(learn: Method) -> Method:
    """Let a method that trains with ``X, y, sample_weight, ...`` take a source as X."""

    @wraps(learn)
    def call(self: Any, X: Any, y: Any, sample_weight: Any, *more: Any) -> Any:
        with in_memory(X, y, sample_weight) as rows:
            return learn(self, *rows, *more)

    return call  # type: ignore[return-value]
