"""What the defaults of a fit ask of all rows: sums over blocks of rows, in memory or in a stream.

A matrix and a stream of its rows give the same bits, because both are added up in blocks of
``ROWS_OF_A_BLOCK`` rows, for any chunks of the stream.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Rows whose numbers are summed together before the sum is added to the sum of the rows before.
ROWS_OF_A_BLOCK = 8192


class Moments:
    """The mean and the variance of numbers that come in blocks.

    >>> moments = Moments()
    >>> moments.add(np.array([1.0, 2.0]))
    >>> moments.add(np.array([6.0]))
    >>> moments.count, moments.mean, round(moments.variance, 6)
    (3, 3.0, 4.666667)
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = self._squares = 0.0

    def add(self, block: NDArray[np.float64]) -> None:
        """Count the numbers of a block (Chan, Golub & LeVeque 1983, the updating formula)."""
        n = len(block)
        if not n:
            return
        mean = float(block.sum()) / n
        away = block - mean
        distance, total = mean - self.mean, self.count + n
        self._squares += float((away * away).sum()) + distance * distance * self.count * n / total
        self.mean += distance * n / total
        self.count = total

    @property
    def variance(self) -> float:
        """The mean squared distance from the mean."""
        return self._squares / self.count if self.count else 0.0


class RowStatistics:
    """The sizes of the rows, their importances, and the spread of every target.

    ``positive`` is the sum of the importances of the rows whose first target is above 0.

    >>> rows = RowStatistics(n_targets=1)
    >>> rows.add(np.array([25.0, 9.0]), np.array([[-1.0], [3.0]]), np.array([1.0, 4.0]))
    >>> rows.n_rows, rows.mean_squared_norm, rows.spreads, rows.mean_importance
    (2, 17.0, [2.0], 2.5)
    >>> rows.positive
    4.0
    """

    def __init__(self, n_targets: int = 0) -> None:
        self.norms, self.importances = Moments(), Moments()
        self.targets = [Moments() for _ in range(n_targets)]
        self.positive = 0.0

    @classmethod
    def of(
        cls,
        norms: NDArray[np.float64],
        targets: NDArray[np.float64] | None,
        importances: NDArray[np.float64] | None,
    ) -> RowStatistics:
        """The statistics of all rows of a matrix; ``targets`` has a column per target."""
        statistics = cls(0 if targets is None else targets.shape[1])
        for start in range(0, len(norms), ROWS_OF_A_BLOCK):
            block = slice(start, start + ROWS_OF_A_BLOCK)
            statistics.add(
                norms[block],
                None if targets is None else targets[block],
                None if importances is None else importances[block],
            )
        return statistics

    def add(
        self,
        norms: NDArray[np.float64],
        targets: NDArray[np.float64] | None,
        importances: NDArray[np.float64] | None,
    ) -> None:
        """Add a block of rows: their squared norms, targets and importances."""
        # Numbers of an enormous size have a mean that overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            self.norms.add(norms)
            weights = np.ones(len(norms)) if importances is None else importances
            self.importances.add(weights)
            if targets is not None:
                self.positive += float(weights[targets[:, 0] > 0].sum())
                for moments, column in zip(self.targets, targets.T, strict=True):
                    moments.add(column)

    @property
    def n_rows(self) -> int:
        return self.norms.count

    @property
    def mean_squared_norm(self) -> float:
        return self.norms.mean

    @property
    def mean_importance(self) -> float:
        return self.importances.mean

    @property
    def spreads(self) -> list[float]:
        """The standard deviation of every target."""
        return [float(np.sqrt(moments.variance)) for moments in self.targets]
