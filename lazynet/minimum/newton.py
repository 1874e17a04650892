"""Proximal Newton on a working set: which columns join it, and how far each step goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import take_until_done
from lazynet.kernels.newton import WorkingSet
from lazynet.losses import Loss
from lazynet.minimum.objective import RAISE_PENALTY, MeanLoss
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# The working set grows by at most the number of nonzero weights, or by this number.
_LEAST_GROWTH = 400
# When a feature joins, those with |u_j| above this share of l1 join with it: a path of penalties
# visits the rows for new columns a third as often.
_SOON = 0.7
# The working set is left when its own gap is this share of the gap of the whole problem, or this
# share of the gap that is asked for.
_SHARE_OF_GAP, _SHARE_OF_TARGET = 0.6, 0.3
# The same share where no feature has joined the set.
_SHARE_OF_GAP_ALONE = 0.1
# A model is minimised to this share of its violation, and the share falls by the second number
# while steps reduce the gap too little.
_ACCURACY, _SHARPER, _SHARPEST = 0.3, 0.1, 1e-4
_EXACT = 1e-10
_TOO_LITTLE = 0.7
_MOST_STEPS = 50


@dataclass(frozen=True)
class Smoothing:
    """How the jumps of a slope are smoothed: held duals, and how strongly they are held."""

    strength: float
    held: Vector


NO_SMOOTHING = Smoothing(0.0, np.zeros(0))


class ActiveColumns:
    """Weights that Newton's method moves; all others are 0.

    >>> from lazynet.kernels.examples import Examples
    >>> from lazynet.losses import get_loss
    >>> rows = Examples(np.array([1.0]), np.zeros(1, np.int32), np.array([0, 1], np.int32), 1,
    ...                 np.array([3.0]))
    >>> mean = MeanLoss(rows, np.array([3.0]), None, get_loss("squared_error"), fit_intercept=False)
    >>> columns = ActiveColumns(mean)
    >>> columns.start(ElasticNet(l1=1.0), np.zeros(1), 0.0)
    >>> columns.admit(np.array([3.0]))
    1
    >>> columns.improve(gap=4.5, target=1e-9, joined=1)
    True
    >>> columns.weights
    array([2.])
    """

    def __init__(self, mean: MeanLoss) -> None:
        loss: Loss = mean.loss
        self.mean = mean
        self.set = WorkingSet(
            mean.examples,
            loss.code,
            loss.epsilon,
            loss.curvature or 1.0,
            mean.share,
            mean.fit_intercept,
        )
        self.weights = np.zeros(mean.n_columns)
        self.duals = np.zeros(mean.n_rows)
        self.intercept = 0.0

    def start(
        self,
        penalty: ElasticNet,
        weights: Vector,
        intercept: float,
        smoothing: Smoothing = NO_SMOOTHING,
    ) -> None:
        """Begin at these weights, for this penalty."""
        self.penalty = penalty
        self._add(self.set.candidates(weights, 0.0))
        self.set.start(
            penalty.l1, penalty.l2, weights, intercept, smoothing.strength, smoothing.held
        )
        self._read()

    def _read(self) -> None:
        # New arrays: other owners of the old arrays keep them unchanged.
        self.weights, self.duals = np.empty_like(self.weights), np.empty_like(self.duals)
        self.intercept = self.set.read(self.weights, self.duals)

    def _add(self, features: NDArray[np.int64]) -> None:
        if not len(features):
            return
        take_until_done(
            lambda _: self.set.join(features),
            self.mean.n_rows,
            0,
            self.mean.examples,
            row_of=lambda row: row,
            remedy=RAISE_PENALTY,
        )

    @property
    def density(self) -> float:
        """The share of the nonzeros of X that lie in the columns of the working set."""
        return self.set.n_nonzeros / max(self.mean.n_values, 1)

    def admit(self, u: Vector) -> int:
        """Let the features with the largest |u_j| > l1 join the set; returns how many joined."""
        features = self.set.candidates(u, self.penalty.l1)
        if len(features):
            # While rows are visited, take the features that may soon be wanted along.
            features = self.set.candidates(u, _SOON * self.penalty.l1)
        # Booleans are counted several times as fast as doubles.
        most = max(_LEAST_GROWTH, int(np.count_nonzero(self.weights != 0.0)))
        if len(features) > most:
            chosen = np.argpartition(np.abs(u[features]), -most)[-most:]
            features = np.sort(features[chosen])
        self._add(features)
        return len(features)

    def improve(self, gap: float, target: float, joined: int) -> bool:
        """Take Newton steps until the gap on the working set is small beside ``gap``.

        Returns whether it has become so small.
        """
        solved = False
        # Where no feature has joined, the gap of the working set is the gap of the whole problem.
        share = _SHARE_OF_GAP if joined else _SHARE_OF_GAP_ALONE
        aim = max(share * gap, _SHARE_OF_TARGET * target)
        # Without a target every step is as good as Newton's method makes it.
        accuracy, last = _ACCURACY if target > 0.0 else _EXACT, np.inf
        for step in range(_MOST_STEPS):
            estimate, violation, absolute, slope = self.set.model(aim)
            settled = abs(slope) <= 1e-3 * self.penalty.l1 + 1e-12
            if step and estimate <= aim and (settled or not self.mean.fit_intercept):
                solved = True
                break
            if step and estimate > _TOO_LITTLE * last and accuracy > _SHARPEST:
                accuracy *= _SHARPER
            last = estimate
            least = 0.2 * aim / absolute if absolute else 0.0
            while not self.set.descend(max(accuracy * violation, least)):
                pass
            if self.set.search() == 0.0 and self.set.stuck:
                break
        self.set.refresh()
        self._read()
        return solved
