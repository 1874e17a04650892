import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Steps, Task

def run(
    examples: Examples,
    steps: Steps,
    task: Task,
    weights: NDArray[np.float64],
    intercept: NDArray[np.float64],
    spread: NDArray[np.float64],
    sums: NDArray[np.float64],
    totals: NDArray[np.float64],
    vectorised: bool,
    first: int,
) -> tuple[int, int]: ...
