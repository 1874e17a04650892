"""DualNetClassifier and DualNetRegressor over blocks of rows on the workers of a cluster."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from lazynet.dask.blocks import Blocks
from lazynet.dask.checked import check_one_target, checks_of
from lazynet.dask.clients import Classifies, described, with_client
from lazynet.dask.learning import LearnsFromBlocks
from lazynet.dask.minima import MinimiserOnBlocks, rows_on_workers
from lazynet.dask.waits import Check
from lazynet.estimators import dual_net as serial
from lazynet.minimise import check_penalty
from lazynet.undo import all_or_nothing

_IN_TURN = """\
    n_jobs : not used
        A model visits one block after the other, and several models (classes) keep several workers
        busy.  The number of workers changes no bit of the model.

    Attributes
    ----------
    solver_ : str, or list of str
        "ascent": dual coordinate ascent.
    """


class DualOnBlocks(LearnsFromBlocks, serial._DualNetModel):
    """What the estimators over blocks add to the serial ones."""

    @all_or_nothing
    def _learn_blocks(self, blocks: Blocks) -> list[Warning]:
        """Find the minimum; returns the warnings to give."""
        p: SimpleNamespace = self._settle()
        check_penalty(p.loss, p.l1, p.l2)
        facts = blocks.facts()
        check_one_target(blocks)
        warm = self._goes_on(p)
        if warm and facts.n_features != self.n_features_in_:
            raise ValueError(
                f"warm_start goes on from a model of {self.n_features_in_} features, "
                f"and X has {facts.n_features}: fit with warm_start=False"
            )
        self._note_features(blocks)
        classes = self._classes_of(p, blocks)
        rows = rows_on_workers(blocks, checks_of(self._serial, p, classes, blocks), classes)

        def minimiser_of(
            row: int, generator: np.random.RandomState, check: Check
        ) -> MinimiserOnBlocks:
            # What ends one thread of the fit ends the waits of the others.
            return MinimiserOnBlocks(rows, row, p.loss, p.fit_intercept, generator, check=check)

        # So many models at the same time keep all workers busy.
        p.n_jobs = 2 * len(rows.held)
        sizes = rows.n_problems, facts.n_rows, facts.n_features
        warnings: list[Warning] = self._find(p, sizes, minimiser_of)
        if classes is not None:
            self.classes_ = classes
        return warnings


@described(_IN_TURN)
class DualNetClassifier(Classifies, DualOnBlocks, serial.DualNetClassifier):  # type: ignore[misc]
    _serial = serial.DualNetClassifier
    __init__ = with_client(serial.DualNetClassifier.__init__)


@described(_IN_TURN)
class DualNetRegressor(DualOnBlocks, serial.DualNetRegressor):  # type: ignore[misc]
    _serial = serial.DualNetRegressor
    __init__ = with_client(serial.DualNetRegressor.__init__)
