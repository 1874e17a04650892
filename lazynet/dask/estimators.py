"""LazyNetClassifier and LazyNetRegressor over blocks of rows on the workers of a cluster."""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

from numpy.typing import ArrayLike

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.clients import Classifies, WithClient, described, with_client
from lazynet.dask.fits import BlockRows
from lazynet.dask.held import Prepare
from lazynet.estimators import elastic_net as serial
from lazynet.estimators.fitted import FittedModel
from lazynet.estimators.from_sources import SourceRows
from lazynet.estimators.in_parts import Callback
from lazynet.models.attributes import attributes, integer
from lazynet.models.checkpoints import EVERY
from lazynet.streams.source import Source

_RETRIES = """
    Attributes
    ----------
    retries_ : int
        Epochs that were repeated because a worker was lost.
    """


class OnBlocks(WithClient, FittedModel):
    """What the online estimators over blocks add to the serial ones."""

    _more = ("retries_",)
    #: epochs that were repeated because a worker was lost
    retries_: int
    _saved = attributes(retries_=integer)

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Train on the workers that have the rows; as ``fit`` of the serial estimator on a source.

        Parameters
        ----------
        X : Blocks, Dask array, or list of Delayed or Future
            The rows: a Dask array of CSR matrices or dense blocks beside a Dask array y; calls or
            futures that give ``(X, y)`` or ``(X, y, weights)``; or ``Blocks`` of files or
            partitions, which several fits can share.
        y, sample_weight : Dask array, optional
            Numbers of rows where X is a Dask array, in the same blocks.
        coef_init, intercept_init, callback, checkpoint, every
            As in the serial estimator.  A checkpoint is written by the client, after an epoch.
        """
        blocks = as_blocks(X, y, sample_weight, self.client)
        super().fit(
            blocks, coef_init=coef_init, intercept_init=intercept_init, callback=callback,
            checkpoint=checkpoint, every=every,
        )  # type: ignore[misc]  # fmt: skip
        return self

    def _rows_of(
        self, p: SimpleNamespace, source: Source, prepare: Prepare, files: ExitStack
    ) -> SourceRows:
        if not isinstance(source, Blocks):
            raise TypeError("X must be Blocks: take lazynet's own estimator for another source")
        if p.early_stopping:
            raise ValueError(
                "early_stopping must be False over blocks, which hold no rows out: cross_validate "
                "judges estimators by such rows"
            )
        assert isinstance(prepare, partial), "a method with the parameters and the classes"
        label = f"{type(self).__name__}{uuid.uuid4().hex[:6]}"
        return BlockRows(source, self._lean(p, prepare.args[1]), p, label)

    def _lean(self, p: SimpleNamespace, classes: Any) -> Prepare:
        """What workers are sent to check rows with: the method, without the model."""
        probe = self._serial()
        probe.n_features_in_ = self.n_features_in_
        wanted = ("class_weight", "multi_class")
        told = SimpleNamespace(**{key: vars(p)[key] for key in wanted if key in vars(p)})
        return partial(probe._prepared, told, classes)

    def _fit_source(self, p: SimpleNamespace, rows: Any, *start: Any) -> list[Warning]:
        # Outputs that learn in several engines follow each other through the blocks.
        p.n_jobs = 2 * len(rows.blocks)
        try:
            found = super()._fit_source(p, rows, *start)
            self.retries_ = sum(traveller.retries for traveller in rows.travellers)
        finally:
            rows.give_up()
        return found


@described(_RETRIES)
class LazyNetClassifier(Classifies, OnBlocks, serial.LazyNetClassifier):  # type: ignore[misc]
    _serial = serial.LazyNetClassifier
    __init__ = with_client(serial.LazyNetClassifier.__init__)


@described(_RETRIES)
class LazyNetRegressor(OnBlocks, serial.LazyNetRegressor):  # type: ignore[misc]
    _serial = serial.LazyNetRegressor
    __init__ = with_client(serial.LazyNetRegressor.__init__)
