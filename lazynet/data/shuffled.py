"""Rows in a random order within windows."""

from __future__ import annotations

import numpy as np

from lazynet.data.chunks import Passing, rechunked, taken
from lazynet.data.source import Derived, Source
from lazynet.parameters import check_integer


class Shuffled(Derived):
    """The rows of a source, each ``window`` of them in a random order that depends on the epoch.

    A window is in memory as a whole.  A row stays in its window; a file that is sorted by its
    labels needs a window as long as the file, or to be shuffled beforehand.

    >>> from lazynet.data.source import as_source
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

    def _reorders(self) -> bool:
        return True
