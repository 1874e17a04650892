"""Predictions for Dask collections, which stay lazy; a model is sent to the workers once."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, Future, get_client


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask collection, whose predictions are computed when they are asked for."""
    return hasattr(X, "__dask_graph__")


def _predict(rows: Any, model: Any, method: str) -> Any:
    return getattr(model, method)(rows)


def mapped(estimator: Any, method: str, X: Any) -> Any:
    """The lazy predictions of the rows of a Dask array, in the blocks of X."""
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X must be a Dask array, or rows in memory, got {type(X).__name__}: "
            f"map_partitions of a collection with to_local().{method} predicts its partitions"
        )
    if X.numblocks[1] > 1:
        raise ValueError("X must have its columns in one block: write X.rechunk({1: -1})")
    local = estimator.to_local()
    sample = getattr(local, method)(np.zeros((1, X.shape[1])))
    model = _sent(local, estimator.client)
    chunks: Any = (X.chunks[0],) if sample.ndim == 1 else (X.chunks[0], (sample.shape[1],))
    return X.map_blocks(
        _predict, model, method, dtype=sample.dtype, chunks=chunks, meta=sample[:0],
        drop_axis=1 if sample.ndim == 1 else None, name=f"lazynet-{method}",
    )  # fmt: skip


def _sent(model: Any, client: Client | None) -> Future | Any:
    """The model on every worker; or itself where there is no cluster."""
    try:
        found = get_client() if client is None else client
    except ValueError:
        return model
    return found.scatter(model, broadcast=True, hash=False)
