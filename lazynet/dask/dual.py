"""DualNetClassifier and DualNetRegressor over blocks of rows on the workers of a cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from distributed import Client
from scipy import sparse

from lazynet.dask.blocks import Blocks
from lazynet.dask.chains import check_any_rows, checks_by, prepared_by
from lazynet.dask.estimators import OverBlocks, lazily
from lazynet.dask.newton import MinimiserOnSums
from lazynet.dask.sums import MeanOverBlocks, OutputLoss
from lazynet.data.arrays import as_examples
from lazynet.data.weights import check_every_class_counts
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators import certified as serial
from lazynet.estimators import online
from lazynet.losses import Loss
from lazynet.minimum.mean_loss import MeanLoss, importance_of_rows
from lazynet.minimum.minimise import check_penalty


def _counts_of(blocks: Sequence[Any]) -> list[tuple[Any, list[tuple[float, float]]]]:
    """For each prepared block: the classes with weight, and sum s_i and sum s_i y_i by output."""
    sums = []
    for block in blocks:
        targets, weights = block.targets, block.targets.importances
        codes = getattr(targets, "codes", np.zeros(targets.n_rows, np.int64))
        counts = np.unique(codes if weights is None else codes[weights > 0.0])
        totals = [
            (importance_of_rows(y, s), math.fsum(y if s is None else y * s)) for y, s in targets
        ]
        sums.append((counts, totals))
    return sums


def _best_intercept(loss: Loss, total: float, total_y: float) -> float:
    """The intercept of zero weights: exact where targets are -1 and 1, or for the squared error."""
    if not loss.margin:
        return total_y / total
    signs, counts = np.array([-1.0, 1.0]), 0.5 * (total + total_y * np.array([-1.0, 1.0]))
    rows = as_examples(sparse.csr_matrix((2, 0)), signs, counts)
    return MeanLoss(rows, signs, counts, loss, fit_intercept=True).best_intercept(np.zeros(2))


class _DualOnBlocks(OverBlocks, serial._DualNetModel):
    #: the online estimator, whose checks of rows are used
    _online: ClassVar[type[Any]]

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Client | None = None
    ) -> Self:
        """Find the minimum, with the rows on the workers.

        The arguments are as in :meth:`lazynet.dask.LazyNetClassifier.fit`.
        """
        # Bad parameters are refused before a block is made.
        p = self._settle()
        check_penalty(p.loss, p.l1, p.l2)
        if p.loss.curvature is None:
            raise ValueError(
                f"loss must be smooth over blocks, and the slope of {p.loss.name!r} jumps: take "
                f"another loss, or lazynet.{self._serial.__name__} for rows in memory"
            )
        self._warn(self._learn_blocks(Blocks.of(X, y, sample_weight, client=client)))
        return self

    @all_or_nothing
    def _learn_blocks(self, blocks: Blocks) -> list[Warning]:
        """Find the minimum; returns the warnings to give."""
        p, facts = self._settle(), blocks.facts()
        check_any_rows(blocks)
        if facts.n_labels is not None:
            raise ValueError(
                "y must have one class or one number for every row, and the rows have several "
                "labels: LazyNetClassifier learns all labels in one pass"
            )
        if self._goes_on(p) and facts.n_features != self.n_features_in_:
            raise ValueError(
                f"warm_start goes on from a model of {self.n_features_in_} features, and X has "
                f"{facts.n_features}: fit with warm_start=False"
            )
        self.n_features_in_ = facts.n_features
        self.__dict__.pop("feature_names_in_", None)
        options = {"class_weight": self.class_weight} if hasattr(self, "class_weight") else {}
        reader = self._online(**options)
        settings, prepare = reader._chunk_reader(reader._read_settings(), blocks)
        classes = prepare.args[1]
        check = checks_by(self._online, settings, facts.n_features, classes)
        prepared = blocks.prepared(partial(prepared_by, check))
        futures = [
            blocks.submitted("lazynet-counts", _counts_of, home, [prepared[k] for k in group])
            for group, home in blocks.groups()
        ]
        counts, totals = zip(*chain.from_iterable(blocks.gathered(futures)), strict=True)
        if classes is not None:
            codes = np.concatenate(counts)
            check_every_class_counts(classes, classes[codes], np.ones(len(codes)))
        # The sums over all blocks, for every output.
        sums = np.array(totals).sum(axis=0)

        def minimiser_of(number: int, generator: np.random.RandomState) -> MinimiserOnSums:
            total, total_y = map(float, sums[number])
            output = OutputLoss(number, p.loss, p.fit_intercept, total, facts.n_features)
            begin = _best_intercept(p.loss, total, total_y) if p.fit_intercept else 0.0
            return MinimiserOnSums(MeanOverBlocks(blocks, prepared, output), begin)

        # The sums of one output keep all workers busy.
        p.n_jobs = 1
        warnings = self._find(p, (len(sums), facts.n_features), minimiser_of)
        if classes is not None:
            self.classes_ = classes
        return warnings


class DualNetClassifier(_DualOnBlocks, serial.DualNetClassifier):  # type: ignore[misc]
    """``lazynet.DualNetClassifier``, which learns from blocks of rows on a Dask cluster."""

    _serial, _online = serial.DualNetClassifier, online.LazyNetClassifier
    predict = lazily("predict")
    predict_proba = lazily("predict_proba")
    decision_function = lazily("decision_function")


class DualNetRegressor(_DualOnBlocks, serial.DualNetRegressor):  # type: ignore[misc]
    """``lazynet.DualNetRegressor``, which learns from blocks of rows on a Dask cluster."""

    _serial, _online = serial.DualNetRegressor, online.LazyNetRegressor
    predict = lazily("predict")
