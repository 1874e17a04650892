"""LazyNetClassifierCV and LazyNetRegressorCV over blocks of rows on the workers of a cluster."""

from __future__ import annotations

import os
import uuid
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.checked import (
    check_number_of_folds,
    check_one_target,
    checks_of,
    classes_in,
)
from lazynet.dask.clients import Classifies, WithClient, described, with_client
from lazynet.dask.grids import BlockGridRows
from lazynet.estimators import elastic_net_cv as serial
from lazynet.estimators.elastic_net_grid import ElasticNetGrid
from lazynet.models.attributes import attributes, integer
from lazynet.models.checkpoints import EVERY, Keeper, keeper_of
from lazynet.transactions import all_or_nothing

_FOLDS = """\
    cv : int, default=5
        The number of folds.  Row number i, counted over all blocks, is held out by fold i modulo
        ``cv``.  Not used with ``scoring="progressive"``.
    shuffle, n_jobs : not used
        Rows are visited in their order, as in every fit from a source.  The workers share the
        work; their number changes no bit of the model.

    Attributes
    ----------
    retries_ : int
        Rounds that were repeated because a worker was lost.
    """


class GridOnBlocks(WithClient, ElasticNetGrid):
    """What the estimators over blocks add to the serial ones."""

    _more = ("retries_",)
    #: rounds that were repeated because a worker was lost
    retries_: int
    _saved = attributes(retries_=integer)

    def _settle(self) -> SimpleNamespace:
        p = super()._settle()
        if not p.progressive:
            check_number_of_folds(p.cv, self.cv, "; or give scoring='progressive'")
        p.shuffle, p.n_jobs = False, 1
        return p

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Choose a setting and train, with the rows on the workers.

        Parameters
        ----------
        X : Blocks, Dask array, or list of Delayed or Future
            The rows, as in :meth:`lazynet.dask.LazyNetClassifier.fit`.
        y, sample_weight : Dask array, optional
            Numbers of rows where X is a Dask array, in the same blocks.
        checkpoint, every
            As in the serial estimator.  A checkpoint is written by the client, after the matrices
            of weights have visited all blocks.
        """
        # What cannot be is refused before a block is made.
        self._settle()
        blocks = as_blocks(X, y, sample_weight, self.client)
        with keeper_of(checkpoint, every) as keeper:
            warnings = self._learn_blocks(blocks, keeper)
        self._warn(warnings)
        return self

    @all_or_nothing
    def _learn_blocks(self, blocks: Blocks, keeper: Keeper) -> list[Warning]:
        """Choose a setting and train; returns the warnings to give."""
        p = self._settle()
        check_one_target(blocks)
        classes = self._classes_of(p, blocks)
        self.n_features_in_ = blocks.n_features
        self.__dict__.pop("feature_names_in_", None)
        label = f"{type(self).__name__}{uuid.uuid4().hex[:6]}"
        checks = checks_of(self._serial, p, classes, blocks)
        rows = BlockGridRows(blocks, checks, p, classes, label)
        try:
            warnings = self._fit(p, rows, keeper)
            self.retries_ = sum(traveller.retries for traveller in rows.travellers)
        finally:
            rows.give_up()
        if classes is not None:
            self.classes_ = classes
        return warnings

    def _classes_of(self, p: SimpleNamespace, blocks: Blocks) -> NDArray[Any] | None:
        """The classes; None for numbers."""
        return None


@described(_FOLDS)
class LazyNetClassifierCV(Classifies, GridOnBlocks, serial.LazyNetClassifierCV):  # type: ignore[misc]
    _serial = serial.LazyNetClassifierCV
    __init__ = with_client(serial.LazyNetClassifierCV.__init__)

    def _classes_of(self, p: SimpleNamespace, blocks: Blocks) -> NDArray[Any]:
        return np.asarray(classes_in(p, blocks))


@described(_FOLDS)
class LazyNetRegressorCV(GridOnBlocks, serial.LazyNetRegressorCV):  # type: ignore[misc]
    _serial = serial.LazyNetRegressorCV
    __init__ = with_client(serial.LazyNetRegressorCV.__init__)
