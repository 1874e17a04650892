import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Steps, Task

CARPENTER_FIELDS: int
STEPS_FIELD: int
INTERCEPT_FIELD: int

def run(
    examples: Examples,
    steps: Steps,
    task: Task,
    l1: float,
    l2: float,
    period: int,
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
) -> tuple[int, int]: ...
def read(
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    l1: float,
    l2: float,
    weights: NDArray[np.float64],
) -> None: ...
