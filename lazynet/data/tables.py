"""Tables in CSV files, and in Parquet's and Arrow's files by way of the package pyarrow."""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.chunks import Chunk, Passing, csr, rechunked
from lazynet.data.compressed import STDIN, Paths, files_of, identity_of, lines_of
from lazynet.data.source import Source
from lazynet.parameters import MOST_FEATURES, check_integer, shown

#: Rows that are read of a table at a time.
BATCH = 8192
#: The columns of lists that hold the features of a row and their values.
INDICES, VALUES = "indices", "values"


class Table(Source):
    """The base of tables: named columns, of which one is the target and one may be the weight."""

    def __init__(
        self,
        paths: Paths,
        *,
        target: str | None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
    ) -> None:
        self.paths = files_of(paths)
        if STDIN in self.paths:
            raise ValueError("paths: a table cannot be read from standard input")
        for name, given in (("target", target), ("weight", weight)):
            if given is not None and not isinstance(given, str):
                raise TypeError(f"{name} must be the name of a column, got {shown(given)}")
        self.target, self.weight = target, weight
        if features is None:
            names = self._names_of(self.paths[0])
            features = [name for name in names if name not in (target, weight)]
        self.features = list(features)
        if not self.features:
            raise ValueError(f"{self.paths[0]}: features must name at least one column")
        self._check(self.paths[0], self._names_of(self.paths[0]))

    @staticmethod
    def _names_of(path: str) -> list[str]:
        """The names of the columns of a file."""
        raise NotImplementedError

    def _chunks(self, path: str) -> Passing:
        """The rows of a file."""
        raise NotImplementedError

    def _columns(self) -> list[str]:
        """The columns of the table that are read."""
        return [name for name in (self.target, self.weight, *self.features) if name is not None]

    def _check(self, path: str, names: Sequence[str]) -> None:
        for name in self._columns():
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
        return rechunked((chunk for path in self.paths for chunk in self._chunks(path)), rows)

    def _find_features(self) -> int:
        return len(self.features)

    def _find_identity(self) -> dict[str, Any] | None:
        files = [identity_of(path) for path in self.paths]
        if None in files:
            return None
        columns = [self.target, self.weight, self.features, self.n_features]
        return {"form": type(self).__name__, "columns": columns, "files": files}


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
        with closing(_fields(path)) as lines:
            for _, fields in lines:
                return [field.strip() for field in fields]
        raise ValueError(f"{path}: expected a line with the names of the columns")

    def _chunks(self, path: str) -> Passing:
        with closing(_fields(path)) as lines:
            names = self._names_of(path)
            self._check(path, names)
            next(lines)
            places = [names.index(name) for name in self._columns()]
            while rows := list(islice(lines, BATCH)):
                yield self._chunk(
                    np.array([self._numbers(path, names, places, *row) for row in rows])
                )

    def _numbers(
        self, path: str, names: list[str], places: list[int], number: int, fields: list[str]
    ) -> list[float]:
        """The numbers of a line that are read; an error names the line and the column."""
        if len(fields) != len(names):
            raise ValueError(
                f"{path}: line {number}: expected {len(names)} fields, as in the first line, "
                f"found {len(fields)}"
            )
        found = []
        for place in places:
            text = fields[place]
            try:
                if "_" in text:  # which Python's float would take
                    raise ValueError
                value = float(text)
                if not np.isfinite(value):
                    raise ValueError
            except ValueError:
                raise ValueError(
                    f"{path}: line {number}, column {names[place]!r}: expected a finite number "
                    f"such as 0.5, found {text!r:.50}"
                ) from None
            found.append(value)
        return found


def _fields(path: str) -> Generator[tuple[int, list[str]], None, None]:
    """The fields of each line of a CSV file that is not empty, and its number."""
    with closing(lines_of(path)) as lines:
        for number, line in lines:
            try:
                yield number, next(csv.reader([line.decode()], strict=True))
            except (UnicodeDecodeError, csv.Error) as error:
                raise ValueError(f"{path}: line {number}: {error}") from None


def _pyarrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            "Parquet and Arrow files need the package pyarrow: pip install pyarrow"
        ) from None


class ParquetFile(Table):
    """Rows of Parquet files, or of Arrow files whose names end in .arrow or .feather.

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
        files_of(paths)
        _pyarrow("pyarrow")
        if features is None and {INDICES, VALUES} <= set(self._names_of(files_of(paths)[0])):
            features = [INDICES, VALUES]
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

    def _find_features(self) -> int:
        if not self.in_lists:
            return len(self.features)
        if self._n_features is None:
            greatest = -1
            for path in self.paths:
                for batch in self._batches(path):
                    _, indices = self._lists(path, batch, INDICES)
                    found = self._indices(path, indices)
                    greatest = max(greatest, int(found.max()) if len(found) else -1)
            self._n_features = max(greatest + 1, 1)
        return self._n_features

    @staticmethod
    def _names_of(path: str) -> list[str]:
        """The names of the columns of a file."""
        with _named(path):
            if _is_arrow(path):
                with _pyarrow("pyarrow").memory_map(path) as file:
                    return list(_pyarrow("pyarrow.ipc").open_file(file).schema.names)
            return list(_pyarrow("pyarrow.parquet").read_schema(path).names)

    def _batches(self, path: str) -> Generator[Any, None, None]:
        """The parts of the table of a file."""
        self._check(path, self._names_of(path))
        with _named(path):
            if _is_arrow(path):
                with _pyarrow("pyarrow").memory_map(path) as file:
                    reader = _pyarrow("pyarrow.ipc").open_file(file)
                    for number in range(reader.num_record_batches):
                        batch = reader.get_batch(number).select(self._columns())
                        # Lists whose ends are damaged would end the process.
                        batch.validate(full=True)
                        yield batch
            else:
                with _pyarrow("pyarrow.parquet").ParquetFile(path) as table:
                    yield from table.iter_batches(batch_size=BATCH, columns=self._columns())

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

    def _indices(self, path: str, column: Any) -> NDArray[Any]:
        """The indices in lists, which are not negative."""
        found = self._numbers(path, column, INDICES, "iu")
        if len(found) and not 0 <= found.min() <= found.max() < MOST_FEATURES:
            raise ValueError(
                f"{path}: column {INDICES!r} must hold features from 0 to {MOST_FEATURES - 1}, "
                f"got {found.min()} to {found.max()}"
            )
        return found

    def _chunks(self, path: str) -> Passing:
        n_features = self.n_features
        for batch in self._batches(path):
            columns = self._columns()[: -2 if self.in_lists else None]
            numbers = np.zeros((batch.num_rows, len(columns)))
            for place, name in enumerate(columns):
                numbers[:, place] = self._numbers(path, batch.column(name), name)
            chunk = self._chunk(numbers)
            if not self.in_lists:
                yield chunk
                continue
            lengths, indices = self._lists(path, batch, INDICES)
            own, values = self._lists(path, batch, VALUES)
            if not np.array_equal(lengths, own):
                raise ValueError(
                    f"{path}: columns {INDICES!r} and {VALUES!r} must hold lists that are equally "
                    "long in each row"
                )
            found = self._indices(path, indices)
            if len(found) and found.max() >= n_features:
                raise ValueError(
                    f"{path}: column {INDICES!r} must hold features from 0 to {n_features - 1}, "
                    f"got {found.max()}"
                )
            ends = np.concatenate([[0], np.cumsum(lengths)])
            numbers = self._numbers(path, values, VALUES)
            yield chunk._replace(X=csr(ends, found, numbers, n_features))


def _is_arrow(path: str) -> bool:
    return path.endswith((".arrow", ".feather"))


@contextmanager
def _named(path: str) -> Iterator[None]:
    """An error of pyarrow names the file."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (_pyarrow("pyarrow").ArrowException, OSError) as error:
        raise ValueError(f"{path}: the table cannot be read: {error}") from error
