"""All rows of a source as one matrix that need not fit into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.chunks import Chunk, csr, index_type
from lazynet.data.source import as_source

# Bytes of an array that are copied at a time.
_AT_A_TIME = 2**24


@contextmanager
def mapped(source: Any) -> Iterator[Chunk]:
    """The rows of a source as one chunk, whose arrays are temporary files mapped into memory.

    The files are made in one pass over the source, where Python makes temporary files: the
    environment variable ``TMPDIR`` names the folder.  They are gone with the block, also if the
    process is killed.  They hold 12 bytes for a value, or 16 where there are more than 2^31 columns
    or values.  The system keeps as much of them in memory as it has room for, and reads the rest
    again when it is needed.  In memory are ``y``, ``weight`` and where every row begins.

    The rows of a source that shuffles stand in the order of its first epoch.

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
            raise ValueError("X must have at least one row, and the source has none")
        if index_type(source.n_features, n_values) != kind:
            wide = files.enter_context(tempfile.TemporaryFile())
            _widen(indices, wide, n_values)
            indices, kind = wide, np.dtype(np.int64)
        X = csr(
            np.concatenate(ends), _array(indices, kind, n_values),
            _array(values, np.dtype(np.float64), n_values), source.n_features,
        )  # fmt: skip
        y = sparse.vstack(ys, format="csr") if sparse.issparse(ys[0]) else np.concatenate(ys)
        yield Chunk(X, y, np.concatenate(weights) if weighted else None)


def _widen(indices: Any, wide: Any, n_values: int) -> None:
    """Write the same numbers in 64 bits."""
    indices.seek(0)
    for start in range(0, n_values, _AT_A_TIME):
        count = min(_AT_A_TIME, n_values - start)
        part = np.frombuffer(indices.read(4 * count), dtype=np.int32)
        wide.write(part.astype(np.int64).data)


def _array(file: Any, dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """The numbers in a file, mapped into memory."""
    file.flush()
    if not length:
        return np.zeros(0, dtype=dtype)
    return np.memmap(file, dtype, "r", shape=(length,))
