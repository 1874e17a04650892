from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.averages import Average
from lazynet.kernels.examples import Examples, Steps, Task

LINE_BYTES: int
CLOCK_ROWS: int
OWN_ROWS: int
SCALARS: int
INTERCEPT_ROW: int
INTERCEPT_SUM_ROW: int
FROM_DATA_FIELDS: int
PENDING_SCALAR: int
PENDING_ROW_COUNTED: int
SLOPE_FIELDS: tuple[int, int, int]

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

def run_on_clock(
    block: Block,
    examples: Examples,
    targets: Targets,
    steps: Steps,
    task: Task,
    clocks: NDArray[np.float64],
    own: NDArray[np.float64],
    scalars: NDArray[np.float64],
    losses: NDArray[np.float64],
    first: int,
    softmax: bool = False,
    own_steps: OwnSteps | None = None,
    rates: NDArray[np.float64] | None = None,
    average: Average | None = None,
    strengths: NDArray[np.float64] | None = None,
) -> tuple[int, int]: ...
def sweep_clock(
    block: Block, clocks: NDArray[np.float64], scalars: NDArray[np.float64]
) -> None: ...
def bring_current(block: Block, clocks: NDArray[np.float64]) -> None: ...
def start_clocks(clocks: NDArray[np.float64], scalars: NDArray[np.float64]) -> None: ...
def run_cells(
    block: Block,
    examples: Examples,
    targets: Targets,
    steps: Steps,
    task: Task,
    settings: NDArray[np.float64],
    fields: NDArray[np.float64],
    losses: NDArray[np.float64],
    first: int,
    softmax: bool = False,
) -> tuple[int, int]: ...
def read_cells(
    block: Block,
    settings: NDArray[np.float64],
    fields: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
def sweep_adagrad(
    block: Block, settings: NDArray[np.float64], fields: NDArray[np.float64]
) -> None: ...
def losses_on(
    block: Block,
    examples: Examples,
    targets: Targets,
    order: NDArray[np.int64],
    task: Task,
    losses: NDArray[np.float64],
    first: int,
    clocks: NDArray[np.float64] | None = None,
    own: NDArray[np.float64] | None = None,
    settings: NDArray[np.float64] | None = None,
    fields: NDArray[np.float64] | None = None,
) -> tuple[int, int]: ...
