import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples

def margins(
    examples: Examples,
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
    start: int,
    compensated: bool,
) -> tuple[int, int]: ...
def add_rows(
    examples: Examples, factors: NDArray[np.float64], sums: NDArray[np.float64], start: int
) -> tuple[int, int]: ...
def compensated_add_rows(
    examples: Examples, factors: NDArray[np.float64], cells: NDArray[np.float64], start: int
) -> tuple[int, int]: ...
def total_loss(
    examples: Examples,
    predictions: NDArray[np.float64],
    shift: float,
    loss: int,
    epsilon: float,
    share: float,
    sizes: NDArray[np.float64] | None = None,
) -> tuple[float, float]: ...
def total_conjugate(
    examples: Examples,
    duals: NDArray[np.float64],
    factor: float,
    loss: int,
    epsilon: float,
    share: float,
) -> tuple[float, float]: ...
def negative_slopes(
    examples: Examples,
    predictions: NDArray[np.float64],
    shift: float,
    loss: int,
    epsilon: float,
    duals: NDArray[np.float64],
) -> float: ...
def slope_sums(
    examples: Examples,
    predictions: NDArray[np.float64],
    shift: float,
    loss: int,
    epsilon: float,
) -> tuple[float, float]: ...
def balance(examples: Examples, duals: NDArray[np.float64]) -> float: ...
def excess(
    sums: NDArray[np.float64], share: float, l1: float, wrong: float
) -> tuple[float, float, float]: ...
