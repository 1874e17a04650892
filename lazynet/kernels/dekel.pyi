import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples

DEKEL_FIELDS: int
STEPS_FIELD: int
A_FIELD: int
Z_FIELD: int
H_FIELD: int
C_FIELD: int
S_FIELD: int

def begin_h_again(cells: NDArray[np.float64], fields: NDArray[np.float64]) -> None: ...
def run(
    examples: Examples,
    order: NDArray[np.int64],
    loss: int,
    epsilon: float,
    strength: float,
    mean: NDArray[np.float64],
    theta: float,
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
) -> tuple[int, int]: ...
