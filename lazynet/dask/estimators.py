"""LazyNetClassifier and LazyNetRegressor over blocks of rows on the workers of a cluster."""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.clients import Classifies, WithClient, described, with_client
from lazynet.dask.fits import BlockRows
from lazynet.dask.held import Prepare
from lazynet.data import sizes_of
from lazynet.estimators import elastic_net as serial
from lazynet.estimators.fitted import Callback, FittedModel
from lazynet.estimators.from_sources import SourceRows
from lazynet.learners import new_learners
from lazynet.models.attributes import attributes, integer
from lazynet.models.checkpoints import EVERY
from lazynet.progress import Progress
from lazynet.streams.source import ROWS, Source
from lazynet.undo import all_or_nothing

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

    @all_or_nothing
    def _learn_blocks(self, blocks: Blocks, classes: Any = None) -> list[Warning]:
        """Go on training with one pass over the blocks; returns the warnings to give."""
        p = self._settle()
        # The rule may have been replaced since the method was looked up.
        p.rule.check_streams("partial_fit")
        facts, begun = blocks.facts(), self.__sklearn_is_fitted__()
        if begun and facts.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {facts.n_features} features, and {type(self).__name__} has learned from "
                f"{self.n_features_in_}"
            )
        known = self._outputs_to_go_on_with(p, classes, facts.n_labels)
        if not begun:
            self.n_features_in_ = facts.n_features
            self.__dict__.pop("feature_names_in_", None)
        label = f"{type(self).__name__}{uuid.uuid4().hex[:6]}"
        rows = BlockRows(blocks, self._lean(p, known), p, label)
        X, problems = rows.first()
        units = self._units_to_go_on_in(p, problems)
        assert units is None, "a model over blocks learns from the rows as they are"
        # Outputs that learn in several engines follow each other through the blocks.
        p.n_jobs, p.max_iter = 2 * len(blocks), 1
        sizes = X.shape[1], len(problems)
        onward = self._onward(p, units, sizes, rows.largest_norms(ROWS), np.ones(1))
        engines, plan = onward.engines, onward.plan
        learners = new_learners(engines, X, problems, plan, sizes_of(X, plan.sizes))
        every = np.arange(sizes[0])
        self._undo.before(engines, every)
        for engine in engines:
            engine.retune(plan.settings)
        try:
            silent, losses = Progress(0, False, ""), np.zeros(len(learners))
            pass_over = rows.passes(learners, plan, ROWS)
            t = pass_over(0, onward.t, silent, losses, None, 0, lambda n_rows: None)
        finally:
            rows.give_up()
        for engine in engines:
            engine.check_finite(every, t)
        self._generator = getattr(self, "_generator", None)
        self._keep_passed(p, onward, t)
        self.retries_ = sum(traveller.retries for traveller in rows.travellers)
        if known is not None:
            self.classes_ = known
        return onward.warnings[:1]

    def _outputs_to_go_on_with(
        self, p: SimpleNamespace, classes: Any, n_labels: int | None
    ) -> NDArray[Any] | None:
        """The classes or labels; None for numbers.  Refuses a y that is of another kind."""
        raise NotImplementedError

    def _rows_of(
        self, p: SimpleNamespace, source: Source, prepare: Prepare, files: ExitStack
    ) -> SourceRows:
        if not isinstance(source, Blocks):
            raise TypeError("X must be Blocks: take lazynet's own estimator for another source")
        if p.early_stopping:
            raise ValueError("early_stopping must be False over blocks, which hold no rows out")
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

    @available_if(FittedModel._learns_from_streams)
    def partial_fit(
        self, X: Any, y: Any = None, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """Train on the rows of these blocks once; as the serial ``partial_fit`` on a source.

        ``X``, ``y`` and ``sample_weight`` as in :meth:`fit`.  The first call names all
        ``classes``, except for a y with a column for each label.
        """
        self._warn(self._learn_blocks(as_blocks(X, y, sample_weight, self.client), classes))
        return self

    def _outputs_to_go_on_with(
        self, p: SimpleNamespace, classes: Any, n_labels: int | None
    ) -> NDArray[Any]:
        count = None if n_labels is None else lambda: n_labels
        known = self._classes_to_go_on_with(p, classes, count)
        self._go_on_with_labels(None if n_labels is None else "sparse matrix")
        return known


@described(_RETRIES)
class LazyNetRegressor(OnBlocks, serial.LazyNetRegressor):  # type: ignore[misc]
    _serial = serial.LazyNetRegressor
    __init__ = with_client(serial.LazyNetRegressor.__init__)

    @available_if(FittedModel._learns_from_streams)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on the rows of these blocks once; see :meth:`LazyNetClassifier.partial_fit`."""
        self._warn(self._learn_blocks(as_blocks(X, y, sample_weight, self.client)))
        return self

    def _outputs_to_go_on_with(
        self, p: SimpleNamespace, classes: Any, n_labels: int | None
    ) -> None:
        if n_labels is not None:
            raise ValueError("y must be a number for every row, and the blocks have labels")
        if self.__sklearn_is_fitted__() and self._several_targets:
            raise ValueError("y must have the columns of the first call, and blocks have one")
        self._several_targets = False
