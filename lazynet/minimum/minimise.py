"""To the minimum, or along a path of penalties, until the duality gap is small enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.engines.base import overflow
from lazynet.kernels.objective import weight_sums
from lazynet.losses import Loss
from lazynet.minimum.certificate import Certificate, certify
from lazynet.minimum.columns import Columns
from lazynet.minimum.iterate import UNKNOWN, Iterate, at, certified, of_margins, proved
from lazynet.minimum.objective import RAISE_PENALTY, MeanLoss
from lazynet.minimum.screening import Compact, bounds_of_features, compact
from lazynet.minimum.search import SMALL, Search
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# A search ends if its gap has not fallen by this factor in this number of epochs: because of
# rounding, or because no minimum exists.
_PROGRESS, _PATIENCE, _NOISE = 0.9, 200, 1e-16
# A row whose squared norm is not a finite number is longer than this.
_LONG = 1e154
# From this ratio of the largest |y - b| at zero weights to the largest |y| on, the digits that
# targets lose by their distance from 0 may be the ones that a small gap needs.
_FAR = 1e-4
# Rows are compact for an l1 from this share of the present one on: a path copies them now and then.
_AHEAD = 0.5


@dataclass(frozen=True)
class Problem:
    """Rows, targets and importances, checked; the loss; and whether an intercept is fitted."""

    X: sparse.csr_matrix
    y: Vector
    importances: Vector | None
    loss: Loss
    fit_intercept: bool


class EpochOfSearch(TypedDict):
    """One line of ``history_``: epoch 0 is the start, and every other a step of the search."""

    epoch: int
    objective: float
    gap: float
    nonzeros: int
    seconds: float


@dataclass(frozen=True)
class Minimum:
    """Weights and intercept, and the certificate of how far they are from the minimum."""

    coef: Vector
    intercept: float
    #: the dual variables of the examples, which prove the gap unless duals that are 0 do
    duals: Vector
    objective: float
    dual_objective: float
    #: an upper bound on ``objective`` minus the least objective
    gap: float
    #: the gap that was asked for
    target: float
    #: epochs
    n_iter: int
    history: list[EpochOfSearch]
    #: whether the search has ended because its gap stopped falling
    at_rest: bool = False
    #: whether targets far from 0 may be why
    far_targets: bool = False
    #: the method that took the last epoch: "gram", "columns" or "ascent"
    solver: str = "gram"

    @property
    def converged(self) -> bool:
        """Whether the gap is as small as was asked for."""
        return self.gap <= self.target

    def without_vectors(self) -> Minimum:
        """The numbers of the minimum, without weights, duals and history."""
        return replace(self, coef=np.zeros(0), duals=np.zeros(0), history=[])


def why_late(late: Sequence[Minimum], max_iter: int) -> str:
    """How searches ended that have not converged, and what helps."""
    resting = [minimum for minimum in late if minimum.at_rest]
    ends, helps = [], []
    if len(resting) < len(late):
        ends.append(f"after max_iter={max_iter} epochs")
        helps.append("max_iter")
    if resting:
        ends.append("where the gap falls no more")
    text = f"{' or '.join(ends)}: raise {' or '.join([*helps, 'tol'])}"
    if any(minimum.far_targets for minimum in resting):
        text += ", or subtract the mean from y, whose numbers are too far from 0 for such a gap"
    return text


def check_penalty(loss: Loss, l1: float | None, l2: float | None) -> None:
    """Refuse a problem without a penalty, which has no certificate and perhaps no minimum."""
    if l1 == 0.0 and l2 == 0.0:
        raise ValueError(
            f"l1 and l2 must not both be 0: without a penalty the minimum of {loss.name!r} may not "
            f"exist, and no duality gap bounds what is left; give a small l2, such as 1e-8"
        )


def _are_far(y: Vector, centre: float) -> bool:
    """Whether targets are much further from 0 than from their centre."""
    away = np.abs(y - centre).max(initial=0.0)
    return bool(away < _FAR * np.abs(y).max(initial=0.0))


class Minimiser:
    """Finds minima of one problem for one penalty after another, each from where the last ended.

    >>> from lazynet.losses import get_loss
    >>> X = sparse.csr_matrix([[1.0], [1.0]])
    >>> problem = Problem(X, np.array([3.0, 5.0]), None, get_loss("squared_error"), False)
    >>> minimiser = Minimiser(problem, 0)
    >>> minimiser.at_zero, minimiser.largest_l1
    (8.5, 4.0)
    >>> found = minimiser.to(1.0, 0.0, tol=1e-12, max_iter=1000)
    >>> found.coef.round(4), found.converged
    (array([3.]), True)
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        y, importances = problem.y, problem.importances
        examples = as_examples(problem.X, y, importances)
        fit_intercept = problem.fit_intercept
        mean = MeanLoss(examples, y, importances, problem.loss, fit_intercept=fit_intercept)
        self.mean, self.seed = mean, seed
        #: the least objective of zero weights
        self.at_zero, self._rounding_at_zero, self.intercept = mean.at_zero()
        self.intercept_at_zero = self.intercept
        if not np.isfinite(self.at_zero):
            raise ValueError("y is so large that the loss of zero weights overflows; scale y")
        #: whether the targets are much further from 0 than from each other
        self.far_targets = fit_intercept and not mean.loss.margin and _are_far(y, self.intercept)
        self.weights = np.zeros(mean.n_columns)
        # The rows of the last search, the least l1 for which they are right, where it ended, and
        # the mean loss there.
        self._compact: Compact | None = None
        self._least_l1 = np.inf
        self._ended: Iterate | None = None
        self._ended_loss = np.nan
        # The duals with which a search ended that went to the present weights.
        self._known_duals: Vector | None = None

    @cached_property
    def _bounds(self) -> tuple[Vector, Vector] | None:
        return bounds_of_features(self.mean)

    @cached_property
    def duals_at_zero(self) -> Vector:
        """The duals of zero weights."""
        return self.mean.balanced_slopes(np.zeros(self.mean.n_rows), self.intercept_at_zero)

    @cached_property
    def largest_l1(self) -> float:
        """An l1 at which every weight is 0; for a smooth loss the least such l1."""
        largest = float(np.abs(self.mean.correlations(self.duals_at_zero)).max(initial=0.0))
        if not np.isfinite(largest):
            raise FloatingPointError(
                "the slopes at zero weights overflowed: no l1 is large enough. Scale the features "
                "to comparable sizes."
            )
        return largest

    def target(self, tol: float) -> float:
        """The gap to arrive at."""
        # Rounding alone leaves a gap of about this size, even at zero weights that are the minimum.
        return max(tol * self.at_zero, 4.0 * self._rounding_at_zero)

    def start_from(self, coef: Vector, intercept: float, duals: Vector | None = None) -> None:
        """Let the next search start from these weights, and from ``duals`` if they are better.

        The slopes at the weights may not tell the duals where the slope of the loss jumps.
        """
        self._known_duals = None if duals is None or len(duals) != self.mean.n_rows else duals
        self.weights, self.intercept, self._ended = np.array(coef, float), intercept, None

    def _start(self, penalty: ElasticNet) -> Iterate:
        """The iterate from which a search goes."""
        if penalty.l1 < self._least_l1:
            # A path of penalties goes on to a smaller l1.
            least = penalty.l1 if self._compact is None else _AHEAD * penalty.l1
            self._compact = compact(self.mean, self._bounds, least)
            self._columns, self._ended = Columns(self._compact.mean), None
            self._least_l1 = least
        assert self._compact is not None, "the first l1 is less than infinity"
        mean, ended = self._compact.mean, self._ended
        if ended is not None and len(ended.margins):
            # The penalty has changed, and with it the objective.
            objective = self._ended_loss + penalty.of_sums(*weight_sums(ended.weights))
            return ended.changed(objective=objective, proof=UNKNOWN)
        weights = self.weights[self._compact.features]
        if weights.any():
            start = at(mean, penalty, weights, self.intercept)
        else:
            # These margins need no pass over the rows.
            start = of_margins(mean, penalty, weights, np.zeros(mean.n_rows), self.intercept)
        if mean.loss.curvature is None:
            start = start.changed(duals=mean.balanced_slopes(start.margins, self.intercept))
        return start

    def _begin(self, penalty: ElasticNet, target: float, max_iter: int) -> tuple[Search, Iterate]:
        """The search, and the iterate from which it goes."""
        start = self._start(penalty)
        assert self._compact is not None, "the start makes rows compact"
        mean = self._compact.mean
        search = Search(
            self.mean, self._compact, self._columns, penalty, target, self.at_zero, self.seed
        )
        if mean.longest_bound > _LONG and not np.isfinite(self.mean.squared_norms).all():
            raise ValueError(
                "X has rows whose squared norm is not a finite number; scale the features to "
                "comparable sizes"
            )
        start = proved(mean, penalty, start)
        if self._known_duals is not None:
            unproved, duals = start.changed(proof=UNKNOWN), self._known_duals.copy()
            known = certified(mean, penalty, unproved, duals)
            if known.gap < start.gap:
                start = known
                if mean.loss.curvature is None:
                    # The slopes at the weights may not tell the duals where the slope jumps.
                    u = start.proof_correlations
                    start = start.changed(duals=start.proof, correlations=u)
            search.start(start.gap, max_iter)
        return search, start

    def to(
        self,
        l1: float,
        l2: float,
        *,
        tol: float,
        max_iter: int,
        after: Callable[[EpochOfSearch], None] | None = None,
        exactly: bool = True,
    ) -> Minimum:
        """Search the minimum for this penalty, until the gap is at most ``tol`` * ``at_zero``.

        ``after`` is called after every epoch, and may raise to end the search.  With ``exactly`` a
        small problem is solved to the last digits, which takes microseconds.
        """
        began = time.perf_counter()
        penalty = ElasticNet(l1, l2)
        target = self.target(tol)
        small = exactly and self.mean.n_values <= SMALL
        search, now = self._begin(penalty, 0.0 if small else target, max_iter)
        self._known_duals = None
        history: list[EpochOfSearch] = []
        # The best certified iterate; the least gap, and the epochs since it fell by much.
        best: tuple[Iterate, Certificate] | None = None
        least, waited = np.inf, 0
        for epoch in range(max_iter + 1):
            if epoch > 0:
                now = search.epoch(now)
            ended = time.perf_counter()
            history.append(
                EpochOfSearch(
                    epoch=epoch,
                    objective=now.objective,
                    gap=max(now.gap, 0.0),
                    nonzeros=int(np.count_nonzero(now.weights != 0.0)),
                    seconds=ended - began,
                )
            )
            began = ended
            if after is not None:
                after(history[-1])
            if not np.isfinite(now.gap):
                fault = "the objective is not a finite number"
                raise overflow(f"in epoch {epoch}", fault, RAISE_PENALTY)
            # A gap below the rounding of the objective is noise.
            gap = max(now.gap, _NOISE * self.at_zero)
            waited = 0 if gap < _PROGRESS * least else waited + 1
            least = min(least, gap)
            last_chance = epoch == max_iter or waited >= _PATIENCE
            # A small problem goes on as long as this helps.
            if (now.gap > target or (small and waited == 0)) and not last_chance:
                continue
            result = self._certificate(penalty, now, target)
            if best is None or result.gap < best[1].gap:
                best = now, result
            if last_chance:
                break
            if result.gap <= target:
                break
        assert best is not None, "the last epoch makes a certificate"
        now, result = best
        if self._ended is None or now.margins is not self._ended.margins:
            # Along a path that takes no steps a difference would lose digits again and again.
            self._ended_loss = now.objective - penalty.of_sums(*weight_sums(now.weights))
        self._ended = now
        self.weights, self.intercept = self._expand(now.weights), now.intercept
        return Minimum(
            self.weights,
            now.intercept,
            now.proof,
            result.objective,
            result.dual_objective,
            result.gap,
            target,
            epoch,
            history,
            at_rest=waited >= _PATIENCE,
            far_targets=self.far_targets,
            solver=search.name,
        )

    def _expand(self, weights: Vector) -> Vector:
        """The weights of all features of X."""
        assert self._compact is not None, "a search has begun"
        return self._compact.expand(weights, self.mean.n_columns)

    def _certificate(self, penalty: ElasticNet, at: Iterate, target: float) -> Certificate:
        """The certificate of an iterate: right to the last digit if rounding matters."""
        assert self._compact is not None, "a search has begun"
        result, mean = at.certificate, self._compact.mean
        if result is None and len(at.proof_correlations):
            result = at.certificate_by(mean, penalty, at.proof, at.proof_correlations)
        if result is not None and result.gap <= target:
            return result
        weights = self._expand(at.weights)
        return certify(self.mean, penalty, weights, at.intercept, at.proof)


def follow(
    minimiser: Minimiser,
    points: Iterable[tuple[float, float]],
    *,
    tol: float,
    **options: Any,
) -> Iterator[Minimum]:
    """The minimum at every l1 and l2, each started from the one before it.

    The first starts where the last search of the minimiser ended.  ``options`` are those of
    ``Minimiser.to``.
    """
    for l1, l2 in points:
        if l1 >= minimiser.largest_l1:
            yield _without_weights(minimiser, ElasticNet(l1, l2), minimiser.target(tol))
        else:
            yield minimiser.to(l1, l2, tol=tol, **options)


def _without_weights(minimiser: Minimiser, penalty: ElasticNet, target: float) -> Minimum:
    """The minimum where every weight is 0.

    A search would find it within tol only, with a few weights that are not 0.
    """
    mean, duals = minimiser.mean, minimiser.duals_at_zero.copy()
    start = np.zeros(mean.n_columns), minimiser.intercept_at_zero, duals
    certificate = certify(mean, penalty, *start)
    return Minimum(
        *start,
        objective=certificate.objective,
        dual_objective=certificate.dual_objective,
        gap=certificate.gap,
        target=target,
        n_iter=0,
        at_rest=True,
        far_targets=minimiser.far_targets,
        history=[],
    )
