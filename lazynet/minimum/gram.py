"""Newton steps with the Hessian of a working set: the weighted Gram matrix of its features.

A step at w, with margins m_i = x_i.w + b, slopes g_i = s_i l'(m_i)/n, curvatures
h_i = s_i l''(m_i)/n and the working set W = {w_j != 0 or |u_j| > .85 l1}:

    v = argmin  g.(Xd + e) + 1/2 sum h_i (x_i.d + e)^2 + l1 |v|_1 + l2/2 |v|^2,   d = v - w on W
    w <- w + t (v - w),  t = 1, 1/2, 1/4, ... until P falls

e is the change of the intercept, which leaves the equations (Schur complement).  The duals
a_i - h_i (x_i.d + e) of the model fulfil its conditions exactly, so that they often prove the gap
one step earlier than the slopes at v.

Many rows are first replaced by a sample of them, whose minimum is near the one of all rows.  The
Hessian of a step that another one will follow is computed from some rows.

Property: a step is the one of the reference (tests/exact/test_newton_steps.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels import model
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.gram import Gram
from lazynet.minimum.iterate import BALANCED, Iterate, at, certified, of_margins, proved
from lazynet.minimum.objective import MeanLoss
from lazynet.minimum.screening import HEAD, Compact
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]
Features = NDArray[np.int32]


class WorkingSet(NamedTuple):
    """The features that a step may move, heads of the Gram matrix first."""

    features: Features
    n_heads: int
    n_weights: int
    #: sums of frequencies, and the least one
    of_tails: float
    of_all: float
    rarest: float


#: Whether a Gram matrix of a working set pays.
Pays = Callable[[WorkingSet], bool]

# A feature joins the working set if |u_j| exceeds this share of l1, or l1 where the gap is above
# this share of the objective at zero weights; at most this number join at once.
_JOIN, _FAR, _MOST_JOINING = 0.85, 0.1, 512
# The sample is this share of the rows, and has at least this number of rows.
_SHARE, LEAST_SAMPLE = 1 / 12, 2000
# It has the features with |u_j| above this share of l1 at zero weights.
_JOIN_SAMPLE = 0.9
# The sample is left when a step moves the weights by d with d'Hd below this share of the objective
# at zero weights, or after this number of steps.
_NEAR, _MOST_SAMPLED = 1.5e-2, 5
# A Hessian is computed from this share of the rows if another step will follow.  It needs about
# this number of rows with each feature.
_SHARE_OF_ROWS, _LEAST_ROWS = 1 / 4, 30.0
# A second step follows the first one after a sample if the square of the number of weights per
# sampled row, about the error that the first step leaves, exceeds this number of targets.  Fewer
# rows pay with this share of X in the columns of the working set; with less of X in them, other
# passes over X take most of the time of a step.
_LARGEST_ERROR, _SHARE_OF_X = 1.5, 0.5
# Without a sample, another step follows the first one, and one with d'Hd above this share of the
# objective at zero weights.  Fewer rows pay if all rows have this number of products; then each
# feature of the working set needs this number of rows.
_FAR_STEP, _MANY_PRODUCTS, _ROWS_PER_FEATURE = 0.1, 2.5e7, 2
# The intercept of a step is good enough if |sum s_i a_i| is at most this share of sum s_i |a_i|,
# times the share of the objective at zero weights that is asked for: the gap by balanced duals, and
# the slopes with which the next step begins, are wrong in proportion to it.  On a sample the first
# number is enough.
_BALANCED_SAMPLE, _BALANCED = 1e-2, 0.03
# A model is minimised until no visit changes a slope by more than this share of the gap that is
# asked for, per sum of |w|; or than this share of the violation at the beginning; or, on the
# sample, than a share of l1 or of the violation at the beginning.
_SHARE_OF_TARGET, _SHARE_OF_VIOLATION, _SAMPLED, _SHARE_SAMPLED = 0.1, 1e-3, 0.03, 1e-2
_LEAST_ACCURACY, _MOST_SWEEPS = 1e-15, 100
# The curvature of a feature is at least this share of that at the steepest point of the loss.  The
# bound is computed where the mean curvature is below the second share of the largest one.
_LEAST_CURVATURE, _FLAT = 1e-10, 1e-3
_LEAST_DAMPING, _MOST_HALVINGS, _ROUNDING = 1e-3, 30, 1e-14


def hessian(
    mean: MeanLoss, rows: CompactRows, chosen: Features, n_heads: int, curvatures: Vector
) -> Vector:
    """The Hessian of the intercept and the chosen columns of the rows; the first are heads."""
    gram = Gram(rows, chosen, n_heads, mean.fit_intercept)
    mean.over_rows(lambda first: gram.add(curvatures, first))
    out = np.empty((len(chosen) + 1, len(chosen) + 1))
    gram.read(out)
    return out


class NewtonSteps:
    """Newton steps of one problem, each with the Hessian of a working set.

    Over blocks of rows, ``hessian``, ``squares``, ``evaluate`` and ``shortened`` are sums over the
    blocks (lazynet/dask/newton.py).
    """

    def __init__(
        self,
        compact: Compact,
        penalty: ElasticNet,
        target: float,
        at_zero: float,
        *,
        sampled: bool = False,
    ) -> None:
        self.sampled = sampled
        self.compact, self.mean, self.penalty = compact, compact.mean, penalty
        self.target, self.at_zero, self.damping = target, at_zero, 0.0
        #: d'Hd of the last step; 0 before the first one
        self.moved = 0.0
        #: whether the last Hessian is that of some rows
        self.of_some_rows = False

    def working_set(self, here: Iterate) -> WorkingSet:
        """The features that a step may move."""
        # Far from the minimum another step follows, for which features may join.
        join = _JOIN if self.sampled or here.gap <= _FAR * self.at_zero else 1.0
        found = self.above(here, join * self.penalty.l1)
        joining, most = len(found.features) - found.n_weights, max(_MOST_JOINING, found.n_weights)
        if joining <= most:
            return found
        sizes = np.abs(here.correlations[here.weights == 0.0])
        # Of equal sizes all join.
        return self.above(here, np.nextafter(np.partition(sizes, -most)[-most], 0.0))

    def above(self, here: Iterate, least: float) -> WorkingSet:
        """The features with a weight, or with |u_j| above ``least``."""
        numbers = here.weights, here.correlations, self.compact.frequencies
        return WorkingSet(*model.working_set(*numbers, HEAD, least))

    def hessian(self, here: Iterate, chosen: WorkingSet) -> Vector:
        """The Hessian of the intercept and the chosen features."""
        assert self.mean.rows is not None, "a compact mean loss has compact rows"
        rows = self.mean.rows
        return hessian(self.mean, rows, chosen.features, chosen.n_heads, here.curvatures)

    def squares(self, chosen: Features) -> Vector:
        """The diagonal of the Hessian where every curvature is 1."""
        return self.compact.squares[chosen]

    def model_minimum(self, here: Iterate, chosen: WorkingSet) -> tuple[Vector, float]:
        """The weights of ``chosen`` and the change of b that minimise the model."""
        mean, l1, l2 = self.mean, self.penalty.l1, self.penalty.l2
        H, features = self.hessian(here, chosen), chosen.features
        own = H.diagonal()[1:]
        largest = mean.loss.curvature or 1.0
        if self.damping or here.bend < _FLAT * largest or not own.all():
            # The curvature may vanish where the loss is a line.
            steepest = largest * self.squares(features)
            own = np.maximum(own, _LEAST_CURVATURE * steepest) + self.damping * steepest
            np.fill_diagonal(H[1:, 1:], own)
            H[0, 0] += self.damping * largest
        bend, border = float(H[0, 0]), H[0, 1:]
        moves = mean.fit_intercept and bend > 0.0
        numbers = here.weights, here.correlations, here.rise
        H, old, slopes = model.of_weights(H, features, *numbers, moves)
        accuracy = self._accuracy(old, slopes)
        new, before, swept, met = old.copy(), slopes.copy(), 0, np.inf
        while met > accuracy and swept < _MOST_SWEEPS:
            met, sweeps = model.descend(H, new, slopes, l1, l2, accuracy, _MOST_SWEEPS - swept)
            swept += sweeps
        change = new - old
        self.moved = float(change @ (before - slopes))
        return new, float(here.rise - border @ change) / bend if moves else 0.0

    def _accuracy(self, weights: Vector, slopes: Vector) -> float:
        """How exactly the model is minimised."""
        if not (self.sampled or self.target > 0.0):
            return _LEAST_ACCURACY
        penalty = self.penalty.l1, self.penalty.l2
        violation, size = model.largest_violation(weights, slopes, *penalty)
        if self.sampled:
            return max(_SAMPLED * self.penalty.l1, _SHARE_SAMPLED * violation)
        wanted = _SHARE_OF_TARGET * self.target / max(size, 1e-3)
        return max(wanted, _SHARE_OF_VIOLATION * violation)

    def evaluate(self, weights: Vector, intercept: float) -> Iterate:
        """The iterate of these weights, without a gap."""
        # By its own duals, which cost least, the gap is about d'Hd; by those of the model about its
        # square, relative to the objective at zero weights.  If neither will do, u is needed for
        # the next step.
        judged_by_model = self.target < self.moved <= self.target**0.5 * self.at_zero**0.5
        own = self.of_some_rows or not judged_by_model
        share = self.target / self.at_zero if self.at_zero > 0.0 else 0.0
        unbalanced = _BALANCED_SAMPLE if self.sampled else max(_BALANCED * share, BALANCED)
        at_weights = self.mean, self.penalty, weights, intercept
        return at(*at_weights, correlations=own, unbalanced=unbalanced)

    def move(self, here: Iterate, chosen: WorkingSet) -> tuple[Iterate, float | None]:
        """One Newton step of the chosen features: the next iterate, and the change of b.

        The change of b is None if the step is shortened.
        """
        new, db = self.model_minimum(here, chosen)
        weights = here.weights.copy()
        weights[chosen.features] = new
        there = self.evaluate(weights, here.intercept + db)
        if there.objective <= here.objective + _ROUNDING * abs(here.objective):
            self.damping = 0.1 * self.damping if self.damping > _LEAST_DAMPING else 0.0
            return there, db
        self.damping = max(10.0 * self.damping, _LEAST_DAMPING)
        return self.shortened(here, there, db), None

    def shortened(self, here: Iterate, there: Iterate, db: float) -> Iterate:
        """The best iterate between the two, ``here`` if none is better."""
        length, best = 1.0, here
        away, moved = there.weights - here.weights, there.margins - here.margins
        for _ in range(_MOST_HALVINGS):
            length *= 0.5
            between, b = here.weights + length * away, here.intercept + length * db
            margins = here.margins + length * moved
            there = of_margins(self.mean, self.penalty, between, margins, b)
            if best is not here and there.objective >= best.objective:
                break
            if there.objective < best.objective:
                best = there
        # The margins between two are as wrong as those of the longer weights.
        return best if best is here else self.evaluate(best.weights, best.intercept)

    def step(self, here: Iterate, chosen: WorkingSet, n_rows: int) -> Iterate:
        """The iterate after one step, with a gap: by the duals of the model if these promise it.

        ``n_rows``: the number of rows from which the Hessian is computed.
        """
        mean, last = self.mean, here
        here, self.of_some_rows = subsampled(last, n_rows), n_rows < mean.n_rows
        there, db = self.move(here, chosen)
        if there is here:
            return last
        if len(here.proof):
            # The bound of the duals so far holds for all weights.
            gap = here.gap + there.objective - here.objective
            u = here.proof_correlations
            there = there.changed(gap=gap, proof=here.proof, proof_correlations=u)
        own = len(there.correlations) > 0
        if own:
            # Its own duals cost nothing.
            there = proved(mean, self.penalty, there)
            if there.gap <= self.target:
                return there
        if db is not None and self.target > 0.0 and not self.of_some_rows:
            before, after = ((it.margins, it.duals, it.curvatures) for it in (here, there))
            duals, lost = mean.duals_of_model(before, after, db)
            if lost <= self.target:
                there = certified(mean, self.penalty, there, duals)
                if there.gap <= self.target:
                    return there
        return there if own else proved(mean, self.penalty, there)


def sampled_rows(n_rows: int, n: int) -> NDArray[np.int64]:
    """The numbers of n rows, one out of each run of rows, at a place that changes without a period.

    >>> sampled_rows(10, 3)
    array([0, 5, 9])
    """
    run = np.arange(n, dtype=np.uint64)
    place = run * np.uint64(0x9E3779B97F4A7C15)
    place = (place ^ (place >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    place ^= place >> np.uint64(29)
    ends = np.arange(n + 1, dtype=np.int64) * n_rows // n
    return ends[:-1] + (place % (ends[1:] - ends[:-1]).astype(np.uint64)).astype(np.int64)


def _sample_size(n_rows: int, share: float) -> int:
    """The number of rows in a sample of about this share of them."""
    return max(LEAST_SAMPLE, int(share * n_rows))


def rows_of_hessian(steps: NewtonSteps, here: Iterate, chosen: WorkingSet, sampled: bool) -> int:
    """How many rows a Hessian is computed from: fewer than all if another step will follow anyway.

    ``sampled``: ``here`` is the minimum of a sample.
    """
    n_rows, n_features = steps.mean.n_rows, len(chosen.features)
    if sampled:
        weights_per_row = np.count_nonzero(here.weights) / _sample_size(n_rows, _SHARE)
        follows = bool(weights_per_row**2 * steps.at_zero > _LARGEST_ERROR * steps.target)
        pays = bool(chosen.of_all >= _SHARE_OF_X * steps.compact.of_all)
        n = _sample_size(n_rows, _SHARE_OF_ROWS)
    else:
        follows = not here.weights.any() or steps.moved > _FAR_STEP * steps.at_zero
        pays = n_rows * n_features**2 > _MANY_PRODUCTS
        n = max(int(_SHARE_OF_ROWS * n_rows), _ROWS_PER_FEATURE * n_features)
    return n if follows and pays and chosen.rarest * n >= _LEAST_ROWS else n_rows


def subsampled(here: Iterate, n: int) -> Iterate:
    """The iterate for a Hessian that is computed from n of the rows.

    Other rows have the curvature 0 and cost nothing.  The curvatures of the sample are scaled to
    the sum of all curvatures.
    """
    n_rows = len(here.curvatures)
    if n >= n_rows:
        return here
    rows, curvatures = sampled_rows(n_rows, n), np.zeros(n_rows)
    curvatures[rows] = here.curvatures[rows]
    sampled_sum = float(curvatures.sum())
    if not sampled_sum > 0.0:
        return here
    curvatures *= here.curvatures.sum() / sampled_sum
    return here.changed(curvatures=curvatures)


def start_on_sample(steps: NewtonSteps, here: Iterate, pays: Pays) -> tuple[Vector, float]:
    """About the weights and the intercept at the minimum of a sample of the rows.

    The search on the sample ends where a Gram matrix of the working set does not pay.  A sample of
    little weight is not searched.
    """
    compact, penalty, mean = steps.compact, steps.penalty, steps.mean
    n = _sample_size(mean.n_rows, _SHARE)
    chosen = np.abs(here.correlations) > _JOIN_SAMPLE * penalty.l1
    sample = compact.sample(sampled_rows(mean.n_rows, n), chosen)
    if sample is None:
        return here.weights, here.intercept
    inner = NewtonSteps(sample, penalty, 0.0, steps.at_zero, sampled=True)
    now = at(sample.mean, penalty, here.weights[sample.features], here.intercept)
    for number in range(_MOST_SAMPLED):
        if not len(now.correlations):
            now = now.changed(correlations=sample.mean.correlations(now.duals))
        working_set = inner.working_set(now)
        if number and not pays(working_set):
            break
        now = inner.move(now, working_set)[0]
        # The minimum of a sample is off by about this, because it is a sample.
        chance = np.count_nonzero(now.weights) / n
        if inner.moved <= max(_NEAR * steps.at_zero, chance):
            break
    weights = np.zeros(mean.n_columns)
    weights[sample.features] = now.weights
    return weights, now.intercept
