import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples

STATUS_BURST_OVER: int

class Listed:
    features: NDArray[np.int64]
    sizes: NDArray[np.float64]
    kept: NDArray[np.int64]
    n: int
    updates: int
    def __init__(
        self,
        features: NDArray[np.int64],
        sizes: NDArray[np.float64],
        kept: NDArray[np.int64],
    ) -> None: ...

def run(
    examples: Examples,
    order: NDArray[np.int64],
    position: float,
    loss: int,
    size: int,
    share: float,
    n_left: int,
    live: NDArray[np.uint8],
    cells: NDArray[np.float64],
    listed: Listed,
    first: int,
) -> tuple[int, int]: ...
def end_burst(listed: Listed, cells: NDArray[np.float64], n_left: int, share: float) -> None: ...
def unlist_purged(listed: Listed, cells: NDArray[np.float64]) -> None: ...
def go_back(
    listed: Listed,
    cells: NDArray[np.float64],
    features: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> None: ...
