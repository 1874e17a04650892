"""DualNetClassifier and DualNetRegressor over blocks of rows on the workers of a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.chains import Prepares, check_any_rows
from lazynet.dask.estimators import WithClient, over_blocks
from lazynet.dask.newton import MinimiserOnSums
from lazynet.dask.sums import Facing, MeanOverBlocks
from lazynet.data.arrays import as_examples
from lazynet.data.chunks import Chunk
from lazynet.data.weights import (
    Balanced,
    check_every_class_counts,
    check_sample_weight,
    importances,
)
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators import certified as serial
from lazynet.estimators.base import SparseClassifier
from lazynet.losses import Loss
from lazynet.minimum.mean_loss import MeanLoss, importance_of_rows
from lazynet.minimum.minimise import check_penalty
from lazynet.training.stream_rows import balanced_for


@dataclass(frozen=True)
class Checks:
    """The checked rows of a chunk and their problems, by a serial estimator without a model."""

    probe: Any
    class_weight: Any
    classes: NDArray[Any] | None

    def __call__(self, chunk: Chunk) -> Any:
        given = () if self.classes is None else (self.classes,)
        X, y, *_ = self.probe._check_training(chunk.X, chunk.y, *given, reset=False)
        if self.classes is None:
            weights = check_sample_weight(chunk.weight, X, some_rows=True)
            return X, self.probe._problems(X, y, weights)
        options = {"some_rows": True}
        weights = importances(self.class_weight, self.classes, X, y, chunk.weight, **options)
        return X, self.probe._problems(X, (y, self.classes), weights)


def _counts_of(blocks: Sequence[Any]) -> list[tuple[Any, list[tuple[float, float]]]]:
    """Of some prepared blocks: the classes that count, and sum s_i and sum s_i y_i by problem."""
    found = []
    for each in blocks:
        problems, weights = each.problems, each.problems.importances
        codes = getattr(problems, "codes", np.zeros(problems.n_rows, np.int64))
        counts = np.unique(codes if weights is None else codes[weights > 0.0])
        totals = [
            (importance_of_rows(y, s), math.fsum(y if s is None else y * s)) for y, s in problems
        ]
        found.append((counts, totals))
    return found


def _best_intercept(loss: Loss, total: float, total_y: float) -> float:
    """The intercept of zero weights: exact where targets are -1 and 1, or for the squared error."""
    if not loss.margin:
        return total_y / total
    signs, counts = np.array([-1.0, 1.0]), 0.5 * (total + total_y * np.array([-1.0, 1.0]))
    rows = as_examples(sparse.csr_matrix((2, 0)), signs, counts)
    return MeanLoss(rows, signs, counts, loss, fit_intercept=True).best_intercept(np.zeros(2))


class _DualOnBlocks(WithClient, serial._DualNetModel):
    """``fit`` of the estimators that go to the minimum."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the minimum, with the rows on the workers.

        ``X``, ``y`` and ``sample_weight`` as in :meth:`lazynet.dask.LazyNetClassifier.fit`.
        """
        # What cannot be is refused before a block is made.
        p = self._settle()
        check_penalty(p.loss, p.l1, p.l2)
        if p.loss.curvature is None:
            raise ValueError(
                f"loss must be smooth over blocks, and the slope of {p.loss.name!r} jumps: take "
                f"another loss, or lazynet.{self._serial.__name__} for rows in memory"
            )
        self._warn(self._learn_blocks(as_blocks(X, y, sample_weight, self.client)))
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
        classes = _classes_in(p, blocks) if isinstance(self, SparseClassifier) else None
        probe = self._serial()
        probe.n_features_in_ = facts.n_features
        prepared = blocks.prepared(
            Prepares(Checks(probe, getattr(p, "class_weight", None), classes))
        )
        asked = [
            blocks.submitted("lazynet-counts", _counts_of, home, [prepared[k] for k in some])
            for some, home in blocks.groups()
        ]
        counts, totals = zip(*chain.from_iterable(blocks.gathered(asked)), strict=True)
        if classes is not None:
            codes = np.concatenate(counts)
            check_every_class_counts(classes, classes[codes], np.ones(len(codes)))
        # The sums over all blocks, for every problem.
        sums = np.array(totals).sum(axis=0)

        def minimiser_of(
            problem: int, generator: np.random.RandomState, check: Callable[[], None]
        ) -> MinimiserOnSums:
            total, total_y = map(float, sums[problem])
            facing = Facing(problem, p.loss, p.fit_intercept, total, facts.n_features)
            begin = _best_intercept(p.loss, total, total_y) if p.fit_intercept else 0.0
            return MinimiserOnSums(MeanOverBlocks(blocks, prepared, facing), begin)

        # The sums of one problem keep all workers busy.
        p.n_jobs = 1
        warnings = self._find(p, (len(sums), facts.n_rows, facts.n_features), minimiser_of)
        if classes is not None:
            self.classes_ = classes
        return warnings


def _classes_in(p: SimpleNamespace, blocks: Blocks) -> NDArray[Any]:
    """The classes of the rows; weights that balance them are settled."""
    classes = blocks.facts().classes
    if classes is None or len(classes) < 2:
        found = "numbers" if classes is None else f"the class {classes}"
        raise ValueError(f"y must have at least two classes, and the blocks have {found}")
    if isinstance(p.class_weight, Balanced) and p.class_weight.class_counts is None:
        p.class_weight = balanced_for(blocks)
    return np.array(classes)


@over_blocks(serial.DualNetClassifier)
class DualNetClassifier(_DualOnBlocks, serial.DualNetClassifier):  # type: ignore[misc]
    pass


@over_blocks(serial.DualNetRegressor)
class DualNetRegressor(_DualOnBlocks, serial.DualNetRegressor):  # type: ignore[misc]
    pass
