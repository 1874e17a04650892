"""What makes a block on its worker: the rows in the form of a chunk, and facts about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data import sizes_of
from lazynet.models.checkpoints import told
from lazynet.problems import Problems
from lazynet.streams.chunks import Chunk, csr, joined, labels_matrix
from lazynet.streams.source import Source, Tally, as_source


class UnreadableBlock(ValueError):
    """A block could not be made; the message names the block."""


def held(given: Any, name: str) -> Chunk:
    """The rows of a block in the form of a chunk; ``given`` is (X, y), (X, y, weights) or a source.

    >>> held(([[0.0, 2.0]], [1]), "block 0").X.toarray()
    array([[0., 2.]])
    """
    try:
        source = as_source(given if isinstance(given, Source) else [given])
        chunk = joined([*source.chunks()] or [_without_rows(source)])
    except (OSError, TypeError, ValueError, IndexError, KeyError) as error:
        raise UnreadableBlock(f"{name} cannot be read: {error}") from error
    return chunk


def _without_rows(source: Source) -> Chunk:
    """A chunk of no rows, with the columns of a source."""
    X, labels = csr([0], [], [], source.n_features), source.n_labels
    return Chunk(X, np.zeros(0) if labels is None else labels_matrix([], [], labels), None)


def made(make: Callable[..., Any], given: Any, name: str) -> Chunk:
    """The block that a function of the user makes of ``given``."""
    try:
        found = make(given)
    except Exception as error:
        raise UnreadableBlock(f"{name} cannot be read: {error}") from error
    return held(found, name)


class BlockFacts(NamedTuple):
    """What the client knows of a block."""

    tally: Tally
    n_features: int
    n_labels: int | None
    #: what identifies X, y and the weights, of which there may be none
    told: list[list[str] | None]
    #: whether a row has a weight above 0
    counts: bool
    first: Chunk


def facts_of(chunk: Chunk) -> BlockFacts:
    """What the client is told of a block: numbers, checksums and the first row."""
    tally = Tally()
    tally.add(chunk)
    n_labels = int(chunk.y.shape[1]) if sparse.issparse(chunk.y) else None
    first = Chunk(chunk.X[:1], chunk.y[:1], None if chunk.weight is None else chunk.weight[:1])
    return BlockFacts(
        tally,
        int(chunk.X.shape[1]),
        n_labels,
        [None if part is None else told(part) for part in chunk],
        chunk.weight is None or bool(chunk.weight.any()),
        first,
    )


def widened(matrix: sparse.csr_matrix, n_columns: int) -> sparse.csr_matrix:
    """The same rows with room for more columns; nothing is copied.

    >>> widened(sparse.csr_matrix([[1.0]]), 3).toarray()
    array([[1., 0., 0.]])
    """
    if matrix.shape[1] == n_columns:
        return matrix
    wide = sparse.csr_matrix((matrix.shape[0], n_columns), dtype=matrix.dtype)
    wide.data, wide.indices, wide.indptr = matrix.data, matrix.indices, matrix.indptr
    return wide


def as_wide(chunk: Chunk, n_features: int, n_labels: int | None) -> Chunk:
    """The chunk with the columns that all blocks have together."""
    y = chunk.y if n_labels is None else widened(chunk.y, n_labels)
    return Chunk(widened(chunk.X, n_features), y, chunk.weight)


#: Checked rows of a chunk and their problems.
Prepare = Callable[[Chunk], tuple[sparse.csr_matrix, Problems]]


class Prepared(NamedTuple):
    """What the rows of a block are for a fit, beside the chunk itself."""

    #: the shape of X; and X itself, where the checks of the estimator have copied it
    shape: tuple[int, int]
    copied: sparse.csr_matrix | None
    problems: Problems
    squared_norms: NDArray[np.float64]

    def rows(self, chunk: Chunk) -> sparse.csr_matrix:
        """X of the block, as the learners see it."""
        return widened(chunk.X, self.shape[1]) if self.copied is None else self.copied


def prepared(
    chunk: Chunk, prepare: Prepare, n_features: int, n_labels: int | None, name: str
) -> Prepared:
    """The checked targets and sizes of the rows of a block."""
    try:
        X, problems = prepare(as_wide(chunk, n_features, n_labels))
    except (TypeError, ValueError) as error:
        raise UnreadableBlock(f"{name} cannot be learned from: {error}") from error
    norms = sizes_of(X, "squared_norms")
    assert norms is not None, "a kind of size is named"
    copied = None if X.data is chunk.X.data and X.indices is chunk.X.indices else X
    return Prepared(X.shape, copied, problems, norms)
