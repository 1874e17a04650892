"""Dual coordinate ascent: a number per feature, a dual variable per example.

It visits rows, not columns, and needs an l2 > 0 that holds the weights.  It is the fastest method
where most of X lies in the columns of the working set, and a Gram matrix does not pay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import take_until_done
from lazynet.kernels import dual as dual_steps
from lazynet.minimum.iterate import UNKNOWN, Iterate
from lazynet.minimum.objective import RAISE_PENALTY, MeanLoss
from lazynet.minimum.screening import Compact
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# Rows that are visited one after the other as they lie in memory, in a random order of such runs:
# about as many epochs as single rows in random order, and a third less waiting for memory.
_RUN = 8
# Factor by which kappa changes, and how far it may go from where it began.
_STEP, _FARTHEST = 1.5, 1e8
# Epochs after which the centre of a loss without curvature moves in any case.
_MOST_WAITING = 10


def shuffled(n_rows: int, generator: np.random.RandomState) -> NDArray[np.int64]:
    """All rows, in a random order of runs whose borders differ from epoch to epoch.

    >>> sorted(shuffled(20, np.random.RandomState(0)).tolist()) == list(range(20))
    True
    """
    if n_rows <= 16 * _RUN:
        return generator.permutation(n_rows).astype(np.int64, copy=False)
    runs = generator.permutation(-(-n_rows // _RUN) + 1).astype(np.int64, copy=False)
    rows = (runs[:, None] * _RUN + np.arange(_RUN) - generator.randint(_RUN)).ravel()
    return np.ascontiguousarray(rows[(rows >= 0) & (rows < n_rows)])


@dataclass(frozen=True)
class Progress:
    """The weights after some steps and the gaps there, in plain arithmetic."""

    weights: Vector
    intercept: float
    #: P(w, b), of the problem without a centre
    objective: float
    #: an estimate of the duality gap of the problem without a centre
    gap: float
    #: the duality gap of the problem with the centre
    inner_gap: float
    #: the proximal term, kappa/2 |w - c|^2 + kappa_b/2 (b - c_b)^2
    distance: float


class DualAscent:
    """Maximises the dual of P(w, b) + kappa/2 |w - c|^2 + kappa_b/2 (b - c_b)^2, c the centre.

    z = u + kappa c is stored, u = (1/n) sum s_i a_i x_i, and w = soft(z, l1) / (l2 + kappa) is
    computed where it is needed.  ``recentre`` moves the centre to the present weights.

    >>> from lazynet.kernels.examples import Examples
    >>> from lazynet.losses import get_loss
    >>> rows = Examples(np.array([1.0]), np.zeros(1, np.int32), np.array([0, 1], np.int32), 1,
    ...                 np.array([3.0]))
    >>> mean = MeanLoss(rows, np.array([3.0]), None, get_loss("squared_error"), fit_intercept=False)
    >>> ascent = DualAscent(mean, ElasticNet(l1=1.0), kappa=1.0)
    >>> ascent.take(np.array([0]))
    >>> ascent.duals, ascent.weights()  # the maximum of 3 a - a^2/2 - [a - 1]+^2/2 is at a = 2
    (array([1.5]), array([0.5]))
    """

    def __init__(
        self,
        mean: MeanLoss,
        penalty: ElasticNet,
        kappa: float,
        kappa_intercept: float = 0.0,
    ) -> None:
        self.mean, self.penalty = mean, penalty
        self.kappa, self.kappa_intercept = kappa, kappa_intercept
        self.z, self.centre = np.zeros(mean.n_columns), np.zeros(mean.n_columns)
        self.duals = np.zeros(mean.n_rows)
        self.fields = np.zeros(dual_steps.DUAL_FIELDS)
        self.intercept_centre = 0.0

    @property
    def scale(self) -> float:
        """1 / (l2 + kappa)."""
        return 1.0 / (self.penalty.l2 + self.kappa)

    @property
    def _intercept_scale(self) -> float:
        return 1.0 / self.kappa_intercept if self.mean.fit_intercept else 0.0

    @property
    def intercept(self) -> float:
        """The present intercept."""
        return float(self.fields[dual_steps.INTERCEPT_Z_FIELD]) * self._intercept_scale

    def weights(self) -> Vector:
        """The present weights."""
        out = np.empty_like(self.z)
        dual_steps.weights_of(self.z, self.penalty.l1, self.scale, out)
        return out

    def take(self, order: NDArray[np.int64]) -> None:
        """Take a step on each row that ``order`` lists."""
        mean = self.mean
        take_until_done(
            lambda first: dual_steps.run(
                mean.examples,
                order,
                mean.loss.code,
                mean.loss.epsilon,
                self.penalty.l1,
                self.scale,
                self._intercept_scale,
                mean.share,
                mean.squared_norms,
                self.z,
                self.duals,
                self.fields,
                first,
            ),
            len(order),
            0,
            mean.examples,
            row_of=lambda step: int(order[step]),
            remedy=RAISE_PENALTY,
        )

    def start_from(self, weights: Vector, intercept: float, duals: Vector) -> None:
        """Go on from these weights, as the centre, and these duals, which must be in the domain."""
        self.centre[:], self.intercept_centre = weights, intercept
        self.duals[:] = duals
        self.z[:] = self.mean.correlations(duals) + self.kappa * weights
        balance = self.mean.share * self.mean.sum_of(duals)
        self.fields[dual_steps.INTERCEPT_Z_FIELD] = balance + self.kappa_intercept * intercept

    def progress(self) -> Progress:
        """The objective of the present weights, and the gaps; visits all rows once."""
        mean, l1, l2, kappa = self.mean, self.penalty.l1, self.penalty.l2, self.kappa
        weights, intercept = self.weights(), self.intercept
        absolute, squared, moved, centred, largest, excess = dual_steps.sums(
            self.z, self.centre, weights, kappa, l1
        )
        loss, _ = mean.value(mean.margins(weights), intercept)
        objective = loss + self.penalty.of_sums(absolute, squared)
        offset = intercept - self.intercept_centre
        distance = 0.5 * (kappa * moved + self.kappa_intercept * offset * offset)
        conjugate, _ = mean.conjugate(self.duals)
        # sum [|z| - l1]+^2 / (2 (l2 + kappa)) is (l2 + kappa)/2 |w|^2, and so for the intercept.
        inner_dual = -conjugate - 0.5 * (
            (l2 + kappa) * squared
            - kappa * centred
            + self.kappa_intercept * (intercept**2 - self.intercept_centre**2)
        )
        if l2 > 0.0:
            dual = -conjugate - excess / (2.0 * l2)
        else:
            dual = -mean.conjugate(self.duals, min(1.0, l1 / largest) if largest else 1.0)[0]
        # An intercept without a penalty demands sum s_i a_i = 0.
        left_over = 0.0
        if mean.fit_intercept:
            left_over = float(self.fields[dual_steps.INTERCEPT_Z_FIELD])
            left_over -= self.kappa_intercept * self.intercept_centre
        return Progress(
            weights,
            intercept,
            objective,
            objective - dual + abs(left_over) * (1.0 + abs(intercept)),
            objective + distance - inner_dual,
            distance,
        )

    def recentre(self, factor: float = 1.0) -> None:
        """Move the centre to the present weights and intercept; multiply kappa by ``factor``."""
        weights, intercept = self.weights(), self.intercept
        kappa, kappa_intercept = factor * self.kappa, factor * self.kappa_intercept
        dual_steps.recentre(self.z, self.centre, weights, self.kappa, kappa)
        self.fields[dual_steps.INTERCEPT_Z_FIELD] += (
            kappa_intercept * intercept - self.kappa_intercept * self.intercept_centre
        )
        self.kappa, self.kappa_intercept = kappa, kappa_intercept
        self.intercept_centre = intercept


class Ascent:
    """Dual ascent in epochs of random order, with a centre and a kappa that adapt.

    With a smooth loss the centre moves after every epoch: kappa grows if the epoch leaves the inner
    problem further from its minimum than the objective and the centre have come, and falls if the
    inner problem is nearly done.  A loss without curvature needs inner problems that are solved:
    the centre waits until the inner gap is below the proximal term.
    """

    def __init__(self, mean: MeanLoss, penalty: ElasticNet, seed: int) -> None:
        # kappa begins where it suits rows of median length, and an intercept's column of ones.
        norms = mean.squared_norms[mean.squared_norms > 0.0]
        curvature = (mean.loss.curvature or 1.0) * mean.share
        self.unit = curvature * (float(np.median(norms)) if len(norms) else 1.0)
        self.ascent = DualAscent(mean, penalty, self.unit, curvature if mean.fit_intercept else 0.0)
        self.generator = np.random.RandomState(seed)
        self.smooth = mean.loss.curvature is not None
        self.last = np.inf
        self.waited = 0
        self.started = False
        self.next_factor: float | None = None

    def epoch(self, last: Iterate, compact: Compact) -> Iterate:
        """The iterate after an epoch; both have the weights of ``compact``."""
        ascent = self.ascent
        if not self.started:
            weights = compact.expand(last.weights, ascent.mean.n_columns)
            ascent.start_from(weights, last.intercept, last.duals)
            self.started = True
        elif self.next_factor is not None:
            ascent.recentre(self.next_factor)
        ascent.take(shuffled(ascent.mean.n_rows, self.generator))
        now = ascent.progress()
        self.next_factor = self._after(now)
        duals, weights = ascent.duals.copy(), now.weights[compact.features]
        # It keeps no margins and no curvatures.
        numbers = UNKNOWN, duals, 0.0, UNKNOWN, 0.0, now.objective, now.gap
        return Iterate(weights, now.intercept, *numbers, proof=duals)

    def _after(self, now: Progress) -> float | None:
        """The factor of kappa with which the centre moves; None if the centre waits."""
        factor = self._wanted(now)
        if factor is None:
            return None
        within = 1.0 / _FARTHEST < factor * self.ascent.kappa / self.unit < _FARTHEST
        return factor if within else 1.0

    def _wanted(self, now: Progress) -> float | None:
        if not self.smooth:
            self.waited += 1
            solved = now.inner_gap <= now.distance
            if not solved and self.waited < _MOST_WAITING:
                return None
            at_once, self.waited = self.waited == 1, 0
            if not solved:
                return _STEP
            return 1.0 / _STEP if at_once else 1.0
        progress = max(self.last - now.objective, 0.0)
        first, self.last = self.last == np.inf, now.objective
        if now.inner_gap > 4.0 * progress + now.distance:
            return _STEP
        if not first and now.inner_gap < 0.25 * min(progress, now.distance):
            return 1.0 / _STEP
        return 1.0
