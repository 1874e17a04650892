"""More than one machine, on Dask: rows stay on the workers in blocks, each the result of a task.

An online model is a chain of tasks, a visit for every block: the serial algorithm over the rows of
all blocks in their order, with the same bits for any division into blocks and any number of
workers.  A certified minimum follows from sums over blocks.  Where a worker is lost, Dask repeats
its tasks.

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
from lazynet.dask.dual import DualNetClassifier, DualNetRegressor
from lazynet.dask.estimators import LazyNetClassifier, LazyNetRegressor, fit_all

__all__ = [
    "Blocks",
    "DualNetClassifier",
    "DualNetRegressor",
    "LazyNetClassifier",
    "LazyNetRegressor",
    "UnreadableBlock",
    "fit_all",
]
