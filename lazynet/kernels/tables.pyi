import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Steps, Task

def run(
    examples: Examples,
    steps: Steps,
    task: Task,
    weights: NDArray[np.float64],
    last: NDArray[np.int64],
    scales: NDArray[np.float64],
    shifts: NDArray[np.float64],
    fields: NDArray[np.float64],
    now: int,
    first: int,
) -> tuple[int, int, int]: ...
def read(
    weights: NDArray[np.float64],
    last: NDArray[np.int64],
    scales: NDArray[np.float64],
    shifts: NDArray[np.float64],
    now: int,
    current: NDArray[np.float64],
) -> None: ...
