from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples

STATUS_NO_ROOM: int
STATUS_UNTRUNCATED: int
STABILISED_FIELDS: int
INTERCEPT_FIELD: int
SHIFT_FIELD: int

class Records:
    features: NDArray[np.int64]
    ratios: NDArray[np.float64]
    vanished: NDArray[np.uint8]
    n: int
    began: int
    def __init__(
        self,
        features: NDArray[np.int64],
        ratios: NDArray[np.float64],
        vanished: NDArray[np.uint8],
    ) -> None: ...
    def clear(self) -> None: ...
    def extend(
        self,
        features: NDArray[np.int64],
        ratios: NDArray[np.float64],
        vanished: NDArray[np.uint8],
    ) -> None: ...

def truncate(
    records: Records,
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    gravity: float,
    size: float,
    universal: bool,
) -> None: ...
def ratios(
    records: Records,
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    size: float,
    universal: bool,
    out: NDArray[np.float64],
) -> None: ...
def run(
    examples: Examples,
    order: NDArray[np.int64],
    rates: NDArray[np.float64],
    loss: int,
    epsilon: float,
    fit_intercept: bool,
    size: int,
    gravity: float,
    universal: bool,
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    records: Records,
    first: int,
) -> tuple[int, int]: ...
def read(
    cells: NDArray[np.float64], fields: NDArray[np.float64], weights: NDArray[np.float64]
) -> None: ...
def sweep(cells: NDArray[np.float64], fields: NDArray[np.float64]) -> None: ...
def tally(records: Records, counts: NDArray[np.int32]) -> None: ...
def judge(
    records: Records,
    least: int,
    threshold: float,
    counts: NDArray[np.int32],
    frequency: NDArray[np.float64],
    purged: NDArray[np.int64],
) -> int: ...
def purge(features: NDArray[Any], cells: NDArray[np.float64]) -> None: ...
