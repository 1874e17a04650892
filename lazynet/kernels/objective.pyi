import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Visited

def weight_sums(weights: NDArray[np.float64]) -> tuple[float, float]: ...
def total_loss(
    examples: Examples,
    weights: NDArray[np.float64],
    intercept: float,
    loss: int,
    epsilon: float,
    start: int,
    stop: int,
) -> tuple[float, int, bool]: ...
def loss_of_predictions(examples: Examples, steps: Visited, loss: int, epsilon: float) -> float: ...
