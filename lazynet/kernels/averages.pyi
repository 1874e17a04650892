import numpy as np
from numpy.typing import NDArray

AVERAGE_FIELDS: int
COUNTED_FIELD: int
TOTAL_FIELD: int
INTERCEPT_SUM_FIELD: int

class Average:
    def __init__(
        self,
        shifts: NDArray[np.float64],
        scales: NDArray[np.float64],
        pulls: NDArray[np.float64],
        fields: NDArray[np.float64],
    ) -> None: ...

def read(
    cells: NDArray[np.float64], fields: NDArray[np.float64], weights: NDArray[np.float64]
) -> None: ...
def sums(cells: NDArray[np.float64], average: Average, out: NDArray[np.float64]) -> None: ...
def fold(cells: NDArray[np.float64], fields: NDArray[np.float64], average: Average) -> None: ...
def begin(average: Average) -> None: ...
