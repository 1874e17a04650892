import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.averages import Average
from lazynet.kernels.examples import Examples, Steps, Task
from lazynet.kernels.outputs import Block, OwnSteps, Targets

CLOCK_ROWS: int
OWN_ROWS: int
SCALARS: int
INTERCEPT_ROW: int
INTERCEPT_SUM_ROW: int
PENDING_SCALAR: int
PENDING_ROW_COUNTED: int
SLOPE_FIELDS: tuple[int, int, int]

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
