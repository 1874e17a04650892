"""DualNetClassifier and DualNetRegressor over blocks of rows on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.chains import Prepares, check_any_rows
from lazynet.dask.estimators import WithClient, over_blocks
from lazynet.dask.newton import MinimiserOnSums
from lazynet.dask.sums import Facing, MeanOverBlocks
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
from lazynet.estimators.streams import balanced_for
from lazynet.minimum.mean_loss import importance_of_rows
from lazynet.minimum.minimise import check_penalty


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


def _counts_of(prepared: Any) -> tuple[float, int, Any]:
    """The importance of the rows of a block, the number of problems, and the classes that count."""
    problems, weights = prepared.problems, prepared.problems.importances
    codes = getattr(problems, "codes", np.zeros(problems.n_rows, np.int64))
    counts = codes if weights is None else codes[weights > 0.0]
    return importance_of_rows(codes, weights), len(problems), np.unique(counts)


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
        counts = blocks.gathered(blocks.client.map(_counts_of, prepared, pure=False))
        if classes is not None:
            codes = np.concatenate([each for _, _, each in counts])
            check_every_class_counts(classes, classes[codes], np.ones(len(codes)))
        asked = Facing(0, p.loss, p.fit_intercept, sum(c[0] for c in counts), facts.n_features)

        def minimiser_of(
            problem: int, generator: np.random.RandomState, check: Callable[[], None]
        ) -> MinimiserOnSums:
            facing = replace(asked, problem=problem)
            return MinimiserOnSums(MeanOverBlocks(blocks, prepared, facing))

        # The sums of one problem keep all workers busy.
        p.n_jobs = 1
        warnings = self._find(p, (counts[0][1], facts.n_rows, facts.n_features), minimiser_of)
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
