"""Newton steps on the columns of a working set: few rows, or many weights.

Losses whose slope jumps are smoothed around dual variables that move from epoch to epoch (the
method of multipliers).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.newton import NewtonColumns
from lazynet.minimum import interior
from lazynet.minimum.iterate import UNKNOWN, Iterate, at, of_margins, proved
from lazynet.minimum.objective import MeanLoss
from lazynet.minimum.screening import largest
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# The working set grows by at most the number of nonzero weights, this number, or this share of the
# number of rows.
_LEAST_GROWTH, _GROWTH = 400, 0.2
# When a feature joins, those with |u_j| above this share of l1 join with it: a path of penalties
# visits the rows for new columns a third as often.
_SOON = 0.7
# The working set is left when its own gap is this share of the gap of the whole problem, or this
# share of the gap that is asked for.
_SHARE_OF_GAP, _SHARE_OF_TARGET = 0.6, 0.3
# The same share where no feature has joined the set.
_SHARE_OF_GAP_ALONE = 0.1
# A model is minimised to this share of its violation.  The share falls by the second number when a
# whole step reduces the gap too little, and grows by the fourth when a step is not taken in full.
_ACCURACY, _SHARPER, _SHARPEST, _LOOSER, _LOOSEST = 0.3, 0.1, 1e-4, 3.0, 0.9
_EXACT = 1e-10
# The most sweeps of coordinate descent in a step: of a smooth loss far from the minimum, where its
# model is not right; of a smooth loss near the minimum; and of a smoothed loss.
_FAR_SWEEPS, _SWEEPS, _MORE_SWEEPS = 2, 10, 30
# A search is far from the minimum while the gap is above this share of the objective.  Up to this
# number of rows sweeps cost little, and far from the minimum a step has as many as near it.
_FAR, _FEW_ROWS = 0.05, 4000
_TOO_LITTLE = 0.9
_MOST_STEPS = 50
# The smoothing of a loss whose slope jumps: its strength at first, in units of the objective at
# zero weights, the factor by which it falls, the least strength, and the least strength of a search
# whose gap has not halved in this number of epochs.
_STRENGTH, _WEAKER, _WEAKEST, _LEAST_STRENGTH, _SLOW = 1.0, 0.7, 1e-2, 1e-6, 6
# The epochs without a halved gap after which a small problem is left to an interior point method.
_AT_REST = 12


class Columns:
    """Newton steps on the columns of a working set; all other weights are 0.

    Features outside the working set whose |u_j| exceeds l1 join it.
    """

    def __init__(self, mean: MeanLoss) -> None:
        self.mean = mean

    @cached_property
    def set(self) -> NewtonColumns:
        """The working set; a search on Gram matrices needs none."""
        mean, loss = self.mean, self.mean.loss
        arguments = mean.rows, mean.examples, loss.code, loss.epsilon, loss.curvature or 1.0
        columns = NewtonColumns(*arguments, mean.share, mean.fit_intercept)
        mean.over_rows(lambda _: columns.fill())
        return columns

    def start(
        self, penalty: ElasticNet, here: Iterate, strength: float = 0.0, held: Vector = UNKNOWN
    ) -> None:
        """Begin at the weights of an iterate, for this penalty.

        A loss whose slope jumps is smoothed with this strength around duals that are held.
        """
        self.penalty = penalty
        self.set.join(self.set.candidates(here.weights, 0.0))
        self.set.start(penalty.l1, penalty.l2, here.weights, here.intercept, strength, held)

    def read(self) -> Iterate:
        """The present weights as an iterate with a gap.

        Its duals are those of the smoothed loss if there is a smoothing.
        """
        mean = self.mean
        weights, duals, margins = np.empty(mean.n_columns), *np.empty((2, mean.n_rows))
        intercept = self.set.read(weights, duals)
        self.set.predictions(margins)
        here = of_margins(mean, self.penalty, weights, margins, intercept)
        if mean.loss.curvature is None:
            here = here.changed(duals=duals)
        return proved(mean, self.penalty, here)

    def admit(self, here: Iterate) -> int:
        """Let the features with the largest |u_j| > l1 join the set; returns how many joined."""
        u, l1 = here.correlations, self.penalty.l1
        features = self.set.candidates(u, l1)
        if len(features):
            # While rows are visited, take the features that may soon be wanted along.
            features = self.set.candidates(u, _SOON * l1)
        # Booleans are counted several times as fast as doubles.
        most = int(np.count_nonzero(here.weights != 0.0))
        most = max(_LEAST_GROWTH, int(_GROWTH * self.mean.n_rows), most)
        if len(features) > most:
            features = features[largest(np.abs(u[features]), most)]
        self.set.join(features)
        return len(features)

    def _most_sweeps(self, last: Iterate, target: float) -> int:
        """The most sweeps in a step; without a target a model is always minimised exactly."""
        if target == 0.0 or self.mean.loss.curvature is None:
            return _MORE_SWEEPS
        is_far = self.mean.n_rows > _FEW_ROWS and last.gap > _FAR * last.objective
        return _FAR_SWEEPS if is_far else _SWEEPS

    def improve(self, last: Iterate, target: float, joined: int) -> bool:
        """Take Newton steps until the gap on the working set is small beside that of ``last``.

        Returns whether it has become so small.
        """
        solved = False
        # Where no feature has joined, the gap of the working set is the gap of the whole problem.
        share = _SHARE_OF_GAP if joined else _SHARE_OF_GAP_ALONE
        aim = max(share * last.gap, _SHARE_OF_TARGET * target)
        # Without a target every step is as good as Newton's method makes it.
        accuracy = _ACCURACY if target > 0.0 else _EXACT
        sweeps = self._most_sweeps(last, target)
        before, length = np.inf, 1.0
        for step in range(_MOST_STEPS):
            estimate, violation, absolute, slope = self.set.model(aim)
            settled = abs(slope) <= 1e-3 * self.penalty.l1 + 1e-12
            if step and estimate <= aim and (settled or not self.mean.fit_intercept):
                solved = True
                break
            if step and length == 1.0 and estimate > _TOO_LITTLE * before and accuracy > _SHARPEST:
                accuracy *= _SHARPER
            elif length < 1.0:
                # The loss is not that of the model so far away.
                accuracy = max(accuracy, min(_LOOSER * accuracy, _LOOSEST))
            before = estimate
            least = 0.2 * aim / absolute if absolute else 0.0
            while not self.set.descend(max(accuracy * violation, least), sweeps):
                pass
            length = self.set.search()
            if length == 0.0 and self.set.stuck:
                break
        self.set.refresh()
        return solved

    def epoch(self, penalty: ElasticNet, last: Iterate, target: float) -> Iterate:
        """Newton steps of a smooth loss, and the iterate to which they lead."""
        self.start(penalty, last)
        return self.improved(last, target)

    def improved(self, last: Iterate, target: float) -> Iterate:
        """Newton steps from the weights at which the columns have begun."""
        self.solved = self.improve(last, target, self.admit(last))
        return self.read()


class Multipliers:
    """Newton's method for losses whose slope jumps: the method of multipliers.

    The loss is smoothed around the duals of the last iterate.  The duals of the minimum are held
    where they belong, so that the smoothing need not go to 0.

    Where the smoothed loss is a line at most examples, the steps of Newton's method may become very
    short: each ends at the next example whose slope jumps.  A small problem then continues from the
    result of an interior point method.
    """

    def __init__(
        self,
        columns: Columns,
        penalty: ElasticNet,
        target: float,
        at_zero: float,
        known_gap: float = np.inf,
    ) -> None:
        self.columns, self.penalty, self.target = columns, penalty, target
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

    def epoch(self, last: Iterate) -> Iterate:
        """Newton steps on the smoothed loss, and the iterate to which they lead."""
        columns = self.columns
        columns.start(self.penalty, last, self.strength, last.duals)
        now = columns.improved(last, self.target)
        if now.gap < 0.5 * self.halved:
            self.halved, self.waited = now.gap, 0
        else:
            self.waited += 1
        if self.waited >= _SLOW and columns.solved:
            self.strength = max(_WEAKER * self.strength, self.least_strength)
        elif now.gap > 0.5 * last.gap and self.strength > self.weakest:
            self.strength = max(_WEAKER * self.strength, self.weakest)
        return self._from_inside(now) if self.waited >= _AT_REST else now

    def _from_inside(self, last: Iterate) -> Iterate:
        """The iterate that an interior point method finds, once, if it is the better one."""
        mean = self.columns.mean
        if self.been_inside or not interior.suits(mean):
            return last
        self.been_inside = True
        result = interior.minimum_inside(mean, self.penalty, last.intercept)
        if result is None:
            return last
        now = at(mean, self.penalty, result.weights, result.intercept)
        now = proved(mean, self.penalty, now.changed(duals=result.duals))
        return now if now.gap < last.gap else last
