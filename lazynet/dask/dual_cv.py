"""DualNetClassifierCV and DualNetRegressorCV over blocks of rows on the workers of a cluster."""

from __future__ import annotations

from types import SimpleNamespace

from lazynet.dask.blocks import Blocks
from lazynet.dask.checked import (
    check_number_of_folds,
    check_one_target,
    checks_of,
)
from lazynet.dask.choices import BlocksToChoose
from lazynet.dask.clients import Classifies, described, with_client
from lazynet.dask.learning import LearnsFromBlocks
from lazynet.estimators import dual_net_cv as serial
from lazynet.estimators.chosen_net import ChosenNet
from lazynet.models.checkpoints import Keeper
from lazynet.params import shown
from lazynet.undo import all_or_nothing

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


class ChosenOnBlocks(LearnsFromBlocks, ChosenNet):
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

    @all_or_nothing
    def _learn_blocks(self, blocks: Blocks, keeper: Keeper) -> list[Warning]:
        """Choose the penalty and train; returns the warnings to give."""
        p = self._settle()
        check_one_target(blocks)
        classes = self._classes_of(p, blocks)
        self._note_features(blocks)
        if classes is not None:
            self.classes_ = classes
        rows = BlocksToChoose(blocks, checks_of(self._serial, p, classes, blocks), p, classes)
        # So many models at the same time keep all workers busy.
        p.n_jobs = 2 * len(rows.rows.held)
        return self._fit(p, rows, None, keeper)


@described(_FOLDS)
class DualNetClassifierCV(Classifies, ChosenOnBlocks, serial.DualNetClassifierCV):  # type: ignore[misc]
    _serial = serial.DualNetClassifierCV
    __init__ = with_client(serial.DualNetClassifierCV.__init__)


@described(_FOLDS)
class DualNetRegressorCV(ChosenOnBlocks, serial.DualNetRegressorCV):  # type: ignore[misc]
    _serial = serial.DualNetRegressorCV
    __init__ = with_client(serial.DualNetRegressorCV.__init__)
