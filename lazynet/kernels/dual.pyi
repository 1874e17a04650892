import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples

DUAL_FIELDS: int
INTERCEPT_Z_FIELD: int

def run(
    examples: Examples,
    order: NDArray[np.int64],
    loss: int,
    epsilon: float,
    l1: float,
    scale: float,
    intercept_scale: float,
    share: float,
    squared_norms: NDArray[np.float64],
    z: NDArray[np.float64],
    duals: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
) -> tuple[int, int]: ...
def weights_of(
    z: NDArray[np.float64], l1: float, scale: float, weights: NDArray[np.float64]
) -> None: ...
def sums(
    z: NDArray[np.float64],
    centre: NDArray[np.float64],
    weights: NDArray[np.float64],
    kappa: float,
    l1: float,
) -> tuple[float, float, float, float, float, float]: ...
def recentre(
    z: NDArray[np.float64],
    centre: NDArray[np.float64],
    weights: NDArray[np.float64],
    old: float,
    new: float,
) -> None: ...
