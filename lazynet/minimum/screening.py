"""The features that may have a weight at the minimum, and the rows without the others.

|u_j| = |(1/n) sum s_i a_i x_ij| is at most l1 at the minimum where w_j = 0.  If the slope of the
loss is bounded, so is every a_i, and one pass over the rows bounds |u_j| at any weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels import compact as compact_rows
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.examples import Examples
from lazynet.minimum.objective import MeanLoss

Vector = NDArray[np.float64]

# A feature leaves if its bound is below l1 by more than rounding.
_SURE = 1.0 - 1e-9
# Of so few features all are kept.
_FEW = 1024
#: Features that occur in this share of the rows are heads of a Gram matrix (kernels/gram.pyx).
HEAD = 0.15
#: The minimum of a sample with a smaller share of sum s_i may be far from that of all rows.
LEAST_WEIGHT = 0.01


@dataclass(frozen=True)
class Compact:
    """A mean loss over the features that may have a weight."""

    mean: MeanLoss
    #: the number of each feature in X, frequent features first
    features: NDArray[np.int64]
    #: about the share of the rows that have each feature
    frequencies: Vector

    @property
    def is_full(self) -> bool:
        """Whether every row has a value for every feature."""
        return self.mean.rows is not None and self.mean.rows.is_full

    @cached_property
    def of_all(self) -> float:
        """The sum of the frequencies, about the number of values of a row."""
        return float(self.frequencies.sum())

    @cached_property
    def squares(self) -> Vector:
        """(1/n) sum s_i x_ij^2 of each feature."""
        mean, sums = self.mean, np.zeros(self.mean.n_columns)
        factors = mean.weighted(np.ones(mean.n_rows))
        assert mean.rows is not None, "a compact mean loss has compact rows"
        add = mean.rows.add
        mean.over_rows(lambda first: add(factors, sums, first, squared=True))
        return sums

    def expand(self, weights: Vector, n_columns: int) -> Vector:
        """The weights of all features of X."""
        out = np.zeros(n_columns)
        out[self.features] = weights
        return out

    def sample(self, rows: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Compact | None:
        """The same with some of the rows and of the features; None if the rows weigh little."""
        mean = self.mean
        importances = None if mean.importances is None else mean.importances[rows]
        if importances is not None and mean.share * importances.sum() < LEAST_WEIGHT:
            return None
        assert mean.rows is not None, "a compact mean loss has compact rows"
        places = np.where(chosen, np.cumsum(chosen, dtype=np.int32) - 1, -1).astype(np.int32)
        n = int(chosen.sum())
        room = len(rows) * n if mean.rows.is_full else mean.rows.values_of(rows)
        copied = CompactRows(len(rows), n, room)
        copied.copy_some(mean.rows, rows, places)
        y = np.ascontiguousarray(mean.y[rows])
        options = {"fit_intercept": mean.fit_intercept, "rows": copied}
        sample = MeanLoss(_targets(y, importances), y, importances, mean.loss, **options)
        return Compact(sample, np.flatnonzero(chosen), self.frequencies[chosen])


def _targets(y: Vector, importances: Vector | None) -> Examples:
    """Targets and importances of rows without values."""
    nothing = np.zeros(0), np.zeros(0, np.int32), np.zeros(len(y) + 1, np.int32), 0
    return Examples(*nothing, y, importances)


def largest(sizes: Vector, n: int) -> NDArray[np.int64]:
    """The places of the n largest sizes, in order; of equal sizes the first.

    >>> largest(np.array([2.0, 1.0, 3.0, 2.0]), 2)
    array([0, 2])
    """
    if n >= len(sizes) or n <= 0:
        return np.arange(min(len(sizes), max(n, 0)))
    # NumPy sorts many times as fast as it finds places, or one number among equal ones.
    least = np.sort(sizes)[-n]
    chosen = sizes > least
    chosen[np.flatnonzero(sizes == least)[: n - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)


def _roughly_falling(sizes: Vector) -> NDArray[np.int64]:
    """An order in which positive sizes fall, but for the last digits."""
    # The first 16 bits of a float order floats within 1 %, and NumPy sorts such integers in passes.
    with np.errstate(over="ignore"):
        keys = (sizes.astype(np.float32).view(np.int32) >> 16).astype(np.int16)
    return np.argsort(-keys, kind="stable")


def bounds_of_features(mean: MeanLoss) -> tuple[Vector, Vector] | None:
    """A bound of |u_j| for every feature, at any weights, and a number that orders the features.

    The bound is infinite if the slope has no bound.  None: features are too few to leave.
    """
    # Features without zeros rarely leave, and stay where they are.
    if mean.n_columns <= _FEW or mean.n_values >= mean.n_rows * mean.n_columns:
        return None
    sums, loss = np.zeros((mean.n_columns, 2)), mean.loss
    arguments = mean.examples, mean.share, loss.margin, sums
    mean.over_rows(lambda first: compact_rows.bounds(*arguments, first))
    sizes = sums[:, 0]
    with np.errstate(invalid="ignore"):
        if loss.margin:
            # The larger one of the sums of positive and of negative numbers.
            sizes = np.fmin(sizes, 0.5 * (sizes + np.abs(sums[:, 1])))
        return loss.largest_slope * sizes, sizes


def compact(mean: MeanLoss, bounds: tuple[Vector, Vector] | None, l1: float) -> Compact:
    """The mean loss over the features that may have a weight where the penalty is at least l1."""
    kept = np.ones(mean.n_columns, bool)
    if bounds is not None:
        kept = (bounds[1] > 0.0) & (bounds[0] >= _SURE * l1)
    examples, n_rows, n_columns = mean.examples, mean.n_rows, mean.n_columns
    in_place = examples.has_wide_values and kept.all()
    features = np.flatnonzero(kept)
    if bounds is not None and mean.n_values < n_rows * n_columns:
        # The weights of features with large sums lie close to each other in memory.
        features = features[_roughly_falling(bounds[1][features])]
    places = np.full(n_columns, -1, np.int32)
    places[features] = np.arange(len(features), dtype=np.int32)
    arguments = n_rows, len(features), mean.n_values, examples if in_place else None
    rows, counts = CompactRows(*arguments), np.zeros(len(features))
    mean.over_rows(lambda _: rows.copy(examples, places, counts))
    frequencies = np.ones(len(features)) if rows.is_full else counts / max(1, (n_rows + 15) // 16)
    reduced = MeanLoss(
        examples, mean.y, mean.importances, mean.loss, fit_intercept=mean.fit_intercept,
        total=1.0 / mean.share, rows=rows,
    )  # fmt: skip
    return Compact(reduced, features, frequencies)
