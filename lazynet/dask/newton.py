"""Newton's method on a working set, from sums over rows that are elsewhere.

The problem answers with sums over all rows (``MeanOverBlocks.sums``): the loss and the correlations
with all features, the Hessian on the working set, or its product with a vector.  The small
quadratic problem is solved here.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from lazynet.dask.sums import MeanOverBlocks, few_of, hessian_of, sides_of
from lazynet.minimum.certificate import Certificate, certify
from lazynet.minimum.minimise import Minimiser, Minimum
from lazynet.minimum.solvers import Place
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# The working set grows by at most the number of nonzero weights, or by this number; features join
# it from this share of l1 on.
_LEAST_GROWTH, _SOON = 1000, 0.9
# The most columns of a Hessian; of more, blocks multiply by it, so many times in a step.
_MOST_COLUMNS, _MOST_PRODUCTS = 3000, 12
# Sweeps over the small quadratic problem.
_MOST_SWEEPS = 100
# Rows of a Hessian to a column of it: with fewer, steps are worse, and cost less.
_ROWS_OF_A_COLUMN, _LEAST_ROWS = 20, 65_536


@dataclass(frozen=True)
class Standing(Place):
    """A place, and the sums over all rows there."""

    margins: Any = None
    #: (1/n) sum s_i a_i x_i, and the derivatives of the loss in the intercept
    u: Any = None
    slope: float = 0.0
    bend: float = 0.0


class NewtonOnSums:
    """The search: a step on the weights that are not 0 or may soon not be 0, and a look at all."""

    name = "newton"

    def __init__(self, mean: MeanOverBlocks, penalty: ElasticNet, target: float) -> None:
        self.mean, self.penalty, self.target, self.damping = mean, penalty, target, 0.0

    def look(self, weights: Vector, intercept: float) -> Standing:
        """The sums at these weights, and an estimate of the gap."""
        mean, l1, l2 = self.mean, self.penalty.l1, self.penalty.l2
        margins = mean.margins(weights)
        (loss, _, bend, rise, fall), u = mean.sums("look", margins, intercept=intercept)
        objective, largest = loss + self.penalty.value(weights), np.abs(u).max(initial=0.0)
        sides = sides_of(rise, fall) if mean.fit_intercept else (1.0, 1.0)
        within = min(1.0, l1 / largest) if largest else 1.0
        factors = sorted({within, 1.0} if l2 else {within})
        given = {"intercept": intercept, "sides": sides, "factors": factors}
        found = -mean.sums("conjugates", margins, **given)
        if l2:
            found[-1] -= (np.maximum(np.abs(u) - l1, 0.0) ** 2).sum() / (2.0 * l2)
        slope = (fall - rise) * mean.share if mean.fit_intercept else 0.0
        gap = float(objective - found.max() + abs(slope) * (1.0 + abs(intercept)))
        place = weights, float(intercept), np.zeros(0), float(objective), gap
        return Standing(*place, margins=margins, u=u, slope=slope, bend=bend)

    def epoch(self, last: Place) -> Standing:
        assert isinstance(last, Standing), "the search began with a look"
        chosen = self._working_set(last)
        solve = self._by_hessian if len(chosen) <= _MOST_COLUMNS else self._by_products
        weights = last.weights.copy()
        weights[chosen], db = solve(last, chosen)
        new = self.look(weights, last.intercept + db)
        if new.objective <= last.objective * (1.0 - 1e-12):
            self.damping *= 0.25
            return new
        self.damping = max(4.0 * self.damping, 0.1)
        away, steps = weights - last.weights, 0.5 ** np.arange(1.0, 9.0)
        given = {"intercept": last.intercept, "few": few_of(away), "db": db, "steps": steps}
        losses = self.mean.sums("along", last.margins, **given)
        found = losses + [self.penalty.value(last.weights + step * away) for step in steps]
        best = int(np.argmin(found))
        if found[best] >= last.objective:
            return new if new.gap < last.gap else last
        return self.look(last.weights + steps[best] * away, last.intercept + steps[best] * db)

    def _working_set(self, at: Standing) -> NDArray[np.int64]:
        size, own, l1 = np.abs(at.u), at.weights != 0.0, self.penalty.l1
        joins = ~own & (size > _SOON * l1) if (~own & (size > l1)).any() else np.zeros_like(own)
        most, joining = max(_LEAST_GROWTH, int(own.sum())), np.flatnonzero(joins)
        if len(joining) > most:
            joining = joining[np.argpartition(size[joining], -most)[-most:]]
        chosen = np.union1d(np.flatnonzero(own), joining)
        return chosen[np.argsort(-self.mean.counts[chosen], kind="stable")]

    def _by_hessian(self, at: Standing, chosen: NDArray[np.int64]) -> tuple[Vector, float]:
        """The minimum of the quadratic model on the working set."""
        mean, n = self.mean, len(chosen)
        every = max(1, mean.n_rows // max(_ROWS_OF_A_COLUMN * n, _LEAST_ROWS))
        given = {"intercept": at.intercept, "features": chosen, "every": every}
        H = hessian_of(*mean.sums("gram", at.margins, mean.starts, **given))
        Q, h, bend = H[1:, 1:], H[1:, 0], H[0, 0]
        own, gradient, moves = at.weights[chosen], -at.u[chosen], mean.fit_intercept and bend > 0.0
        if moves:
            Q, gradient = Q - np.outer(h, h) / bend, gradient - h * (at.slope / bend)
        if not n:
            return own, -at.slope / bend if moves else 0.0
        q = Q @ own - gradient + self.damping * np.diag(Q) * own
        Q[np.diag_indices(n)] *= 1.0 + self.damping
        Q[np.diag_indices(n)] += 1e-12 * np.trace(Q) / n + 1e-300
        # The model is |R w - y|^2 / 2 + l1 |w|_1 + l2/2 |w|^2, with R'R = Q and R'y = q.  Of y the
        # solver knows a bound on the length alone, which its stopping rule needs.
        size = np.sqrt(abs(own @ (Q @ own - 2.0 * gradient)) + 100.0 * at.objective)
        with warnings.catch_warnings():
            # A rough minimum is good enough: the next look says how far it goes.
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, found, _ = enet_path(
                np.zeros((1, n)), np.array([size]), precompute=np.ascontiguousarray(Q), Xy=q,
                alphas=[self.penalty.l1 + self.penalty.l2], coef_init=own.copy(), check_input=False,
                l1_ratio=self.penalty.l1 / (self.penalty.l1 + self.penalty.l2),
                tol=0.1 * self.target / (size * size), max_iter=_MOST_SWEEPS,
            )  # fmt: skip
        weights = found[:, 0]
        return weights, float(-(at.slope + h @ (weights - own)) / bend) if moves else 0.0

    def _by_products(self, at: Standing, chosen: NDArray[np.int64]) -> tuple[Vector, float]:
        """Conjugate gradients with the signs held; a weight that would change its sign is 0."""
        mean, l1, l2, w = self.mean, self.penalty.l1, self.penalty.l2, at.weights[chosen]
        signs = np.where(w != 0.0, np.sign(w), np.sign(at.u[chosen]))
        (bend,), diagonal = mean.sums("diagonal", at.margins, intercept=at.intercept)
        scale = np.append(diagonal[chosen] + l2, bend) * (1.0 + self.damping) + 1e-300
        r = np.append(at.u[chosen] - l2 * w - l1 * signs, -at.slope)
        x, z = np.zeros(len(r)), r / scale
        p, least = z, 1e-3 * float(r @ z)
        for _ in range(_MOST_PRODUCTS):
            rz = float(r @ z)
            if rz <= least:
                break
            given = {"few": (chosen, p[:-1]), "vb": p[-1] if mean.fit_intercept else 0.0}
            (last,), full = mean.sums("product", at.margins, intercept=at.intercept, **given)
            product = np.append(full[chosen] + l2 * p[:-1], last) + self.damping * scale * p
            step = rz / float(p @ product)
            x, r = x + step * p, r - step * product
            if not mean.fit_intercept:
                r[-1] = 0.0
            z = r / scale
            p = z + float(r @ z) / rz * p
        new = w + x[:-1]
        return np.where(new * signs > 0.0, new, 0.0), float(x[-1])


class MinimiserOnSums(Minimiser):
    """Finds the minimum of one problem over rows that are elsewhere."""

    mean: MeanOverBlocks  # type: ignore[assignment]

    def __init__(self, mean: MeanOverBlocks) -> None:
        self.mean, self.intercept, self.far_targets = mean, 0.0, False
        self.weights = np.zeros(mean.n_columns)
        self.duals, self._correlations, self._known_duals = np.zeros(0), None, None
        margins, least = mean.margins(self.weights), np.inf
        for _ in range(30):
            given = {"intercept": self.intercept}
            (loss, lost, bend, rise, fall), _ = mean.sums("look", margins, **given)
            if not np.isfinite(loss):
                raise ValueError("y is so large that the loss of zero weights overflows; scale y")
            if not loss < least:
                break
            self.at_zero, self._rounding_at_zero, least = float(loss), float(lost), loss
            best, step = self.intercept, (rise - fall) * mean.share
            if not mean.fit_intercept or bend <= 0.0 or abs(step) <= 1e-14 * loss:
                break
            self.intercept += step / bend
        self.intercept = best

    def start_from(self, coef: Vector, intercept: float, duals: Vector | None = None) -> None:
        self.weights, self.intercept = np.array(coef, dtype=np.float64), intercept

    def _begin(
        self, penalty: ElasticNet, target: float, max_iter: int
    ) -> tuple[NewtonOnSums, Standing]:
        search = NewtonOnSums(self.mean, penalty, target)
        return search, search.look(self.weights, self.intercept)

    def _certificate(self, penalty: ElasticNet, at: Place, target: float) -> Certificate:
        assert isinstance(at, Standing), "the search began with a look"
        duals: Any = self.mean.rows("negative_slopes", at.margins, intercept=at.intercept)
        mean: Any = self.mean
        return certify(mean, penalty, at.weights, at.intercept, duals)

    def to(self, *penalty: float, **options: Any) -> Minimum:
        return replace(super().to(*penalty, **options), duals=np.zeros(0))
