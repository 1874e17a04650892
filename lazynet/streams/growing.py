"""Rows whose columns are not known beforehand."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from lazynet.streams.chunks import Chunk, Passing, csr, rechunked
from lazynet.streams.source import ROWS, Chunks, Derived, Facts, Source, Tally, as_source


class Growing(Source):
    """The rows of a source, with as many columns as have occurred so far.

    ``partial_fit`` lets the model grow with them: the weights of features that come later are 0
    until then, and the model is that of a model which has known all features from the beginning.
    Chunks that a program makes may have more columns than those before.  The columns of text, which
    would have to be counted by a pass of their own, are taken as they come.  ``fit``, which needs
    a pass over the source anyway, counts them.

    >>> chunks = [([[1.0]], [1]), ([[0.0, 2.0]], [0])]
    >>> [chunk.X.shape for chunk in Growing(chunks).chunks(rows=1)]
    [(1, 1), (1, 2)]
    >>> from lazynet import LazyNetRegressor
    >>> LazyNetRegressor(l1=0.0, eta0=0.25).partial_fit(Growing(chunks)).coef_.shape
    (2,)
    """

    def __init__(self, source: Any) -> None:
        self.source = as_source(source)

    def _as_they_come(self, rows: int, epoch: int) -> Passing:
        """The chunks of a pass, each as wide as it has to be."""
        if isinstance(self.source, Chunks):
            yield from rechunked(self.source._given(same_width=False), rows)
            return
        uncounted = self.source._before_counting()
        with closing((uncounted or self.source).chunks(rows, epoch)) as chunks:
            for chunk in chunks:
                own = int(chunk.X.indices.max(initial=0)) + 1
                yield chunk if uncounted is None else widened(chunk, own)

    def _pass(self, rows: int, epoch: int) -> Passing:
        widest = 1 if self._facts is None else self._facts.n_features
        with closing(self._as_they_come(rows, epoch)) as chunks:
            for chunk in chunks:
                widest = max(widest, chunk.X.shape[1])
                yield widened(chunk, widest)

    def _find_facts(self) -> Facts:
        tally, widest = Tally(), 1
        with closing(self._as_they_come(ROWS, 0)) as chunks:
            for chunk in chunks:
                tally.add(chunk)
                widest = max(widest, chunk.X.shape[1])
        return tally.facts(widest, self.n_labels)

    def _find_features(self) -> int:
        return self.facts().n_features

    def _find_labels(self) -> int | None:
        return self.source.n_labels

    def _find_identity(self) -> dict[str, Any] | None:
        found = self.source.identity()
        return None if found is None else {**found, "grows": True}


def widened(chunk: Chunk, n_columns: int) -> Chunk:
    """The same rows with so many columns; the arrays are shared."""
    X = chunk.X
    return chunk._replace(X=csr(X.indptr, X.indices, X.data, n_columns))


def grows(source: Source) -> bool:
    """Whether the columns of a source are not known beforehand."""
    while isinstance(source, Derived):
        source = source.source
    return isinstance(source, Growing)
