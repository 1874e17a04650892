import numpy as np
from numpy.typing import NDArray

LOSS_COUNT: int

def values_and_slopes(
    loss: int, predictions: NDArray[np.float64], targets: NDArray[np.float64], epsilon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
