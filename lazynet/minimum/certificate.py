"""The certificate of a minimum: how far weights are at most from the least objective.

For every a in the domain of the conjugates, with u = (1/n) sum s_i a_i x_i,

    D(a) = -(1/n) sum s_i l*(-a_i) - sum_j [|u_j| - l1]+^2 / (2 l2)   <=   P(w, b)

for all w and b, so that P(w, b) - D(a) >= P(w, b) - min P.  Where l2 = 0, the bound holds for a
that are scaled so that no |u_j| exceeds l1, and the last sum is 0.  With an intercept, which has no
penalty, the bound holds for a with sum s_i a_i = 0.

The gap is computed for the weights that are returned, and a bound on what rounding loses is added
to it.  The sums are those of the search; where these lose too much, sums are made anew, and carry
the digits that rounding loses.  No loss is negative, so that D(0) = 0 is a bound, too.

Property: the gap is at least the distance to the least objective in extended precision
(tests/exact/test_certificates.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels import sums as sums_of_rows
from lazynet.kernels.objective import weight_sums
from lazynet.minimum.objective import SLACK, UNIT, MeanLoss
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# The sum of s_i a_i is 0 up to the rounding of two numbers.  The gap allows for an intercept of the
# minimum that is this many times larger than 1 + |b|.
_LARGEST_INTERCEPT = 1e6


@dataclass(frozen=True)
class Certificate:
    """An objective, a lower bound on the least objective, and their distance."""

    objective: float
    dual_objective: float
    gap: float


@dataclass(frozen=True)
class RowSums:
    """Sums over all rows that a search has made, in plain arithmetic."""

    #: the mean loss, and a bound on what rounding has lost of it
    loss: tuple[float, float]
    #: u of the duals
    correlations: Vector
    #: |(1/n) sum s_i a_i|; None: the duals are still to be balanced exactly
    unbalanced: float | None


def certify(
    mean: MeanLoss,
    penalty: ElasticNet,
    weights: Vector,
    intercept: float,
    duals: Vector,
    sums: RowSums | None = None,
) -> Certificate:
    """The certificate of ``weights`` and ``intercept`` by ``duals``.

    ``duals`` must lie in the domain of the conjugate; with an intercept they are balanced in place
    unless ``sums`` has their balance.  Without ``sums``, all sums are made anew, right to the last
    digit.

    >>> from lazynet.kernels.examples import Examples
    >>> from lazynet.losses import get_loss
    >>> rows = Examples(np.array([1.0]), np.zeros(1, np.int32), np.array([0, 1], np.int32), 1,
    ...                 np.array([3.0]))
    >>> mean = MeanLoss(rows, np.array([3.0]), None, get_loss("squared_error"), fit_intercept=False)
    >>> found = certify(mean, ElasticNet(l1=1.0), np.array([2.0]), 0.0, np.array([1.0]))
    >>> found.objective, round(found.dual_objective, 9), found.gap < 1e-12
    (2.5, 2.5, True)
    """
    before, unbalanced = None, None if sums is None else sums.unbalanced
    if unbalanced is None:
        before = duals.copy() if sums is not None and mean.fit_intercept else None
        unbalanced = mean.share * abs(mean.balance(duals))
    if sums is None:
        margins = mean.margins(weights, compensated=True)
        loss, lost = mean.value(margins, intercept)
        excess = sums_of_rows.excess(mean.compensated_sums(duals), mean.share, penalty.l1, 0.0)
    else:
        loss, lost = sums.loss
        # A sum of n terms is wrong by at most n units of roundoff of the sum of their magnitudes,
        # which is at most max |a_i| max |x_ij|.
        steepest = float(np.abs(duals).max(initial=0.0)) * mean.largest_value
        wrong = UNIT * (mean.n_rows + 4.0) * steepest
        if before is not None:
            # The sums are those of duals that were balanced but for rounding.
            wrong += float(np.abs(duals - before).max(initial=0.0)) * mean.largest_value
        excess = sums_of_rows.excess(sums.correlations[:, None], 1.0, penalty.l1, wrong)
    return certificate_of(
        penalty, weights, intercept, (loss, lost), unbalanced, excess,
        lambda factor: mean.conjugate(duals, factor),
    )  # fmt: skip


def certificate_of(
    penalty: ElasticNet,
    weights: Vector,
    intercept: float,
    value: tuple[float, float],
    unbalanced: float,
    excesses: tuple[float, float, float],
    conjugate_of: Callable[[float], tuple[float, float]],
) -> Certificate:
    """The certificate from sums over all rows.

    ``value`` and ``conjugate_of`` are as in ``MeanLoss``, ``excesses`` are those of the duals
    (kernels/sums.pyx), and ``unbalanced`` is |(1/n) sum s_i a_i|.
    """
    l1, l2 = penalty.l1, penalty.l2
    (loss, lost), (largest, squared, lost_squares) = value, excesses
    objective = loss + penalty.of_sums(*weight_sums(weights))
    # Two dual points: the duals, and the duals scaled into the box of the l1 penalty.
    within = min(1.0, l1 / largest * (1.0 - SLACK)) if largest > 0.0 else 1.0
    dual = -np.inf
    for factor in {1.0, within} if l2 > 0.0 else {within}:
        excess, lost_excess = 0.0, 0.0
        if factor > within:
            excess, lost_excess = squared / (2.0 * l2), lost_squares / (2.0 * l2)
        conjugate, lost_conjugate = conjugate_of(factor)
        rounding = lost_excess + lost_conjugate + SLACK * (abs(conjugate) + excess)
        dual = max(dual, -conjugate - excess - rounding)
    lost += SLACK * (abs(loss) + abs(objective))
    # The penalty is a plain sum.
    lost += UNIT * np.count_nonzero(weights) * abs(objective - loss)
    gap = objective - dual + lost + unbalanced * _LARGEST_INTERCEPT * (1.0 + abs(intercept))
    if objective + lost < gap:
        # No loss is negative: duals that are 0 prove this.
        dual, gap = 0.0, objective + lost
    return Certificate(float(objective), float(dual), float(gap))
