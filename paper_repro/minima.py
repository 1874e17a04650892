"""A problem with a penalty, and the one judge of the weights that programs find for it.

    P(w) = (1/n) sum_i loss(x_i.w, y_i) + l1 |w|_1 + l2/2 |w|^2,   y_i = -1 or +1, no intercept

All objectives of a comparison are computed here, in NumPy, from the weights alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from lazynet.penalties import ElasticNet
from paper_repro.rows import Rows

Array = NDArray[np.float64]

LOGISTIC, HINGE, SQUARED_HINGE, SQUARED = "log_loss", "hinge", "squared_hinge", "squared_error"
#: The value of a loss at predictions p and labels y, and its slope in p.
VALUES: dict[str, Callable[[Array, Array], Array]] = {
    LOGISTIC: lambda p, y: np.logaddexp(0.0, -y * p),
    HINGE: lambda p, y: np.maximum(0.0, 1.0 - y * p),
    SQUARED_HINGE: lambda p, y: np.maximum(0.0, 1.0 - y * p) ** 2,
    SQUARED: lambda p, y: 0.5 * (p - y) ** 2,
}
SLOPES: dict[str, Callable[[Array, Array], Array]] = {
    LOGISTIC: lambda p, y: -y * expit(-y * p),
    HINGE: lambda p, y: np.where(y * p < 1.0, -y, 0.0),
    SQUARED_HINGE: lambda p, y: -2.0 * y * np.maximum(0.0, 1.0 - y * p),
    SQUARED: lambda p, y: p - y,
}


@dataclass(frozen=True)
class Task:
    """Rows, a loss and a penalty: the weights of least objective are asked for."""

    rows: Rows
    loss: str
    penalty: ElasticNet

    @property
    def X(self) -> sparse.csr_matrix:
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

    @cached_property
    def at_zero(self) -> float:
        """The objective at zero weights, the unit of all gaps."""
        return self.objective(np.zeros(self.X.shape[1]))

    def objective(self, weights: Array) -> float:
        return _mean_loss(self.loss, self.X, self.y, weights) + self.penalty.value(weights)


def _mean_loss(loss: str, X: sparse.csr_matrix, y: Array, weights: Array) -> float:
    return float(VALUES[loss](X @ weights, y).mean())


def largest_l1(rows: Rows, loss: str) -> float:
    """The least l1 at which every weight is 0: the largest slope of the mean loss there.

    >>> X = sparse.csr_matrix([[1.0, 0.0], [0.0, 4.0]])
    >>> y = np.array([1.0, -1.0])
    >>> largest_l1(Rows(X, y, X, y, "by hand"), "log_loss")
    1.0
    """
    slopes = SLOPES[loss](np.zeros(len(rows.y)), rows.y)
    return float(np.abs(rows.X.T @ slopes).max() / len(rows.y))
