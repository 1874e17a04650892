"""The checks and conversions of X, y and the sample order, made once per call.

A CSR matrix of float32 or float64 with int32 or int64 indices is used in place, also if it is
read-only or memory-mapped, with the columns of a row in any order; any other matrix is converted.
X must not change during a call: the result would be wrong, or an error.  Even then nothing outside
the arrays is read or written.  Kernels copy a row before they check its columns, and NumPy and
SciPy, which do not check, get copies of the indices (products.py).  If another process shortens a
memory-mapped file while it is read, the system ends this process (SIGBUS); no program can check for
this beforehand.
"""

from __future__ import annotations

import operator
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from lazynet.kernels.dense_rows import nonzeros
from lazynet.kernels.examples import DEFECT_NOT_FINITE, DEFECT_REPEATED, DEFECTS, Examples
from lazynet.parameters import as_array, check_array, refuse_masked

# float32 can hold the squares of targets of these sizes, and their products with features.
_SMALLEST_TARGET, _LARGEST_TARGET = 1e-20, 1e20
_NAMES_X_OR_Y = re.compile(r"\b[Xy]\b")


def checked_rows(
    estimator: Any, X: Any, reset: bool, *, for_training: bool = True, **options: Any
) -> Any:
    """A tuple of X as CSR and, if ``options`` hold y, the checked y.

    Every X of an estimator is checked here.  Predictions need neither sorted columns nor a second
    check of the values.
    """
    y: Any = options.get("y")
    if sparse.issparse(y) and not options.get("multi_output"):
        raise TypeError(
            f"y must be an array of a class or a number for every row, got a sparse matrix: "
            f"{type(estimator).__name__} does not learn several labels per row, but "
            f"LazyNetClassifier does"
        )
    for name, argument in (("X", X), ("y", y)):
        if getattr(getattr(argument, "dtype", None), "kind", "") == "c":
            raise ValueError(f"Complex data not supported: {name} must hold real numbers")
        refuse_masked(name, argument)
    if isinstance(X, (str, os.PathLike)):
        raise TypeError(
            f"X must be rows, got the name {os.fspath(X)!r}: lazynet.data has readers of files, "
            f"such as SvmlightFile({os.fspath(X)!r}), from which fit and partial_fit learn"
        )
    if _holds_texts(X):
        raise ValueError(
            "X must hold numbers, and holds texts: vectorise the texts first, for instance with "
            "TfidfVectorizer of scikit-learn"
        )
    given_sparse = sparse.issparse(X)
    if given_sparse:
        # SciPy and scikit-learn do not check the indices; of a prediction, ``products`` does.
        X = checked_csr(X) if for_training else as_csr(X)
    rows = None
    if for_training:
        rows = X if given_sparse else rows_of_array(X)
    if given_sparse or rows is not None:
        attributes, n_features = vars(estimator), X.shape[1]
        if reset:
            attributes["n_features_in_"] = n_features
            attributes.pop("feature_names_in_", None)
        usual_features = attributes.get("n_features_in_") == n_features
        usual_features = usual_features and "feature_names_in_" not in attributes
        usual_y = type(y) is np.ndarray and y.shape == X.shape[:1] and y.dtype.kind in "biuf"
        usual = for_training and usual_features and usual_y and 0 not in X.shape
        if usual and (y.dtype.kind != "f" or np.isfinite(y).all()):
            # scikit-learn would return X and y unchanged, and its checks take longer.
            return rows, y
    # If the cast to float64 makes a value infinite or NaN, the value is refused as such.
    casts = np.errstate(over="ignore", invalid="ignore")
    with casts, errors_about("X or y" if "y" in options else "X"):
        checked = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            order="C",  # a dense product gives other bits in another order
            ensure_all_finite=not (given_sparse and for_training),
            reset=reset,
            **options,
        )
    given = X
    X, *rest = checked if isinstance(checked, tuple) else (checked,)
    if for_training and not given_sparse:
        X = rows if X is given and rows is not None else rows_of_array(plain(X, X.dtype))
    return X, *rest


def rows_of_array(X: Any) -> sparse.csr_matrix | None:
    """The rows of an array of finite floats that needs no conversion, or None.

    The rows of an array without zeros share its values.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float64, np.float32):
        return None
    found = nonzeros(X) if X.flags.c_contiguous and X.flags.aligned else None
    if found is None:
        return None
    values, columns, starts = found
    return csr_around(X.shape, X.reshape(-1) if values is None else values, columns, starts)


def _holds_texts(X: Any) -> bool:
    """Whether the first value of X is a text that is no number."""
    value = X
    while isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        if not len(value):
            return False
        value = value[0]
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def checked_csr(X: Any, name: str = "X", *, only_range: bool = False) -> sparse.csr_matrix:
    """A sparse matrix of any format as rows of floats that a kernel can read: X itself, or a copy.

    The columns of a row may have any order, as from scikit-learn's vectorizers.  If a row has a
    column twice, the result is a copy with the sum of the two values.  A matrix with any other
    defect is refused, with the number of the row; with ``only_range`` only a matrix with indices
    out of range is refused.
    """
    X = as_csr(X, name)
    with errors_about(name):
        defect = Examples(X.data, X.indices, X.indptr, X.shape[1]).first_defect(only_range)
        if defect is not None:
            row, code = defect
            if code == DEFECT_NOT_FINITE:
                raise ValueError(f"Input X contains NaN or infinity, first in row {row}.")
            if code != DEFECT_REPEATED:
                raise unusable(X, row, code, name)
            # SciPy will use the indices of a copy without a check: check all rows of the copy.
            return checked_csr(
                _with_repeated_columns_summed(checked_csr(_copied(X), only_range=True))
            )
        return X


def unusable(X: sparse.csr_matrix, row: int, code: int, name: str) -> ValueError:
    """The error about a row with this defect."""
    return ValueError(
        f"{name}: row {row} cannot be used: {DEFECTS[code]}; accepted are column indices from 0 to "
        f"{X.shape[1] - 1}, and row starts in indptr that rise from 0 to {len(X.data)}"
    )


def as_csr(X: Any, name: str = "X") -> sparse.csr_matrix:
    """A sparse matrix as CSR with arrays that a kernel can read; the indices are not checked."""
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, got {X.ndim}")
    with errors_about(name):
        X = plain_arrays(X if X.format == "csr" else _converted(X, name), name)
        begin, stop = int(X.indptr[0]), int(X.indptr[-1])
        if begin == 0 and stop == len(X.data):
            return X
        # Leave out stored values before the first row and after the last row.
        indptr = X.indptr - X.indptr[0]
        return csr_around(X.shape, X.data[begin:stop], X.indices[begin:stop], indptr)


def plain(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A contiguous, aligned array of this type: ``array`` itself if possible, else a copy."""
    if array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned:
        return array
    # A long double that is too large becomes infinite, and the caller refuses infinity and NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def plain_arrays(X: sparse.csr_matrix, of: str = "X") -> sparse.csr_matrix:
    """X itself, or a matrix like it whose three arrays the kernels can read.

    These arrays are contiguous, aligned and of the machine's byte order; the values are float32 or
    float64, and both index arrays hold int32 or both hold int64.
    """
    for name in ("data", "indices", "indptr"):
        array = getattr(X, name)
        if not isinstance(array, np.ndarray) or array.ndim != 1:
            raise TypeError(
                f"{of}.{name} must be a one-dimensional array, got {type(array).__name__}"
            )
        if name != "data" and array.dtype.kind not in "iu":
            raise TypeError(f"{of}.{name} must hold integers, got {array.dtype}")
    if X.data.dtype.kind not in "biuf":
        cause = "Complex data not supported: " if X.data.dtype.kind == "c" else ""
        raise ValueError(f"{cause}{of} must hold real numbers, got {X.data.dtype}")
    if len(X.indptr) != X.shape[0] + 1:
        raise ValueError(
            f"{of}: indptr must have one entry more than there are rows ({X.shape[0] + 1}), "
            f"got {len(X.indptr)}"
        )
    value_type, narrow = X.data.dtype.newbyteorder("="), np.dtype("i4")
    if value_type not in (np.float32, np.float64):
        value_type = np.dtype("f8")
    both_narrow = X.indices.dtype.newbyteorder("=") == X.indptr.dtype.newbyteorder("=") == narrow
    index_type = narrow if both_narrow else np.dtype("i8")
    data = plain(X.data, value_type)
    indices, indptr = plain(X.indices, index_type), plain(X.indptr, index_type)
    if data is X.data and indices is X.indices and indptr is X.indptr:
        return X
    return csr_around(X.shape, data, indices, indptr)


def _copied(X: sparse.csr_matrix) -> sparse.csr_matrix:
    return csr_around(X.shape, X.data.copy(), X.indices.copy(), X.indptr.copy())


def _with_repeated_columns_summed(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same rows; rows that contain a column twice have sorted columns with the sums.

    All other rows keep the order of their columns, and so of every sum over them.  So the result
    for a row does not depend on other rows: rows in chunks give the same bits as one matrix.
    """
    summed = _copied(X)
    # Otherwise SciPy would sort the rows of one matrix and not those of another.
    summed.has_sorted_indices = summed.has_canonical_format = False
    with np.errstate(over="ignore"):
        summed.sum_duplicates()
    before, after = np.diff(X.indptr), np.diff(summed.indptr)
    unchanged = before == after
    places, sources = np.repeat(unchanged, after), np.repeat(unchanged, before)
    summed.data[places], summed.indices[places] = X.data[sources], X.indices[sources]
    return summed


def _converted(X: Any, of: str) -> sparse.csr_matrix:
    """A matrix of another format as CSR, with checked indices, because SciPy does not check them.

    The indices are copied before the check, so that SciPy uses the checked indices even if another
    thread changes the matrix.
    """
    if X.format == "csc":
        # The columns are the rows of the transpose.
        arrays = np.asarray(X.data), np.array(X.indices), np.array(X.indptr)
        return checked_csr(csr_around(X.shape[::-1], *arrays), of, only_range=True).T.tocsr()
    if X.format == "lil":
        lengths = [len(row) for row in X.rows]
        if lengths != [len(row) for row in X.data]:
            raise ValueError(f"{of}.rows and {of}.data must hold lists that are equally long")
        columns = np.fromiter(map(operator.index, chain.from_iterable(X.rows)), np.int64)
        values = np.array([*chain.from_iterable(X.data)], dtype=X.dtype)
        return csr_around(X.shape, values, columns, np.cumsum([0, *lengths]))
    for name in ("indices", "indptr", "offsets"):
        if np.asarray(getattr(X, name, 0)).dtype.kind not in "iu":
            raise TypeError(f"{of}.{name} must hold integers, got {getattr(X, name).dtype}")
    if X.format == "dia" and np.shape(X.data)[:1] != np.shape(X.offsets):
        raise ValueError(f"{of}.offsets must have one entry for every row of {of}.data")
    X = (_with_checked_blocks(X, of) if X.format == "bsr" else X).tocoo()
    # Small integers would overflow when SciPy adds up the values of a place.
    values = X.data.astype(np.float64) if X.data.dtype.kind in "biu" else X.data
    # The constructor compares the indices with the shape.
    indices = np.array(X.row), np.array(X.col)
    return sparse.coo_matrix((values, indices), shape=X.shape).tocsr()


def _with_checked_blocks(X: Any, of: str) -> sparse.bsr_matrix:
    """A copy of a BSR matrix with checked indices: SciPy would allocate what wrong ones ask for."""
    values = np.asarray(X.data)
    if values.ndim != 3 or 0 in values.shape[1:]:
        raise TypeError(f"{of}.data must hold blocks of rows and columns, got {values.shape}")
    shape = X.shape[0] // values.shape[1], X.shape[1] // values.shape[2]
    numbers = np.arange(len(values), dtype=np.float64)
    blocks = csr_around(shape, numbers, np.array(X.indices), np.array(X.indptr))
    blocks = checked_csr(blocks, of, only_range=True)
    arrays = values[blocks.data.astype(np.intp)], blocks.indices, blocks.indptr
    return sparse.bsr_matrix(arrays, shape=X.shape)


@contextmanager
def errors_about(name: str) -> Iterator[None]:
    """A context that adds the name of the argument to errors of NumPy, SciPy or scikit-learn."""
    try:
        yield
    except FloatingPointError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, (TypeError, ValueError)) and _NAMES_X_OR_Y.search(str(error)):
            raise
        kind = TypeError if isinstance(error, (AttributeError, TypeError)) else ValueError
        raise kind(f"{name} cannot be used: {error}") from error


def as_examples(
    X: sparse.csr_matrix,
    y: NDArray[np.float64] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    row_sizes: NDArray[np.float64] | str | None = None,
) -> Examples:
    """Rows, targets, importances and row sizes as one object for the kernels; nothing is copied.

    X is a checked matrix.  ``row_sizes`` may be the name of a size (``Plan.size_kind``); then the
    kernel computes the size of a row at its visit.
    """
    double = np.dtype(np.float64)
    y = y if y is None else plain(y, double)
    sample_weight = sample_weight if sample_weight is None else plain(sample_weight, double)
    if not (row_sizes is None or isinstance(row_sizes, str)):
        row_sizes = plain(row_sizes, double)
    return Examples(X.data, X.indices, X.indptr, X.shape[1], y, sample_weight, row_sizes)


def csr_around(shape: tuple[int, int], values: Any, indices: Any, indptr: Any) -> sparse.csr_matrix:
    """A matrix of these arrays; SciPy's constructor would look for smaller indices and copy."""
    matrix = sparse.csr_matrix(shape, dtype=values.dtype)
    matrix.data, matrix.indices, matrix.indptr = values, indices, indptr
    return matrix


def has_usual_size(y: NDArray[np.float64]) -> bool:
    """Whether training in float32 can hold these targets, by their largest absolute value."""
    largest = float(np.abs(y).max(initial=0.0))
    return largest == 0.0 or _SMALLEST_TARGET <= largest <= _LARGEST_TARGET


def checked_targets(y: Any, *, warn: bool) -> NDArray[np.float64]:
    """The numbers in y as floats; ``warn`` about numbers that are too small or too large."""
    given = as_array("y", "must hold real numbers", y)
    first = given.flat[0] if given.size else None
    if isinstance(first, str):
        raise TypeError(
            f"y must hold real numbers, got texts such as {str(first)!r}: a classifier, such as "
            f"LazyNetClassifier, learns classes"
        )
    targets = np.ascontiguousarray(check_array("y", "must hold real numbers", y, masks=True))
    if warn and not has_usual_size(targets):
        warnings.warn(
            f"the largest absolute value in y is {np.abs(targets).max():.3g}: squares of such "
            f"numbers leave the range of floats, and the model may be far from the best; divide y "
            f"by this value before training, and multiply the predictions by it",
            stacklevel=2,
        )
    return targets


def check_sample_weight(
    sample_weight: ArrayLike | None, X: sparse.csr_matrix, *, some_rows: bool = False
) -> NDArray[np.float64] | None:
    """``sample_weight`` as one finite number >= 0 per row of X, at least one of them > 0.

    A single number is the weight of every row.  ``some_rows``: X is a part of all rows, and the
    weights of a part may all be 0.
    """
    if sample_weight is None:
        return None
    rule = "must hold one real number for every row"
    weights = check_array("sample_weight", rule, sample_weight, masks=True)
    if weights.ndim == 0:
        weights = np.full(X.shape[0], float(weights))
    if weights.shape != (X.shape[0],):
        raise ValueError(f"sample_weight {rule}, shape ({X.shape[0]},), got shape {weights.shape}")
    # NaN fails both comparisons.
    sound = (weights >= 0.0) & (weights < np.inf)
    if not sound.all():
        row = int(np.argmin(sound))
        raise ValueError(
            f"sample_weight must be finite and not negative, got {weights[row]} for row {row}"
        )
    if not some_rows:
        check_any_weight(weights.any())
    return np.ascontiguousarray(weights)


def check_any_weight(any_weight: bool | np.bool_) -> None:
    """Refuse rows whose weights are all 0."""
    if not any_weight:
        raise ValueError(
            "sample_weight, times class_weight, must not be zero for every row: nothing would be "
            "learned"
        )


def row_sizes_of(X: sparse.csr_matrix, kind: str | None) -> NDArray[np.float64] | None:
    """The size of every row on which the rates depend (``Plan.size_kind``); None without a kind.

    >>> row_sizes_of(sparse.csr_matrix([[3.0, -4.0], [0.0, 0.0]]), "absolute_sums")
    array([7., 0.])
    """
    return None if kind is None else getattr(as_examples(X), kind)()


def unpickled(part: Any) -> Any:
    """A part of an object from a pickle; an array is aligned, and may be changed.

    joblib maps arrays from its file, and Dask leaves them in the message, at any address.
    """
    if isinstance(part, np.memmap):
        return np.array(part)
    if isinstance(part, np.ndarray):
        return np.require(part, requirements=["ALIGNED", "WRITEABLE"])
    return part


def read_only(matrix: Any) -> Any:
    """The array or CSR matrix itself, made read-only."""
    parts = (matrix.data, matrix.indices, matrix.indptr) if sparse.issparse(matrix) else (matrix,)
    for array in parts:
        array.flags.writeable = False
    return matrix


def check_order(sample_order: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """``sample_order`` as row numbers: one order for all epochs, or one row per epoch."""
    if sample_order is None:
        return None
    order = as_array("sample_order", "must hold integers", sample_order)
    if order.size == 0:
        raise ValueError("sample_order must not be empty")
    if order.dtype.kind not in "iu":
        raise TypeError(f"sample_order must hold integers, got {order.dtype}")
    if order.ndim not in (1, 2):
        raise ValueError(f"sample_order must have one or two dimensions, got {order.ndim}")
    if order.min() < 0 or order.max() >= n_rows:
        raise ValueError(
            f"sample_order must hold row numbers from 0 to {n_rows - 1}, "
            f"got {order.min()} to {order.max()}"
        )
    # A copy, because another thread could change the order while a kernel uses it.
    return np.array(order, dtype=np.int64, order="C")
