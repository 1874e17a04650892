"""The features that may have a weight at the minimum, and the rows without the others.

|u_j| = |(1/n) sum s_i a_i x_ij| is at most l1 at the minimum where w_j = 0.  If the slope of the
loss is bounded, so is every a_i, and one pass over the rows bounds |u_j| at any weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels import compact as kernel
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.examples import Examples
from lazynet.minimum.objective import MeanLoss

Vector = NDArray[np.float64]

# A feature leaves if its bound is below l1 by more than rounding.
_SURE = 1.0 - 1e-9


@dataclass(frozen=True)
class Compact:
    """A mean loss over the features that may have a weight."""

    mean: MeanLoss
    #: the number of each feature in X, frequent features first
    features: NDArray[np.int64]
    #: of each feature: the share of the rows that have it, and (1/n) sum s_i x_ij^2
    frequencies: Vector
    squares: Vector

    def expand(self, weights: Vector, n_columns: int) -> Vector:
        """The weights of all features of X."""
        out = np.zeros(n_columns)
        out[self.features] = weights
        return out

    def sample(self, rows: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Compact:
        """The same with some of the rows, and some of the features."""
        mean = self.mean
        assert mean.rows is not None, "a compact mean loss has compact rows"
        places = np.where(chosen, np.cumsum(chosen, dtype=np.int32) - 1, -1).astype(np.int32)
        copied = CompactRows(len(rows), int(chosen.sum()), mean.rows.values_of(rows))
        copied.copy_some(mean.rows, rows, places)
        y = np.ascontiguousarray(mean.y[rows])
        importances = None if mean.importances is None else mean.importances[rows]
        options = {"fit_intercept": mean.fit_intercept, "rows": copied}
        sample = MeanLoss(_targets(y, importances), y, importances, mean.loss, **options)
        return Compact(
            sample, np.flatnonzero(chosen), self.frequencies[chosen], self.squares[chosen]
        )


def _targets(y: Vector, importances: Vector | None) -> Examples:
    """Targets and importances of rows without values."""
    nothing = np.zeros(0), np.zeros(0, np.int32), np.zeros(len(y) + 1, np.int32), 0
    return Examples(*nothing, y, importances)


def bounds_of_features(mean: MeanLoss) -> Vector:
    """A bound of |u_j| for every feature, at any weights; infinite if the slope has no bound.

    The second row has the same sums without the bound of the slope.
    """
    sums, loss = np.zeros((mean.n_columns, 2)), mean.loss
    arguments = mean.examples, mean.share, loss.margin, sums
    mean.over_rows(lambda first: kernel.bounds(*arguments, first))
    sizes = sums.max(axis=1) if loss.margin else sums.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.stack([loss.largest_slope * sizes, sizes])


def compact(mean: MeanLoss, bounds: Vector, l1: float) -> Compact:
    """The mean loss over the features that may have a weight where the penalty is at least l1."""
    kept = np.flatnonzero((bounds[1] > 0.0) & (bounds[0] >= _SURE * l1))
    # The weights of features with large sums lie close to each other in memory.
    features = kept[np.argsort(-bounds[1, kept], kind="stable")]
    places = np.full(mean.n_columns, -1, np.int32)
    places[features] = np.arange(len(features), dtype=np.int32)
    rows = CompactRows(mean.n_rows, len(features), mean.n_values)
    mean.over_rows(lambda _: rows.copy(mean.examples, places))
    reduced = MeanLoss(
        mean.examples, mean.y, mean.importances, mean.loss, fit_intercept=mean.fit_intercept,
        total=1.0 / mean.share, rows=rows,
    )  # fmt: skip
    reduced.squared_norms = mean.squared_norms
    moments = np.zeros((len(features), 2))
    rows.moments(mean.examples, mean.share, moments)
    return Compact(reduced, features, *moments.T)
