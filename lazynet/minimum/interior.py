"""An interior point method for small problems with a loss whose slope jumps.

Such a loss is a sum of hinges h [c - d p]+, a few for every row, with d = -1 or +1 and a height h.
The method solves, with the heights as factors of s,

    min  sum_k s_k xi_k + l1 sum_j (u_j + v_j) + l2/2 |w|^2     over  t, xi, u, v >= 0,
         w = u - v,    t_k = d_k (x_k.w + b) - c_k + xi_k

together with its dual, which has a number for each of these: alpha_k for t_k, s_k - alpha_k for
xi_k, l1 - q_j for u_j, and l1 + q_j for v_j, with q = sum_k alpha_k d_k x_k - l2 w.  Every product
of such a pair is driven to 0 by Newton's method with a predictor and a corrector (Mehrotra 1992).

Property: the objective is that of a linear program (tests/exact/test_losses_that_jump.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.objective import values_and_slopes
from lazynet.minimum.objective import MeanLoss
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]
Vectors = list[Vector]

# The most cells of X, the most unknowns of an equation, and the most nonzeros that are visited to
# copy X.
_CELLS, _UNKNOWNS, _VISITS = 2**20, 512, 2**27
_MOST_STEPS = 80
# How far a step goes towards the nearest bound, and the length below which it is made without a
# corrector.
_NEARLY, _SHORT = 0.995, 0.5
# The share of the first products at which the method ends, and the share below which
# this number of steps without progress ends it: then rounding is larger than the products.
_DONE, _NEAR, _WAITING = 1e-15, 1e-6, 3


class Solution(NamedTuple):
    """Weights and intercept, and the dual variables of the examples."""

    weights: Vector
    intercept: float
    duals: Vector


def suits(mean: MeanLoss) -> bool:
    """Whether the slope of the loss jumps, and a dense copy of X is small enough."""
    n, p = mean.n_rows, mean.n_columns
    return (
        mean.loss.curvature is None
        and 0 < n * p <= _CELLS
        and min(n, p) <= _UNKNOWNS
        and p * mean.n_values <= _VISITS
    )


def _dense(mean: MeanLoss) -> NDArray[np.float64]:
    """X as an array.  ``margins`` checks every row that it reads."""
    one = np.zeros(mean.n_columns)
    columns = np.empty((len(one), mean.n_rows))
    for j, column in enumerate(columns):
        one[j] = 1.0
        column[:] = mean.margins(one)
        one[j] = 0.0
    return columns.T


def _hinges(mean: MeanLoss) -> list[NDArray[np.float64]]:
    """d, c and the heights of the hinges: a line per hinge, a column per row of X."""
    loss, y = mean.loss, mean.y
    at = np.sort([constant + times * loss.epsilon for constant, times in loss.kinks])
    # The slopes on the two sides of every kink.
    places = np.concatenate([[at[0] - 1.0], (at[1:] + at[:-1]) / 2.0, [at[-1] + 1.0]])
    target = np.full(len(places), float(loss.margin))
    slopes = values_and_slopes(loss.code, places, target, loss.epsilon)[1]
    direction, origin = (y, 0.0) if loss.margin else (np.ones_like(y), y)
    hinges = []
    for side, parts in ((1.0, np.minimum(slopes, 0.0)), (-1.0, np.maximum(slopes, 0.0))):
        for kink, height in zip(at, np.diff(parts), strict=True):
            if height > 0.0:
                centre = np.broadcast_to(side * (origin + kink), len(y))
                hinges.append((side * direction, centre, np.full(len(y), height)))
    return [np.stack(part) for part in zip(*hinges, strict=True)]


class _Equations:
    """The equations of a step, with diagonal T and G, for several right-hand sides.

        (X' T X + G) w + X' T 1 b = f + X' g
             1' T X w + 1' T 1 b = h + 1' g

    They are solved for w; where X has too many columns, for a = g - T (X w + b), a number per row,
    which rounding leaves with fewer digits.
    """

    def __init__(self, X: NDArray[np.float64], T: Vector, G: Vector, fit_intercept: bool) -> None:
        self.X, self.T, self.G, self.fit_intercept = X, T, G, fit_intercept
        n, p = X.shape
        self.by_rows = p > _UNKNOWNS
        size = n if self.by_rows else p
        matrix = np.zeros((size + fit_intercept, size + fit_intercept))
        if self.by_rows:
            matrix[:n, :n] = (X / G) @ X.T + np.diag(1.0 / T)
            border, corner = np.ones(n), 0.0
        else:
            matrix[:p, :p] = X.T @ (T[:, None] * X) + np.diag(G)
            border, corner = T @ X, float(T.sum())
        if fit_intercept:
            matrix[size, :size] = matrix[:size, size] = border
            matrix[size, size] = corner
        # The diagonal ranges over many orders of magnitude.
        diagonal = np.abs(np.diag(matrix))
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        self.matrix = matrix * self.scale * self.scale[:, None]

    def solve(self, f: Vector, g: Vector, h: float) -> tuple[Vector, float]:
        """w and b."""
        if self.by_rows:
            right, last = g / self.T - self.X @ (f / self.G), -h
        else:
            right, last = f + self.X.T @ g, h + float(g.sum())
        if self.fit_intercept:
            right = np.append(right, last)
        result = np.linalg.solve(self.matrix, right * self.scale) * self.scale
        b = float(result[-1]) if self.fit_intercept else 0.0
        result = result[: len(result) - self.fit_intercept]
        return (f + self.X.T @ result) / self.G if self.by_rows else result, b


def minimum_inside(mean: MeanLoss, penalty: ElasticNet, intercept: float) -> Solution | None:
    """A point near the minimum; None where rounding lets the method take no step.

    The method begins at zero weights and ``intercept``.  A weight is exactly 0 where that of the
    minimum seems to be.
    """
    counts = np.ones(mean.n_rows) if mean.importances is None else mean.importances
    counted = counts > 0.0
    d, c, heights = (part[:, counted] for part in _hinges(mean))
    X, s = _dense(mean)[counted], mean.share * counts[counted] * heights
    l1, l2 = penalty.l1, penalty.l2
    w, b = np.zeros(X.shape[1]), intercept
    short = c - d * b
    wide = float(np.abs(short).mean()) or 1.0
    t, xi = np.maximum(-short, 0.0) + wide, np.maximum(short, 0.0) + wide
    alpha = s * xi / (t + xi)
    # The numbers of the problem, and those of the dual that belong to them.
    x, z = [t, xi], [alpha, s - alpha]
    if l1 > 0.0:
        first = float((t * alpha).mean()) / l1
        x += [np.full_like(w, first)] * 2
        z += [np.full_like(w, l1)] * 2

    def left_over() -> tuple[Vector, float]:
        """What is left of the conditions on w and b."""
        a = (d * z[0]).sum(axis=0)
        of_w = a @ X - l2 * w + (0.5 * (z[2] - z[3]) if l1 > 0.0 else 0.0)
        return of_w, float(a.sum()) if mean.fit_intercept else 0.0

    def step(equations: _Equations, r: Vectors) -> tuple[Vector, float, Vectors, Vectors]:
        """The step after which x_k z_k has changed by r_k, but for the product of the changes."""
        B = r[0] / z[0] - r[1] / z[1]
        A = r[2] / z[2] - r[3] / z[3] if l1 > 0.0 else 0.0
        g = (d * theta * B).sum(axis=0)
        dw, db = equations.solve(rest + phi * A, g, rest_b)
        dalpha = theta * (B - d * (X @ dw + db))
        dz = [dalpha, -dalpha]
        if l1 > 0.0:
            dz += [phi * (A - dw), -phi * (A - dw)]
        dx = [(rk - xk * dzk) / zk for rk, xk, zk, dzk in zip(r, x, z, dz, strict=True)]
        return dw, db, dx, dz

    n_products = sum(part.size for part in x)
    begun = _products(x, z)
    least, waited, best = np.inf, 0, None
    rest, rest_b = left_over()
    with np.errstate(all="ignore"):
        for _ in range(_MOST_STEPS):
            theta = 1.0 / (x[0] / z[0] + x[1] / z[1])
            phi = 1.0 / (x[2] / z[2] + x[3] / z[3]) if l1 > 0.0 else np.zeros_like(w)
            try:
                equations = _Equations(X, theta.sum(axis=0), phi + l2, mean.fit_intercept)
                _, _, dx, dz = step(equations, [-xk * zk for xk, zk in zip(x, z, strict=True)])
                reach, now = min(1.0, _reach(x + z, dx + dz)), _products(x, z)
                after = _products(_moved(x, dx, reach), _moved(z, dz, reach))
                aim = (after / now) ** 3 * now / n_products
                r = [aim - x[k] * z[k] - dx[k] * dz[k] for k in range(len(x))]
                dw, db, dx, dz = step(equations, r)
                if _reach(x + z, dx + dz) < _SHORT:
                    # The corrector leads to where it is not true, and may do so for ever.
                    aim = 0.5 * now / n_products
                    dw, db, dx, dz = step(equations, [aim - x[k] * z[k] for k in range(len(x))])
            except np.linalg.LinAlgError:
                break
            reach = min(1.0, _NEARLY * _reach(x + z, dx + dz))
            w, b = w + reach * dw, b + reach * db
            x, z = _moved(x, dx, reach), _moved(z, dz, reach)
            rest, rest_b = left_over()
            result = _products(x, z) + float(np.abs(rest) @ np.abs(w)) + abs(rest_b * b)
            if not np.isfinite(result):
                break
            if result < least:
                least, waited, best = result, 0, (w, b, x, z)
            elif least <= _NEAR * begun:
                waited += 1
            if least <= _DONE * begun or waited == _WAITING:
                break
    if best is None:
        return None
    w, b, x, z = best
    if l1 > 0.0:
        # Of the two numbers of a pair, which are seen in units of their first values, one vanishes.
        w = np.where(np.maximum(x[2], x[3]) / first > np.minimum(z[2], z[3]) / l1, w, 0.0)
    duals = np.zeros(mean.n_rows)
    duals[counted] = (d * heights * np.clip(z[0] / s, 0.0, 1.0)).sum(axis=0)
    return Solution(w, float(b), duals)


def _products(x: Vectors, z: Vectors) -> float:
    return sum(float((xk * zk).sum()) for xk, zk in zip(x, z, strict=True))


def _moved(at: Vectors, change: Vectors, reach: float) -> Vectors:
    return [part + reach * by for part, by in zip(at, change, strict=True)]


def _reach(at: Vectors, change: Vectors) -> float:
    """How far a step may go before a number becomes negative; at most so far that 1 is in reach.

    >>> _reach([np.array([1.0, 1.0])], [np.array([-2.0, 3.0])])
    0.5
    """
    most = 1.0 / _NEARLY
    for part, by in zip(at, change, strict=True):
        falls = by < 0.0
        if falls.any():
            most = min(most, float((-part[falls] / by[falls]).min()))
    return most
