import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.examples import Examples, Task
from lazynet.kernels.outputs import Block, Targets

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
