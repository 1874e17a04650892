import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Steps, Task
from lazynet.kernels.outputs import Block, Targets

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
