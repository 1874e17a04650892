"""All rows of a source as one matrix that need not fit into memory."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, closing
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.streams.cached import Cached
from lazynet.streams.chunks import csr, index_type, stacked
from lazynet.streams.source import Derived, Source, as_source

# Bytes of an array that are copied at a time.
_AT_A_TIME = 2**24


class Mapped:
    """The rows of a source in one CSR matrix, whose arrays are temporary files mapped into memory.

    The files are made when the block begins, in one pass over the source, and are gone with it,
    also if the process is killed.  They hold 12 bytes for a value, or 16 where there are more than
    2^31 columns or values.  The system keeps as much of them in memory as it has room for, and
    reads the rest again when it is needed.  In memory are ``y``, ``weight`` and where every row
    begins.

    The rows of a source that shuffles stand in the order of its first epoch.  ``folder`` is where
    the files are made; None: beside the file of a ``Cached`` source, else where Python makes
    temporary files, which the environment variable ``TMPDIR`` changes.

    >>> from lazynet.streams.source import as_source
    >>> with Mapped(as_source([([[0.0, 2.0]], [1]), ([[3.0, 0.0]], [0])])) as rows:
    ...     rows.X.toarray().tolist(), rows.y, rows.weight
    ([[0.0, 2.0], [3.0, 0.0]], array([1., 0.]), None)
    """

    X: sparse.csr_matrix
    #: a number a row, or a CSR matrix with a column per label
    y: Any
    weight: NDArray[np.float64] | None

    def __init__(self, source: Source, folder: str | None = None) -> None:
        self.source, self.folder = as_source(source), folder
        each = self.source
        while folder is None and isinstance(each, Derived):
            if isinstance(each, Cached):
                self.folder = os.path.dirname(os.path.abspath(each.path))
            each = each.source

    def __enter__(self) -> Self:
        self._files = ExitStack()
        with self._files:
            self._make()
            self._open = self._files.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__dict__.pop("X", None)
        self._open.close()

    def _file(self) -> Any:
        return self._files.enter_context(tempfile.TemporaryFile(dir=self.folder))

    def _make(self) -> None:
        source = self.source._before_counting() or self.source
        values, indices = self._file(), self._file()
        kind: np.dtype[Any] = np.dtype(np.int32)
        ends, ys, weights = [np.zeros(1, dtype=np.int64)], [], []
        n_values, widest, weighted = 0, -1, False
        with closing(source.chunks()) as chunks:
            for X, y, weight in chunks:
                kind = X.indices.dtype
                widest = max(widest, int(X.indices.max(initial=-1)))
                values.write(np.ascontiguousarray(X.data).data)
                indices.write(np.ascontiguousarray(X.indices).data)
                ends.append(X.indptr[1:].astype(np.int64) + n_values)
                n_values += len(X.data)
                ys.append(y if sparse.issparse(y) else np.array(y))
                weights.append(np.ones(X.shape[0]) if weight is None else np.array(weight))
                weighted = weighted or weight is not None
        if not ys:
            raise ValueError("X must have at least one row, and the source has none")
        n_columns = self.source.n_features if source is self.source else max(widest + 1, 1)
        if index_type(n_columns, n_values) != kind:
            indices, kind = self._widened(indices, n_values), np.dtype(np.int64)
        self.X = csr(
            np.concatenate(ends), _mapped(indices, kind, n_values),
            _mapped(values, np.dtype(np.float64), n_values), n_columns,
        )  # fmt: skip
        self.y = stacked(ys) if sparse.issparse(ys[0]) else np.concatenate(ys)
        self.weight = np.concatenate(weights) if weighted else None

    def _widened(self, indices: Any, n_values: int) -> Any:
        """The same numbers in 64 bits."""
        wide = self._file()
        indices.seek(0)
        for start in range(0, n_values, _AT_A_TIME):
            count = min(_AT_A_TIME, n_values - start)
            part = np.frombuffer(indices.read(4 * count), dtype=np.int32)
            wide.write(part.astype(np.int64).data)
        return wide


def _mapped(file: Any, dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """The numbers in a file, mapped into memory."""
    file.flush()
    if not length:
        return np.zeros(0, dtype=dtype)
    return np.memmap(file, dtype, "r", shape=(length,))
