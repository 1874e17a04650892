"""The statistics of all rows for the defaults of a fit, and the units of the features.

A matrix and a stream of its rows have statistics of the same bits, because both are added in blocks
of ``ROWS_OF_A_BLOCK`` rows, for chunks of any size.

``fit`` standardises features if it chooses the rates and the penalty.  Rates that follow the data
depend on the mean size of the rows.  If features have very different sizes, every single rate is
too high for some features and too low for others.  If the values of a feature are far from 0, its
differences between rows are learned slowly.  So every feature is divided by its size, and a feature
that is not 0 in most rows is centred:

    x'_j = (x_j - mean_j) / size_j        w_j = w'_j / size_j        b = b' - sum of w_j mean_j

The model is the same function of the rows.  A row has at most twice the nonzeros on average.

Several targets share one penalty and one stopping condition.  So each target is divided by its
size, too, and in the model its weights and its intercept are multiplied by this size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import csr_around, errors_about
from lazynet.data.products import own_rows

#: Rows whose numbers are summed together before the sum is added to the sum of the rows before.
ROWS_OF_A_BLOCK = 8192
#: A feature is centred if it is not 0 in this share of the rows.
SHARE_OF_ROWS = 0.5
# A spread below this share of the mean is rounding, and the feature a constant.
_CONSTANT = 1e-8
# Sizes within these bounds have finite inverses, and products with them are finite.
_LEAST, _LARGEST = 2.0**-300, 2.0**300


class RowStatistics:
    """The mean squared norm and importance of the rows, and the spread of every target.

    ``positive`` is the sum of the importances of the rows whose first target is above 0.
    ``largest`` is the largest squared norm of a row, to which the ``extra`` 1 of an intercept is
    added, and ``largest_weighted`` the largest product of such a norm and an importance.

    >>> rows = RowStatistics(extra=1.0)
    >>> rows.add(np.array([25.0, 9.0]), np.array([[-1.0], [3.0]]), np.array([1.0, 4.0]))
    >>> rows.n_rows, rows.mean_squared_norm, rows.spreads, rows.mean_importance
    (2, 17.0, [2.0], 2.5)
    >>> rows.positive, rows.largest, rows.largest_weighted
    (4.0, 26.0, 40.0)
    """

    def __init__(self, extra: float = 0.0) -> None:
        self.n_rows, self.extra = 0, extra
        self.mean_squared_norm = self.mean_importance = self.positive = 0.0
        self.largest = self.largest_weighted = 0.0
        #: the mean of every target, and the sum of the squared distances from it
        self._means: list[float] = []
        self._squares: list[float] = []

    def add(
        self,
        norms: NDArray[np.float64],
        targets: NDArray[np.float64] | None = None,
        importances: NDArray[np.float64] | None = None,
    ) -> None:
        """Add rows, block by block: their squared norms, targets in columns, and importances.

        Every block but the last has ``ROWS_OF_A_BLOCK`` rows.  Means and squares follow the
        updating formula of Chan, Golub & LeVeque (1983).
        """
        all_weights = np.ones(len(norms)) if importances is None else importances
        if targets is not None and not self._means:
            self._means, self._squares = [0.0] * targets.shape[1], [0.0] * targets.shape[1]
        # The mean of enormous numbers overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(norms), ROWS_OF_A_BLOCK):
                block = slice(start, start + ROWS_OF_A_BLOCK)
                squared, weights, before = norms[block], all_weights[block], self.n_rows
                n = len(squared)
                self.n_rows = total = before + n
                mean = float(squared.sum()) / n
                self.mean_squared_norm += (mean - self.mean_squared_norm) * n / total
                mean = float(weights.sum()) / n
                self.mean_importance += (mean - self.mean_importance) * n / total
                sizes = squared + self.extra
                self.largest = max(self.largest, float(sizes.max()))
                self.largest_weighted = max(self.largest_weighted, float((sizes * weights).max()))
                if targets is None:
                    continue
                self.positive += float(weights[targets[block, 0] > 0].sum())
                for k, column in enumerate(targets[block].T):
                    mean = float(column.sum()) / n
                    away, distance = column - mean, mean - self._means[k]
                    squares = float((away * away).sum())
                    self._squares[k] += squares + distance * distance * before * n / total
                    self._means[k] += distance * n / total

    @property
    def spreads(self) -> list[float]:
        """The standard deviation of every target."""
        return [float(np.sqrt(squares / max(self.n_rows, 1))) for squares in self._squares]


@dataclass(frozen=True, eq=False)
class Units:
    """The scale and the offset of every feature; the offset is 0 for a feature that is not centred.

    >>> units = Units(sizes=np.array([2.0, 4.0]), means=np.array([0.0, 1.0]))
    >>> X = sparse.csr_matrix([[6.0, 0.0], [0.0, 5.0]])
    >>> units.rows(X).toarray()
    array([[ 3.  , -0.25],
           [ 0.  ,  1.  ]])
    >>> units.weights(np.array([[2.0, 4.0]])), float(units.intercept(np.array([1.0]), 3.0))
    (array([[1., 1.]]), 2.0)
    """

    sizes: NDArray[np.float64]
    means: NDArray[np.float64]
    #: the size of every target; None: targets are not scaled
    targets: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls, X: sparse.csr_matrix, rows: NDArray[np.int64] | None = None, *, centred: bool = True
    ) -> Units:
        """The units of these ``rows`` of X, None for all; ``centred`` allows means other than 0.

        The size of a feature is the root mean square of its nonzeros, or of its distances from the
        mean.  A feature without nonzeros has the size of all nonzeros together.

        >>> X = sparse.csr_matrix([[3.0, 1.0], [0.0, 3.0], [0.0, 1.0], [0.0, 3.0]])
        >>> units = Units.of(X)
        >>> units.sizes, units.means
        (array([3., 1.]), array([0., 2.]))
        """
        n_rows, n = X.shape
        with errors_about("X"):
            values, columns, lengths = _entries(X)
            if rows is not None:
                counts_here = np.zeros(n_rows, dtype=bool)
                counts_here[rows] = True
                is_here, n_rows = np.repeat(counts_here, lengths), len(rows)
                values, columns, lengths = values[is_here], columns[is_here], lengths[counts_here]
            # Values up to 1 have squares that do not overflow.
            largest = max(values.max(initial=0.0), -values.min(initial=0.0)) or 1.0
            values /= largest
            if centred and SHARE_OF_ROWS * n_rows * n <= len(values):
                units = cls._of_table(_as_table(values, columns, lengths, n))
                if units is not None:
                    sizes = np.clip(units.sizes * largest, _LEAST, _LARGEST)
                    return cls(sizes, units.means * largest)
            squares = values * values
            sums = np.bincount(columns, squares, minlength=n)
            counts = np.bincount(columns[squares > 0.0], minlength=n)
            count = int(counts.sum())
            usual = float(sums.sum()) / count if count else 1.0
            sizes = np.sqrt(np.divide(sums, counts, out=np.full(n, usual), where=counts > 0))
            means = np.zeros(n)
            often = np.flatnonzero(counts >= max(1.0, SHARE_OF_ROWS * n_rows))
            if centred and len(often):
                means[often] = np.bincount(columns, values, minlength=n)[often] / n_rows
                away = np.bincount(columns, (values - means[columns]) ** 2, minlength=n)[often]
                mean, entries = means[often], np.bincount(columns, minlength=n)[often]
                spread = np.sqrt((away + (n_rows - entries) * mean**2) / n_rows)
                sizes[often] = np.where(spread > _CONSTANT * np.abs(mean), spread, sizes[often])
        return cls(np.clip(sizes * largest, _LEAST, _LARGEST), means * largest)

    @classmethod
    def _of_table(cls, table: NDArray[np.float64]) -> Units | None:
        """The units of rows in an array, if all features are measured from their mean."""
        n_rows = len(table)
        counts = np.count_nonzero(table, axis=0)
        if not (counts >= max(1.0, SHARE_OF_ROWS * n_rows)).all():
            return None
        means = table.sum(axis=0) / n_rows
        away = table - means
        np.multiply(away, away, out=away)
        sizes = np.sqrt(away.sum(axis=0) / n_rows)
        constant = np.flatnonzero(~(sizes > _CONSTANT * np.abs(means)))
        if len(constant):
            values = table[:, constant]
            sizes[constant] = np.sqrt((values * values).sum(axis=0) / counts[constant])
        return cls(sizes, means)

    @cached_property
    def moved(self) -> NDArray[np.intp]:
        """The features with a mean other than 0."""
        return np.flatnonzero(self.means)

    def rows(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """A copy of the rows in these units; a quotient beyond the doubles is infinite."""
        with errors_about("X"), np.errstate(over="ignore"):
            values, columns, lengths = _entries(X)
            if len(self.moved) == len(self.sizes):
                values, columns, lengths = self._all_moved(values, columns, lengths)
            else:
                values /= self.sizes[columns]
                if len(self.moved):
                    values, columns, lengths = self._with_moved(values, columns, lengths)
            starts = np.zeros(len(lengths) + 1, dtype=np.int64)
            np.cumsum(lengths, out=starts[1:])
            kind = columns.dtype if starts[-1] <= np.iinfo(columns.dtype).max else np.int64
            starts, columns = starts.astype(kind), columns.astype(kind, copy=False)
        return csr_around(X.shape, values, columns, starts)

    def _all_moved(
        self, values: NDArray[np.float64], columns: NDArray[Any], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int64]]:
        """The entries of rows that have a value for every feature, each minus its mean."""
        n_rows, n = len(lengths), len(self.sizes)
        table = _as_table(values, columns, lengths, n)
        table /= self.sizes
        table -= self.means / self.sizes
        if not _are_full(columns, lengths, n):
            columns = np.tile(np.arange(n, dtype=columns.dtype), n_rows)
        return table.ravel(), columns, np.full(n_rows, n)

    def _with_moved(
        self, values: NDArray[np.float64], columns: NDArray[Any], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int64]]:
        """The entries of rows that have a value for every feature in ``moved``, after the others.

        ``values`` are divided by the sizes.
        """
        n_rows, width = len(lengths), len(self.moved)
        shift = self.means[self.moved] / self.sizes[self.moved]
        places = np.full(len(self.sizes), -1)
        places[self.moved] = np.arange(width)
        place, row = places[columns], np.repeat(np.arange(n_rows), lengths)
        stay, move = np.flatnonzero(place < 0), np.flatnonzero(place >= 0)
        block = np.tile(-shift, n_rows)
        block[row[move] * width + place[move]] += values[move]
        staying = np.bincount(row[stay], minlength=n_rows)
        total = len(stay) + n_rows * width
        # The places of the entries of other features, and all further places.
        before = np.arange(len(stay)) + width * row[stay]
        behind = np.ones(total, dtype=bool)
        behind[before] = False
        all_values, all_columns = np.empty(total), np.empty(total, dtype=columns.dtype)
        all_values[before], all_columns[before] = values[stay], columns[stay]
        all_values[behind] = block
        all_columns[behind] = np.tile(self.moved.astype(columns.dtype), n_rows)
        return all_values, all_columns, staying + width

    def with_targets(self, numbers: NDArray[np.float64]) -> Units:
        """The same units of features, and the standard deviation of every column as its size.

        A column that is constant keeps its size.

        >>> units = Units(np.ones(1), np.zeros(1)).with_targets(np.array([[1.0, 7.0], [5.0, 7.0]]))
        >>> units.targets
        array([2., 1.])
        """
        with np.errstate(over="ignore", invalid="ignore"):
            spread, largest = numbers.std(axis=0), np.abs(numbers).max(axis=0)
        varies = np.isfinite(spread) & (spread > _CONSTANT * largest)
        return replace(self, targets=np.clip(np.where(varies, spread, 1.0), _LEAST, _LARGEST))

    def weights(self, weights: NDArray[np.float64], columns: Any = slice(None)) -> Any:
        """The weights of the features as passed, from weights of features in these units.

        ``weights`` has a row per output, and ``columns`` are the features of its columns.
        """
        weights = weights / self.sizes[columns]
        return weights if self.targets is None else weights * self.targets[:, None]

    def intercept(self, weights: NDArray[np.float64], intercept: Any) -> Any:
        """The intercept of rows as passed, or several; from the intercept in these units.

        ``weights`` are the weights of the features ``moved`` as passed, a row for each intercept.
        """
        if self.targets is not None:
            intercept = intercept * self.targets
        return intercept - weights @ self.means[self.moved]

    def within(
        self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows of weights and intercepts in these units, from those of features as passed."""
        weights, intercepts = weights * self.sizes, intercepts + weights @ self.means
        if self.targets is None:
            return weights, intercepts
        return weights / self.targets[:, None], intercepts / self.targets


def _as_table(
    values: NDArray[np.float64], columns: NDArray[Any], lengths: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """The rows as an array with n columns."""
    if _are_full(columns, lengths, n):
        return values.reshape(-1, n)
    table = np.zeros((len(lengths), n))
    table.ravel()[np.repeat(np.arange(0, table.size, n), lengths) + columns] = values
    return table


def _are_full(columns: NDArray[Any], lengths: NDArray[np.int64], n: int) -> bool:
    """Whether every row has an entry for each of the n features, in order."""
    if len(columns) != n * len(lengths) or not (lengths == n).all():
        return False
    return bool((columns.reshape(-1, n) == np.arange(n)).all())


def _entries(
    X: sparse.csr_matrix,
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int64]]:
    """A copy of the values and of the columns, and the number of entries of every row."""
    X = own_rows(X)
    return X.data.astype(np.float64), X.indices, np.diff(X.indptr).astype(np.int64)
