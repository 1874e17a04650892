import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.averages import Average
from lazynet.kernels.batches import Batches
from lazynet.kernels.examples import Examples, Steps, Task

CLOCK_FIELDS: int
INTERCEPT_FIELD: int
FROM_DATA_FIELDS: int
LAST_RATE_FIELD: int
LOADED_FIELD: int
LOWERINGS_FIELD: int
ROWS_SEEN_FIELD: int
STALLS_FIELD: int

def run(
    examples: Examples,
    steps: Steps,
    task: Task,
    stored: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
    average: Average | None = None,
    rates: NDArray[np.float64] | None = None,
) -> tuple[int, int]: ...
def run_batches(
    examples: Examples,
    batches: Batches,
    task: Task,
    stored: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
    average: Average | None = None,
) -> tuple[int, int]: ...
def read(
    stored: NDArray[np.float64], fields: NDArray[np.float64], weights: NDArray[np.float64]
) -> None: ...
def rebase(stored: NDArray[np.float64], fields: NDArray[np.float64]) -> None: ...
def start(fields: NDArray[np.float64]) -> None: ...
