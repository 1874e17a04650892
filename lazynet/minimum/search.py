"""Which method a problem gets: Newton steps on a Gram matrix, or on columns.

A Gram matrix is formed by rows, at the cost of the pairs of nonzeros of a row in the working set.
It pays where rows are many beside the square of the working set.  Elsewhere, and where the slope of
the loss jumps, the columns of the working set are visited.

An *epoch* of a search visits all rows at least once.
"""

from __future__ import annotations

import numpy as np

from lazynet.kernels.columns import MOST_ROWS
from lazynet.minimum.columns import Columns, Multipliers
from lazynet.minimum.gram import LEAST_SAMPLE, NewtonSteps, start_on_sample
from lazynet.minimum.iterate import Iterate
from lazynet.minimum.screening import Compact
from lazynet.penalties import ElasticNet

#: The methods by name.
SOLVERS = ("gram", "columns")
# A Gram matrix pays if the nonzeros of all rows are so many times the square of the working set.
_PAYS = 15.0
# The first step on all rows takes the Hessian of this share of them, unless a weight has fewer than
# so many rows of the sample.
_SHARE, _ROWS_OF_A_WEIGHT = 1 / 8, 200


class Search:
    """Goes from iterate to iterate until the caller is content.

    ``columns`` are those that a path of penalties shares.
    """

    def __init__(
        self, compact: Compact, columns: Columns, penalty: ElasticNet, target: float, at_zero: float
    ) -> None:
        self.compact, self.columns, self.penalty, self.target = compact, columns, penalty, target
        self.gram = NewtonSteps(compact, penalty, target, at_zero)
        self.multipliers: Multipliers | None = None
        if compact.mean.loss.curvature is None:
            self.multipliers = Multipliers(columns, penalty, target, at_zero)
        self.name = "columns" if self.multipliers else "gram"

    def start(self, known_gap: float) -> None:
        """Go on from duals of another search, which ended with this gap."""
        if self.multipliers:
            arguments = self.columns, self.penalty, self.target, self.gram.at_zero
            self.multipliers = Multipliers(*arguments, known_gap)

    def pays(self, size: int) -> bool:
        """Whether a Gram matrix of so many features pays."""
        mean = self.compact.mean
        return mean.n_rows > MOST_ROWS or _PAYS * size * size <= mean.n_values

    def epoch(self, last: Iterate) -> Iterate:
        """The next iterate."""
        if self.multipliers:
            return self.multipliers.epoch(last)
        if self.name == "gram":
            now = self._by_gram(last)
            if now is not None:
                return now
            self.name = "columns"
        return self.columns.epoch(self.penalty, last, self.target)

    def _by_gram(self, last: Iterate) -> Iterate | None:
        """The iterate after a step with a Gram matrix; None where this does not pay."""
        mean, share = self.compact.mean, 1.0
        cold = not last.weights.any()
        if cold and mean.n_rows >= 2 * LEAST_SAMPLE:
            start = start_on_sample(self.gram, last, self.pays)
            if start is None:
                return None
            last, n = start
            if _ROWS_OF_A_WEIGHT * np.count_nonzero(last.weights) > n:
                share = _SHARE
        if not self.pays(len(self.gram.working_set(last))):
            return None
        return self.gram.step(last, share)
