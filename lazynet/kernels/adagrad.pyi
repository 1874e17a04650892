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
    delta: float,
    cells: NDArray[np.float64],
    intercept_cell: NDArray[np.float64],
    now: int,
    first: int,
) -> tuple[int, int, int]: ...
def read(
    cells: NDArray[np.float64],
    now: int,
    l1: float,
    l2: float,
    alpha: float,
    delta: float,
    weights: NDArray[np.float64],
) -> None: ...
def set_decays(
    cells: NDArray[np.float64], l1: float, l2: float, alpha: float, delta: float
) -> None: ...
