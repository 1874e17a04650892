"""The nonzero weights of several outputs: read by features, and put into a row for every output."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def nonzeros_of(parts: Iterable[NDArray[np.float64]]) -> sparse.csr_matrix:
    """The nonzeros of the ``parts`` of a matrix, some rows each, as one matrix.

    >>> nonzeros_of([np.array([[0.0, 1.0]]), np.array([[2.0, 0.0]])]).toarray()
    array([[0., 1.],
           [2., 0.]])
    """
    found = []
    for part in parts:
        n_rows, n_columns = part.shape
        numbers = part.ravel()
        places = np.flatnonzero(numbers)
        starts = np.searchsorted(places, np.arange(n_rows + 1) * n_columns)
        entries = numbers[places], places % n_columns, starts
        found.append(sparse.csr_matrix(entries, shape=part.shape))
    return sparse.vstack(found, format="csr")


def rows_of(engines: Iterable[sparse.csr_matrix]) -> sparse.csr_matrix:
    """The weights of all engines, which have a row per feature, with a row per output.

    >>> rows_of([sparse.csr_matrix([[0.0, 1.0], [2.0, 3.0]])]).toarray()
    array([[0., 2.],
           [1., 3.]])
    """
    return sparse.hstack(list(engines), format="csr").T.tocsr()
