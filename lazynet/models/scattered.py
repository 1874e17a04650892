"""Arrays of which most rows are alike: the common row, and the rows that differ from it.

A model of 10^8 features of which 5,000 have a weight takes the memory of 5,000 weights.  Rows are
compared bit by bit: -0.0 is not 0.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Rows that are compared at once.
_BLOCK = 2**20
# Rows among which the most common row is looked for.
_SAMPLE = 1024
# What places and the common row cost a file beside the rows themselves, in bytes.
_OVERHEAD = 256


@dataclass(frozen=True, eq=False)
class Scattered:
    """An array whose rows equal ``fill``, but for the rows ``places``, which are ``values``.

    >>> found = Scattered.of(np.array([0.0, 0.0, 3.0, 0.0]))
    >>> found.places, found.values, found.dense()
    (array([2]), array([3.]), array([0., 0., 3., 0.]))
    """

    length: int
    fill: NDArray[Any]
    places: NDArray[np.int64]
    values: NDArray[Any]

    @classmethod
    def of(cls, array: NDArray[Any]) -> Self:
        """The array, which has at least one dimension, as the rows that are not like most rows."""
        fill = _most_common(array)
        places = [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(array), _BLOCK):
            block = array[start : start + _BLOCK]
            places.append(start + np.flatnonzero(_differ(block, fill)))
        found = np.concatenate(places)
        return cls(len(array), fill, found, array[found])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.length, *self.fill.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array."""
        return self.values.dtype

    @property
    def fills_with_zeros(self) -> bool:
        """Whether all bits of the common row are 0."""
        return not _bits(self.fill).any()

    @property
    def nbytes(self) -> int:
        """About the number of bytes in a file."""
        return self.places.nbytes + self.values.nbytes + self.fill.nbytes + _OVERHEAD

    def dense(self) -> NDArray[Any]:
        """The whole array."""
        # The system hands out memory of zeros when it is written to.
        out = np.zeros(self.shape, dtype=self.dtype)
        if not self.fills_with_zeros:
            out[...] = self.fill
        return self.put_into(out)

    def put_into(self, out: NDArray[Any]) -> NDArray[Any]:
        """Make the rows of ``out``, which holds ``fill`` already, the rows of the array."""
        out[self.places] = self.values
        return out


def smaller(array: NDArray[Any]) -> NDArray[Any] | Scattered:
    """The array, or its scattered form where a file is at least a quarter shorter with it.

    >>> type(smaller(np.zeros(1000))).__name__, type(smaller(np.arange(1000.0))).__name__
    ('Scattered', 'ndarray')
    """
    if array.ndim == 0 or array.nbytes < 2 * _OVERHEAD:
        return array
    found = Scattered.of(array)
    return found if found.nbytes < 0.75 * array.nbytes else array


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """A number for each entry, equal where all bits of the entries are equal."""
    return array.view(f"u{array.itemsize}")


def _differ(rows: NDArray[Any], fill: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows are not ``fill``."""
    found = _bits(rows) != _bits(fill)
    return found.any(axis=tuple(range(1, found.ndim))) if found.ndim > 1 else found


def _most_common(array: NDArray[Any]) -> NDArray[Any]:
    """The most common row, as far as some rows from all over the array tell."""
    some = array[:: max(1, len(array) // _SAMPLE)]
    if not len(some):
        return np.zeros(array.shape[1:], dtype=array.dtype)
    _, first, counts = np.unique(
        _bits(np.ascontiguousarray(some)).reshape(len(some), -1),
        axis=0, return_index=True, return_counts=True,
    )  # fmt: skip
    return np.array(some[first[counts.argmax()]])


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of weights, of which only weights that are not 0.0 are kept: as CSR, columns in order.

    >>> rows = SparseRows.of(np.array([[0.0, 5.0, 0.0, -0.0]]))
    >>> rows.at(np.array([1, 2])), rows.dense(), rows.matrix().nnz
    (array([[5., 0.]]), array([[ 0.,  5.,  0., -0.]]), 1)
    """

    shape: tuple[int, int]
    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def of_matrix(cls, rows: sparse.csr_matrix) -> Self:
        """The weights of a CSR matrix whose columns are in order."""
        starts, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
        return cls(rows.shape, starts, columns, rows.data)

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Self:
        """The same weights."""
        found = [np.flatnonzero(_bits(row)) for row in rows]
        starts = np.r_[0, np.cumsum([len(columns) for columns in found])].astype(np.int64)
        columns = np.concatenate([np.zeros(0, np.int64), *found])
        values = [row[columns] for row, columns in zip(rows, found, strict=True)]
        return cls(rows.shape, starts, columns, np.concatenate([np.zeros(0), *values]))

    @property
    def nbytes(self) -> int:
        """The number of bytes in a file."""
        return self.starts.nbytes + self.columns.nbytes + self.values.nbytes

    def refusal(self) -> str | None:
        """What is wrong with the arrays; None where they make rows of this shape."""
        k, n = self.shape
        starts, columns = self.starts, self.columns
        if starts.shape != (k + 1,) or starts[0] != 0 or starts[-1] != len(columns):
            return "the starts of the rows do not fit the columns"
        if columns.shape != self.values.shape or (np.diff(starts) < 0).any():
            return "the rows do not fit the values"
        if len(columns) and not 0 <= columns.min() <= columns.max() < n:
            return "a column is not among the features"
        rises = np.diff(columns) > 0
        # A row begins anew.
        rises[starts[(starts > 0) & (starts < len(columns))] - 1] = True
        return None if rises.all() else "the columns of a row are not in order"

    def _rows(self) -> Any:
        for number, (start, stop) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            yield number, self.columns[start:stop], self.values[start:stop]

    def dense(self) -> NDArray[np.float64]:
        """All weights, a row per output."""
        out = np.zeros(self.shape)
        for number, columns, values in self._rows():
            out[number, columns] = values
        return out

    def at(self, which: NDArray[Any]) -> NDArray[np.float64]:
        """The weights of the features ``which``, at the cost of these features."""
        out = np.zeros((self.shape[0], len(which)))
        for number, columns, values in self._rows():
            places = np.searchsorted(columns, which)
            there = places < len(columns)
            there[there] = columns[places[there]] == which[there]
            out[number, there] = values[places[there]]
        return out

    def matrix(self) -> sparse.csr_matrix:
        """The weights as a read-only CSR matrix, without zeros of either sign."""
        kind = np.int32 if max(self.shape[1], len(self.values)) < 2**31 else np.int64
        found = sparse.csr_matrix(
            (self.values.copy(), self.columns.astype(kind), self.starts.astype(kind)),
            shape=self.shape,
        )
        found.eliminate_zeros()
        for array in (found.data, found.indices, found.indptr):
            array.flags.writeable = False
        return found


@dataclass(frozen=True, eq=False)
class Later:
    """A value with scattered arrays in it, which are spread out when the value is asked for."""

    made: Any

    def value(self) -> Any:
        """The value, made anew in every call."""
        return self.made.value() if hasattr(self.made, "value") else spread(self.made)


def spread(value: Any) -> Any:
    """The value with whole arrays in place of scattered ones.

    >>> spread([Scattered.of(np.zeros(2)), 1])
    [array([0., 0.]), 1]
    """
    if isinstance(value, Scattered):
        return value.dense()
    if isinstance(value, SparseRows):
        return value.dense()
    if type(value) in (list, tuple):
        return type(value)(spread(part) for part in value)
    if type(value) is dict:
        return {key: spread(part) for key, part in value.items()}
    return value


Value = TypeVar("Value")


class WhenAsked(Generic[Value]):
    """An attribute whose value a loaded model makes when it is read for the first time.

    ``missing`` says what to raise where a file had no value; without it the attribute is None.
    """

    def __init__(self, missing: str | None = None) -> None:
        self.missing = missing

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...
    @overload
    def __get__(self, model: Any, owner: type) -> Value: ...

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        attributes = model.__dict__
        if self.name not in attributes:
            if self.missing is None:
                return None
            if "_coefficients" in attributes:
                raise ValueError(self.missing)
            kind = type(model).__name__
            raise AttributeError(f"{kind!r} object has no attribute {self.name!r}")
        value = attributes[self.name]
        if isinstance(value, Later):
            value = attributes[self.name] = value.value()
        return value

    def __set__(self, model: Any, value: Value) -> None:
        model.__dict__[self.name] = value
