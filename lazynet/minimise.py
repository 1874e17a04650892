"""To the minimum: a search that goes on until the duality gap is small enough.

Dual ascent on the problem itself stalls where l2 is small.  Therefore it climbs the dual of a
problem with a proximal centre c, P(w) + kappa/2 |w - c|^2, and c moves to the weights.  kappa
decides the speed, and adapts itself (``_Ascent``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.certificates import Certificate, certify
from lazynet.data import as_examples
from lazynet.engines.dual import DualAscent, Standing
from lazynet.engines.mean import MeanLoss
from lazynet.losses import Loss
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# Rows that are visited one after the other as they lie in memory, in a random order of such blocks:
# about as many epochs as single rows in random order, and a third less waiting for memory.
_BLOCK = 8
# Factor by which kappa changes.
_STEP = 1.5
# Epochs after which the centre of a loss without curvature moves in any case.
_MOST_EPOCHS = 10


@dataclass(frozen=True)
class Problem:
    """Rows, targets and importances, checked; the loss; and whether an intercept is fitted."""

    X: sparse.csr_matrix
    y: Vector
    importances: Vector | None
    loss: Loss
    fit_intercept: bool


@dataclass(frozen=True)
class Minimum:
    """Weights and intercept, and the certificate of how far they are from the minimum."""

    coef: Vector
    intercept: float
    #: the dual variables of the examples, which prove the gap
    duals: Vector
    objective: float
    dual_objective: float
    #: an upper bound on ``objective`` minus the least objective
    gap: float
    #: the gap that was asked for
    target: float
    #: epochs
    n_iter: int
    #: per epoch: epoch, objective, gap (as estimated), nonzeros, seconds
    history: list[dict[str, float]]

    @property
    def converged(self) -> bool:
        """Whether the gap is as small as was asked for."""
        return self.gap <= self.target


def check_penalty(loss: Loss, l1: float, l2: float) -> None:
    """Refuse a problem without a penalty, which has no certificate and perhaps no minimum."""
    if l1 == 0.0 and l2 == 0.0:
        raise ValueError(
            f"l1 and l2 must not both be 0: without a penalty the minimum of {loss.name!r} may not "
            f"exist, and no duality gap bounds what is left; give a small l2, such as 1e-8"
        )


def _shuffled_blocks(n_rows: int, generator: np.random.RandomState) -> NDArray[np.int64]:
    """All rows, in a random order of blocks whose borders differ from epoch to epoch.

    >>> sorted(_shuffled_blocks(20, np.random.RandomState(0)).tolist()) == list(range(20))
    True
    """
    if n_rows <= 16 * _BLOCK:
        return generator.permutation(n_rows).astype(np.int64, copy=False)
    blocks = generator.permutation(-(-n_rows // _BLOCK) + 1).astype(np.int64, copy=False)
    rows = (blocks[:, None] * _BLOCK + np.arange(_BLOCK) - generator.randint(_BLOCK)).ravel()
    return np.ascontiguousarray(rows[(rows >= 0) & (rows < n_rows)])


class _Search(Protocol):
    """A method that comes nearer to the minimum of one problem."""

    @property
    def duals(self) -> Vector:
        """The dual variables of the examples, in the domain of the conjugate."""
        ...

    def epoch(self) -> Standing:
        """Go on for one epoch, and say where that leads."""
        ...


class _Ascent:
    """Dual ascent in epochs of random order, with a centre and a kappa that adapt.

    With a smooth loss the centre moves after every epoch: kappa grows if the epoch leaves the inner
    problem further from its minimum than the objective and the centre have come, and falls if the
    inner problem is nearly done.  A loss without curvature needs inner problems that are solved:
    the centre waits until the inner gap is below the proximal term.
    """

    def __init__(self, ascent: DualAscent, generator: np.random.RandomState) -> None:
        self.ascent, self.generator = ascent, generator
        self.smooth = ascent.mean.loss.curvature is not None
        self.last = np.inf
        self.waited = 0
        self.next_factor: float | None = None

    @property
    def duals(self) -> Vector:
        return self.ascent.duals

    def epoch(self) -> Standing:
        ascent = self.ascent
        if self.next_factor is not None:
            ascent.recentre(self.next_factor)
        ascent.take(_shuffled_blocks(ascent.mean.n_rows, self.generator))
        now = ascent.standing()
        self.next_factor = self._after(now)
        return now

    def _after(self, now: Standing) -> float | None:
        """The factor of kappa with which the centre moves; None if the centre waits."""
        if not self.smooth:
            self.waited += 1
            solved = now.inner_gap <= now.distance
            if not solved and self.waited < _MOST_EPOCHS:
                return None
            at_once, self.waited = self.waited == 1, 0
            return _STEP if not solved else 1.0 / _STEP if at_once else 1.0
        progress = max(self.last - now.objective, 0.0) if self.last < np.inf else np.inf
        self.last = now.objective
        if now.inner_gap > 4.0 * progress + now.distance:
            return _STEP
        if progress < np.inf and now.inner_gap < 0.25 * min(progress, now.distance):
            return 1.0 / _STEP
        return 1.0


def _proceed() -> None:
    """Nobody asks a search to stop."""


class Minimiser:
    """Finds minima of one problem for one penalty after another, each from where the last ended.

    >>> from lazynet.losses import get_loss
    >>> X = sparse.csr_matrix([[1.0], [1.0]])
    >>> problem = Problem(X, np.array([3.0, 5.0]), None, get_loss("squared_error"), False)
    >>> minimiser = Minimiser(problem, np.random.RandomState(0))
    >>> minimiser.at_zero, minimiser.largest_l1
    (8.5, 4.0)
    >>> found = minimiser.to(1.0, 0.0, tol=1e-12, max_iter=1000)
    >>> found.coef.round(4), found.converged
    (array([3.]), True)
    """

    def __init__(self, problem: Problem, generator: np.random.RandomState) -> None:
        examples = as_examples(problem.X, problem.y, problem.importances)
        self.mean = MeanLoss(
            examples,
            problem.y,
            problem.importances,
            problem.loss,
            fit_intercept=problem.fit_intercept,
        )
        self.generator = generator
        #: the least objective of zero weights
        self.at_zero, self.intercept = self.mean.at_zero()
        self.weights = np.zeros(examples.n_columns)
        self.duals = self.mean.balanced_slopes(np.zeros(self.mean.n_rows), self.intercept)
        #: an l1 at which every weight is 0; for a smooth loss the least such l1
        self.largest_l1 = float(np.abs(self.mean.correlations(self.duals)).max(initial=0.0))
        norms = examples.squared_norms()
        positive = norms[norms > 0.0]
        curvature = (problem.loss.curvature or 1.0) * self.mean.share
        self.unit = curvature * (float(np.median(positive)) if len(positive) else 1.0)
        self.unit_intercept = curvature

    def start_from(self, coef: Vector, intercept: float) -> None:
        """Let the next search start from these weights."""
        self.weights, self.intercept = np.array(coef, dtype=np.float64), intercept
        self.duals = self.mean.balanced_slopes(self.mean.margins(self.weights), intercept)

    def _search(self, penalty: ElasticNet) -> _Search:
        kappa_intercept = self.unit_intercept if self.mean.fit_intercept else 0.0
        ascent = DualAscent(self.mean, penalty, self.unit, kappa_intercept)
        ascent.start_from(self.weights, self.intercept, self.duals)
        return _Ascent(ascent, self.generator)

    def to(
        self,
        l1: float,
        l2: float,
        *,
        tol: float,
        max_iter: int,
        check: Callable[[], None] = _proceed,
    ) -> Minimum:
        """Search the minimum for this penalty, until the gap is at most ``tol`` * ``at_zero``.

        ``check`` is called after every epoch, and may raise to end the search.
        """
        began = time.perf_counter()
        penalty = ElasticNet(l1, l2)
        target = tol * self.at_zero
        search = self._search(penalty)
        history: list[dict[str, float]] = []
        found: Certificate | None = None
        for epoch in range(1, max_iter + 1):
            now = search.epoch()
            history.append(
                {
                    "epoch": epoch,
                    "objective": now.objective,
                    "gap": now.gap,
                    "nonzeros": now.nonzeros,
                    "seconds": time.perf_counter() - began,
                }
            )
            check()
            if now.gap <= target or epoch == max_iter:
                duals = search.duals.copy()
                found = certify(self.mean, penalty, now.weights, now.intercept, duals)
                if found.gap <= target:
                    break
        assert found is not None, "max_iter is at least 1"
        self.weights, self.intercept, self.duals = now.weights, now.intercept, search.duals.copy()
        return Minimum(
            now.weights,
            now.intercept,
            duals,
            found.objective,
            found.dual_objective,
            found.gap,
            target,
            epoch,
            history,
        )
