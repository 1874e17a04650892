"""The duality gap: an upper bound on how far weights are from the least objective.

For every a in the domain of the conjugates, with u = (1/n) sum s_i a_i x_i,

    D(a) = -(1/n) sum s_i l*(-a_i) - sum_j [|u_j| - l1]+^2 / (2 l2)   <=   P(w, b)

for all w and b, so that P(w, b) - D(a) >= P(w, b) - min P.  Where l2 = 0, the bound holds for a
that are scaled so that no |u_j| exceeds l1, and the last sum is 0.  With an intercept, which has no
penalty, the bound holds for a with sum s_i a_i = 0.

The gap is computed for the weights that are returned: sums over rows carry the digits that rounding
loses, and a bound on what rounding loses elsewhere is added to the gap.

Property: the gap is at least the distance to the least objective in extended precision
(tests/exact/test_certificates.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.mean import MeanLoss
from lazynet.kernels import sums as kernel
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# Roundings of a few operations on numbers of the size of the objective.
_SLACK = 32 * float(np.finfo(np.float64).eps)
# The sum of s_i a_i is 0 up to the rounding of two numbers.  The gap allows for an intercept of the
# minimum that is this many times larger than 1 + |b|.
_LARGEST_INTERCEPT = 1e6


@dataclass(frozen=True)
class Certificate:
    """An objective, a lower bound on the least objective, and their distance."""

    objective: float
    dual_objective: float
    gap: float


def certify(
    mean: MeanLoss, penalty: ElasticNet, weights: Vector, intercept: float, duals: Vector
) -> Certificate:
    """The certificate of ``weights`` and ``intercept`` by ``duals``.

    ``duals`` must lie in the domain of the conjugate; with an intercept they are balanced in place.

    >>> from lazynet.kernels.examples import Examples
    >>> from lazynet.losses import get_loss
    >>> rows = Examples(np.array([1.0]), np.zeros(1, np.int32), np.array([0, 1], np.int32), 1,
    ...                 np.array([3.0]))
    >>> mean = MeanLoss(rows, np.array([3.0]), None, get_loss("squared_error"), fit_intercept=False)
    >>> found = certify(mean, ElasticNet(l1=1.0), np.array([2.0]), 0.0, np.array([1.0]))
    >>> found.objective, found.dual_objective, found.gap < 1e-12
    (2.5, 2.5, True)
    """
    left_over = kernel.balance(mean.examples, duals) if mean.fit_intercept else 0.0
    margins = mean.margins(weights, compensated=True)
    loss, lost = mean.value(margins, intercept)
    objective = loss + penalty.value(weights)
    largest, squared, lost_squares = kernel.excess(
        mean.compensated_sums(duals), mean.share, penalty.l1
    )
    factor = 1.0
    excess = 0.0
    if penalty.l2 > 0.0:
        excess = squared / (2.0 * penalty.l2)
        lost += lost_squares / (2.0 * penalty.l2)
    elif largest > penalty.l1:
        factor = penalty.l1 / largest * (1.0 - _SLACK)
    conjugate, lost_conjugate = mean.conjugate(duals, factor)
    dual_objective = -conjugate - excess
    gap = objective - dual_objective + lost + lost_conjugate
    gap += _SLACK * (abs(loss) + abs(objective) + abs(conjugate) + excess)
    gap += mean.share * abs(left_over) * _LARGEST_INTERCEPT * (1.0 + abs(intercept))
    return Certificate(float(objective), float(dual_objective), float(gap))
