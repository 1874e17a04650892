import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples

LOSS_COUNT: int

def values_and_slopes(
    loss: int, predictions: NDArray[np.float64], targets: NDArray[np.float64], epsilon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def total_loss(
    examples: Examples,
    weights: NDArray[np.float64],
    intercept: float,
    loss: int,
    epsilon: float,
    start: int,
    stop: int,
) -> tuple[float, int]: ...
