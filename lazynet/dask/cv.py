"""LazyNetClassifierCV and LazyNetRegressorCV over blocks of rows on the workers of a cluster."""

from __future__ import annotations

import uuid
from types import SimpleNamespace

from lazynet.dask.blocks import Blocks
from lazynet.dask.checked import (
    check_number_of_folds,
    check_one_target,
    checks_of,
)
from lazynet.dask.clients import Classifies, described, with_client
from lazynet.dask.grids import BlockGridRows
from lazynet.dask.learning import LearnsFromBlocks
from lazynet.estimators import elastic_net_cv as serial
from lazynet.estimators.elastic_net_grid import ElasticNetGrid
from lazynet.models.attributes import attributes, integer
from lazynet.models.checkpoints import Keeper
from lazynet.undo import all_or_nothing

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


class GridOnBlocks(LearnsFromBlocks, ElasticNetGrid):
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

    @all_or_nothing
    def _learn_blocks(self, blocks: Blocks, keeper: Keeper) -> list[Warning]:
        """Choose a setting and train; returns the warnings to give."""
        p = self._settle()
        check_one_target(blocks)
        classes = self._classes_of(p, blocks)
        self._note_features(blocks)
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


@described(_FOLDS)
class LazyNetClassifierCV(Classifies, GridOnBlocks, serial.LazyNetClassifierCV):  # type: ignore[misc]
    _serial = serial.LazyNetClassifierCV
    __init__ = with_client(serial.LazyNetClassifierCV.__init__)


@described(_FOLDS)
class LazyNetRegressorCV(GridOnBlocks, serial.LazyNetRegressorCV):  # type: ignore[misc]
    _serial = serial.LazyNetRegressorCV
    __init__ = with_client(serial.LazyNetRegressorCV.__init__)
