"""The highest numbers of every row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def highest_columns(numbers: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The columns of the ``k`` highest numbers of each row, the highest and leftmost first.

    >>> highest_columns(np.array([[1.0, 3.0, 1.0, 3.0]]), 3)
    array([[1, 3, 0]])
    """
    n = numbers.shape[1]
    if k < n:
        # The k-th highest number of a row may stand in several columns: the leftmost are taken.
        least = np.partition(numbers, n - k, axis=1)[:, n - k, None]
        above, equal = numbers > least, numbers == least
        room = k - above.sum(axis=1, keepdims=True)
        taken = above | (equal & (np.cumsum(equal, axis=1) <= room))
        columns = np.nonzero(taken)[1].reshape(len(numbers), k)
    else:
        columns = np.tile(np.arange(n), (len(numbers), 1))
    reached = np.take_along_axis(numbers, columns, axis=1)
    order = np.argsort(-reached, axis=1, kind="stable")
    return np.asarray(np.take_along_axis(columns, order, axis=1), dtype=np.int64)
