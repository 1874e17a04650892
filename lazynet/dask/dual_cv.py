"""DualNetClassifierCV and DualNetRegressorCV over blocks of rows on the workers of a cluster."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, Self

from numpy.typing import NDArray

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.checked import (
    check_number_of_folds,
    check_one_target,
    checks_of,
    classes_in,
)
from lazynet.dask.choices import BlocksToChoose
from lazynet.dask.clients import Classifies, WithClient, described, with_client
from lazynet.estimators import dual_net_cv as serial
from lazynet.estimators.chosen_net import ChosenNet
from lazynet.models.checkpoints import EVERY, Keeper, keeper_of
from lazynet.params import shown
from lazynet.transactions import all_or_nothing

_FOLDS = """\
    cv : int, default=5
        The number of folds.  Row number i, counted over all blocks, is held out by fold i modulo
        ``cv``.
    scoring : str, scorer or None, default=None
        None chooses by the mean loss of held-out rows.  A name of scikit-learn, or a scorer of its
        ``make_scorer``, is told the decisions on these rows, which come to the client.
    n_jobs : not used
        The workers share the work; their number changes no bit of the model.
    """


class ChosenOnBlocks(WithClient, ChosenNet):
    """What the estimators over blocks add to the serial ones."""

    def _settle(self) -> SimpleNamespace:
        p = super()._settle()
        check_number_of_folds(p.cv, self.cv)
        if p.scoring and not hasattr(p.scoring, "_score_func"):
            raise ValueError(
                f"scoring must be None, a name, or a scorer of sklearn.metrics.make_scorer where X "
                f"is blocks, because another one may ask for the rows, got {shown(self.scoring)}"
            )
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
        """Choose the penalty and train, with the rows on the workers.

        Parameters
        ----------
        X : Blocks, Dask array, or list of Delayed or Future
            The rows, as in :meth:`lazynet.dask.LazyNetClassifier.fit`.
        y, sample_weight : Dask array, optional
            Numbers of rows where X is a Dask array, in the same blocks.
        checkpoint, every
            As in the serial estimator.  The client writes the paths that are done.
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
        """Choose the penalty and train; returns the warnings to give."""
        p = self._settle()
        check_one_target(blocks)
        classes = self._classes_of(p, blocks)
        self.n_features_in_ = blocks.n_features
        self.__dict__.pop("feature_names_in_", None)
        if classes is not None:
            self.classes_ = classes
        rows = BlocksToChoose(blocks, checks_of(self._serial, p, classes, blocks), p, classes)
        # So many models at the same time keep all workers busy.
        p.n_jobs = 2 * len(rows.rows.held)
        return self._fit(p, rows, None, keeper)

    def _classes_of(self, p: SimpleNamespace, blocks: Blocks) -> NDArray[Any] | None:
        """The classes; None for numbers."""
        return None


@described(_FOLDS)
class DualNetClassifierCV(Classifies, ChosenOnBlocks, serial.DualNetClassifierCV):  # type: ignore[misc]
    _serial = serial.DualNetClassifierCV
    __init__ = with_client(serial.DualNetClassifierCV.__init__)

    def _classes_of(self, p: SimpleNamespace, blocks: Blocks) -> NDArray[Any]:
        return classes_in(p, blocks)


@described(_FOLDS)
class DualNetRegressorCV(ChosenOnBlocks, serial.DualNetRegressorCV):  # type: ignore[misc]
    _serial = serial.DualNetRegressorCV
    __init__ = with_client(serial.DualNetRegressorCV.__init__)
