"""Training on several machines with Dask: the rows stay on the workers, in blocks.

A chain of tasks, one for each block, trains an online model.  The chain is the serial algorithm
over the rows of all blocks in their order: the weights are bit-identical for any division into
blocks and any number of workers.  ``DualNet*`` finds the minimum from sums over blocks.  Dask
repeats the tasks of a lost worker.

>>> import lazynet.dask  # doctest: +SKIP
>>> model = lazynet.dask.LazyNetClassifier().fit(X, y)  # Dask arrays  # doctest: +SKIP
"""

from __future__ import annotations

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
except ImportError as missing:
    raise ImportError(
        f"lazynet.dask needs dask and distributed, and {missing.name} is not installed: "
        "pip install 'lazynet-linear[dask]'",
        name=missing.name,
    ) from missing

from lazynet.dask.blocks import Blocks, UnreadableBlock
from lazynet.dask.estimators import (
    DualNetClassifier,
    DualNetRegressor,
    LazyNetClassifier,
    LazyNetRegressor,
    fit_all,
)

__all__ = [
    "Blocks",
    "DualNetClassifier",
    "DualNetRegressor",
    "LazyNetClassifier",
    "LazyNetRegressor",
    "UnreadableBlock",
    "fit_all",
]
