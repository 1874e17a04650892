"""A source: chunks of rows that can be read again and again, in whole, in part, or shuffled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.data.arrays import checked_csr
from lazynet.data.chunks import Chunk, Passing, csr, labels_matrix, rechunked, taken
from lazynet.data.targets import checked_indicator
from lazynet.parameters import check_array, check_integer, shown

#: Rows of a chunk unless the caller asks for another number.
ROWS = 8192
#: More different labels than this are numbers and no classes.
MOST_CLASSES = 10_000


@dataclass(frozen=True)
class Facts:
    """What a pass over a source counts.

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


class Tally:
    """Counts rows, values and labels of chunks as they pass.

    >>> tally = Tally()
    >>> tally.add(next(as_source([([[1.0], [0.0], [2.0]], [1, 0, 1])]).chunks()))
    >>> tally.facts(n_features=1, n_labels=None).counts
    (1, 2)
    """

    def __init__(self) -> None:
        self.n_rows = self.n_values = 0
        #: how often each label occurs; None for several labels a row, and for very many labels
        self.labels: Counter[float] | None = Counter()

    def add(self, chunk: Chunk) -> None:
        """Count the rows of a chunk."""
        self.n_rows += chunk.X.shape[0]
        self.n_values += len(chunk.X.data)
        if sparse.issparse(chunk.y):
            self.labels = None
        elif self.labels is not None:
            labels, counts = np.unique(chunk.y, return_counts=True)
            self._count(Counter(dict(zip(labels.tolist(), counts.tolist(), strict=True))))

    def join(self, tally: Tally) -> None:
        """Count the rows of another tally too."""
        self.n_rows += tally.n_rows
        self.n_values += tally.n_values
        self._count(tally.labels)

    def _count(self, labels: Counter[float] | None) -> None:
        if self.labels is None or labels is None:
            self.labels = None
            return
        self.labels.update(labels)
        if len(self.labels) > MOST_CLASSES:
            self.labels = None

    def facts(self, n_features: int, n_labels: int | None) -> Facts:
        """What has been counted."""
        classes = counts = None
        if self.labels is not None:
            classes = tuple(sorted(self.labels))
            counts = tuple(self.labels[label] for label in classes)
        return Facts(self.n_rows, self.n_values, n_features, n_labels, classes, counts)


class Source:
    """The base of all sources.

    ``chunks`` reads the source from its beginning.  Its rows do not depend on the chunks in which
    they come, and have the same order for the same ``epoch``.  A source of your own is a subclass
    with ``n_features`` and ``_pass``; often ``Chunks`` is enough.

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
        raise NotImplementedError

    @property
    def n_labels(self) -> int | None:
        """The number of columns of y for several labels a row; None where y has a number a row."""
        return None

    def chunks(self, rows: int = ROWS, epoch: int = 0) -> Passing:
        """X, y and weights of ``rows`` rows at a time; the last chunk may have fewer."""
        return self._pass(check_integer("rows", rows, 1), check_integer("epoch", epoch, 0))

    def facts(self) -> Facts:
        """What a pass over the source counts; the pass is made once."""
        if self._facts is None:
            self._facts = self._find_facts()
        return self._facts

    def identity(self) -> dict[str, Any] | None:
        """What decides which rows come, for a cache to compare; None where it is unknown."""
        return None

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"X must be rows in memory, got a {type(self).__name__}: take its rows a chunk at a "
            f"time, for X, y, weights in source.chunks()"
        )

    def _pass(self, rows: int, epoch: int) -> Passing:
        """The chunks of a pass."""
        raise NotImplementedError

    def _find_facts(self) -> Facts:
        tally = Tally()
        for chunk in self.chunks():
            tally.add(chunk)
        return tally.facts(self.n_features, self.n_labels)


class Derived(Source):
    """A source of the rows of another source."""

    def __init__(self, source: Source) -> None:
        if not isinstance(source, Source):
            raise TypeError(f"source must be a source of chunks, got {shown(source)}")
        self.source = source

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return self.source.n_features

    @property
    def n_labels(self) -> int | None:
        """The number of columns of y for several labels a row."""
        return self.source.n_labels

    def _find_facts(self) -> Facts:
        return self.source.facts()


class Shuffled(Derived):
    """The rows of a source, each ``window`` of them in a random order that depends on the epoch.

    A window is in memory as a whole.  A row stays in its window; a file that is sorted by its
    labels needs a window as long as the file, or to be shuffled beforehand.

    >>> source = Shuffled(as_source([([[0.0]] * 6, [0, 1, 2, 3, 4, 5])]), window=3, seed=0)
    >>> [chunk.y.tolist() for chunk in source.chunks(rows=6, epoch=1)]
    [[2.0, 0.0, 1.0, 3.0, 4.0, 5.0]]
    """

    def __init__(self, source: Source, *, window: int = 65_536, seed: int = 0) -> None:
        super().__init__(source)
        self.window = check_integer("window", window, 1)
        self.seed = check_integer("seed", seed, 0)

    def _windows(self, epoch: int) -> Passing:
        for number, chunk in enumerate(self.source.chunks(self.window, epoch)):
            random = np.random.default_rng([self.seed, epoch, number])
            yield taken(chunk, random.permutation(chunk.X.shape[0]))

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._windows(epoch), rows)


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
        #: None after an iterator has been read
        self._chunks: Any = chunks
        self._first: Chunk | None = None

    def _open(self) -> Iterator[Any]:
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if chunks is None:
            raise ValueError(
                "chunks is an iterator, which serves for one pass: for several passes give a "
                "callable that returns a new one"
            )
        if hasattr(self._chunks, "__next__"):
            self._chunks = None
        return iter(chunks)

    def _first_chunk(self) -> Chunk:
        """The first chunk, from which the numbers of columns are known."""
        if self._first is None:
            once = hasattr(self._chunks, "__next__")
            opened = self._open()
            first = next(opened, None)
            if first is None:
                raise ValueError("chunks must give at least one chunk")
            if once:
                # The pass reads the chunk once more.
                self._chunks = chain([first], opened)
            elif hasattr(opened, "close"):
                opened.close()
            self._first = _checked(first, 0)
        return self._first

    @property
    def n_features(self) -> int:
        """The number of columns of the first chunk."""
        return int(self._first_chunk().X.shape[1])

    @property
    def n_labels(self) -> int | None:
        """The number of columns of y in the first chunk, if y is a matrix there."""
        return _n_labels(self._first_chunk())

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._all(), rows)

    def _all(self) -> Iterator[Chunk]:
        """The chunks."""
        expected = self.n_features, self.n_labels
        for number, raw in enumerate(self._open()):
            chunk = _checked(raw, number)
            columns = int(chunk.X.shape[1]), _n_labels(chunk)
            if columns != expected:
                raise ValueError(
                    f"chunk {number} must have as many columns of X and of y as the first chunk, "
                    f"{expected}, got {columns}"
                )
            yield chunk


def _checked(raw: Any, number: int) -> Chunk:
    """A chunk as a user gives it, in the form of all chunks; an error names its number."""
    if not isinstance(raw, tuple) or len(raw) not in (2, 3):
        raise TypeError(f"chunk {number} must be (X, y) or (X, y, weights), got {shown(raw):.200}")
    X, y, weight = raw if len(raw) == 3 else (*raw, None)
    if sparse.issparse(X):
        X = checked_csr(X)
    else:
        X = sparse.csr_matrix(check_array(f"X of chunk {number}", "must hold numbers", X))
    X = csr(X.indptr, X.indices, X.data, X.shape[1])
    if sparse.issparse(y) or np.ndim(y) == 2:
        labels = checked_indicator(y, f"y of chunk {number}")
        y = labels_matrix(labels.indptr[1:], labels.indices, labels.shape[1])
    else:
        y = check_array(f"y of chunk {number}", "must hold numbers", y, masks=True)
    if weight is not None:
        weight = check_array(f"weights of chunk {number}", "must hold numbers", weight)
    for name, rows in (("y", y), ("weights", weight)):
        if rows is not None and rows.shape[0] != X.shape[0]:
            raise ValueError(
                f"chunk {number}: {name} must have {X.shape[0]} rows, as X has, got {rows.shape[0]}"
            )
    return Chunk(X, y, weight)


def _n_labels(chunk: Chunk) -> int | None:
    """How many columns y has for several labels."""
    return int(chunk.y.shape[1]) if sparse.issparse(chunk.y) else None


def as_source(chunks: Any) -> Source:
    """A source, or a callable, a sequence or an iterator of chunks as a source.

    >>> as_source([([[1.0]], [1])]).n_features
    1
    """
    return chunks if isinstance(chunks, Source) else Chunks(chunks)


def check_alone(y: Any, sample_weight: Any, sample_order: Any = None) -> None:
    """Refuse what must not be given beside a source."""
    for name, argument in (("y", y), ("sample_weight", sample_weight)):
        if argument is not None:
            raise ValueError(f"{name} must be None where X is a source, whose chunks have it")
    if sample_order is not None:
        raise ValueError(
            "sample_order must be None where X is a source, which has an order of its own: "
            "lazynet.data.Shuffled changes it"
        )
