"""The nonzero weights of several outputs: read by features, and put into a row for every output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.engines.threads import Workers

# Integers of 32 bits count up to here.
_MOST_OF_32_BITS = 2**31


class _Part(NamedTuple):
    """The nonzero weights of some features; those of an output lie behind one another."""

    #: where the weights of every output begin, and the end
    starts: NDArray[np.int64]
    columns: NDArray[Any]
    values: NDArray[np.float64]


class NonzeroWeights:
    """The nonzero weights of one engine, on their way into rows.

    Every one of the ``parts`` has its first feature, and the weights of some features with a column
    for every output.

    >>> found = NonzeroWeights(2, [(0, np.array([[0.0, 1.0]])), (1, np.array([[2.0, 3.0]]))])
    >>> found.counts
    array([1, 2])
    """

    def __init__(self, n_outputs: int, parts: Iterable[tuple[int, NDArray[np.float64]]]) -> None:
        #: the number of nonzero weights of every output
        self.counts = np.zeros(n_outputs, dtype=np.int64)
        self._parts: list[_Part] = []
        for first, by_feature in parts:
            weights = np.ascontiguousarray(by_feature.T).ravel()
            places = np.flatnonzero(weights != 0.0)
            ahead = np.arange(n_outputs) * len(by_feature)
            starts = np.searchsorted(places, np.append(ahead, len(weights)))
            counts = np.diff(starts)
            values = weights[places]
            places -= np.repeat(ahead - first, counts)
            small = first + len(by_feature) <= _MOST_OF_32_BITS
            self._parts.append(_Part(starts, places.astype(np.int32) if small else places, values))
            self.counts += counts

    def put(self, starts: NDArray[Any], columns: NDArray[Any], values: NDArray[np.float64]) -> None:
        """Write the rows of all outputs, which begin at ``starts`` in the arrays of a CSR matrix.

        Returns what is written.
        """
        for k in np.flatnonzero(self.counts):
            place = slice(starts[k], starts[k] + self.counts[k])
            some = [(part, slice(part.starts[k], part.starts[k + 1])) for part in self._parts]
            np.concatenate([part.columns[own] for part, own in some], out=columns[place])
            np.concatenate([part.values[own] for part, own in some], out=values[place])
        self._parts.clear()


def csr_of(
    engines: Sequence[NonzeroWeights], n_features: int, workers: Workers | None = None
) -> sparse.csr_matrix:
    """The rows of the outputs of all engines as one matrix; the threads share the engines.

    >>> engine = NonzeroWeights(2, [(0, np.array([[0.0, 1.0], [2.0, 3.0]]))])
    >>> csr_of([engine], 2).toarray()
    array([[0., 2.],
           [1., 3.]])
    """
    workers = Workers(1) if workers is None else workers
    ends = np.cumsum(np.concatenate([engine.counts for engine in engines]))
    size = int(ends[-1])
    kind = np.int32 if max(size, n_features) < _MOST_OF_32_BITS else np.int64
    starts = np.zeros(len(ends) + 1, dtype=kind)
    starts[1:] = ends
    columns, values = np.empty(size, dtype=kind), np.empty(size)
    firsts = np.cumsum([0, *(len(engine.counts) for engine in engines)])
    workers.each(
        range(len(engines)), lambda k: engines[k].put(starts[firsts[k] :], columns, values)
    )
    return sparse.csr_matrix((values, columns, starts), shape=(len(ends), n_features))
