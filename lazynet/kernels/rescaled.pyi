import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Steps, Task

RESCALED_FIELDS: int
SCALE_FIELD: int
INTERCEPT_FIELD: int

def run(
    examples: Examples,
    steps: Steps,
    task: Task,
    vector: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
) -> tuple[int, int]: ...
