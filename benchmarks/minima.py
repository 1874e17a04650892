"""A problem with a penalty, and the one judge of the weights that programs find for it.

    P(w) = (1/n) sum_i log(1 + exp(-y_i x_i.w)) + l1 |w|_1 + l2/2 |w|^2

Labels are -1 or +1, and there is no intercept.  All objectives of a comparison are computed here,
in NumPy, from the weights alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.penalties import ElasticNet
from paper_repro.rows import Rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """Rows, the logistic loss and a penalty: the weights of least objective are asked for."""

    rows: Rows
    penalty: ElasticNet

    @property
    def X(self) -> Any:
        """A matrix in CSR form, or a dense array."""
        return self.rows.X

    @property
    def y(self) -> Array:
        return self.rows.y

    @property
    def l1(self) -> float:
        return self.penalty.l1

    @property
    def l2(self) -> float:
        return self.penalty.l2

    @property
    def strength(self) -> float:
        """The strength of the penalty where one number and ``l1_ratio`` are asked for."""
        return self.l1 + self.l2

    @property
    def l1_ratio(self) -> float:
        return self.l1 / self.strength

    @cached_property
    def by_columns(self) -> Any:
        """The rows in the form that coordinate descent asks for."""
        return self.X.tocsc() if sparse.issparse(self.X) else np.asfortranarray(self.X)

    @property
    def bytes(self) -> int:
        """About how many bytes the rows take."""
        return int(12 * self.X.nnz if sparse.issparse(self.X) else self.X.nbytes)

    @cached_property
    def at_zero(self) -> float:
        """The objective at zero weights, the unit of all gaps."""
        return self.objective(np.zeros(self.X.shape[1]))

    def objective(self, weights: Array) -> float:
        loss = float(np.logaddexp(0.0, -self.y * (self.X @ weights)).mean())
        return loss + self.penalty.value(weights)


def largest_l1(rows: Rows) -> float:
    """The least l1 at which every weight is 0: the largest slope of the mean logistic loss there.

    >>> X = sparse.csr_matrix([[1.0, 0.0], [0.0, 4.0]])
    >>> y = np.array([1.0, -1.0])
    >>> largest_l1(Rows(X, y, X, y, "by hand"))
    1.0
    """
    return float(np.abs(rows.X.T @ rows.y).max() / (2 * len(rows.y)))
