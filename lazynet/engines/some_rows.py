"""Dual ascent on some of the rows of a matrix, none of which is copied: the folds of a choice.

What X has no part in is an array with a number for each of the chosen rows.  What visits X goes
through the whole matrix: products with weights are made for all rows, and sums over rows leave out
those whose dual variable is 0.  So weights, sums and steps have the bits that they have on a matrix
of the chosen rows alone.

Property: equal to lazynet.engines.blocks.Block of the chosen rows alone, bit for bit
(tests/exact/test_some_rows.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data import as_examples
from lazynet.engines.blocks import Block
from lazynet.engines.dual import DualAscent
from lazynet.engines.mean import MeanLoss
from lazynet.losses import Loss

Vector = NDArray[np.float64]


class MeanOfSome(MeanLoss):
    """The mean loss of the rows ``chosen`` of X; y and importances are those of all rows.

    >>> from lazynet.losses import get_loss
    >>> X, rows = sparse.csr_matrix([[1.0], [9.0], [2.0]]), np.array([0, 2])
    >>> mean = MeanOfSome(X, np.ones(3), None, rows, get_loss("squared_error"),
    ...                   fit_intercept=False, total=2.0)
    >>> mean.margins(np.array([3.0])), mean.correlations(np.array([1.0, 1.0]))
    (array([3., 6.]), array([1.5]))
    """

    def __init__(
        self,
        X: sparse.csr_matrix,
        y: Vector,
        importances: Vector | None,
        chosen: NDArray[np.int64],
        loss: Loss,
        *,
        fit_intercept: bool,
        total: float,
    ) -> None:
        options: dict[str, Any] = {"fit_intercept": fit_intercept, "total": total}
        #: all rows of X, with the 1/n of the chosen rows
        self.whole = MeanLoss(as_examples(X, y, importances), y, importances, loss, **options)
        self.chosen = chosen
        y, importances = y[chosen], None if importances is None else importances[chosen]
        no_columns = sparse.csr_matrix((len(chosen), 0))
        examples = as_examples(no_columns, y, importances)
        super().__init__(examples, y, importances, loss, **options)
        self._n_values = int(np.diff(X.indptr)[chosen].sum())

    @property
    def n_columns(self) -> int:
        return self.whole.n_columns

    @property
    def n_values(self) -> int:
        return self._n_values

    def measured(self, squared_norms: Vector) -> MeanOfSome:
        """The same, told the squared norms of all rows of X."""
        self.whole.squared_norms = squared_norms
        self.squared_norms = squared_norms[self.chosen]
        return self

    def spread(self, numbers: Vector) -> Vector:
        """The numbers of the chosen rows among zeros for the other rows."""
        found = np.zeros(self.whole.n_rows)
        found[self.chosen] = numbers
        return found

    def margins(self, weights: Vector, *, compensated: bool = False) -> Vector:
        return self.whole.margins(weights, compensated=compensated)[self.chosen]

    def correlations(self, duals: Vector) -> Vector:
        return self.whole.correlations(self.spread(duals))

    def compensated_sums(self, duals: Vector) -> Vector:
        return self.whole.compensated_sums(self.spread(duals))


class AscentOnSome(DualAscent):
    """Dual ascent on chosen rows: an order of these rows is one of some rows of the matrix."""

    mean: MeanOfSome

    def take(self, order: NDArray[np.int64], times: float = 1.0) -> None:
        """Take a step on each row that ``order`` lists, of the chosen rows."""
        mean = self.mean
        ascent = DualAscent(mean.whole, self.penalty, self.kappa, self.kappa_intercept)
        ascent.z, ascent.fields, ascent.duals = self.z, self.fields, mean.spread(self.duals)
        ascent.take(mean.chosen[order], times)
        self.duals = ascent.duals[mean.chosen]


class BlockOfSome(Block):
    """A block of which a problem has the chosen rows; ``mean`` is a ``MeanOfSome``."""

    _Ascent = AscentOnSome
