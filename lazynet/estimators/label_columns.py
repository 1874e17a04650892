"""The forms of y with a column for every label."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

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


def form_of(y: Any) -> str:
    """The form of a y that has a column per label."""
    if not sparse.issparse(y):
        return "dense"
    return "sparse array" if isinstance(y, sparse.sparray) else "sparse matrix"
