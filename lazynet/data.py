"""The door: X, y, weights and the sample order are checked and converted here, once.

A CSR matrix of float32 or float64 with int32 or int64 indices is used where it lies, read-only and
memory-mapped ones too; anything else is converted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from lazynet.kernels.examples import DEFECT_NOT_FINITE, DEFECT_NOT_SORTED, DEFECTS, Examples


def index_arrays(X: sparse.csr_matrix) -> tuple[NDArray[Any], NDArray[Any]]:
    """indices and indptr of one type: as they lie if SciPy made them, else both as int64."""
    columns, starts = X.indices, X.indptr
    if columns.dtype != starts.dtype:
        columns, starts = columns.astype(np.int64), starts.astype(np.int64)
    return columns, starts


def as_examples(
    X: sparse.csr_matrix,
    y: NDArray[np.float64] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> Examples:
    """Rows, targets and importances as the kernels take them; nothing is copied."""
    columns, starts = index_arrays(X)
    return Examples(X.data, columns, starts, X.shape[1], y, sample_weight)


def touched_columns(X: sparse.csr_matrix) -> NDArray[Any]:
    """The column of every stored value; behind the last row there may be spare room."""
    return X.indices[X.indptr[0] : X.indptr[-1]]


def plain_arrays(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """X itself, or a view of it whose three arrays are as the kernels take them."""
    given = (X.data, X.indices, X.indptr)
    arrays = [np.ascontiguousarray(array) for array in (X.data, *index_arrays(X))]
    if all(new is old for new, old in zip(arrays, given, strict=True)):
        return X
    # Not the constructor, which would look for smaller index types and copy.
    view = sparse.csr_matrix(X.shape, dtype=X.dtype)
    view.data, view.indices, view.indptr = arrays
    return view


def usable_rows(X: sparse.csr_matrix, *, only_range: bool = False) -> sparse.csr_matrix:
    """X itself where a kernel can use it, a sorted copy where only the order of columns is amiss.

    (scikit-learn's vectorizers return rows whose columns are not in order.)  Whatever else is
    amiss is refused, naming the row.  ``only_range`` asks only that no index leaves the matrix,
    which is what predicting needs.
    """
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    X = plain_arrays(X)
    values = X.data
    if values.dtype not in (np.float32, np.float64):
        # Integers and the like are converted later; what matters now is the structure.
        values = np.zeros(len(values), dtype=np.float32)
    if len(X.indptr) != X.shape[0] + 1:
        raise ValueError(
            f"X: indptr must have one entry more than there are rows ({X.shape[0] + 1}), "
            f"got {len(X.indptr)}"
        )
    defect = Examples(values, X.indices, X.indptr, X.shape[1]).first_defect(only_range)
    if defect is None:
        return X
    row, code = defect
    if code == DEFECT_NOT_FINITE:
        raise ValueError(f"Input X contains NaN or infinity, first in row {row}.")
    if code != DEFECT_NOT_SORTED:
        raise ValueError(
            f"X: row {row} cannot be used: {DEFECTS[code]}; accepted are column indices from 0 "
            f"to {X.shape[1] - 1}, and row starts in indptr that rise from 0 to {len(values)}"
        )
    # Rows behind this one have not been looked at yet, and SciPy is about to read them all.
    usable_rows(X, only_range=True)
    # Small integers would overflow where two of them are merged.
    numbers = X.data.copy() if X.dtype.kind == "f" else X.data.astype(np.float64)
    merged = sparse.csr_matrix((numbers, X.indices.copy(), X.indptr.copy()), shape=X.shape)
    merged.sum_duplicates()
    return usable_rows(merged)


def check_convertible(X: Any) -> None:
    """Refuse indices that leave a matrix in another format before SciPy follows them."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if X.format == "csc":
        # The columns of X are the rows of its transpose, and these are checked alike.
        usable_rows(
            sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape[::-1], copy=False),
            only_range=True,
        )
    elif X.format == "coo":
        for name, numbers, size in (("row", X.row, X.shape[0]), ("col", X.col, X.shape[1])):
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
                raise ValueError(
                    f"X: its {name} indices must lie between 0 and {size - 1}, "
                    f"got {numbers.min()} to {numbers.max()}"
                )
    elif X.format == "bsr":
        X.check_format(full_check=True)


def check_order(sample_order: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """An explicit order of the rows: one for every epoch, or one row of them for each."""
    if sample_order is None:
        return None
    order = np.asarray(sample_order)
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
    # A copy: nobody can change it while a kernel follows it.
    return np.array(order, dtype=np.int64, order="C")


def check_example(
    indices: ArrayLike, values: ArrayLike, n_features: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """One example given by its nonzeros."""
    columns = np.asarray(indices)
    numbers = np.asarray(values)
    if columns.size == 0:
        columns = columns.astype(np.int64)
    if columns.dtype.kind not in "iu":
        raise TypeError(f"indices must be integers, got {columns.dtype}")
    if columns.ndim != 1 or columns.shape != numbers.shape:
        raise ValueError(
            f"indices and values must be one-dimensional and equally long, "
            f"got shapes {columns.shape} and {numbers.shape}"
        )
    if columns.dtype not in (np.int32, np.int64):
        columns = columns.astype(np.int64)
    if numbers.dtype not in (np.float32, np.float64):
        numbers = numbers.astype(np.float64)
    if columns.size:
        if columns.min() < 0 or columns.max() >= n_features:
            raise ValueError(
                f"indices must lie between 0 and {n_features - 1}, "
                f"got {columns.min()} to {columns.max()}"
            )
        if (np.diff(columns) <= 0).any():
            raise ValueError("indices must be strictly increasing: sort them, merge repeated ones")
        if not np.isfinite(numbers).all():
            raise ValueError("values must be finite, got NaN or infinity")
    return np.ascontiguousarray(columns), np.ascontiguousarray(numbers)
