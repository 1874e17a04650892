"""One matrix of all rows of a source, mapped into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.chunks import Chunk, csr, index_type
from lazynet.data.source import Source, as_source, check_no_y_with_source, check_room_for_model


@contextmanager
def mapped(source: Any) -> Iterator[Chunk]:
    """The rows of a source as one chunk, whose arrays are temporary files mapped into memory.

    One pass over the source makes the files, in Python's folder for temporary files: the
    environment variable ``TMPDIR`` names it.  The files disappear at the end of the ``with`` block,
    also if the process is killed.  They have 12 bytes per value, or 16 bytes with more than 2^31
    columns or values.  The system holds as much of them in memory as there is room for, and reads
    other parts from the disk.  ``y``, ``weight`` and ``indptr`` are in memory.

    The rows of a source that shuffles have the order of its first epoch.

    >>> with mapped([([[0.0, 2.0]], [1]), ([[3.0, 0.0]], [0])]) as rows:
    ...     rows.X.toarray().tolist(), rows.y, rows.weight
    ([[0.0, 2.0], [3.0, 0.0]], array([1., 0.]), None)
    """
    source = as_source(source)
    kind: np.dtype[Any] = np.dtype(np.int32)
    ends, ys, weights = [np.zeros(1, dtype=np.int64)], [], []
    n_values, weighted = 0, False
    with ExitStack() as files:
        values, indices = (files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        with closing(source.chunks()) as chunks:
            for X, y, weight in chunks:
                kind = X.indices.dtype
                values.write(np.ascontiguousarray(X.data).data)
                indices.write(np.ascontiguousarray(X.indices).data)
                ends.append(X.indptr[1:].astype(np.int64) + n_values)
                n_values += len(X.data)
                ys.append(y if sparse.issparse(y) else np.array(y))
                weights.append(np.ones(X.shape[0]) if weight is None else np.array(weight))
                weighted = weighted or weight is not None
        if not ys:
            raise ValueError(f"X must have at least one row, and {source} has none")
        columns = _array(indices, kind, n_values)
        if index_type(source.n_features, n_values) != kind:
            file = files.enter_context(tempfile.TemporaryFile())
            wide = np.memmap(file, np.int64, "w+", shape=(n_values,))
            wide[:] = columns
            columns = wide
        numbers = _array(values, np.dtype(np.float64), n_values)
        X = csr(np.concatenate(ends), columns, numbers, source.n_features)
        y = sparse.vstack(ys, format="csr") if sparse.issparse(ys[0]) else np.concatenate(ys)
        yield Chunk(X, y, np.concatenate(weights) if weighted else None)


@contextmanager
def in_memory(X: Any, y: Any, sample_weight: Any) -> Iterator[Chunk]:
    """The given X, y and sample weights, or those of a source, mapped into memory."""
    if not isinstance(X, Source):
        yield Chunk(X, y, sample_weight)
        return
    check_no_y_with_source(y, sample_weight)
    if X.n_labels is not None:
        raise ValueError(
            f"y must have one class or one number for every row, and the rows of {X} have "
            "several labels: LazyNetClassifier learns all labels in one pass"
        )
    check_room_for_model(X)
    with mapped(X) as rows:
        yield rows


def _array(file: Any, dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """The numbers in a file, mapped into memory."""
    file.flush()
    if not length:
        return np.zeros(0, dtype=dtype)
    return np.memmap(file, dtype, "r", shape=(length,))
