from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE_BYTES: int

def numbers(kind: str) -> int: ...

class Targets:
    n_rows: int
    first: int
    n_outputs: int
    def __init__(
        self,
        first: int,
        n_outputs: int,
        labels: NDArray[np.int64] | None = None,
        starts: NDArray[np.int64] | None = None,
        positives: NDArray[np.int64] | None = None,
        numbers: NDArray[np.float64] | None = None,
        shared: NDArray[np.float64] | None = None,
    ) -> None: ...

class OwnSteps:
    def __init__(
        self,
        rates: NDArray[np.float64],
        keep: NDArray[np.float64],
        keep_low: NDArray[np.float64],
        pull: NDArray[np.float64],
    ) -> None: ...

class Block:
    kind: str
    width: int
    n_features: int
    def __init__(
        self, kind: str, cells: NDArray[Any], width: int, stamps: NDArray[np.float64] | None = None
    ) -> None: ...
    def at_level(self, level: int) -> int: ...
