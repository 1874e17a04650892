"""The methods that search a minimum, and which of them a problem gets.

An *epoch* of a search visits all rows at least once.

Newton's method on a working set is the first choice: few weights of a sparse minimum differ from
zero, and their columns are a small part of X.  Losses whose slope jumps are smoothed around dual
variables that move from epoch to epoch (the method of multipliers).

Dual ascent visits rows, not columns, and needs an l2 > 0 that holds the weights.  It is the faster
one where most of X lies in the columns of the working set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lazynet.minimum import interior
from lazynet.minimum.dual import DualAscent, Standing, shuffled
from lazynet.minimum.newton import ActiveColumns, Smoothing
from lazynet.minimum.objective import MeanLoss, RowSums, certify
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# Factor by which kappa changes, and how far it may go from where it began.
_STEP, _FARTHEST = 1.5, 1e8
# Epochs after which the centre of a loss without curvature moves in any case.
_MOST_WAITING = 10
# The smoothing of a loss whose slope jumps: its strength at first, in units of the objective at
# zero weights, the factor by which it falls, the least strength, and the least of all where the gap
# has not halved in so many epochs.
_STRENGTH, _WEAKER, _WEAKEST, _LEAST_STRENGTH, _SLOW = 1.0, 0.7, 1e-2, 1e-6, 6
# The epochs without a halved gap after which a small problem is left to an interior point method.
_AT_REST = 12
# The share of X in the columns of the working set from which dual ascent is the faster method, and
# the epochs that dual ascent gets.
_DENSE, _EPOCHS_OF_ASCENT = 0.5, 60
#: The nonzeros of X up to which Newton's method takes microseconds.
SMALL = 2**13


#: The methods by name: Newton's method on a working set, and dual ascent, row after row.
SOLVERS = ("newton", "ascent")


@dataclass(frozen=True)
class Place:
    """Where a search has come after an epoch."""

    weights: Vector
    intercept: float
    duals: Vector
    objective: float
    #: an estimate of the duality gap
    gap: float
    #: sums that the search has made, for the certificate
    sums: RowSums | None = None

    @property
    def correlations(self) -> Vector | None:
        """u = (1/n) sum s_i a_i x_i of the duals, if it is known."""
        return None if self.sums is None else self.sums.correlations


class Search(Protocol):
    """A method that comes nearer to the minimum of one problem."""

    @property
    def name(self) -> str:
        """The method that took the last epoch: one of ``SOLVERS``."""
        ...

    def epoch(self, last: Place) -> Place:
        """Go on from the last place for one epoch, and say where that leads."""
        ...


def look(
    columns: ActiveColumns, penalty: ElasticNet, duals: Vector, correlations: Vector | None = None
) -> Place:
    """Visit all features for u, and estimate the gap of the present weights."""
    mean, weights = columns.mean, columns.weights
    mean.balance(duals)
    if correlations is None:
        correlations = mean.correlations(duals)
    margins, sizes = np.empty(mean.n_rows), np.empty(mean.n_rows)
    columns.set.predictions(margins, sizes)
    sums = RowSums(margins, sizes, correlations)
    at = certify(mean, penalty, weights, columns.intercept, duals, sums, checked=False)
    return Place(weights, columns.intercept, duals, at.objective, at.gap, sums)


class Newton:
    """Newton's method on a working set; an epoch ends with a look at all features.

    Features outside the working set whose |u_j| exceeds l1 join it.
    """

    name = "newton"

    def __init__(self, columns: ActiveColumns, penalty: ElasticNet, target: float) -> None:
        self.columns, self.penalty, self.target = columns, penalty, target

    def epoch(self, last: Place) -> Place:
        if self.columns.weights is not last.weights:
            self.columns.start(self.penalty, last.weights, last.intercept)
        return self._improved(last)

    def _improved(self, last: Place) -> Place:
        columns = self.columns
        correlations = last.correlations
        if correlations is None:
            correlations = columns.mean.correlations(last.duals)
        joined = columns.admit(correlations)
        self.solved = columns.improve(last.gap, self.target, joined)
        return look(columns, self.penalty, columns.duals.copy())


class Multipliers(Newton):
    """Newton's method for losses whose slope jumps: the method of multipliers.

    The loss is smoothed around the duals of the last place.  The duals of the minimum are held
    where they belong, so that the smoothing need not go to 0.

    Where the smoothed loss is a line at most examples, Newton's method may come to rest: each step
    goes no further than the next example whose slope jumps.  A small problem then goes on from what
    an interior point method finds.
    """

    def __init__(
        self,
        columns: ActiveColumns,
        penalty: ElasticNet,
        target: float,
        at_zero: float,
        known_gap: float = np.inf,
    ) -> None:
        super().__init__(columns, penalty, target)
        # Where zero weights have no loss, any strength will do.
        strength = at_zero or 1.0
        self.weakest = _WEAKEST * strength
        # With known duals the search goes on about where one from zero would have this gap.
        share = min(_STRENGTH, (max(known_gap, 0.0) / strength) ** 0.5)
        self.strength = max(share * strength, self.weakest)
        self.least_strength = _LEAST_STRENGTH * strength
        # The gap when it had last halved, and the epochs since then.
        self.halved, self.waited = np.inf, 0
        self.been_inside = False

    def epoch(self, last: Place) -> Place:
        smoothing = Smoothing(self.strength, last.duals)
        self.columns.start(self.penalty, last.weights, last.intercept, smoothing)
        place = self._improved(last)
        if place.gap < 0.5 * self.halved:
            self.halved, self.waited = place.gap, 0
        else:
            self.waited += 1
        if self.waited >= _SLOW and self.solved:
            self.strength = max(_WEAKER * self.strength, self.least_strength)
        elif place.gap > 0.5 * last.gap and self.strength > self.weakest:
            self.strength = max(_WEAKER * self.strength, self.weakest)
        return self._from_inside(place) if self.waited >= _AT_REST else place

    def _from_inside(self, last: Place) -> Place:
        """The place that an interior point method finds, once, if it is the better one."""
        if self.been_inside or not interior.suits(self.columns.mean):
            return last
        self.been_inside = True
        result = interior.minimum_inside(self.columns.mean, self.penalty, last.intercept)
        if result is None:
            return last
        self.columns.start(self.penalty, result.weights, result.intercept)
        place = look(self.columns, self.penalty, result.duals)
        return place if place.gap < last.gap else last


class Ascent:
    """Dual ascent in epochs of random order, with a centre and a kappa that adapt.

    With a smooth loss the centre moves after every epoch: kappa grows if the epoch leaves the inner
    problem further from its minimum than the objective and the centre have come, and falls if the
    inner problem is nearly done.  A loss without curvature needs inner problems that are solved:
    the centre waits until the inner gap is below the proximal term.
    """

    name = "ascent"

    def __init__(
        self, mean: MeanLoss, penalty: ElasticNet, generator: np.random.RandomState
    ) -> None:
        # kappa begins where it suits rows of median length, and an intercept's column of ones.
        norms = mean.squared_norms[mean.squared_norms > 0.0]
        curvature = (mean.loss.curvature or 1.0) * mean.share
        self.unit = curvature * (float(np.median(norms)) if len(norms) else 1.0)
        self.ascent = DualAscent(mean, penalty, self.unit, curvature if mean.fit_intercept else 0.0)
        self.generator = generator
        self.smooth = mean.loss.curvature is not None
        self.last = np.inf
        self.waited = 0
        self.started = False
        self.next_factor: float | None = None

    def epoch(self, last: Place) -> Place:
        ascent = self.ascent
        if not self.started:
            ascent.start_from(last.weights, last.intercept, last.duals)
            self.started = True
        elif self.next_factor is not None:
            ascent.recentre(self.next_factor)
        ascent.take(shuffled(ascent.mean.n_rows, self.generator))
        now = ascent.standing()
        self.next_factor = self._after(now)
        return Place(now.weights, now.intercept, ascent.duals.copy(), now.objective, now.gap)

    def _after(self, now: Standing) -> float | None:
        """The factor of kappa with which the centre moves; None if the centre waits."""
        factor = self._wanted(now)
        if factor is None:
            return None
        within = 1.0 / _FARTHEST < factor * self.ascent.kappa / self.unit < _FARTHEST
        return factor if within else 1.0

    def _wanted(self, now: Standing) -> float | None:
        if not self.smooth:
            self.waited += 1
            solved = now.inner_gap <= now.distance
            if not solved and self.waited < _MOST_WAITING:
                return None
            at_once, self.waited = self.waited == 1, 0
            return _STEP if not solved else 1.0 / _STEP if at_once else 1.0
        progress = max(self.last - now.objective, 0.0)
        first, self.last = self.last == np.inf, now.objective
        if now.inner_gap > 4.0 * progress + now.distance:
            return _STEP
        if not first and now.inner_gap < 0.25 * min(progress, now.distance):
            return 1.0 / _STEP
        return 1.0


class Suitable:
    """Newton's method or dual ascent, whichever suits the problem, as far as it is known.

    Without an l1 penalty no weight is zero, and with more than half of X in the columns of the
    working set visits of columns cost more than visits of rows: then dual ascent goes on, if an l2
    holds the weights and X is large.  What it has not finished in its epochs Newton's method
    finishes.
    """

    def __init__(
        self,
        columns: ActiveColumns,
        penalty: ElasticNet,
        target: float,
        at_zero: float,
        generator: np.random.RandomState,
    ) -> None:
        self.columns, self.penalty, self.target = columns, penalty, target
        self.at_zero, self.generator = at_zero, generator
        self.newton = self._new_newton()
        self.ascent: Ascent | None = None
        self.ascents_left = _EPOCHS_OF_ASCENT

    @property
    def name(self) -> str:
        return self.newton.name if self.ascent is None else self.ascent.name

    def go_on(self, gap: float, max_iter: int) -> None:
        """Go on from the place and the duals at which another search has ended with this gap."""
        self.newton = self._new_newton(gap)
        # A few epochs of dual ascent may lead away from where they began.
        if max_iter < _EPOCHS_OF_ASCENT:
            self.ascents_left = 0

    def _new_newton(self, known_gap: float = np.inf) -> Newton:
        if self.columns.mean.loss.curvature is None:
            return Multipliers(self.columns, self.penalty, self.target, self.at_zero, known_gap)
        return Newton(self.columns, self.penalty, self.target)

    def epoch(self, last: Place) -> Place:
        dense = self.penalty.l1 == 0.0 or self.columns.density > _DENSE
        large = self.columns.mean.n_values > SMALL
        if self.penalty.l2 > 0.0 and large and dense and self.ascents_left:
            if self.ascent is None:
                self.ascent = Ascent(self.columns.mean, self.penalty, self.generator)
            self.ascents_left -= 1
            return self.ascent.epoch(last)
        if self.ascent is not None:
            self.ascent, self.newton = None, self._new_newton()
        return self.newton.epoch(last)
