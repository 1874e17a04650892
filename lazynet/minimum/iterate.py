"""Weights in the course of a search, with the loss of all rows there and an estimate of the gap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.objective import weight_sums
from lazynet.kernels.slopes import derivatives
from lazynet.kernels.sums import excess
from lazynet.minimum.certificate import Certificate, RowSums, certify
from lazynet.minimum.objective import CLOSE, Expansion, MeanLoss
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]
UNKNOWN: Vector = np.zeros(0)

# Steps of Newton's method that move the intercept to its best place for given weights.
_MOST_MOVES = 8
# What rounding may add to a mean loss, relative to it.
_ROUNDING = 1e-14
#: The share of sum s_i |a_i| up to which sum s_i a_i counts as 0 at the best intercept; and the
#: share up to which Newton's method has found it.
BALANCED, _UNBALANCED = 1e-11, 1e-6


@dataclass(frozen=True)
class Iterate:
    """Weights and intercept, with the loss of all rows and its derivatives there."""

    weights: Vector
    intercept: float
    margins: Vector
    #: a_i = -l'(p_i), and their sum over rows with s_i / n
    duals: Vector
    rise: float
    curvatures: Vector
    bend: float
    objective: float
    #: an estimate of the duality gap
    gap: float = np.inf
    #: u of the duals; empty: it is not known
    correlations: Vector = field(default_factory=lambda: UNKNOWN)
    #: of the conjugates of the duals; None: it is not known
    conjugates: Expansion | None = None
    #: the duals that prove the gap, and their u
    proof: Vector = field(default_factory=lambda: UNKNOWN)
    proof_correlations: Vector = field(default_factory=lambda: UNKNOWN)
    #: the certificate by these duals for the penalty of the search; None: it is not made yet
    certificate: Certificate | None = None

    def changed(self, **fields: Any) -> Self:
        """The iterate with other values of some fields."""
        # ``dataclasses.replace`` takes ten times as long.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.update(fields)
        return other

    def certificate_by(
        self,
        mean: MeanLoss,
        penalty: ElasticNet,
        duals: Vector,
        u: Vector,
        unbalanced: float | None = None,
    ) -> Certificate:
        """The certificate by these duals and their u, with the sums that the search has made."""
        loss = self.objective - penalty.of_sums(*weight_sums(self.weights))
        lost = mean.lost_by_rounding(loss, self.weights, self.intercept, self.duals)
        sums = RowSums((loss, lost), u, unbalanced)
        return certify(mean, penalty, self.weights, self.intercept, duals, sums)


def at(
    mean: MeanLoss,
    penalty: ElasticNet,
    weights: Vector,
    intercept: float,
    *,
    correlations: bool = True,
    unbalanced: float = BALANCED,
) -> Iterate:
    """The iterate of these weights; with an intercept, the best one near ``intercept``.

    Its ``correlations`` are known if this costs little, unless they are not asked for.  At an
    intercept that is good enough |sum s_i a_i| is at most ``unbalanced`` times sum s_i |a_i|.
    """
    smooth = mean.loss.curvature is not None
    if correlations and smooth and mean.rows is not None and not mean.fit_intercept:
        loss, bend, conjugates, (margins, duals, curvatures), u = mean.one_pass(weights)
        objective = loss + penalty.of_sums(*weight_sums(weights))
        numbers = margins, duals, 0.0, curvatures, bend, objective
        return Iterate(weights, 0.0, *numbers, correlations=u, conjugates=conjugates)
    margins = mean.margins(weights)
    return of_margins(mean, penalty, weights, margins, intercept, unbalanced=unbalanced)


def of_margins(
    mean: MeanLoss,
    penalty: ElasticNet,
    weights: Vector,
    margins: Vector,
    intercept: float,
    *,
    unbalanced: float = BALANCED,
) -> Iterate:
    """The same, with x_i.w known."""
    duals, slopes, curvatures = np.empty((3, mean.n_rows))

    def evaluate(b: float) -> tuple[float, float, float, float]:
        arguments = mean.examples, margins, b, mean.loss.code, mean.loss.epsilon, mean.share
        return derivatives(*arguments, duals, slopes, curvatures)

    total, rise, size, bend = evaluate(intercept)
    if mean.fit_intercept and mean.loss.curvature is not None:
        for _ in range(_MOST_MOVES):
            if not (bend > 0.0 and abs(rise) > unbalanced * size):
                break
            trial = intercept + rise / bend
            after = evaluate(trial)
            if not after[0] <= total + _ROUNDING * abs(total):
                # Too far.
                evaluate(intercept)
                break
            intercept, (total, rise, size, bend) = trial, after
        if abs(rise) > max(_UNBALANCED, unbalanced) * size:
            # Newton's method fails where the loss is a line at most examples.
            intercept = mean.best_intercept(margins)
            total, rise, size, bend = evaluate(intercept)
    objective = total + penalty.of_sums(*weight_sums(weights))
    return Iterate(weights, intercept, margins, duals, rise, curvatures, bend, objective)


def _dual(
    mean: MeanLoss, penalty: ElasticNet, duals: Vector, u: Vector, conjugates: Expansion | None
) -> float:
    """About the dual objective of these duals, in plain arithmetic."""
    l1, l2 = penalty.l1, penalty.l2
    largest, over, _ = excess(u[:, None], 1.0, l1, 0.0)
    within = min(1.0, l1 / largest) if largest > 0.0 else 1.0
    if conjugates is not None:
        whole, best = conjugates.value, -conjugates.at(within)
    elif l2 == 0.0 and CLOSE < within < 1.0:
        return -mean.conjugate(duals, within)[0]
    else:
        whole = mean.conjugate(duals)[0]
        # The conjugate is convex, and 0 at 0.  Far from the minimum the bound by both is enough.
        best = -(mean.conjugate(duals, within)[0] if CLOSE < within < 1.0 else within * whole)
    return best if l2 == 0.0 else max(best, -whole - over / (2.0 * l2))


def proved(mean: MeanLoss, penalty: ElasticNet, here: Iterate) -> Iterate:
    """The iterate with u, and with the gap by its own duals if this is less than before."""
    duals = here.duals
    if mean.fit_intercept:
        duals = duals.copy()
        mean.balance(duals, exactly=False)
    # At another penalty u is the same.
    u = here.correlations if len(here.correlations) else mean.correlations(duals)
    gap = here.objective - _dual(mean, penalty, duals, u, here.conjugates)
    fields: dict[str, Any] = {"correlations": u}
    if not len(here.proof) or gap < here.gap:
        fields |= {"gap": gap, "proof": duals, "proof_correlations": u, "certificate": None}
    return here.changed(**fields)


def certified(mean: MeanLoss, penalty: ElasticNet, here: Iterate, duals: Vector) -> Iterate:
    """The iterate with a certificate by ``duals``, if its gap is less than the present one."""
    unbalanced = mean.share * abs(mean.balance(duals))
    u = mean.correlations(duals)
    result = here.certificate_by(mean, penalty, duals, u, unbalanced)
    if len(here.proof) and not result.gap < here.gap:
        return here
    fields = {"gap": result.gap, "proof": duals, "proof_correlations": u, "certificate": result}
    return here.changed(**fields)
