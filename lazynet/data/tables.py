"""Tables of numbers in CSV files."""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.data.chunks import Chunk, Passing, csr, rechunked
from lazynet.data.files import FilesSource, Paths, ahead, texts_of
from lazynet.parameters import shown

# Rows that are read of a table at a time.
_BATCH = 8192


class CSVFile(FilesSource):
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
        names = names_of(self.paths[0])
        if features is None:
            features = [name for name in names if name not in (target, weight)]
        self.features = list(features)
        if not self.features:
            raise ValueError(f"{self.paths[0]}: features must name at least one column")
        self._places(self.paths[0], names)

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return len(self.features)

    def _places(self, path: str, names: list[str]) -> list[int]:
        """The places of the target, the weight and the features in the lines of a file."""
        read = [name for name in (self.target, self.weight, *self.features) if name is not None]
        for name in read:
            if names.count(name) != 1:
                many = "there is no column" if name not in names else "several columns are called"
                raise ValueError(f"{path}: {many} {name!r}; the columns are {names}")
        return [names.index(name) for name in read]

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(ahead(chunk for path in self.paths for chunk in self._chunks(path)), rows)

    def _chunks(self, path: str) -> Iterable[Chunk]:
        names = names_of(path)
        places = self._places(path, names)
        with closing(_lines_of(path)) as lines:
            next(lines)
            while batch := list(islice(lines, _BATCH)):
                numbers = np.array(
                    [[_number(fields[place]) for place in places] for _, fields in batch]
                )
                for row, column in np.argwhere(~np.isfinite(numbers)):
                    (line, fields), place = batch[row], places[column]
                    raise ValueError(
                        f"{path}: line {line}, column {names[place]!r}: expected a finite number "
                        f"such as 0.5, found {fields[place]!r:.50}"
                    )
                columns = list(numbers.T.copy())
                y = np.zeros(len(batch)) if self.target is None else columns.pop(0)
                weight = None if self.weight is None else columns.pop(0)
                X = sparse.csr_matrix(numbers[:, -self.n_features :])
                yield Chunk(csr(X.indptr, X.indices, X.data, X.shape[1]), y, weight)

    def _options(self) -> dict[str, Any]:
        return {"columns": [self.target, self.weight, self.features]}


def names_of(path: str) -> list[str]:
    """The names of the columns of a file."""
    with closing(_lines_of(path)) as lines:
        for _, fields in lines:
            return [field.strip() for field in fields]
    raise ValueError(f"{path}: expected a line with the names of the columns")


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
