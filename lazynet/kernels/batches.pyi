import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Visited

class Merger:
    def clear(self) -> None: ...

class Batches(Visited):
    size: int
    def __init__(
        self,
        order: NDArray[np.int64],
        size: int,
        rates: NDArray[np.float64],
        keep: NDArray[np.float64],
        keep_low: NDArray[np.float64],
        pull: NDArray[np.float64],
        counts: NDArray[np.float64] | None = None,
        predictions: NDArray[np.float64] | None = None,
        merger: Merger | None = None,
    ) -> None: ...
    @property
    def n_rows(self) -> int: ...
    def with_predictions(
        self, predictions: NDArray[np.float64] | None, merger: Merger | None = None
    ) -> Batches: ...
    def begin(self) -> None: ...
    def __len__(self) -> int: ...
    def row(self, step: int) -> int: ...
