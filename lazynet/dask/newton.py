"""Newton's method on a working set, with rows on workers.

``MeanOverBlocks.sums`` returns sums over all rows: the loss and the correlations with all features,
the Hessian on the working set, or its product with a vector.  The small quadratic problem is solved
here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.sums import MeanOverBlocks, hessian_of
from lazynet.kernels.gram import descend
from lazynet.minimum.minimise import Minimiser
from lazynet.minimum.objective import Certificate, certify
from lazynet.minimum.solvers import Place
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# The working set grows by at most the number of nonzero weights, or by this number.  A feature
# joins it if its correlation exceeds this share of l1.
_LEAST_GROWTH, _SOON = 1000, 0.97
# The most columns of a Hessian; with more, the most products of it with a vector in a step.
_MOST_COLUMNS, _MOST_PRODUCTS = 3000, 12
# The quadratic problem is solved to this share of its violation, or of the target of the gap; and
# the most calls of the kernel for it.
_ACCURACY, _SHARE_OF_TARGET, _MOST_CALLS = 1e-3, 0.1, 60


@dataclass(frozen=True)
class Standing(Place):
    """A place, and the sums over all rows there."""

    #: (1/n) sum s_i a_i x_i, and the derivatives of the loss in the intercept
    u: Any = None
    slope: float = 0.0
    bend: float = 0.0
    #: the factors of positive and of negative duals with which their sum is 0
    sides: tuple[float, float] = (1.0, 1.0)


class NewtonOnSums:
    """Newton steps on the weights that are not 0 or may become so, each checked on all features."""

    name = "newton"

    def __init__(self, mean: MeanOverBlocks, penalty: ElasticNet, target: float) -> None:
        self.mean, self.penalty, self.target, self.damping = mean, penalty, target, 0.0
        # Room for a Hessian: allocating it for each step would take longer than filling it.
        self._room = np.empty((_MOST_COLUMNS + 1) ** 2)

    def look(self, weights: Vector, intercept: float) -> Standing:
        """The sums at these weights, and an estimate of the gap."""
        return self.standing(weights, intercept, self.mean.sums("evaluate", weights, intercept))

    def standing(self, weights: Vector, intercept: float, sums: tuple[Vector, Vector]) -> Standing:
        """The place with its derivatives and an estimate of the gap, from the sums of all rows."""
        mean, l1, l2 = self.mean, self.penalty.l1, self.penalty.l2
        (loss, _, bend, rise, fall, conjugate, first, second), u = sums[0], sums[1] * mean.share
        objective, over = loss + self.penalty.value(weights), np.maximum(np.abs(u) - l1, 0.0)
        # The sum of the conjugates at f a is convex in f, and 0 at f = 0.
        f = l1 / (l1 + over.max(initial=0.0)) if over.any() else 1.0
        dual = -min(f * conjugate, conjugate + (1.0 - f) * (first + 0.5 * (1.0 - f) * second))
        if l2:
            dual = max(dual, -conjugate - over @ over / (2.0 * l2))
        slope, sides = 0.0, (1.0, 1.0)
        if mean.fit_intercept:
            slope = (fall - rise) * mean.share
            sides = (min(fall / rise, 1.0), min(rise / fall, 1.0)) if rise and fall else (0.0, 0.0)
        gap = float(objective - dual + abs(slope) * (1.0 + abs(intercept)))
        place = weights, float(intercept), np.zeros(0), float(objective), gap
        return Standing(*place, u=u, slope=slope, bend=bend, sides=sides)

    def epoch(self, last: Place) -> Standing:
        assert isinstance(last, Standing), "the search began with a look"
        chosen = self._working_set(last)
        solve = self._by_hessian if len(chosen) <= _MOST_COLUMNS else self._by_products
        weights = last.weights.copy()
        weights[chosen], db = solve(last, chosen)
        new = self.look(weights, last.intercept + db)
        # If the change of the objective is as small as its rounding, the gap decides.
        least, most = (last.objective * (1.0 + side * 1e-12) for side in (-1.0, 1.0))
        if new.objective <= least or (new.objective <= most and new.gap < last.gap):
            self.damping *= 0.25
            return new
        self.damping = max(4.0 * self.damping, 0.1)
        away, steps = weights - last.weights, 0.5 ** np.arange(1.0, 9.0)
        options = {"v": sparse.csr_matrix(away), "db": db, "steps": steps}
        losses, _ = self.mean.sums("along", last.weights, last.intercept, **options)
        objectives = losses + [self.penalty.value(last.weights + step * away) for step in steps]
        best = int(np.argmin(objectives))
        if objectives[best] >= last.objective:
            return last
        return self.look(last.weights + steps[best] * away, last.intercept + steps[best] * db)

    def _working_set(self, at: Standing) -> NDArray[np.int64]:
        size, active, l1 = np.abs(at.u), at.weights != 0.0, self.penalty.l1
        grows = (~active & (size > l1)).any()
        joins = ~active & (size > _SOON * l1) if grows else np.zeros_like(active)
        most, joining = max(_LEAST_GROWTH, int(active.sum())), np.flatnonzero(joins)
        if len(joining) > most:
            joining = joining[np.argpartition(size[joining], -most)[-most:]]
        return np.union1d(np.flatnonzero(active), joining)

    def _by_hessian(self, at: Standing, chosen: NDArray[np.int64]) -> tuple[Vector, float]:
        """The minimum of the quadratic model on the working set."""
        l1, l2, old, n = self.penalty.l1, self.penalty.l2, at.weights[chosen], len(chosen)
        # The first step may be inaccurate: a part of the rows is enough if there are many.
        stride = 4 if not old.any() and self.mean.n_rows >= 100 * n else 1
        options = {"features": chosen, "stride": stride}
        _, packed = self.mean.sums("gram", at.weights, at.intercept, **options)
        H = hessian_of(packed, self._room)
        diagonal, of_intercept, bend = np.diag(H)[1:].copy(), H[0, 1:].copy(), H[0, 0]
        # A little more than 0, because columns may be linearly dependent.
        damping = self.damping * diagonal + 1e-12 * diagonal.sum() / max(n, 1)
        H[np.arange(1, n + 1), np.arange(1, n + 1)] += damping
        moves = self.mean.fit_intercept and bend > 0.0
        slopes, new, size = at.u[chosen], old.copy(), np.abs(old).sum()
        if moves:
            slopes = slopes + of_intercept * (at.slope / bend)
        pull = slopes - l2 * old
        violation = np.where(old, np.abs(pull - l1 * np.sign(old)), np.abs(pull) - l1)
        accuracy = _ACCURACY * violation.max(initial=0.0)
        if size:
            accuracy = max(accuracy, _SHARE_OF_TARGET * self.target / size)
        for _ in range(_MOST_CALLS):
            if not descend(H, new, slopes, l1, l2, moves, accuracy) > accuracy:
                break
        return new, float(-(at.slope + of_intercept @ (new - old)) / bend) if moves else 0.0

    def _by_products(self, at: Standing, chosen: NDArray[np.int64]) -> tuple[Vector, float]:
        """Conjugate gradients with the signs held; a weight that would change its sign is 0."""
        mean, l1, l2, w = self.mean, self.penalty.l1, self.penalty.l2, at.weights[chosen]
        signs = np.where(w != 0.0, np.sign(w), np.sign(at.u[chosen]))
        here = at.weights, at.intercept
        (bend,), diagonal = mean.sums("diagonal", *here)
        scale = np.append(diagonal[chosen] + l2, bend) * (1.0 + self.damping) + 1e-300
        r = np.append(at.u[chosen] - l2 * w - l1 * signs, -at.slope)
        x, z = np.zeros(len(r)), r / scale
        p, least = z, 1e-3 * float(r @ z)
        for _ in range(_MOST_PRODUCTS):
            rz = float(r @ z)
            if rz <= least:
                break
            vb = p[-1] if mean.fit_intercept else 0.0
            v = sparse.csr_matrix((p[:-1], chosen, [0, len(chosen)]), (1, mean.n_columns))
            (last,), full = mean.sums("product", *here, v=v, vb=vb)
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
    """Finds the minimum of one output, with the rows on workers."""

    mean: MeanOverBlocks  # type: ignore[assignment]

    def __init__(self, mean: MeanOverBlocks, intercept: float) -> None:
        """``intercept`` is the first estimate of the best intercept of zero weights."""
        self.mean, self.far_targets, self.weights = mean, False, np.zeros(mean.n_columns)
        self.duals, self._correlations, self._known_duals = np.zeros(0), None, None
        least = np.inf
        for _ in range(30):
            sums = mean.sums("evaluate", self.weights, intercept)
            loss, lost, bend, rise, fall, *_ = sums[0]
            if not np.isfinite(loss):
                raise ValueError("y is so large that the loss of zero weights overflows; scale y")
            if not loss < least:
                break
            self.at_zero, self._rounding_at_zero, least = float(loss), float(lost), loss
            self._at_zero, step = (intercept, sums), (rise - fall) * mean.share
            if not mean.fit_intercept or bend <= 0.0 or abs(step) <= 1e-8 * loss:
                break
            intercept += step / bend
        self.intercept = self._at_zero[0]

    def start_from(self, coef: Vector, intercept: float, duals: Vector | None = None) -> None:
        self.weights, self.intercept = np.array(coef, dtype=np.float64), intercept

    def _begin(
        self, penalty: ElasticNet, target: float, max_iter: int
    ) -> tuple[NewtonOnSums, Standing]:
        search = NewtonOnSums(self.mean, penalty, target)
        if self.weights.any():
            return search, search.look(self.weights, self.intercept)
        return search, search.standing(self.weights, *self._at_zero)

    def _certificate(self, penalty: ElasticNet, at: Place, target: float) -> Certificate:
        assert isinstance(at, Standing), "the search began with a look"
        mean, sums = self.mean, partial(self.mean.sums, weights=at.weights, b=at.intercept)
        (*loss, rise, fall, value, lost), cells = sums("proof", sides=at.sides)

        def conjugate(_: Any, factor: float) -> Any:
            if factor == 1.0:
                return value, lost
            return sums("conjugate_of", sides=at.sides, factor=factor)[0]

        # What ``certify`` asks of a mean loss, from the sums at this place.
        proof: Any = SimpleNamespace(
            share=mean.share,
            balance=lambda duals: rise - fall if mean.fit_intercept else 0.0,
            margins=lambda weights, compensated: None,
            value=lambda margins, intercept: loss,
            compensated_sums=lambda duals: cells,
            conjugate=conjugate,
        )
        return certify(proof, penalty, at.weights, at.intercept, at.duals)
