"""Tables in Parquet's and in Arrow's files, by way of the package pyarrow."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.params import check_integer, shown
from lazynet.streams.chunks import Chunk, Passing, csr, rechunked
from lazynet.streams.opening import STDIN, Paths, files_of, identity_of
from lazynet.streams.source import Source

#: Rows that are read of a table at a time.
BATCH = 8192


def _pyarrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            "Parquet and Arrow files need the package pyarrow: pip install pyarrow"
        ) from None


class ParquetFile(Source):
    """Rows of Parquet files, or of Arrow files whose names end in .arrow or .feather.

    ``target`` and ``weight`` name columns of numbers.  The features are the columns that
    ``features`` names, or two columns of lists: ``indices`` names the features of a row, from 0 to
    ``n_features`` - 1, and ``values`` their values.

    >>> ParquetFile([], target="y", features=["a", "b"])
    Traceback (most recent call last):
    ValueError: paths must name at least one file
    """

    def __init__(
        self,
        paths: Paths,
        *,
        target: str,
        features: Sequence[str] | None = None,
        indices: str | None = None,
        values: str | None = None,
        n_features: int | None = None,
        weight: str | None = None,
    ) -> None:
        self.paths = files_of(paths)
        if STDIN in self.paths:
            raise ValueError("paths: a table cannot be read from standard input")
        for name, given in (("target", target), ("indices", indices), ("values", values),
                            ("weight", weight)):  # fmt: skip
            if given is not None and not isinstance(given, str):
                raise TypeError(f"{name} must be the name of a column, got {shown(given)}")
        in_lists = indices is not None and values is not None and n_features is not None
        if (features is None) == (not in_lists):
            raise ValueError("give either features, or all of indices, values and n_features")
        self.target, self.weight = target, weight
        self.features = None if features is None else list(features)
        self.indices, self.values = indices, values
        if self.features is not None:
            n_features = len(self.features)
        self._n_features = check_integer("n_features", n_features, 1)
        _pyarrow("pyarrow")

    def _find_features(self) -> int:
        return self._n_features

    def _columns(self) -> list[str]:
        """The columns of the table that are read."""
        of_rows: list[str | None] = (
            [*self.features] if self.features else [self.indices, self.values]
        )
        return [name for name in (self.target, self.weight, *of_rows) if name is not None]

    def _batches(self, path: str) -> Generator[Any, None, None]:
        """The parts of the table of a file; an error of pyarrow's names the file."""
        try:
            yield from self._read(path)
        except FileNotFoundError:
            raise
        except (_pyarrow("pyarrow").ArrowException, OSError) as error:
            raise ValueError(f"{path}: the table cannot be read: {error}") from error

    def _read(self, path: str) -> Generator[Any, None, None]:
        columns = self._columns()
        if path.endswith((".arrow", ".feather")):
            with _pyarrow("pyarrow").memory_map(path) as file:
                reader = _pyarrow("pyarrow.ipc").open_file(file)
                self._check(path, reader.schema.names)
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number).select(columns)
        else:
            with _pyarrow("pyarrow.parquet").ParquetFile(path) as table:
                self._check(path, table.schema_arrow.names)
                yield from table.iter_batches(batch_size=BATCH, columns=columns)

    def _check(self, path: str, names: list[str]) -> None:
        for name in self._columns():
            if name not in names:
                raise ValueError(f"{path}: there is no column {name!r}; it has {names}")

    def _numbers(self, path: str, batch: Any, name: str) -> NDArray[np.float64]:
        """A column of numbers."""
        return self._as_numbers(path, batch.column(name), name, "numbers").astype(np.float64)

    def _as_numbers(self, path: str, column: Any, name: str | None, what: str) -> NDArray[Any]:
        """The numbers of a column, or of the lists in it, in the type that they have."""
        if column.null_count:
            raise ValueError(f"{path}: column {name!r} has missing values")
        numbers = column.to_numpy(zero_copy_only=False)
        if numbers.dtype.kind not in "fiub" and len(numbers):
            raise ValueError(f"{path}: column {name!r} must hold {what}, got {column.type}")
        return np.asarray(numbers)

    def _lists(self, path: str, batch: Any, name: str | None) -> tuple[NDArray[np.int64], Any]:
        """The lengths of the lists of a column, and what is in them."""
        column = batch.column(name)
        if not hasattr(column, "value_lengths"):
            raise ValueError(f"{path}: column {name!r} must hold lists, got {column.type}")
        if column.null_count:
            raise ValueError(f"{path}: column {name!r} has missing values")
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        return lengths.astype(np.int64), column.flatten()

    def _chunk(self, path: str, batch: Any) -> Chunk:
        y = self._numbers(path, batch, self.target)
        weight = None if self.weight is None else self._numbers(path, batch, self.weight)
        if self.features is not None:
            dense = np.column_stack([self._numbers(path, batch, name) for name in self.features])
            filled = dense != 0
            indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
            X = csr(indptr, np.nonzero(filled)[1], dense[filled], self.n_features)
        else:
            lengths, columns = self._lists(path, batch, self.indices)
            own, values = self._lists(path, batch, self.values)
            if not np.array_equal(lengths, own):
                raise ValueError(
                    f"{path}: columns {self.indices!r} and {self.values!r} must hold lists that "
                    "are equally long in each row"
                )
            indices = self._as_numbers(path, columns, self.indices, "lists of integers")
            if indices.dtype.kind not in "iu" and len(indices):
                raise ValueError(
                    f"{path}: column {self.indices!r} must hold lists of integers, got "
                    f"{columns.type} in them"
                )
            if len(indices) and not 0 <= indices.min() <= indices.max() < self.n_features:
                raise ValueError(
                    f"{path}: column {self.indices!r} must hold features from 0 to "
                    f"{self.n_features - 1}, got {indices.min()} to {indices.max()}"
                )
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            numbers = self._as_numbers(path, values, self.values, "lists of numbers")
            X = csr(indptr, indices, numbers, self.n_features)
        return Chunk(X, y, weight)

    def _all(self) -> Passing:
        for path in self.paths:
            for batch in self._batches(path):
                yield self._chunk(path, batch)

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._all(), rows)

    def _find_identity(self) -> dict[str, Any] | None:
        named = [self.target, self.weight, self.features, self.indices, self.values]
        files = [identity_of(path) for path in self.paths]
        if None in files:
            return None
        return {"form": "ParquetFile", "columns": named, "n_features": self.n_features,
                "files": files}  # fmt: skip
