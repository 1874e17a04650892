"""Products of rows and weights, by SciPy, and rows that no other thread can change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import csr_around, unusable
from lazynet.kernels.examples import Examples

# The nonzeros of the rows whose indices are copied at once.
_NONZEROS_AT_ONCE = 2**18


def own_rows(
    X: sparse.csr_matrix, start: int = 0, stop: int | None = None, name: str = "X"
) -> sparse.csr_matrix:
    """The rows from ``start`` to ``stop``, with the values of X and indices of their own.

    The copied indices are checked: another thread may have changed X since the first check.

    >>> own_rows(sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0], [3.0, 4.0]]), 1, 3).toarray()
    array([[1., 0.],
           [3., 4.]])
    """
    starts = np.array(X.indptr[start : None if stop is None else stop + 1])
    values = slice(int(starts[0]), int(starts[-1]))
    shape = len(starts) - 1, X.shape[1]
    rows = csr_around(shape, X.data[values], X.indices[values].copy(), starts - starts[0])
    defect = Examples(rows.data, rows.indices, rows.indptr, X.shape[1]).first_defect(True)
    if defect is not None:
        raise unusable(X, start + defect[0], defect[1], name)
    return rows


def products(X: Any, coefficients: Any) -> NDArray[np.float64]:
    """The product of every row of X with every row of ``coefficients``; both may be sparse.

    >>> products(sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]]), np.array([[3.0, 5.0]]))
    array([[10.],
           [ 3.]])
    """
    if not sparse.issparse(X):
        result = X @ coefficients.T
        return result.toarray() if sparse.issparse(result) else np.asarray(result)
    if sparse.issparse(coefficients):
        columns = coefficients.T.tocsr()
    else:
        columns = np.ascontiguousarray(coefficients.T)
    n_rows = X.shape[0]
    out = np.empty((n_rows, columns.shape[1]))
    length = max(1, _NONZEROS_AT_ONCE * n_rows // max(1, len(X.data)))
    for start in range(0, n_rows, length):
        part = own_rows(X, start, min(start + length, n_rows)) @ columns
        out[start : start + length] = part.toarray() if sparse.issparse(part) else part
    return out


def only_named_columns(X: sparse.csr_matrix) -> tuple[NDArray[Any], sparse.csr_matrix]:
    """The columns with stored values, in order, and X without all other columns.

    >>> columns, reduced = only_named_columns(sparse.csr_matrix([[0.0, 2.0, 0.0, 3.0]]))
    >>> columns, reduced.toarray()
    (array([1, 3], dtype=int32), array([[2., 3.]]))
    """
    X = own_rows(X)
    columns, places = np.unique(X.indices, return_inverse=True)
    return columns, sparse.csr_matrix((X.data, places, X.indptr), (X.shape[0], len(columns)))
