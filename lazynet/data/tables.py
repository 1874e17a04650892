"""Tables in CSV files, and in Parquet's files by way of the package pyarrow."""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.chunks import Chunk, Passing, csr, rechunked
from lazynet.data.files import FilesSource, Paths, ahead, texts_of
from lazynet.parameters import MOST_FEATURES, check_integer, shown

#: Rows that are read of a table at a time.
BATCH = 8192
#: The columns of lists that hold the features of a row and their values.
INDICES, VALUES = "indices", "values"


class Table(FilesSource):
    """The base of tables: named columns, of which one is the target and one may be the weight."""

    def __init__(
        self,
        paths: Paths,
        *,
        target: str | None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
    ) -> None:
        super().__init__(paths)
        for parameter, column in (("target", target), ("weight", weight)):
            if column is not None and not isinstance(column, str):
                raise TypeError(f"{parameter} must be the name of a column, got {shown(column)}")
        self.target, self.weight = target, weight
        names = self._names_of(self.paths[0])
        if features is None:
            features = self._default_features(names)
        self.features = list(features)
        if not self.features:
            raise ValueError(f"{self.paths[0]}: features must name at least one column")
        self._check(self.paths[0], names)

    @staticmethod
    def _names_of(path: str) -> list[str]:
        """The names of the columns of a file."""
        raise NotImplementedError

    def _chunks(self, path: str) -> Iterator[Chunk]:
        """The rows of a file."""
        raise NotImplementedError

    def _default_features(self, names: list[str]) -> list[str]:
        return [name for name in names if name not in (self.target, self.weight)]

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return len(self.features)

    @property
    def _columns(self) -> list[str]:
        """The columns of the table that are read."""
        return [name for name in (self.target, self.weight, *self.features) if name is not None]

    def _check(self, path: str, names: Sequence[str]) -> None:
        for name in self._columns:
            if names.count(name) != 1:
                many = "there is no column" if name not in names else "several columns are called"
                raise ValueError(f"{path}: {many} {name!r}; the columns are {list(names)}")

    def _chunk(self, numbers: NDArray[np.float64]) -> Chunk:
        """Rows from the numbers of the columns that are read, a row each."""
        targets = int(self.target is not None)
        first = targets + int(self.weight is not None)
        y = numbers[:, 0].copy() if targets else np.zeros(len(numbers))
        weight = numbers[:, targets].copy() if self.weight is not None else None
        X = sparse.csr_matrix(numbers[:, first:])
        return Chunk(csr(X.indptr, X.indices, X.data, X.shape[1]), y, weight)

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(ahead(chunk for path in self.paths for chunk in self._chunks(path)), rows)

    def _options(self) -> dict[str, Any]:
        return {"columns": [self.target, self.weight, self.features, self.n_features]}


class CSVFile(Table):
    """Rows of CSV files, packed or not, whose first line names the columns.

    ``target`` and ``weight`` name columns; ``features`` names the columns of the features (None:
    all others).  Every field is a number, and no line is longer than the first one or shorter.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "clicks.csv")
    >>> _ = path.write_text("a,b,y\\n0,2,1\\n0.5,0,-1\\n")
    >>> for X, y, weight in CSVFile(path, target="y").chunks():
    ...     print(X.toarray(), y)
    [[0.  2. ]
     [0.5 0. ]] [ 1. -1.]
    >>> folder.cleanup()
    """

    @staticmethod
    def _names_of(path: str) -> list[str]:
        """The names of the columns of a file."""
        with closing(_lines_of(path)) as lines:
            for _, fields in lines:
                return [field.strip() for field in fields]
        raise ValueError(f"{path}: expected a line with the names of the columns")

    def _chunks(self, path: str) -> Iterator[Chunk]:
        names = self._names_of(path)
        self._check(path, names)
        places = [names.index(name) for name in self._columns]
        with closing(_lines_of(path)) as lines:
            next(lines)
            while batch := list(islice(lines, BATCH)):
                numbers = np.array(
                    [[_number(fields[place]) for place in places] for _, fields in batch]
                )
                for row, column in np.argwhere(~np.isfinite(numbers)):
                    (line, fields), place = batch[row], places[column]
                    raise ValueError(
                        f"{path}: line {line}, column {names[place]!r}: expected a finite number "
                        f"such as 0.5, found {fields[place]!r:.50}"
                    )
                yield self._chunk(numbers)


def _number(text: str) -> float:
    """The number in a field; NaN where there is none."""
    try:
        # Python's float would take an underscore between digits.
        return float(text) if "_" not in text else np.nan
    except ValueError:
        return np.nan


def _lines_of(path: str) -> Generator[tuple[int, list[str]], None, None]:
    """The number and the fields of each line of a CSV file that is not empty."""
    number, n_fields = 0, None
    with closing(texts_of(path)) as texts:
        for line in chain.from_iterable(text.removesuffix(b"\n").split(b"\n") for text in texts):
            number += 1
            if not line.strip():
                continue
            try:
                fields = next(csv.reader([line.decode()], strict=True))
            except (UnicodeDecodeError, csv.Error) as error:
                raise ValueError(f"{path}: line {number}: {error}") from None
            if n_fields is not None and len(fields) != n_fields:
                raise ValueError(
                    f"{path}: line {number}: expected {n_fields} fields, as in the first line, "
                    f"found {len(fields)}"
                )
            n_fields = len(fields)
            yield number, fields


class ParquetFile(Table):
    """Rows of Parquet files.

    ``target`` and ``weight`` name columns of numbers; ``features`` names the columns of the
    features (None: all others).  In a table of sparse rows, two columns of lists hold the features
    of each row and their values: the columns ``indices``, from 0 on, and ``values``.  Without
    ``n_features``, the greatest index of all files counts.

    >>> ParquetFile([], target="y", features=["a", "b"])
    Traceback (most recent call last):
    ValueError: paths must name at least one file
    """

    def __init__(
        self,
        paths: Paths,
        *,
        target: str | None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        n_features: int | None = None,
    ) -> None:
        super().__init__(paths, target=target, features=features, weight=weight)
        self.in_lists = self.features == [INDICES, VALUES]
        self._n_features = n_features
        if n_features is not None:
            self._n_features = check_integer("n_features", n_features, 1, MOST_FEATURES)
            if not self.in_lists:
                raise ValueError(
                    "n_features is for the columns of lists indices and values; the number of "
                    "other columns is known"
                )

    def _default_features(self, names: list[str]) -> list[str]:
        if {INDICES, VALUES} <= set(names):
            return [INDICES, VALUES]
        return super()._default_features(names)

    @property
    def n_features(self) -> int:
        """The number of columns of X; lists take a pass to find it, once."""
        if not self.in_lists:
            return len(self.features)
        if self._n_features is None:
            greatest = -1
            for path in self.paths:
                for batch in self._batches(path):
                    indices = self._indices(path, self._lists(path, batch, INDICES)[1])
                    greatest = max(greatest, int(indices.max()) if len(indices) else -1)
            self._n_features = max(greatest + 1, 1)
        return self._n_features

    @staticmethod
    def _names_of(path: str) -> list[str]:
        """The names of the columns of a file."""
        with _named(path):
            return list(pyarrow("pyarrow.parquet").read_schema(path).names)

    def _batches(self, path: str) -> Generator[Any, None, None]:
        """The parts of the table of a file."""
        self._check(path, self._names_of(path))
        with _named(path), pyarrow("pyarrow.parquet").ParquetFile(path) as table:
            yield from table.iter_batches(batch_size=BATCH, columns=self._columns)

    def _numbers(self, path: str, column: Any, name: str, kinds: str = "fiub") -> NDArray[Any]:
        """The numbers of a column, or of the lists in it, in the type that they have."""
        if column.null_count:
            raise ValueError(f"{path}: column {name!r} has missing values")
        numbers = np.asarray(column.to_numpy(zero_copy_only=False))
        if numbers.dtype.kind not in kinds and len(numbers):
            what = "numbers" if "f" in kinds else "integers"
            raise ValueError(f"{path}: column {name!r} must hold {what}, got {column.type}")
        return numbers

    def _lists(self, path: str, batch: Any, name: str) -> tuple[NDArray[np.int64], Any]:
        """The lengths of the lists of a column, and what is in them."""
        column = batch.column(name)
        if not hasattr(column, "value_lengths"):
            raise ValueError(f"{path}: column {name!r} must hold lists, got {column.type}")
        if column.null_count:
            raise ValueError(f"{path}: column {name!r} has missing values")
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        return lengths.astype(np.int64), column.flatten()

    def _indices(self, path: str, column: Any, n_features: int = MOST_FEATURES) -> NDArray[Any]:
        """The indices in lists, which are features."""
        indices = self._numbers(path, column, INDICES, "iu")
        if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
            raise ValueError(
                f"{path}: column {INDICES!r} must hold features from 0 to {n_features - 1}, "
                f"got {indices.min()} to {indices.max()}"
            )
        return indices

    def _chunks(self, path: str) -> Iterator[Chunk]:
        n_features = self.n_features
        columns = self._columns[:-2] if self.in_lists else self._columns
        for batch in self._batches(path):
            numbers = np.zeros((batch.num_rows, len(columns)))
            for place, name in enumerate(columns):
                numbers[:, place] = self._numbers(path, batch.column(name), name)
            chunk = self._chunk(numbers)
            if self.in_lists:
                chunk = chunk._replace(X=self._sparse_rows(path, batch, n_features))
            yield chunk

    def _sparse_rows(self, path: str, batch: Any, n_features: int) -> sparse.csr_matrix:
        """The rows in two columns of lists."""
        lengths, indices = self._lists(path, batch, INDICES)
        lengths_of_values, values = self._lists(path, batch, VALUES)
        if not np.array_equal(lengths, lengths_of_values):
            raise ValueError(
                f"{path}: columns {INDICES!r} and {VALUES!r} must hold lists that are equally "
                "long in each row"
            )
        return csr(
            np.concatenate([[0], np.cumsum(lengths)]),
            self._indices(path, indices, n_features),
            self._numbers(path, values, VALUES),
            n_features,
        )


def pyarrow(module: str) -> Any:
    """A module of pyarrow; an error says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError("Parquet files need the package pyarrow: pip install pyarrow") from None


@contextmanager
def _named(path: str) -> Iterator[None]:
    """An error of pyarrow names the file."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (pyarrow("pyarrow").ArrowException, OSError) as error:
        raise ValueError(f"{path}: the table cannot be read: {error}") from error
