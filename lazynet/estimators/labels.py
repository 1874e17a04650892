"""A y with a column for every label, and the labels with the highest predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.weights import check_classes, check_labels, counts_rows

#: The forms of y with a column per label of which predictions and weights are sparse.
SPARSE_FORMS = ("sparse matrix", "sparse array")


def has_a_column_per_label(y: Any) -> bool:
    """Whether y is a matrix; a matrix of one column is a column of classes, unless it is sparse."""
    if sparse.issparse(y):
        return True
    shape = getattr(y, "shape", None)
    if isinstance(y, (list, tuple)) and y and isinstance(y[0], (list, tuple, np.ndarray)):
        shape = (len(y), len(y[0]))
    return isinstance(shape, tuple) and len(shape) == 2 and shape[1] != 1


def n_columns_of(y: Any) -> int:
    """The number of columns of a matrix."""
    return int(y.shape[1] if sparse.issparse(y) else np.shape(y)[1])


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
        known = np.arange(n_columns_of(y))
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
