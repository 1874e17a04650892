import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Steps, Task

RDA_FIELDS: int
SEEN_FIELD: int
INTERCEPT_SUM_FIELD: int

def run(
    examples: Examples,
    steps: Steps,
    task: Task,
    l1: float,
    l2: float,
    gamma: float,
    rho: float,
    sums: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
) -> tuple[int, int]: ...
def read(
    sums: NDArray[np.float64],
    fields: NDArray[np.float64],
    l1: float,
    l2: float,
    gamma: float,
    rho: float,
    weights: NDArray[np.float64],
) -> None: ...
def intercept(fields: NDArray[np.float64], gamma: float) -> float: ...
