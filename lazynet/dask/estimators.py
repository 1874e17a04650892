"""LazyNet and DualNet estimators over blocks of rows on the workers of a cluster."""

from __future__ import annotations

import copy
import math
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client

from lazynet.dask.blocks import Blocks
from lazynet.dask.chains import BlockRows, checks_by
from lazynet.dask.newton import MinimiserOnSums
from lazynet.dask.sums import MeanOverBlocks, OutputLoss
from lazynet.data.arrays import check_any_weight
from lazynet.data.chunks import Chunk
from lazynet.data.source import Source, check_room_for_model
from lazynet.data.statistics import FeatureMoments, Units
from lazynet.data.targets import Targets
from lazynet.data.weights import check_weight_of_every_class
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators import certified, online
from lazynet.estimators.online_model import OnlineModel
from lazynet.minimum.minimise import check_penalty
from lazynet.minimum.objective import importance_of_rows
from lazynet.parameters import settle
from lazynet.training.rows import Prepare, SourceRows
from lazynet.training.settings import Settings, read_settings


class OverBlocks:
    """The methods that estimators over blocks add to the serial ones."""

    #: the serial estimator, which has the same parameters
    _serial: ClassVar[type[Any]]

    def to_local(self) -> Any:
        """The same model as an estimator of lazynet itself."""
        model: Any = copy.copy(self)
        model.__class__ = self._serial
        return model


def lazily(method: str) -> Any:
    """The method of the serial estimator; of a Dask array it returns a lazy Dask array."""

    def predict(self: Any, X: Any) -> Any:
        if not hasattr(X, "__dask_graph__"):
            return getattr(self._serial, method)(self, X)
        if not isinstance(X, da.Array):
            raise TypeError(
                f"X must be a Dask array, or rows in memory, got {type(X).__name__}: "
                f"map_partitions of a collection with to_local().{method} predicts its partitions"
            )
        if X.numblocks[1] > 1:
            raise ValueError("X must have its columns in one block: write X.rechunk({1: -1})")
        local = self.to_local()
        sample = getattr(local, method)(np.zeros((1, X.shape[1])))
        return X.map_blocks(
            lambda rows, model: getattr(model, method)(rows), delayed(local),
            dtype=sample.dtype, meta=sample[:0],
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
        """Train on the workers that hold the rows, as the serial estimator trains on a source.

        Parameters
        ----------
        X : Blocks, Dask array or DataFrame, or list of Delayed or Future
            The rows: a Dask array of CSR matrices or dense blocks, or a DataFrame of numbers, with
            a y of the same kind; calls or futures that give ``(X, y)`` or ``(X, y, weights)``; or
            ``Blocks``, which several fits can share.
        y, sample_weight : Dask array or Series, optional
            The targets and sample weights if X is a Dask array or a DataFrame, in the same blocks.
        client : distributed.Client, optional
            The client of the cluster; None: the client of the blocks, or the current client.
        options
            coef_init, intercept_init, callback, checkpoint and every, as in the serial estimator.
            A checkpoint is written by the client, after an epoch.
        """
        return super().fit(Blocks.of(X, y, sample_weight, client=client), **options)

    def _rows_of_source(self, settings: Settings, source: Source) -> tuple[Settings, SourceRows]:
        assert isinstance(source, Blocks), "fit has made blocks"
        classes = getattr(self, "classes_", None)
        check = checks_by(self._serial, settings, self.n_features_in_, classes)
        rows = BlockRows(source, check, f"{type(self).__name__}{uuid.uuid4().hex[:6]}")
        # The outputs of one estimator go in several chains, which keep several workers busy.
        return replace(settings, n_threads=2 * len(source)), rows


class LazyNetClassifier(_OnlineOnBlocks, online.LazyNetClassifier):  # type: ignore[misc]
    """``lazynet.LazyNetClassifier``, which learns from blocks of rows on a Dask cluster."""

    _serial = online.LazyNetClassifier
    predict = lazily("predict")
    predict_proba = lazily("predict_proba")
    decision_function = lazily("decision_function")


class LazyNetRegressor(_OnlineOnBlocks, online.LazyNetRegressor):  # type: ignore[misc]
    """``lazynet.LazyNetRegressor``, which learns from blocks of rows on a Dask cluster."""

    _serial = online.LazyNetRegressor
    predict = lazily("predict")


# --- certified minima ----------------------------------------------------------------------------


def _targets_of(check: Prepare, chunk: Chunk) -> Targets:
    return check(chunk)[1]


def _chunk_in_units(check: Prepare, units: Units, chunk: Chunk) -> Chunk:
    return Chunk(units.rows(check(chunk)[0]), None, None)


def _counts_of(targets: Any) -> tuple[Any, list[tuple[float, float]]]:
    """The classes with weight in a block, and sum s_i and sum s_i y_i by output."""
    weights = targets.importances
    codes = getattr(targets, "codes", np.zeros(targets.n_rows, np.int64))
    counts = np.unique(codes if weights is None else codes[weights > 0.0])

    def sums(y: Any, s: Any) -> tuple[float, float]:
        if s is None:
            return importance_of_rows(y, s), math.fsum(y)
        # A block may have no weight.
        return (importance_of_rows(y, s), math.fsum(y * s)) if s.any() else (0.0, 0.0)

    return counts, [sums(*output) for output in targets]


class _DualOnBlocks(OverBlocks, certified._DualNetModel):
    #: the online estimator whose checks of rows are used
    _online: ClassVar[type[Any]]

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Client | None = None
    ) -> Self:
        """Find the minimum, with the rows on the workers.

        The arguments are as in :meth:`lazynet.dask.LazyNetClassifier.fit`.
        """
        # Bad parameters are refused before a block is made.
        p = settle(type(self), vars(self))
        check_penalty(p.loss, p.l1, p.l2)
        if p.loss.curvature is None:
            raise ValueError(
                f"loss must be smooth over blocks, and the slope of {p.loss.name!r} jumps: take "
                f"another loss, or lazynet.{self._serial.__name__} for rows in memory"
            )
        self._warn(self._learn_blocks(p, Blocks.of(X, y, sample_weight, client=client)))
        return self

    @all_or_nothing
    def _learn_blocks(self, p: SimpleNamespace, blocks: Blocks) -> list[Warning]:
        """Find the minimum; returns the warnings to give."""
        facts = blocks.facts()
        if facts.n_labels is not None:
            raise ValueError(
                "y must have one class or one number for every row, and the rows have several "
                "labels: LazyNetClassifier learns all labels in one pass"
            )
        check_room_for_model(blocks)
        self.n_features_in_ = facts.n_features
        self.__dict__.pop("feature_names_in_", None)
        options = {"class_weight": self.class_weight} if hasattr(self, "class_weight") else {}
        reader = self._online(**options)
        settings = reader._set_outputs_of(read_settings(reader), blocks)
        classes = getattr(reader, "classes_", None)
        check = checks_by(self._online, settings, facts.n_features, classes)
        targets = blocks.prepared(partial(_targets_of, check))
        futures = blocks.client.map(_counts_of, targets, key="lazynet-counts", pure=False)
        counts, totals = zip(*blocks.gathered(futures), strict=True)
        # The sums over all blocks, for every output.
        sums = np.array(totals).sum(axis=0)
        check_any_weight(bool(sums[0, 0]))
        if classes is not None:
            codes = np.concatenate(counts)
            check_weight_of_every_class(classes, classes[codes], np.ones(len(codes)))
        chunks, units, warnings = blocks.futures, None, []
        if p.standardize is not False:
            moments = FeatureMoments.of(facts.n_features, p.standardize is True, p.fit_intercept)
            BlockRows(blocks, check, type(self).__name__).count(moments)
            moments.settle()
            units = moments.units
            chunks = blocks.prepared(partial(_chunk_in_units, check, units))
        mean = MeanOverBlocks(blocks, chunks, targets, OutputLoss(0, p.loss, p.fit_intercept, 1.0))
        n_nonzeros, squares = mean.sizes
        self._choose_penalty(p, float(squares.sum()) / facts.n_rows, facts.n_rows)
        if units is None:
            warnings = certified.warnings_of_sizes(n_nonzeros, squares, facts.n_rows)

        def minimiser_of(number: int, seed: int) -> MinimiserOnSums:
            total, total_y = map(float, sums[number])
            output = OutputLoss(number, p.loss, p.fit_intercept, total)
            # The best intercept of zero weights for most losses, and near it for the others.
            begin = total_y / total if p.fit_intercept else 0.0
            if p.loss.name == "log_loss":
                begin = 2.0 * math.atanh(begin * (1.0 - 1e-15))
            return MinimiserOnSums(mean.of(output), begin)

        # The sums of one output keep all workers busy.
        p.n_jobs = 1
        warnings += self._find(p, (len(sums), facts.n_features), minimiser_of, units)
        if classes is not None:
            self.classes_ = classes
        return warnings


class DualNetClassifier(_DualOnBlocks, certified.DualNetClassifier):  # type: ignore[misc]
    """``lazynet.DualNetClassifier``, which learns from blocks of rows on a Dask cluster."""

    _serial, _online = certified.DualNetClassifier, online.LazyNetClassifier
    predict = lazily("predict")
    predict_proba = lazily("predict_proba")
    decision_function = lazily("decision_function")


class DualNetRegressor(_DualOnBlocks, certified.DualNetRegressor):  # type: ignore[misc]
    """``lazynet.DualNetRegressor``, which learns from blocks of rows on a Dask cluster."""

    _serial, _online = certified.DualNetRegressor, online.LazyNetRegressor
    predict = lazily("predict")


# --- several fits at the same time ----------------------------------------------------------------


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

    With as many estimators as workers every worker is busy.  Every ``fit`` gets the ``options``.
    If a fit fails, its estimator does not change; the other fits complete, and then the error is
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
                blocks.client.cancel([*blocks.pending])
            raise
    for number, error in enumerate(errors):
        if error is not None:
            error.add_note(f"estimator {number} of {len(errors)}: {estimators[number]!r}")
            raise error
    return estimators
