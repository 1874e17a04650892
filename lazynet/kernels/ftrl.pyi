import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Steps, Task

def run(
    examples: Examples,
    steps: Steps,
    task: Task,
    l1: float,
    l2: float,
    alpha: float,
    beta: float,
    cells: NDArray[np.float64],
    intercept_cell: NDArray[np.float64],
    first: int,
) -> tuple[int, int]: ...
def read(
    cells: NDArray[np.float64],
    l1: float,
    l2: float,
    alpha: float,
    beta: float,
    weights: NDArray[np.float64],
) -> None: ...
