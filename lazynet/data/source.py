"""A source: chunks of rows that can be read several times, as a whole, in part, or shuffled."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.data.arrays import checked_csr
from lazynet.data.chunks import Chunk, Passing, csr, labels_matrix, rechunked, reordered
from lazynet.data.targets import checked_indicator
from lazynet.parameters import check_array, check_integer, refuse_masked, shown

#: Rows of a chunk unless the caller asks for another number.
ROWS = 8192
#: If y has more different labels than this, they are numbers and not classes.
MOST_CLASSES = 10_000


@dataclass(frozen=True)
class Facts:
    """The counts of a pass over a source.

    >>> Facts(n_rows=2, n_values=3, n_features=10, n_labels=None, classes=(-1.0, 1.0)).n_rows
    2
    """

    n_rows: int
    n_values: int
    n_features: int
    n_labels: int | None
    #: every label that occurs, in order; None for several labels per row, and for very many labels
    classes: tuple[float, ...] | None
    #: the number of rows of each class; None if the source does not have it
    counts: tuple[int, ...] | None = field(default=None, repr=False)


class Tally:
    """Counts the rows, values and labels of the chunks of a pass.

    >>> tally = Tally()
    >>> tally.add(next(as_source([([[1.0], [0.0], [2.0]], [1, 0, 1])]).chunks()))
    >>> tally.facts(n_features=1, n_labels=None).counts
    (1, 2)
    """

    def __init__(self) -> None:
        self.n_rows = self.n_values = 0
        #: the number of rows of each label; None for several labels per row, or very many labels
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
        """The counts so far."""
        classes = counts = None
        if self.labels is not None:
            classes = tuple(sorted(self.labels))
            counts = tuple(self.labels[label] for label in classes)
        return Facts(self.n_rows, self.n_values, n_features, n_labels, classes, counts)


class Source:
    """The base of all sources.

    ``chunks`` reads the source from its beginning.  Its rows do not depend on the size of the
    chunks, and have the same order for the same ``epoch``.  To write another source, define a
    subclass with ``n_features`` and ``_pass``; often ``Chunks`` is enough.

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
        """The number of columns of y for several labels per row; None: y has a number per row."""
        return None

    def chunks(self, rows: int = ROWS, epoch: int = 0) -> Passing:
        """Chunks of X, y and sample weights with ``rows`` rows each; the last may have fewer."""
        return self._pass(check_integer("rows", rows, 1), check_integer("epoch", epoch, 0))

    def facts(self) -> Facts:
        """The counts of a pass over the source; only the first call makes the pass."""
        if self._facts is None:
            self._facts = self._find_facts()
        return self._facts

    def identity(self) -> dict[str, Any] | None:
        """Values that identify the rows, for a cache to compare; None if they are unknown."""
        return None

    def __str__(self) -> str:
        return "the source"

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

    def __str__(self) -> str:
        return str(self.source)

    @property
    def n_features(self) -> int:
        return self.source.n_features

    @property
    def n_labels(self) -> int | None:
        return self.source.n_labels

    def _find_facts(self) -> Facts:
        return self.source.facts()


class Shuffled(Derived):
    """The rows of a source, each ``window`` of them in a random order that depends on the epoch.

    A whole window is in memory.  A row stays in its window, so a file that is sorted by its labels
    needs a window as long as the file, unless you shuffle the file beforehand.

    >>> source = Shuffled(as_source([([[0.0]] * 6, [0, 1, 2, 3, 4, 5])]), window=3, seed=0)
    >>> [chunk.y.tolist() for chunk in source.chunks(rows=6, epoch=1)]
    [[2.0, 0.0, 1.0, 3.0, 4.0, 5.0]]
    """

    def __init__(self, source: Source, *, window: int = 65_536, seed: int = 0) -> None:
        super().__init__(source)
        self.window = check_integer("window", window, 1)
        self.seed = check_integer("seed", seed, 0)

    def _pass(self, rows: int, epoch: int) -> Passing:
        def windows() -> Passing:
            for number, chunk in enumerate(self.source.chunks(self.window, epoch)):
                random = np.random.default_rng([self.seed, epoch, number])
                yield reordered(chunk, random.permutation(chunk.X.shape[0]))

        return rechunked(windows(), rows)


class Chunks(Source):
    """Chunks that your program makes: a callable, a sequence or an iterator of them.

    A chunk is ``(X, y)`` or ``(X, y, weights)``.  A callable is called for every pass and returns
    the chunks of the pass; an iterator gives one pass.

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
                "chunks is an iterator, which gives one pass: for several passes give a callable "
                "that returns a new iterator"
            )
        if hasattr(self._chunks, "__next__"):
            self._chunks = None
        return iter(chunks)

    def _first_chunk(self) -> Chunk:
        """The first chunk, which has the numbers of columns."""
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
            self._first = checked_chunk(first, "chunk 0")
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
            chunk = checked_chunk(raw, f"chunk {number}")
            columns = int(chunk.X.shape[1]), _n_labels(chunk)
            if columns != expected:
                raise ValueError(
                    f"chunk {number} must have as many columns of X and of y as the first chunk, "
                    f"{expected}, got {columns}"
                )
            yield chunk


def checked_chunk(raw: Any, name: str) -> Chunk:
    """A chunk of the user as a checked ``Chunk``; errors call it ``name``."""
    if not isinstance(raw, tuple) or len(raw) not in (2, 3):
        raise TypeError(f"{name} must be (X, y) or (X, y, weights), got {shown(raw):.200}")
    X, y, weight = raw if len(raw) == 3 else (*raw, None)
    refuse_masked(f"X of {name}", X)
    if sparse.issparse(X):
        X = checked_csr(X)
    else:
        X = sparse.csr_matrix(check_array(f"X of {name}", "must hold numbers", X))
    X = csr(X.indptr, X.indices, X.data, X.shape[1])
    if sparse.issparse(y) or np.ndim(y) == 2:
        labels = checked_indicator(y, f"y of {name}")
        y = labels_matrix(labels.indptr[1:], labels.indices, labels.shape[1])
    else:
        y = check_array(f"y of {name}", "must hold numbers", y, masks=True)
    if weight is not None:
        weight = check_array(f"weights of {name}", "must hold numbers", weight)
    for part, rows in (("y", y), ("weights", weight)):
        if rows is not None and rows.shape[0] != X.shape[0]:
            raise ValueError(
                f"{part} of {name} must have {X.shape[0]} rows, as X has, got {rows.shape[0]}"
            )
    return Chunk(X, y, weight)


def _n_labels(chunk: Chunk) -> int | None:
    """The number of columns of y for several labels; None: y has a number per row."""
    return int(chunk.y.shape[1]) if sparse.issparse(chunk.y) else None


def as_source(chunks: Any) -> Source:
    """A source, or a callable, a sequence or an iterator of chunks as a source.

    >>> as_source([([[1.0]], [1])]).n_features
    1
    """
    return chunks if isinstance(chunks, Source) else Chunks(chunks)


def check_room_for_model(source: Source) -> None:
    """Refuse a source of more features than weights that fit into the memory of the machine."""
    n_features, there = source.n_features, physical_bytes()
    # A fit has two arrays of float64 for the weights, and of float32 or more for several labels.
    needed = n_features * max(16, 4 * (source.n_labels or 1))
    if there is not None and needed > there:
        raise ValueError(
            f"X: {source} has {n_features:,} features, and a model needs at least "
            f"{needed / 1e9:.1f} GB of memory: the machine has {there / 1e9:.1f} GB"
        )


def physical_bytes() -> int | None:
    """The bytes of memory that the machine has; None if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def check_no_y_with_source(y: Any, sample_weight: Any, sample_order: Any = None) -> None:
    """Refuse the arguments y, sample_weight and sample_order next to a source as X."""
    for name, argument in (("y", y), ("sample_weight", sample_weight)):
        if argument is not None:
            raise ValueError(f"{name} must be None if X is a source, whose chunks contain it")
    if sample_order is not None:
        raise ValueError(
            "sample_order must be None if X is a source, which fixes the order of its rows: "
            "lazynet.data.Shuffled changes it"
        )
