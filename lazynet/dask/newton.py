"""Newton's method on a working set, with rows on workers.

The steps are those of ``lazynet.minimum.gram``.  ``MeanOverBlocks.sums`` returns sums over all
rows: the loss and the correlations with all features, or the Hessian on the working set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.dask.blocks import VALUES_OF_A_TASK
from lazynet.dask.sums import Evaluated, MeanOverBlocks, unpacked
from lazynet.data.arrays import as_examples
from lazynet.kernels.model import violations
from lazynet.kernels.sums import excess
from lazynet.minimum.certificate import Certificate, certificate_of
from lazynet.minimum.gram import (
    LEAST_SAMPLE,
    Features,
    NewtonSteps,
    WorkingSet,
    start_on_sample,
)
from lazynet.minimum.iterate import Iterate
from lazynet.minimum.minimise import Minimiser
from lazynet.minimum.objective import Expansion, MeanLoss
from lazynet.minimum.screening import LEAST_WEIGHT, Compact, compact, largest
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# The most columns of a Hessian: a step moves no more weights.
_MOST_COLUMNS = 3000
_HALVINGS = 0.5 ** np.arange(1.0, 9.0)


@dataclass(frozen=True)
class IterateOfSums(Iterate):
    """An iterate whose margins and duals are on the workers."""

    #: the factors of positive and of negative duals with which their sum is 0
    sides: tuple[float, float] = (1.0, 1.0)


class AllFeatures(Compact):
    """Rows on workers, with all features."""

    mean: MeanOverBlocks  # type: ignore[assignment]

    def sample(self, rows: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Compact | None:
        """Some rows and features, in this process; not more values than a task visits."""
        features, mean = np.flatnonzero(chosen), self.mean
        fewer = int(self.frequencies[features].sum() * len(rows)) // VALUES_OF_A_TASK + 1
        part = mean.sample(rows[::fewer], features)
        if part.weight is not None and mean.share * part.weight.sum() < LEAST_WEIGHT:
            return None
        sampled = MeanLoss(
            as_examples(*part), part.y, part.weight, mean.loss, fit_intercept=mean.fit_intercept
        )
        return replace(compact(sampled, None, 0.0), features=features)


class NewtonOnSums(NewtonSteps):
    """Newton steps on the weights that are not 0 or may become so, each checked on all features."""

    name = "gram"
    mean: MeanOverBlocks  # type: ignore[assignment]

    def evaluate(self, weights: Vector, intercept: float) -> IterateOfSums:
        """The iterate of these weights, with an estimate of the gap."""
        return self.of_sums(weights, intercept, self.mean.sums("evaluate", weights, intercept))

    def of_sums(
        self, weights: Vector, intercept: float, sums: tuple[Vector, Vector]
    ) -> IterateOfSums:
        """The same, from the sums of all rows."""
        mean, l1, l2 = self.mean, self.penalty.l1, self.penalty.l2
        at, u = Evaluated(*sums[0]), sums[1]
        objective, over = at.loss + self.penalty.value(weights), np.maximum(np.abs(u) - l1, 0.0)
        within = l1 / (l1 + over.max(initial=0.0)) if over.any() else 1.0
        dual = -Expansion(at.conjugate, at.first, at.second).at(within)
        if l2:
            dual = max(dual, -at.conjugate - over @ over / (2.0 * l2))
        slope, sides = 0.0, (1.0, 1.0)
        if mean.fit_intercept:
            rise, fall = at.positive, at.negative
            slope = (rise - fall) * mean.share
            sides = (min(fall / rise, 1.0), min(rise / fall, 1.0)) if rise and fall else (0.0, 0.0)
        gap, none = float(objective - dual + abs(slope) * (1.0 + abs(intercept))), np.zeros(0)
        return IterateOfSums(
            weights, float(intercept), none, none, slope, none, at.curvature, float(objective), gap,
            u, sides=sides,
        )  # fmt: skip

    def epoch(self, last: Iterate) -> Iterate:
        """The iterate after a step; the first step begins at the minimum of a sample."""
        if not last.weights.any() and self.mean.n_rows >= 2 * LEAST_SAMPLE:
            begin = start_on_sample(
                self, last, lambda chosen: len(chosen.features) <= _MOST_COLUMNS
            )
            last = self.evaluate(*begin)
        return self.move(last, self.working_set(last))[0]

    def working_set(self, here: Iterate) -> WorkingSet:
        chosen = super().working_set(here)
        features = chosen.features
        if len(features) <= _MOST_COLUMNS:
            return chosen
        weights, u = here.weights[features], here.correlations[features]
        sizes = violations(weights, u, self.penalty.l1, self.penalty.l2)
        kept = largest(sizes, _MOST_COLUMNS)
        n_heads = int(np.count_nonzero(kept < chosen.n_heads))
        return chosen._replace(features=features[kept], n_heads=n_heads)

    def hessian(self, here: Iterate, chosen: WorkingSet) -> Vector:
        options = {"features": chosen.features, "n_heads": chosen.n_heads}
        _, packed = self.mean.sums("gram", here.weights, here.intercept, **options)
        return unpacked(packed, len(chosen.features) + 1)

    def squares(self, chosen: Features) -> Vector:
        # Every row counts once.
        return self.mean.sizes[1][chosen] / self.mean.n_rows

    def shortened(self, here: Iterate, there: Iterate, db: float) -> Iterate:
        away = there.weights - here.weights
        for step in _HALVINGS:
            between = self.evaluate(here.weights + step * away, here.intercept + step * db)
            if between.objective < here.objective:
                return between
        return here


class MinimiserOnSums(Minimiser):
    """Finds the minimum of one output, with the rows on workers."""

    mean: MeanOverBlocks  # type: ignore[assignment]

    def __init__(self, mean: MeanOverBlocks, intercept: float) -> None:
        """``intercept`` is the first estimate of the best intercept of zero weights."""
        self.mean, self.far_targets, self.weights = mean, False, np.zeros(mean.n_columns)
        self._known_duals, self._ended = None, None
        self._compact = AllFeatures(
            mean,  # type: ignore[arg-type]
            np.arange(mean.n_columns),
            mean.sizes[0] / mean.n_rows,
        )
        least = np.inf
        for _ in range(30):
            sums = mean.sums("evaluate", self.weights, intercept)
            at = Evaluated(*sums[0])
            if not np.isfinite(at.loss):
                raise ValueError("y is so large that the loss of zero weights overflows; scale y")
            if not at.loss < least:
                break
            self.at_zero, self._rounding_at_zero = float(at.loss), float(at.rounding)
            least = at.loss
            self._at_zero, slope = (intercept, sums), (at.positive - at.negative) * mean.share
            if not mean.fit_intercept or at.curvature <= 0.0 or abs(slope) <= 1e-8 * at.loss:
                break
            intercept += slope / at.curvature
        self.intercept = self._at_zero[0]

    def _begin(  # type: ignore[override]
        self, penalty: ElasticNet, target: float, max_iter: int
    ) -> tuple[NewtonOnSums, Iterate]:
        assert self._compact is not None, "the minimiser has features"
        search = NewtonOnSums(self._compact, penalty, target, self.at_zero)
        if self.weights.any():
            return search, search.evaluate(self.weights, self.intercept)
        return search, search.of_sums(self.weights, *self._at_zero)

    def _certificate(self, penalty: ElasticNet, at: Iterate, target: float) -> Certificate:
        assert isinstance(at, IterateOfSums), "the rows are on workers"
        sums: Any = partial(self.mean.sums, weights=at.weights, b=at.intercept, sides=at.sides)
        (loss, lost, rise, fall, *whole), cells = sums("proof")
        share, unbalanced = self.mean.share, rise - fall if self.mean.fit_intercept else 0.0
        return certificate_of(
            penalty, at.weights, at.intercept, (loss, lost), share * abs(unbalanced),
            excess(cells, share, penalty.l1, 0.0),
            lambda factor: whole if factor == 1.0 else sums("conjugate_of", factor=factor)[0],
        )  # fmt: skip
