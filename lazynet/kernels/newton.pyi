import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.columns import Columns
from lazynet.kernels.examples import Examples

class WorkingSet(Columns):
    def __init__(
        self,
        examples: Examples,
        loss: int,
        epsilon: float,
        curvature: float,
        share: float,
        fit_intercept: bool,
    ) -> None: ...
    def start(
        self,
        l1: float,
        l2: float,
        weights: NDArray[np.float64],
        intercept: float,
        nu: float,
        held: NDArray[np.float64],
    ) -> None: ...
    def refresh(self) -> None: ...
    def read(self, weights: NDArray[np.float64], duals: NDArray[np.float64]) -> float: ...
    def predictions(self, margins: NDArray[np.float64], sizes: NDArray[np.float64]) -> None: ...
    def objective(self) -> float: ...
    def model(self, target: float) -> tuple[float, float, float, float]: ...
    def descend(self, want: float) -> bool: ...
    def search(self) -> float: ...
    @property
    def stuck(self) -> bool: ...
