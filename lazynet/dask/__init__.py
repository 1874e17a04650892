"""More than one machine, on Dask: rows stay on the workers, and models travel from block to block.

The rows are divided into blocks, each of which stays on the worker that made it.  A model visits
the blocks in their order, each once an epoch, and learns from the rows of a block where they are.
This is the serial algorithm over the rows of all blocks in their order: the model has the bits of
``lazynet.LazyNetClassifier`` fitted from a source of the same rows, for any division into blocks,
any number of workers, and whoever finishes first.  Several models (the outputs of one estimator,
the estimators of ``fit_all``) follow each other through the blocks, so that all workers are busy.

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

from lazynet.dask.blocks import Blocks
from lazynet.dask.dual import DualNetClassifier, DualNetRegressor
from lazynet.dask.estimators import LazyNetClassifier, LazyNetRegressor
from lazynet.dask.many import fit_all

__all__ = [
    "Blocks",
    "DualNetClassifier",
    "DualNetRegressor",
    "LazyNetClassifier",
    "LazyNetRegressor",
    "fit_all",
]
