"""An interior point method for small problems with a loss whose slope jumps.

Such a loss is a sum of hinges [c - z.w - d b]+, one or two for every row, with d = -1 or +1 and
z = d x.  The method solves

    min  sum_k s_k xi_k + l1 sum_j (u_j + v_j) + l2/2 |u - v|^2     over  xi, t, u, v >= 0,
         t_k = z_k.(u - v) + d_k b + xi_k - c_k

together with its dual: alpha_k and s_k - alpha_k belong to t_k and xi_k, and l1 - q_j and l1 + q_j
to u_j and v_j, q = sum_k alpha_k z_k - l2 (u - v).  Every product of such a pair is driven to 0 by
Newton's method with a predictor and a corrector (Mehrotra 1992).  A step solves linear equations in
as many unknowns as X has rows or columns, whichever are fewer.

Property: the objective is that of a linear program (tests/exact/test_losses_that_jump.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.mean import MeanLoss
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

# The most cells of X, the most unknowns, and the most nonzeros that are visited to copy X.
_CELLS, _UNKNOWNS, _VISITS = 2**20, 512, 2**27
_MOST_STEPS, _WAITING = 80, 3
# How far a step goes towards the nearest bound, and the products at which the method ends, relative
# to the objective at zero weights.
_NEARLY, _NEAR, _DONE = 0.995, 1e-6, 1e-15


class Solution(NamedTuple):
    """Weights and intercept, and the dual variables of the examples."""

    weights: Vector
    intercept: float
    duals: Vector


def suits(mean: MeanLoss) -> bool:
    """Whether the slope of the loss jumps, and X is small enough for a dense copy."""
    n, p = mean.n_rows, mean.examples.n_columns
    return (
        mean.loss.curvature is None
        and 0 < n * p <= _CELLS
        and min(n, p) <= _UNKNOWNS
        and p * mean.examples.n_values <= _VISITS
    )


def _dense(mean: MeanLoss) -> NDArray[np.float64]:
    """X as an array.  Every read goes through the checks of the examples."""
    columns, one = np.empty((mean.examples.n_columns, mean.n_rows)), np.zeros(
        mean.examples.n_columns
    )
    for j in range(len(columns)):
        one[j] = 1.0
        columns[j] = mean.margins(one)
        one[j] = 0.0
    return columns.T


def _hinges(mean: MeanLoss) -> tuple[Vector, Vector]:
    """d and c of the hinges: an array with a line per hinge and a column per row of X."""
    loss, y = mean.loss, mean.y
    kinks = [at + times * loss.epsilon for at, times in loss.kinks]
    if loss.margin:
        return y[None, :], np.full((1, len(y)), kinks[0])
    low, high = y + min(kinks), y + max(kinks)
    return np.stack([np.ones_like(y), -np.ones_like(y)]), np.stack([low, -high])


FORCE = False


class _Equations:
    """The equations of a step, for several right-hand sides.

        (X' T X + G) w + X' T 1 b = f + X' g,    1' T X w + 1' T 1 b = h + 1' g

    with diagonal T and G.  They are solved for w where X has fewer columns than rows, and for
    a = g - T (X w + b), a number per row, otherwise.
    """

    def __init__(self, X: NDArray[np.float64], T: Vector, G: Vector, fit_intercept: bool) -> None:
        self.X, self.T, self.G, self.fit_intercept = X, T, G, fit_intercept
        n, p = X.shape
        self.by_rows = n < p and FORCE
        size = n if self.by_rows else p
        matrix = np.zeros((size + fit_intercept, size + fit_intercept))
        if self.by_rows:
            matrix[:n, :n] = (X / G) @ X.T
            matrix.flat[: n * len(matrix) : len(matrix) + 1] += 1.0 / T
            border, corner = np.ones(n), 0.0
        else:
            matrix[:p, :p] = X.T @ (T[:, None] * X)
            matrix.flat[: p * len(matrix) : len(matrix) + 1] += G
            border, corner = T @ X, float(T.sum())
        if fit_intercept:
            matrix[size, :size] = matrix[:size, size] = border
            matrix[size, size] = corner
        # Both diagonals range over many orders of magnitude.
        diagonal = np.abs(np.diag(matrix))
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        self.matrix = matrix * self.scale * self.scale[:, None]

    def _solve(self, right: Vector) -> Vector:
        return np.linalg.solve(self.matrix, right * self.scale) * self.scale

    def solve(self, f: Vector, g: Vector, h: float) -> tuple[Vector, float, Vector]:
        """w, b and a."""
        X, T, G = self.X, self.T, self.G
        if self.by_rows:
            right = g / T - X @ (f / G)
            found = self._solve(np.append(right, -h) if self.fit_intercept else right)
            a = found[: len(g)]
            return (f + X.T @ a) / G, float(found[-1]) if self.fit_intercept else 0.0, a
        right = f + X.T @ g
        found = self._solve(np.append(right, h + g.sum()) if self.fit_intercept else right)
        w, b = found[: len(f)], float(found[-1]) if self.fit_intercept else 0.0
        return w, b, g - T * (X @ w + b)


def minimum_inside(mean: MeanLoss, penalty: ElasticNet, intercept: float) -> Solution | None:
    """A point near the minimum; None where rounding lets the method come nowhere.

    ``intercept`` is where the method begins.  A weight that vanishes at the minimum is exactly 0.
    """
    counts = np.ones(mean.n_rows) if mean.importances is None else mean.importances
    counted = counts > 0.0
    X, s = _dense(mean)[counted], mean.share * counts[counted]
    d, c = (part[:, counted] for part in _hinges(mean))
    l1, l2 = penalty.l1, penalty.l2
    n, p = X.shape
    intercept = intercept if mean.fit_intercept else 0.0
    b, w = intercept, np.zeros(p)
    short = c - d * b
    wide = float(np.abs(short).mean()) or 1.0
    xi, t = np.maximum(short, 0.0) + wide, np.maximum(-short, 0.0) + wide
    alpha = s * xi / (t + xi)
    beta = s - alpha
    first = float((t * alpha).mean())
    u = v = np.full(p, first / l1 if l1 > 0.0 else 0.0)
    zu = zv = np.full(p, l1)
    n_products = 2 * alpha.size + (2 * p if l1 > 0.0 else 0)

    def products() -> float:
        return float((t * alpha).sum() + (xi * beta).sum() + u @ zu + v @ zv)

    begun = products()
    least, waited, best = np.inf, 0, None
    # What is left of the conditions on w and b.
    a = (d * alpha).sum(axis=0)
    left, left_b = a @ X, float(a.sum())
    with np.errstate(all="ignore"):
        for _ in range(_MOST_STEPS):
            theta = 1.0 / (t / alpha + xi / beta)
            phi = 1.0 / (u / zu + v / zv) if l1 > 0.0 else np.zeros(p)
            T = theta.sum(axis=0)
            try:
                equations = _Equations(X, T, phi + l2, mean.fit_intercept)
                step = None
                for corrected in (False, True):
                    r = [-t * alpha, -xi * beta, -u * zu, -v * zv]
                    if corrected:
                        dw, db, dt, dxi, dalpha, du, dv, dzu = step
                        reach = _reach((t, dt), (xi, dxi), (alpha, dalpha), (beta, -dalpha),
                                       (u, du), (v, dv), (zu, dzu), (zv, -dzu))
                        now = products()
                        after = float(
                            ((t + reach * dt) * (alpha + reach * dalpha)).sum()
                            + ((xi + reach * dxi) * (beta - reach * dalpha)).sum()
                            + (u + reach * du) @ (zu + reach * dzu)
                            + (v + reach * dv) @ (zv - reach * dzu)
                        )
                        aim = (after / now) ** 3 * now / n_products
                        r[0] += aim - dt * dalpha
                        r[1] += aim + dxi * dalpha
                        if l1 > 0.0:
                            r[2] += aim - du * dzu
                            r[3] += aim + dv * dzu
                    B = r[0] / alpha - r[1] / beta
                    A = r[2] / zu - r[3] / zv if l1 > 0.0 else np.zeros(p)
                    dw, db, _ = equations.solve(
                        left + phi * A, (d * theta * B).sum(axis=0), left_b
                    )
                    along = d * (X @ dw + db)
                    dalpha = theta * (B - along)
                    dt, dxi = (r[0] - t * dalpha) / alpha, (r[1] + xi * dalpha) / beta
                    dzu = phi * (A - dw)
                    du = (r[2] - u * dzu) / zu if l1 > 0.0 else np.zeros(p)
                    dv = (r[3] + v * dzu) / zv if l1 > 0.0 else np.zeros(p)
                    step = dw, db, dt, dxi, dalpha, du, dv, dzu
            except np.linalg.LinAlgError:
                break
            reach = _NEARLY * _reach((t, dt), (xi, dxi), (alpha, dalpha), (beta, -dalpha),
                                     (u, du), (v, dv), (zu, dzu), (zv, -dzu))
            reach = min(1.0, reach)
            if not (reach > 1e-10 and np.isfinite(dw).all() and np.isfinite(db)):
                break
            w, b = w + reach * dw, b + reach * db
            t, xi = t + reach * dt, xi + reach * dxi
            alpha, beta = alpha + reach * dalpha, beta - reach * dalpha
            u, v, zu, zv = u + reach * du, v + reach * dv, zu + reach * dzu, zv - reach * dzu
            a = (d * alpha).sum(axis=0)
            left, left_b = a @ X - l2 * w + 0.5 * (zu - zv), float(a.sum())
            found = products() + np.abs(left) @ np.abs(w) + abs(left_b * b)
            if found < least:
                least, waited = found, 0
                best = w, b, u, v, zu, zv, alpha
            elif least <= _NEAR * begun:
                # From here on rounding is larger than what is left.
                waited += 1
            if least <= _DONE * begun or waited == _WAITING:
                break
    if best is None:
        return None
    w, b, u, v, zu, zv, alpha = best
    weights = np.where(np.maximum(u, v) > np.minimum(zu,zv), w, 0.0) if l1 > 0.0 else w
    duals = np.zeros(mean.n_rows)
    duals[counted] = (d * np.clip(alpha / s, 0.0, 1.0)).sum(axis=0)
    return Solution(weights, float(b), duals)


def _reach(*pairs: tuple[Vector, Vector]) -> float:
    """How far a step may go before a number becomes negative, at most 1."""
    most = 1.0
    for at, change in pairs:
        falls = change < 0.0
        if falls.any():
            most = min(most, float((-at[falls] / change[falls]).min()))
    return most
