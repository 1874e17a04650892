"""What estimators learn from: rows in memory or of a source, classes, labels in columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from lazynet.data.arrays import checked_csr, unusable, usable_rows
from lazynet.data.memory_mapped import mapped
from lazynet.data.source import Source
from lazynet.data.targets import Classes
from lazynet.data.weights import check_classes, check_labels, counts_rows
from lazynet.training.stream_rows import check_alone

Method = TypeVar("Method", bound=Callable[..., Any])
#: The forms of y with a column per label of which predictions and weights are sparse.
SPARSE_FORMS = ("sparse matrix", "sparse array")


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


# --- classes ---------------------------------------------------------------------------


def checked_classes(
    estimator: Any, X: Any, y: Any, classes: NDArray[Any] | None, reset: bool
) -> tuple[sparse.csr_matrix, NDArray[Any], NDArray[Any]]:
    """Checked X and y, and the classes; for ``classes=None`` the classes that occur in y."""
    X, y = checked_rows(estimator, X, reset, y=y)
    result = np.unique(y) if classes is None and y.dtype.kind in "biuf" else None
    if result is None or not are_classes_of(result, len(y)):
        with np.errstate(invalid="ignore"):  # scikit-learn casts y to integers and back
            check_classification_targets(y)
    if classes is None:
        classes = np.unique(y) if result is None else result
        if len(classes) < 2:
            only = classes.tolist()[0]
            raise ValueError(f"y must have at least two classes, got one class: {only!r}")
    elif not np.isin(y, classes).all():
        unknown = np.setdiff1d(y, classes)
        raise ValueError(f"y has labels {unknown} that are not among the classes {classes}")
    return X, y, classes


def targets_of_classes(
    y: NDArray[Any], classes: NDArray[Any], importances: NDArray[np.float64] | None
) -> Classes:
    """Every class against the rest."""
    if len(classes) == 2:  # a comparison takes less time than a search
        codes = np.asarray(y == classes[1], dtype=np.int64)
    else:
        codes = np.searchsorted(classes, y)
    return Classes(codes, len(classes), importances)


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


# --- labels in columns ------------------------------------------------------------------


def has_a_column_per_label(y: Any) -> bool:
    """Whether y is a matrix; a matrix of one column is a column of classes, unless it is sparse."""
    if sparse.issparse(y):
        return True
    shape = getattr(y, "shape", None)
    if isinstance(y, (list, tuple)) and y and isinstance(y[0], (list, tuple, np.ndarray)):
        shape = (len(y), len(y[0]))
    return isinstance(shape, tuple) and len(shape) == 2 and shape[1] != 1


def classes_to_go_on_with(
    known: NDArray[Any] | None, given: Any, y: Any, class_weight: Any
) -> NDArray[Any]:
    """The checked classes of a call of ``partial_fit``, or names of the columns of labels.

    ``known`` are the classes of the model so far, ``given`` those that the call names.
    """
    of_labels = has_a_column_per_label(y)
    if given is not None:
        given = (check_labels if of_labels else check_classes)(given)
        if known is not None and not np.array_equal(known, given):
            raise ValueError(f"classes={given} is not the same as on the last call: {known}")
        known = given
    elif known is None and of_labels:
        known = np.arange(y.shape[1] if sparse.issparse(y) else np.shape(y)[1])
    if known is None:
        raise ValueError("classes must be passed on the first call to partial_fit")
    if counts_rows(class_weight):
        raise ValueError(
            "class_weight='balanced' counts the rows of every class, and partial_fit sees only "
            "some of the rows: write class_weight=Balanced(class_counts={class: number of "
            "rows}), or pass a dict of weights"
        )
    if len(known) < 2 and not of_labels:
        raise ValueError(f"classes must name at least two classes, got {known}")
    return known


def form_of(y: Any) -> str:
    """The form of a y that has a column per label."""
    if not sparse.issparse(y):
        return "dense"
    return "sparse array" if isinstance(y, sparse.sparray) else "sparse matrix"


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
