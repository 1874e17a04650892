"""A source: chunks of rows that can be read again and again."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

import numpy as np
from scipy import sparse

from lazynet.data.arrays import checked_csr
from lazynet.data.chunks import Chunk, Passing, labels_matrix, rechunked
from lazynet.parameters import check_array, check_integer, shown

#: Rows of a chunk unless told otherwise.
ROWS = 8192
#: More different labels than this are numbers and no classes.
MOST_CLASSES = 10_000


@dataclass(frozen=True)
class Facts:
    """What a pass over a source finds out.

    >>> Facts(n_rows=2, n_values=3, n_features=10, n_labels=None, classes=(-1.0, 1.0)).n_rows
    2
    """

    n_rows: int
    n_values: int
    n_features: int
    n_labels: int | None
    #: every label that occurs, in order; None for several labels a row, and for very many labels
    classes: tuple[float, ...] | None
    #: the number of the rows of each class; None where the source does not say it
    counts: tuple[int, ...] | None = field(default=None, repr=False)


class Labels:
    """The labels that occur and the number of the rows of each.

    >>> labels = Labels()
    >>> labels.add(np.array([1.0, 0.0, 1.0]))
    >>> labels.classes, labels.counts
    ((0.0, 1.0), (1, 2))
    """

    def __init__(self) -> None:
        self._found: Counter[float] | None = Counter()

    def add(self, y: Any) -> None:
        """Count the labels of some rows; of rows with several labels nothing is counted."""
        if self._found is None:
            return
        if sparse.issparse(y):
            self._found = None
            return
        labels, counts = np.unique(y, return_counts=True)
        self._found.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
        if len(self._found) > MOST_CLASSES:
            self._found = None

    def join(self, other: Labels) -> None:
        """Count the labels of other rows, which are counted already."""
        if self._found is None or other._found is None:
            self._found = None
            return
        self._found.update(other._found)
        if len(self._found) > MOST_CLASSES:
            self._found = None

    @property
    def classes(self) -> tuple[float, ...] | None:
        """The labels in order; None where they are no classes."""
        return None if self._found is None else tuple(sorted(self._found))

    @property
    def counts(self) -> tuple[int, ...] | None:
        """The number of the rows of each class."""
        found = self._found
        return None if found is None else tuple(found[label] for label in sorted(found))


class Tally:
    """Counts the rows of chunks as they pass."""

    def __init__(self) -> None:
        self.n_rows = self.n_values = self.n_features = 0
        self.labels = Labels()

    def add(self, chunk: Chunk) -> None:
        """Count the rows of a chunk."""
        self.n_rows += chunk.X.shape[0]
        self.n_values += len(chunk.X.data)
        self.n_features = max(self.n_features, int(chunk.X.indices.max(initial=-1)) + 1)
        self.labels.add(chunk.y)

    def facts(self, n_features: int, n_labels: int | None) -> Facts:
        """What has been counted."""
        found = self.labels
        return Facts(self.n_rows, self.n_values, n_features, n_labels, found.classes, found.counts)


class Source:
    """The base of all sources.

    ``chunks`` reads the source from its beginning.  Its rows are the same in whatever chunks they
    come, and in the same order for the same ``epoch``.  A source of your own is a subclass with
    ``_pass`` and ``_find_features``; often ``Chunks`` is enough.

    >>> source = as_source([([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], [0, 1, 1])])
    >>> [chunk.y.tolist() for chunk in source.chunks(rows=2)]
    [[0.0, 1.0], [1.0]]
    >>> source.n_features, source.n_labels, source.identity()
    (2, None, None)
    >>> source.facts()
    Facts(n_rows=3, n_values=3, n_features=2, n_labels=None, classes=(0.0, 1.0))
    """

    _facts: Facts | None = None

    @property
    def n_features(self) -> int:
        """The number of columns of X; some sources take a pass to find it, once."""
        return self._find_features()

    @property
    def n_labels(self) -> int | None:
        """The number of columns of y for several labels a row; None where y has a number a row."""
        return self._find_labels()

    def chunks(self, rows: int = ROWS, epoch: int = 0) -> Passing:
        """X, y and weights of ``rows`` rows at a time; the last chunk may have fewer."""
        return self._pass(check_integer("rows", rows, 1), check_integer("epoch", epoch, 0))

    def _to_learn(self, rows: int, epoch: int) -> Passing:
        """``chunks`` for a model: rows that are known to be sound may come as ``SoundChunk``."""
        return self.chunks(rows, epoch)

    def facts(self) -> Facts:
        """What a pass over the source finds out; the pass is made once."""
        if self._facts is None:
            self._facts = self._find_facts()
        return self._facts

    def identity(self) -> dict[str, Any] | None:
        """What decides which rows come, for a cache to compare; None where nobody can know."""
        return self._find_identity()

    # --- what a kind of source says of itself ---

    def _pass(self, rows: int, epoch: int) -> Passing:
        raise NotImplementedError

    def _find_features(self) -> int:
        raise NotImplementedError

    def _find_labels(self) -> int | None:
        return None

    def _find_facts(self) -> Facts:
        tally = Tally()
        for chunk in self.chunks():
            tally.add(chunk)
        return tally.facts(self.n_features, self.n_labels)

    def _find_identity(self) -> dict[str, Any] | None:
        return None

    def _is_at_hand(self) -> bool:
        """Whether a chunk costs so little that nothing is gained by making it ahead."""
        return False

    def _before_counting(self) -> Source | None:
        """The same rows with room for any column, where a pass would have to count the columns."""
        return None


class Derived(Source):
    """A source of the rows of another source."""

    def __init__(self, source: Source) -> None:
        if not isinstance(source, Source):
            raise TypeError(f"source must be a source of chunks, got {shown(source)}")
        self.source = source

    def _find_features(self) -> int:
        return self.source.n_features

    def _find_labels(self) -> int | None:
        return self.source.n_labels

    def _find_facts(self) -> Facts:
        return self.source.facts()

    def _reorders(self) -> bool:
        """Whether the rows come in another order than that of the source at the bottom."""
        return isinstance(self.source, Derived) and self.source._reorders()

    def _around(self, source: Source) -> Self:
        """The same as this around another source."""
        other = copy.copy(self)
        other.source, other._facts = source, None
        return other


class Chunks(Source):
    """Chunks that a program of yours makes: a callable, a sequence or an iterator of them.

    A chunk is ``(X, y)`` or ``(X, y, weights)``.  A callable is called for every pass and returns
    the chunks of the pass; an iterator serves for one pass.

    >>> def passes():
    ...     yield [[1.0, 0.0], [0.0, 2.0]], [0, 1]
    ...     yield [[3.0, 0.0]], [1], [0.5]
    >>> source = Chunks(passes)
    >>> [chunk.y.tolist() for chunk in source.chunks(rows=2)], source.n_features
    ([[0.0, 1.0], [1.0]], 2)
    """

    def __init__(self, chunks: Callable[[], Iterable[Any]] | Iterable[Any]) -> None:
        if not callable(chunks) and not hasattr(chunks, "__iter__"):
            raise TypeError(
                "chunks must be a callable or an iterable that gives (X, y) or (X, y, weights), "
                f"got {shown(chunks)}"
            )
        self.given = chunks
        self._once = hasattr(chunks, "__next__")
        self._begun = False
        self._first: Chunk | None = None

    def _open(self) -> Iterator[Any]:
        if self._once:
            if self._begun:
                raise ValueError(
                    "chunks is an iterator, which serves for one pass: for several passes give a "
                    "callable that returns a new one"
                )
            self._begun = True
        return iter(self.given() if callable(self.given) else self.given)

    def _shape(self) -> Chunk:
        """The first chunk, from which the numbers of columns are known."""
        if self._first is None:
            opened = self._open()
            for given in opened:
                self._first = _checked(given, 0)
                break
            else:
                raise ValueError("chunks must give at least one chunk")
            if self._once:
                # The chunk is read once more by the pass.
                self.given, self._begun = chain([given], opened), False
            elif hasattr(opened, "close"):
                opened.close()
        return self._first

    def _find_features(self) -> int:
        return int(self._shape().X.shape[1])

    def _find_labels(self) -> int | None:
        y = self._shape().y
        return int(y.shape[1]) if sparse.issparse(y) else None

    def _all(self) -> Iterator[Chunk]:
        """The chunks as they are made."""
        first = self._shape()
        wanted = _columns(first)
        for number, given in enumerate(self._open()):
            chunk = _checked(given, number)
            columns = _columns(chunk)
            if columns != wanted:
                raise ValueError(
                    f"chunk {number} must have as many columns of X and of y as the first chunk, "
                    f"{wanted}, got {columns}"
                )
            yield chunk

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._all(), rows)


def _checked(given: Any, number: int) -> Chunk:
    """A chunk as a user gives it, in the form of all chunks; an error tells its number."""
    if not isinstance(given, tuple) or len(given) not in (2, 3):
        raise TypeError(
            f"chunk {number} must be (X, y) or (X, y, weights), got {shown(given):.200}"
        )
    X = given[0]
    if sparse.issparse(X):
        X = checked_csr(X)
    else:
        X = sparse.csr_matrix(check_array(f"X of chunk {number}", "must hold numbers", X))
    X.data = np.asarray(X.data, dtype=np.float64)
    y: Any
    if sparse.issparse(given[1]) or np.ndim(given[1]) == 2:
        matrix = sparse.csr_matrix(given[1])
        y = labels_matrix(matrix.indptr[1:], matrix.indices, matrix.shape[1])
    else:
        y = check_array(f"y of chunk {number}", "must hold numbers", given[1], masks=True)
    weight = given[2] if len(given) == 3 else None
    if weight is not None:
        weight = check_array(f"weights of chunk {number}", "must hold numbers", weight)
    for name, rows in (("y", y), ("weights", weight)):
        if rows is not None and rows.shape[0] != X.shape[0]:
            raise ValueError(
                f"chunk {number}: {name} must have {X.shape[0]} rows, as X has, got {rows.shape[0]}"
            )
    return Chunk(X, y, weight)


def _columns(chunk: Chunk) -> tuple[int, int | None]:
    """How many columns X has, and how many y has for several labels."""
    return int(chunk.X.shape[1]), int(chunk.y.shape[1]) if sparse.issparse(chunk.y) else None


def as_source(given: Any) -> Source:
    """A source, or what gives chunks as a source.

    >>> as_source([([[1.0]], [1])]).n_features
    1
    """
    return given if isinstance(given, Source) else Chunks(given)
