"""A chunk: some rows with their targets; chunks are joined, cut and reordered here."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import csr_around, errors_about


class Chunk(NamedTuple):
    """Some rows: X in CSR form, y, and the sample weights or None.

    y holds a number per row, or for several labels a CSR matrix with a 1 for each label of a row.

    >>> chunk = Chunk(csr([0, 1], [3], [0.5], 4), np.array([1.0]), None)
    >>> chunk.X.toarray(), chunk.y, chunk.weight
    (array([[0. , 0. , 0. , 0.5]]), array([1.]), None)
    """

    X: sparse.csr_matrix
    y: Any
    weight: NDArray[np.float64] | None


#: The chunks of one pass; ``close`` ends the pass.
Passing = Generator[Chunk, None, None]
#: From this number of columns or values on, they are counted in 64 bits.
NARROW = 2**31


def index_type(n_columns: int, n_values: int) -> np.dtype[Any]:
    """The type of the indices of a matrix."""
    return np.dtype(np.int32 if max(n_columns, n_values) < NARROW else np.int64)


def csr(indptr: Any, indices: Any, values: Any, n_columns: int) -> sparse.csr_matrix:
    """A matrix of float64 around arrays; only arrays of other types are copied.

    The type of the indices follows from the number of columns, so that all chunks of a source have
    the same one.

    >>> csr([0, 0, 1], [2], [0.5], 3).toarray()
    array([[0. , 0. , 0. ],
           [0. , 0. , 0.5]])
    """
    kind = index_type(n_columns, len(indices))
    return csr_around(
        (len(indptr) - 1, n_columns),
        np.asarray(values, dtype=np.float64),
        np.asarray(indices, dtype=kind),
        np.asarray(indptr, dtype=kind),
    )


def labels_matrix(ends: Any, codes: Any, n_labels: int) -> sparse.csr_matrix:
    """The labels of rows as a matrix with a 1 for each; ``ends`` has the end of each row's labels.

    >>> labels_matrix([2, 2, 3], [1, 0, 2], 3).toarray()
    array([[1, 1, 0],
           [0, 0, 0],
           [0, 0, 1]], dtype=int8)
    """
    codes = np.asarray(codes, dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.asarray(ends, dtype=np.int64)])
    # Arrays from files may contain any numbers, and no later code checks the matrix.
    least, greatest = codes.min(initial=0), codes.max(initial=-1)
    if least < 0 or greatest >= n_labels:
        raise ValueError(f"y must hold labels from 0 to {n_labels - 1}, got {least} to {greatest}")
    if (np.diff(starts) < 0).any() or starts[-1] != len(codes):
        raise ValueError(f"y: the ends of its rows must rise from 0 to {len(codes)}")
    return csr_around((len(ends), n_labels), np.ones(len(codes), dtype=np.int8), codes, starts)


def part(chunk: Chunk, start: int, stop: int) -> Chunk:
    """The rows from ``start`` to ``stop`` as a view."""
    if start == 0 and stop == chunk.X.shape[0]:
        return chunk
    return _of_all(chunk, lambda X: _rows(X, start, stop), lambda array: array[start:stop])


def _of_all(chunk: Chunk, of_matrix: Callable[[Any], Any], of_array: Callable[[Any], Any]) -> Chunk:
    """The chunk after a change of the rows of its matrices and arrays."""
    y = of_matrix(chunk.y) if sparse.issparse(chunk.y) else of_array(chunk.y)
    return Chunk(of_matrix(chunk.X), y, None if chunk.weight is None else of_array(chunk.weight))


def _rows(matrix: sparse.csr_matrix, start: int, stop: int) -> sparse.csr_matrix:
    """Some rows of a matrix that share its arrays."""
    values = slice(int(matrix.indptr[start]), int(matrix.indptr[stop]))
    indptr = matrix.indptr[start : stop + 1] - matrix.indptr[start]
    shape = stop - start, matrix.shape[1]
    return csr_around(shape, matrix.data[values], matrix.indices[values], indptr)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """The rows of all chunks, one after the other."""
    if len(chunks) == 1:
        return chunks[0]
    ys = [chunk.y for chunk in chunks]
    weights: NDArray[np.float64] | None = None
    if any(chunk.weight is not None for chunk in chunks):
        weights = np.concatenate(
            [np.ones(c.X.shape[0]) if c.weight is None else c.weight for c in chunks]
        )
    return Chunk(
        sparse.vstack([chunk.X for chunk in chunks], format="csr"),
        sparse.vstack(ys, format="csr") if sparse.issparse(ys[0]) else np.concatenate(ys),
        weights,
    )


def reordered(chunk: Chunk, order: NDArray[np.int64]) -> Chunk:
    """The rows in another order; the order of the columns within a row does not change.

    >>> chunk = Chunk(csr([0, 1, 3], [0, 2, 1], [1.0, 2.0, 3.0], 3), np.array([4.0, 5.0]), None)
    >>> reversed_rows = reordered(chunk, np.array([1, 0]))
    >>> reversed_rows.X.indices, reversed_rows.X.data, reversed_rows.y
    (array([2, 1, 0], dtype=int32), array([2., 3., 1.]), array([5., 4.]))
    """
    return _of_all(chunk, lambda X: rows_at(X, order), lambda array: array[order])


def rows_at(matrix: sparse.csr_matrix, order: NDArray[np.int64]) -> sparse.csr_matrix:
    """Some rows of a matrix; SciPy would not check where the rows begin."""
    lengths = np.diff(matrix.indptr)[order]
    ends = np.cumsum(lengths, dtype=np.int64)
    places = np.arange(ends[-1] if len(ends) else 0)
    with errors_about("X"):
        places += np.repeat(matrix.indptr[order] - (ends - lengths), lengths)
        values, columns = matrix.data[places], matrix.indices[places]
    indptr = np.concatenate([np.zeros(1, np.int64), ends]).astype(matrix.indptr.dtype)
    return csr_around((len(order), matrix.shape[1]), values, columns, indptr)


def rechunked(chunks: Iterable[Chunk], rows: int) -> Passing:
    """The same rows in the same order, ``rows`` at a time; the last chunk may have fewer.

    >>> chunk = Chunk(csr([0, 0, 0, 0], [], [], 1), np.array([1.0, 2.0, 3.0]), None)
    >>> [part.y.tolist() for part in rechunked([chunk, chunk], 2)]
    [[1.0, 2.0], [3.0, 1.0], [2.0, 3.0]]
    """
    waiting: list[Chunk] = []
    n_waiting = 0
    try:
        for chunk in chunks:
            start, stop = 0, chunk.X.shape[0]
            while stop - start >= rows - n_waiting:
                end = start + rows - n_waiting
                yield joined([*waiting, part(chunk, start, end)])
                waiting, n_waiting, start = [], 0, end
            if stop > start:
                waiting.append(part(chunk, start, stop))
                n_waiting += stop - start
        if waiting:
            yield joined(waiting)
    finally:
        if isinstance(chunks, Generator):
            chunks.close()
