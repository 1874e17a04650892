"""A random share of the rows of a source, by which an epoch is judged."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazynet.data.chunks import Passing, rechunked, taken
from lazynet.data.source import Derived, Facts, Shuffled, Source

# The step and the factors of SplitMix64 (Steele, Lea & Flood 2014), whose output passes for random.
_STEP, _FIRST, _SECOND = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
# Rows whose numbers are looked at together.
_BLOCK = 2**20


@dataclass(frozen=True)
class Share:
    """A random share of rows, which a hash of the number of each row decides.

    Whether a row belongs to the share depends on ``seed`` and on the number of the row alone.

    >>> Share(0.25, seed=1).of(0, 8), Share(0.25, seed=1).count(10_000)
    (array([False, False, False, False, False, False, False,  True]), 2556)
    """

    fraction: float
    seed: int

    def of(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Whether each of the rows from ``start`` to ``stop`` belongs to the share."""
        z = np.arange(start + 1, stop + 1, dtype=np.uint64)
        # Other seeds begin elsewhere, far from each other.
        z += np.array([self.seed], dtype=np.uint64) * _FIRST
        z *= _STEP
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        z ^= z >> np.uint64(31)
        # The upper 53 bits are a number from 0 to below 1.
        return np.asarray((z >> np.uint64(11)) * 2.0**-53 < self.fraction)

    def count(self, n_rows: int) -> int:
        """How many of the first rows belong to the share."""
        starts = range(0, n_rows, _BLOCK)
        return sum(int(self.of(at, min(at + _BLOCK, n_rows)).sum()) for at in starts)


class OfShare(Derived):
    """The rows of a source that belong to a share, or the ``others``, in the same order.

    >>> from lazynet.data.source import as_source
    >>> source = as_source([([[0.0]] * 8, [0, 1, 2, 3, 4, 5, 6, 7])])
    >>> [chunk.y.tolist() for chunk in OfShare(source, Share(0.25, 1), others=False).chunks(9)]
    [[7.0]]
    """

    def __init__(self, source: Source, share: Share, *, others: bool) -> None:
        super().__init__(source)
        self.share, self.others = share, others

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._all(rows, epoch), rows)

    def _all(self, rows: int, epoch: int) -> Passing:
        start = 0
        with closing(self.source.chunks(rows, epoch)) as chunks:
            for chunk in chunks:
                stop = start + chunk.X.shape[0]
                numbers = np.flatnonzero(self.share.of(start, stop) != self.others)
                start = stop
                if len(numbers):
                    yield taken(chunk, numbers)

    def _find_facts(self) -> Facts:
        return Source._find_facts(self)


def of_share(source: Source, share: Share, *, others: bool) -> Source:
    """The rows of a share; they are numbered before anything changes their order.

    >>> from lazynet.data.source import as_source
    >>> source = Shuffled(as_source([([[0.0]] * 8, [0, 1, 2, 3, 4, 5, 6, 7])]), window=8)
    >>> [sorted(next(of_share(source, Share(0.25, 1), others=False).chunks(9, epoch)).y.tolist())
    ...  for epoch in range(2)]
    [[7.0], [7.0]]
    """
    if isinstance(source, Shuffled):
        rows = of_share(source.source, share, others=others)
        return Shuffled(rows, window=source.window, seed=source.seed)
    return OfShare(source, share, others=others)
