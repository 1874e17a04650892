import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.batches import Batches
from lazynet.kernels.examples import Examples, Steps, Task

def run(
    kind: str,
    examples: Examples,
    steps: Steps,
    task: Task,
    settings: NDArray[np.float64],
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
    slopes: NDArray[np.float64] | None = None,
) -> tuple[int, int]: ...
def run_batches(
    kind: str,
    examples: Examples,
    batches: Batches,
    task: Task,
    settings: NDArray[np.float64],
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    first: int,
) -> tuple[int, int]: ...
def read(
    kind: str,
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    settings: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None: ...
def sweep(
    kind: str,
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    settings: NDArray[np.float64],
) -> None: ...
def intercept(kind: str, fields: NDArray[np.float64], settings: NDArray[np.float64]) -> float: ...
def retune(
    kind: str,
    cells: NDArray[np.float64],
    fields: NDArray[np.float64],
    settings: NDArray[np.float64],
) -> None: ...
def numbers(kind: str) -> int: ...
def fields(kind: str) -> tuple[str, ...]: ...
def settings(kind: str) -> tuple[str, ...]: ...
