"""Every N-th row of a source, and the rows between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazynet.streams.chosen import Chosen
from lazynet.streams.source import Source


class EveryNth(Chosen):
    """Every ``n``-th row of a source, or with ``others`` the rows between them.

    >>> from lazynet.streams.source import as_source
    >>> source = as_source([([[0.0]] * 5, [0, 1, 2, 3, 4])])
    >>> [chunk.y.tolist() for chunk in EveryNth(source, 2, others=False).chunks()]
    [[1.0, 3.0]]
    >>> EveryNth(source, 2, others=True).facts().n_rows
    3
    """

    def __init__(self, source: Source, n: int, *, others: bool) -> None:
        super().__init__(source)
        if n < 2:
            raise ValueError(f"--holdout must be at least 2, got {n}")
        self.n, self.others = n, others

    def _chosen(self, start: int, stop: int) -> NDArray[np.bool_]:
        return (np.arange(start + 1, stop + 1) % self.n == 0) != self.others
