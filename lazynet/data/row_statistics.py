"""What the defaults of a fit ask of all rows: sums over blocks of rows, in memory or in a stream.

A matrix and a stream of its rows give the same bits, because both are added up in blocks of
``ROWS_OF_A_BLOCK`` rows, for any chunks of the stream.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Rows whose numbers are summed together before the sum is added to the sum of the rows before.
ROWS_OF_A_BLOCK = 8192


class RowStatistics:
    """The mean squared norm and importance of the rows, and the spread of every target.

    ``positive`` is the sum of the importances of the rows whose first target is above 0.
    ``largest`` is the largest squared norm of a row, to which the ``extra`` 1 of an intercept is
    added, and ``largest_weighted`` the largest product of such a norm and an importance.

    >>> rows = RowStatistics(n_targets=1, extra=1.0)
    >>> rows.add(np.array([25.0, 9.0]), np.array([[-1.0], [3.0]]), np.array([1.0, 4.0]))
    >>> rows.n_rows, rows.mean_squared_norm, rows.spreads, rows.mean_importance
    (2, 17.0, [2.0], 2.5)
    >>> rows.positive, rows.largest, rows.largest_weighted
    (4.0, 26.0, 40.0)
    """

    def __init__(self, n_targets: int = 0, extra: float = 0.0) -> None:
        self.n_rows, self.extra = 0, extra
        self.mean_squared_norm = self.mean_importance = self.positive = 0.0
        self.largest = self.largest_weighted = 0.0
        #: the mean of every target, and the sum of the squared distances from it
        self._means, self._squares = [0.0] * n_targets, [0.0] * n_targets

    def add(
        self,
        norms: NDArray[np.float64],
        targets: NDArray[np.float64] | None,
        importances: NDArray[np.float64] | None,
    ) -> None:
        """Add a block of rows: their squared norms, targets and importances.

        Means and squares follow the updating formula of Chan, Golub & LeVeque (1983).
        """
        n, before = len(norms), self.n_rows
        if not n:
            return
        self.n_rows = total = before + n
        # Numbers of an enormous size have a mean that overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            weights = np.ones(n) if importances is None else importances
            self.mean_squared_norm += (float(norms.sum()) / n - self.mean_squared_norm) * n / total
            self.mean_importance += (float(weights.sum()) / n - self.mean_importance) * n / total
            sizes = norms + self.extra
            self.largest = max(self.largest, float(sizes.max()))
            self.largest_weighted = max(self.largest_weighted, float((sizes * weights).max()))
            if targets is None:
                return
            self.positive += float(weights[targets[:, 0] > 0].sum())
            for k, column in enumerate(targets.T):
                mean = float(column.sum()) / n
                away, distance = column - mean, mean - self._means[k]
                self._squares[k] += (
                    float((away * away).sum()) + distance * distance * before * n / total
                )
                self._means[k] += distance * n / total

    @property
    def spreads(self) -> list[float]:
        """The standard deviation of every target."""
        return [float(np.sqrt(squares / max(self.n_rows, 1))) for squares in self._squares]


def statistics_of(
    norms: NDArray[np.float64],
    targets: NDArray[np.float64] | None,
    importances: NDArray[np.float64] | None,
    extra: float = 0.0,
) -> RowStatistics:
    """The statistics of all rows of a matrix; ``targets`` has a column per target."""
    statistics = RowStatistics(0 if targets is None else targets.shape[1], extra)
    for start in range(0, len(norms), ROWS_OF_A_BLOCK):
        block = slice(start, start + ROWS_OF_A_BLOCK)
        statistics.add(
            norms[block],
            None if targets is None else targets[block],
            None if importances is None else importances[block],
        )
    return statistics
