"""A path of penalties over blocks of rows on the workers of a cluster."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from lazynet import paths
from lazynet.dask.blocks import as_blocks
from lazynet.dask.checked import check_one_target, checks_of, classes_in
from lazynet.dask.minima import MinimiserOnBlocks, chosen_way, rows_on_workers
from lazynet.estimators.dual_net import DualNetClassifier, DualNetRegressor
from lazynet.losses import LossLike
from lazynet.models.checkpoints import EVERY, Keeper, keeper_of
from lazynet.params import Integer, table

_KINDS = table(**paths.KINDS, n_blocks=Integer(least=1, optional=True))


def net_path(
    X: Any,
    y: Any = None,
    *,
    loss: LossLike = "log_loss",
    l1_ratio: float = 1.0,
    l1s: ArrayLike | None = None,
    l2s: ArrayLike | None = None,
    n_points: int = 50,
    smallest: float = 1e-2,
    tol: float = 1e-4,
    max_iter: int = 1000,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    random_state: int | np.random.RandomState | None = None,
    n_blocks: int | None = None,
    client: Client | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = EVERY,
) -> paths.NetPath:
    """``lazynet.net_path`` over blocks of rows on the workers of a Dask cluster.

    Every minimum is found by dual ascent, as :class:`lazynet.dask.DualNetClassifier` finds it, and
    starts from the one before it.  The other parameters are those of ``lazynet.net_path``.

    Parameters
    ----------
    X : Blocks, Dask array, or list of Delayed or Future
        The rows, as in :meth:`lazynet.dask.LazyNetClassifier.fit`.
    y, sample_weight : Dask array, optional
        Numbers of rows where X is a Dask array, in the same blocks.
    n_blocks : int or None, default=None
        1: the model visits one block after the other.  The number of blocks: it learns from all of
        them at once, in rounds.  None: at once where there are more than 3 blocks.
    client : distributed.Client, optional
        The client of the cluster; None: the current one.

    Returns
    -------
    NetPath
        The points from the largest penalty down.
    """
    call = paths.PathCall(
        _KINDS, {name: value for name, value in locals().items() if name in _KINDS}
    )
    blocks = as_blocks(X, y, sample_weight, client)
    with keeper_of(checkpoint, every) as keeper:
        path, late = _path_over(call, keeper, blocks)
    if late is not None:
        warnings.warn(late, ConvergenceWarning, stacklevel=2)
    return path


def _path_over(
    call: paths.PathCall, keeper: Keeper, blocks: Any
) -> tuple[paths.NetPath, str | None]:
    """The path over blocks; as ``lazynet.paths.path_of``."""
    p = call.p
    check_one_target(blocks)
    classes = classes_in(p, blocks) if p.loss.margin else None
    if classes is not None:
        paths.check_two_classes(p.loss, classes)
    serial = DualNetRegressor if classes is None else DualNetClassifier
    rows = rows_on_workers(blocks, checks_of(serial, p, classes, blocks), classes)
    at_once = chosen_way(p.n_blocks, len(rows.held), 1)

    def minimiser_of(generator: np.random.RandomState) -> MinimiserOnBlocks:
        return MinimiserOnBlocks(rows, 0, p.loss, p.fit_intercept, generator, at_once=at_once)

    told = {"the blocks": [each.told for each in blocks.known()]}
    return paths.path_of(call, keeper, told, classes, minimiser_of)
