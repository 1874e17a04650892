"""Rows to judge or predict, which may have columns that the model does not know."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from lazynet.command.inputs import WIDEST, source_of
from lazynet.command.output import say
from lazynet.streams.chunks import Chunk, Passing, csr
from lazynet.streams.growing import widened
from lazynet.streams.source import Derived, Facts, Source


class KnownColumns(Derived):
    """The first ``n_features`` columns of a source; values in other columns are counted.

    >>> from lazynet.streams.source import as_source
    >>> source = KnownColumns(as_source([([[1.0, 2.0, 3.0], [4.0, 0.0, 0.0]], [0, 1])]), 2)
    >>> [chunk.X.toarray().tolist() for chunk in source.chunks()], source.n_unknown
    ([[[1.0, 2.0], [4.0, 0.0]]], 1)
    """

    def __init__(self, source: Source, n_features: int) -> None:
        super().__init__(source)
        self._n_features = n_features
        #: the values in other columns that have passed
        self.n_unknown = 0

    def _find_features(self) -> int:
        return self._n_features

    def _find_facts(self) -> Facts:
        return replace(self.source.facts(), n_features=self._n_features)

    def _pass(self, rows: int, epoch: int) -> Passing:
        with closing(self.source.chunks(rows, epoch)) as chunks:
            for chunk in chunks:
                yield self._known(chunk)

    def _known(self, chunk: Chunk) -> Chunk:
        X = chunk.X
        if X.indices.max(initial=-1) < self._n_features:
            return widened(chunk, self._n_features)
        known = X.indices < self._n_features
        self.n_unknown += len(known) - int(np.count_nonzero(known))
        starts = np.concatenate([[0], np.cumsum(known)])[X.indptr]
        return chunk._replace(X=csr(starts, X.indices[known], X.data[known], self._n_features))


def rows_for(options: argparse.Namespace, model: Any, *, needs_target: bool = True) -> Source:
    """The rows of the files, with the features of the model.

    Texts to come have words that no text had before: a column of svmlight's form beyond those of
    the model is left out.  Rows of other forms must have the columns of the model.
    """
    if options.format != "svmlight":
        return source_of(options, needs_target=needs_target)
    options.features = WIDEST
    return KnownColumns(source_of(options), model.n_features_in_)


def tell_unknown(rows: Source) -> None:
    """Say how many values of the rows had no part in what was found."""
    n_unknown = rows.n_unknown if isinstance(rows, KnownColumns) else 0
    if n_unknown:
        values = "1 value belongs" if n_unknown == 1 else f"{n_unknown:,} values belong"
        say(f"note: {values} to features that the model does not know, whose weights are 0")
