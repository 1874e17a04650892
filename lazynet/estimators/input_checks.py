"""The checks that every X and y of an estimator pass."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from lazynet.data.arrays import checked_csr, unusable, usable_rows
from lazynet.data.source import Source


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
    known = vars(estimator)
    return known.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in known


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


def are_classes_of(values: NDArray[Any], n_rows: int) -> bool:
    """Whether scikit-learn takes these distinct numbers for classes, and would not warn of them.

    >>> are_classes_of(np.array([0.0, 1.0]), 4), are_classes_of(np.array([0.5, 1.0]), 4)
    (True, False)
    >>> are_classes_of(np.arange(2), 4), are_classes_of(np.arange(3), 4)
    (True, False)
    """
    if 2 * len(values) > n_rows:
        return False
    numbers = values.astype(np.float64)
    return bool(((numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**53)).all())
