"""LazyNetClassifier and LazyNetRegressor over blocks; what all estimators over blocks share."""

from __future__ import annotations

import copy
import os
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client

from lazynet.dask.blocks import Blocks
from lazynet.dask.chains import BlockRows, checks_by
from lazynet.data.source import Source
from lazynet.estimators import online as serial
from lazynet.estimators.online_model import OnlineModel
from lazynet.training.rows import Prepare, SourceRows
from lazynet.training.settings import Settings


class OverBlocks:
    """The methods that estimators over blocks add to the serial ones."""

    #: the serial estimator, which has the same parameters
    _serial: ClassVar[type[Any]]

    def to_local(self) -> Any:
        """The same model as an estimator of lazynet itself."""
        model: Any = copy.copy(self)
        model.__class__ = self._serial
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, as the serial estimator does; ``lazynet.load`` gives one."""
        self.to_local().save(path)


def _predicted(rows: Any, model: Any, method: str) -> Any:
    return getattr(model, method)(rows)


def lazily(method: str) -> Any:
    """The method of the serial estimator; of a Dask array it returns a lazy Dask array."""

    def predict(self: Any, X: Any) -> Any:
        local = self.to_local()
        if not hasattr(X, "__dask_graph__"):
            return getattr(local, method)(X)
        if not isinstance(X, da.Array):
            raise TypeError(
                f"X must be a Dask array, or rows in memory, got {type(X).__name__}: "
                f"map_partitions of a collection with to_local().{method} predicts its partitions"
            )
        if X.numblocks[1] > 1:
            raise ValueError("X must have its columns in one block: write X.rechunk({1: -1})")
        sample = getattr(local, method)(np.zeros((1, X.shape[1])))
        return X.map_blocks(
            _predicted, delayed(local), method, dtype=sample.dtype, meta=sample[:0],
            chunks=(X.chunks[0], *((n,) for n in sample.shape[1:])),
            drop_axis=1 if sample.ndim == 1 else None, name=f"lazynet-{method}-{uuid.uuid4().hex}",
        )  # fmt: skip

    predict.__name__ = predict.__qualname__ = method
    predict.__doc__ = "As the serial estimator; for a Dask array a lazy Dask array."
    return predict


class _OnlineOnBlocks(OverBlocks, OnlineModel):
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        client: Client | None = None,
        **options: Any,
    ) -> Self:
        """Train on the workers that have the rows; as ``fit`` of the serial estimator on a source.

        Parameters
        ----------
        X : Blocks, Dask array or DataFrame, or list of Delayed or Future
            The rows: a Dask array of CSR matrices or dense blocks, or a DataFrame of numbers,
            beside a y of the same kind; calls or futures that give ``(X, y)`` or ``(X, y,
            weights)``; or ``Blocks``, which several fits can share.
        y, sample_weight : Dask array or Series, optional
            Numbers of rows where X is a Dask array or a DataFrame, in the same blocks.
        client : distributed.Client, optional
            The client of the cluster; None: that of the blocks, or the current one.
        options
            coef_init, intercept_init, callback, checkpoint and every, as in the serial estimator.
            A checkpoint is written by the client, after an epoch.
        """
        return super().fit(Blocks.of(X, y, sample_weight, client=client), **options)

    def _chunk_reader(self, settings: Settings, source: Source) -> tuple[Settings, Prepare]:
        # The outputs of one estimator go in several chains, which keep several workers busy.
        if isinstance(source, Blocks):
            settings = replace(settings, n_threads=2 * len(source))
        return super()._chunk_reader(settings, source)

    def _source_rows(self, settings: Settings, source: Source, prepare: Prepare) -> SourceRows:
        assert isinstance(source, Blocks), "fit has made blocks"
        assert isinstance(prepare, partial), "a method with the settings and the classes"
        check = checks_by(self._serial, settings, self.n_features_in_, prepare.args[1])
        return BlockRows(source, check, f"{type(self).__name__}{uuid.uuid4().hex[:6]}")


class LazyNetClassifier(_OnlineOnBlocks, serial.LazyNetClassifier):  # type: ignore[misc]
    """``lazynet.LazyNetClassifier``, which learns from blocks of rows on a Dask cluster."""

    _serial = serial.LazyNetClassifier
    predict = lazily("predict")
    predict_proba = lazily("predict_proba")
    decision_function = lazily("decision_function")


class LazyNetRegressor(_OnlineOnBlocks, serial.LazyNetRegressor):  # type: ignore[misc]
    """``lazynet.LazyNetRegressor``, which learns from blocks of rows on a Dask cluster."""

    _serial = serial.LazyNetRegressor
    predict = lazily("predict")


def fit_all(
    estimators: Sequence[Any],
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    client: Client | None = None,
    **options: Any,
) -> list[Any]:
    """Fit every estimator to the same blocks at the same time; each has the bits of a fit alone.

    With as many estimators as workers every worker is busy.  ``options`` are handed to every
    ``fit``.  A fit that fails leaves its estimator as it was; the others end, and then its error is
    raised.
    """
    blocks, estimators = Blocks.of(X, y, sample_weight, client=client), list(estimators)
    blocks.block_facts()
    if not estimators:
        return []
    with ThreadPoolExecutor(len(estimators), "lazynet fit") as pool:
        fits = [pool.submit(model.fit, blocks, **options) for model in estimators]
        try:
            errors = [future.exception() for future in fits]
        except BaseException:
            # Ctrl-C: cancel the tasks; the fits leave their estimators unchanged.
            while wait(fits, timeout=0.1).not_done:
                blocks.cancel()
            raise
    for number, error in enumerate(errors):
        if error is not None:
            error.add_note(f"estimator {number} of {len(errors)}: {estimators[number]!r}")
            raise error
    return estimators
