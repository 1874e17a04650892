import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Steps, Task

TRUNCATED_FIELDS: int
INTERCEPT_FIELD: int

def run(
    examples: Examples,
    steps: Steps,
    task: Task,
    threshold: float,
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
) -> tuple[int, int]: ...
def read(
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    threshold: float,
    weights: NDArray[np.float64],
) -> None: ...
