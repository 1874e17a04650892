"""The door: X, y, weights and the sample order are checked and converted here, once.

A CSR matrix of float32 or float64 with int32 or int64 indices is used where it lies, read-only and
memory-mapped ones too; anything else is converted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from lazynet.kernels.examples import DEFECTS, Examples

_REMEDY = {
    "column indices": (
        " lazynet reads X where it lies and changes nothing in it: call X.sum_duplicates(), "
        "which sorts the indices of every row and merges repeated ones."
    ),
}


def index_arrays(X: sparse.csr_matrix) -> tuple[NDArray[Any], NDArray[Any]]:
    """indices and indptr of one type, as they lie if SciPy made them."""
    columns, starts = X.indices, X.indptr
    if columns.dtype != starts.dtype:
        wide = np.int64 if X.nnz > np.iinfo(np.int32).max else columns.dtype
        columns, starts = columns.astype(wide, copy=False), starts.astype(wide, copy=False)
    return columns, starts


def as_examples(
    X: sparse.csr_matrix,
    y: NDArray[np.float64] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> Examples:
    """Rows, targets and importances as the kernels take them; nothing is copied."""
    columns, starts = index_arrays(X)
    return Examples(X.data, columns, starts, X.shape[1], y, sample_weight)


def check_rows(X: sparse.csr_matrix, *, only_range: bool = False, name: str = "X") -> None:
    """Refuse a CSR matrix that a kernel cannot use, naming the row and what is wrong with it.

    ``only_range`` asks only that no index leaves the matrix, which is what predicting needs.
    """
    if X.dtype not in (np.float32, np.float64):
        # Integers and the like are converted later; what matters now is the structure.
        X = sparse.csr_matrix(
            (np.zeros(len(X.data), dtype=np.float32), X.indices, X.indptr), shape=X.shape
        )
    columns, starts = index_arrays(X)
    if len(starts) != X.shape[0] + 1:
        raise ValueError(
            f"{name}: indptr must have one entry more than there are rows ({X.shape[0] + 1}), "
            f"got {len(starts)}"
        )
    defect = Examples(X.data, columns, starts, X.shape[1]).first_defect(only_range)
    if defect is None:
        return
    row, code = defect
    why = DEFECTS[code]
    if "finite" in why or "NaN" in why:
        raise ValueError(f"Input {name} contains NaN or infinity, first in row {row}.")
    remedy = next((text for key, text in _REMEDY.items() if key in why), "")
    raise ValueError(
        f"{name}: row {row} cannot be used: {why}; accepted are indices from 0 to "
        f"{X.shape[1] - 1}, strictly increasing in each row.{remedy}"
    )


def as_csr(X: Any) -> sparse.csr_matrix:
    """X in CSR form; a dense array keeps only its nonzeros."""
    if sparse.issparse(X):
        if X.format == "csr":
            return X
        converted = X.tocsr()
        converted.sum_duplicates()
        return converted
    return sparse.csr_matrix(np.asarray(X))


def check_order(sample_order: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """An explicit order of the rows: one for every epoch, or one row of them for each."""
    if sample_order is None:
        return None
    order = np.asarray(sample_order)
    if order.dtype.kind not in "iu":
        raise TypeError(f"sample_order must hold integers, got {order.dtype}")
    if order.ndim not in (1, 2):
        raise ValueError(f"sample_order must have one or two dimensions, got {order.ndim}")
    if order.size == 0:
        raise ValueError("sample_order must not be empty")
    if order.min() < 0 or order.max() >= n_rows:
        raise ValueError(
            f"sample_order must hold row numbers from 0 to {n_rows - 1}, "
            f"got {order.min()} to {order.max()}"
        )
    return np.ascontiguousarray(order, dtype=np.int64)


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
