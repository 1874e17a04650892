"""Dual coordinate ascent with an elastic net and a proximal centre.

Shalev-Shwartz & Zhang, Accelerated Proximal Stochastic Dual Coordinate Ascent for Regularized Loss
Minimization (2014), with the elastic net of this package.  The problem is to minimise

    P(w, b) = (1/n) sum_i s_i l(p_i, y_i) + l1 |w|_1 + l2/2 |w|^2,    p_i = x_i.w + b,

where s_i is the importance of example i, n = sum_i s_i, and the intercept b has no penalty.  Every
example has a dual variable alpha_i, which is -l'(p_i) at the minimum.  With
u = (1/n) sum_i s_i alpha_i x_i, every alpha gives a lower bound of P:

    D(alpha) = -(1/n) sum_i s_i l*(-alpha_i) - sum_j [ |u_j| - l1 ]+^2 / (2 l2)  <=  P(w, b),

where l*(v) = sup_p (v p - l(p, y)) is the conjugate of the loss.  The bound holds under two
conditions: |u_j| <= l1 for every j if l2 = 0, and sum_i s_i alpha_i = 0 if an intercept is fitted.

The conjugates are finite on an interval that contains 0, and 0 at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lazynet.reference.losses import LOSSES


def _clip(v: Any, least: Any, most: Any) -> Any:
    return least if v < least else most if v > most else v


def _soft(v: Any, a: Any) -> Any:
    """sgn(v) [ |v| - a ]+"""
    return v - a if v > a else v + a if v < -a else 0 * v


# --- the conjugates l*(-alpha) ------------------------------------------------------------------


def _within(value: Any, v: Any, least: Any, most: Any) -> Any:
    """``value`` where least <= v <= most, and infinity elsewhere."""
    return value if least <= v <= most else math.inf


def _conjugate_of_log_loss(alpha: float, y: float, epsilon: float) -> float:
    beta = y * alpha
    if beta in (0.0, 1.0):
        return 0.0
    if not 0.0 < beta < 1.0:
        return math.inf
    return beta * math.log(beta) + (1.0 - beta) * math.log1p(-beta)


def _conjugate_of_hinge(alpha: Any, y: Any, epsilon: Any) -> Any:
    return _within(-y * alpha, y * alpha, 0, 1)


def _conjugate_of_squared_hinge(alpha: Any, y: Any, epsilon: Any) -> Any:
    return _within(alpha * alpha / 4 - y * alpha, y * alpha, 0, math.inf)


def _conjugate_of_modified_huber(alpha: Any, y: Any, epsilon: Any) -> Any:
    return _within(alpha * alpha / 4 - y * alpha, y * alpha, 0, 4)


def _conjugate_of_squared_error(alpha: Any, y: Any, epsilon: Any) -> Any:
    return alpha * alpha / 2 - y * alpha


def _conjugate_of_absolute_error(alpha: Any, y: Any, epsilon: Any) -> Any:
    return _within(-y * alpha, alpha, -1, 1)


def _conjugate_of_huber(alpha: Any, y: Any, epsilon: Any) -> Any:
    return _within(alpha * alpha / 2 - y * alpha, alpha, -epsilon, epsilon)


def _conjugate_of_epsilon_insensitive(alpha: Any, y: Any, epsilon: Any) -> Any:
    return _within(epsilon * abs(alpha) - y * alpha, alpha, -1, 1)


def _conjugate_of_smooth_hinge(alpha: Any, y: Any, epsilon: Any) -> Any:
    return _within(alpha * alpha / 2 - y * alpha, y * alpha, 0, 1)


def _conjugate_of_perceptron(alpha: Any, y: Any, epsilon: Any) -> Any:
    return _within(0 * alpha, y * alpha, 0, 1)


def _conjugate_of_squared_epsilon_insensitive(alpha: Any, y: Any, epsilon: Any) -> Any:
    return alpha * alpha / 4 + epsilon * abs(alpha) - y * alpha


# --- the updates, for q > 0 ---------------------------------------------------------------------


def _best_of_log_loss(alpha: float, p: float, y: float, q: float, epsilon: float) -> float:
    """By bisection: the derivative, which is here taken with the sign changed, rises in beta."""
    old, least, most = y * alpha, 0.0, 1.0
    while True:
        beta = least + (most - least) / 2
        if beta in (least, most):
            return y * beta
        if math.log(beta) - math.log1p(-beta) + q * (beta - old) + y * p < 0:
            least = beta
        else:
            most = beta


def _best_of_hinge(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    return y * _clip(y * alpha + (1 - y * p) / q, 0, 1)


def _best_of_squared_hinge(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    return y * max(0, 2 * (1 - y * p + q * y * alpha) / (1 + 2 * q))


def _best_of_modified_huber(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    return y * _clip(2 * (1 - y * p + q * y * alpha) / (1 + 2 * q), 0, 4)


def _best_of_squared_error(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    return (y - p + q * alpha) / (1 + q)


def _best_of_absolute_error(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    return _clip(alpha + (y - p) / q, -1, 1)


def _best_of_huber(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    return _clip((y - p + q * alpha) / (1 + q), -epsilon, epsilon)


def _best_of_epsilon_insensitive(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    # q divides last: epsilon / q and (y - p) / q might both be infinite.
    return _clip(_soft(y - p + q * alpha, epsilon) / q, -1, 1)


def _best_of_smooth_hinge(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    return y * _clip((1 - y * p + q * y * alpha) / (1 + q), 0, 1)


def _best_of_perceptron(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    return y * _clip(y * alpha - y * p / q, 0, 1)


def _best_of_squared_epsilon_insensitive(alpha: Any, p: Any, y: Any, q: Any, epsilon: Any) -> Any:
    return 2 * _soft(y - p + q * alpha, epsilon) / (1 + 2 * q)


Conjugate = Callable[[Any, Any, Any], Any]
Update = Callable[[Any, Any, Any, Any, Any], Any]

#: name -> (conjugate, update)
DUALS: dict[str, tuple[Conjugate, Update]] = {
    "log_loss": (_conjugate_of_log_loss, _best_of_log_loss),
    "hinge": (_conjugate_of_hinge, _best_of_hinge),
    "squared_hinge": (_conjugate_of_squared_hinge, _best_of_squared_hinge),
    "modified_huber": (_conjugate_of_modified_huber, _best_of_modified_huber),
    "squared_error": (_conjugate_of_squared_error, _best_of_squared_error),
    "absolute_error": (_conjugate_of_absolute_error, _best_of_absolute_error),
    "huber": (_conjugate_of_huber, _best_of_huber),
    "epsilon_insensitive": (_conjugate_of_epsilon_insensitive, _best_of_epsilon_insensitive),
    "smooth_hinge": (_conjugate_of_smooth_hinge, _best_of_smooth_hinge),
    "perceptron": (_conjugate_of_perceptron, _best_of_perceptron),
    "squared_epsilon_insensitive": (
        _conjugate_of_squared_epsilon_insensitive,
        _best_of_squared_epsilon_insensitive,
    ),
}


def conjugate(loss: str, alpha: Any, y: Any, epsilon: Any = 0.1) -> Any:
    """l*(-alpha) = sup_p (-alpha p - l(p, y)), which is infinite outside of an interval.

    >>> conjugate("squared_error", 2.0, 3.0)  # at p = 1: -2 - 2
    -4.0
    >>> conjugate("hinge", 0.5, 1.0), conjugate("hinge", -0.5, 1.0)
    (-0.5, inf)
    """
    return DUALS[loss][0](alpha, y, epsilon)


def best_dual(loss: str, alpha: Any, p: Any, y: Any, q: Any, epsilon: Any = 0.1) -> Any:
    """The a that maximises -l*(-a) - p (a - alpha) - (q/2) (a - alpha)^2.

    For q = 0, where the maximum may be at more than one a, the result is -l'(p).

    >>> best_dual("squared_error", 1.0, 0.0, 3.0, 1.0)  # -a + 3 - (a - 1) = 0
    2.0
    >>> best_dual("hinge", 0.0, 0.5, 1.0, 1.0), best_dual("hinge", 0.0, 0.5, 1.0, 0.0)
    (0.5, 1.0)
    """
    if not q:
        return -LOSSES[loss][1](p, y, epsilon)
    return DUALS[loss][1](alpha, p, y, q, epsilon)


class DenseDualAscent:
    """One dual variable at a time, on P(w, b) + kappa/2 |w - c|^2 + kappa_b/2 (b - c_b)^2.

    The state is nothing but the dual variables and the centres c and c_b.  With z = u + kappa c,

        w = sgn(z) [ |z| - l1 ]+ / (l2 + kappa),        b = (1/n) sum_i s_i alpha_i / kappa_b + c_b.

    A step on example i raises the dual objective of this centred problem, or does not change it.
    ``recentre`` makes w and b the new centres, and the minimum of the next centred problem is then
    nearer to the minimum of P.  Without an intercept, kappa = 0 solves P itself, if l2 > 0.

    >>> twin = DenseDualAscent([[2.0]], [3.0], loss="squared_error", l1=0.5, l2=1.0)
    >>> twin.step(0), twin.duals, twin.weights  # q = 4: alpha = 3/5, u = 6/5, w = 6/5 - 1/2
    (0.0, [0.6], [0.7])
    >>> twin.step(0), twin.duals, twin.weights
    (1.4, [0.8], [1.1])
    >>> [round(number, 9) for number in twin.certificate()]  # 0.32 + 0.55 + 0.605
    [1.475, 1.475, 0.0]

    With a centre and an intercept:

    >>> twin = DenseDualAscent(
    ...     [[1.0], [2.0]], [3.0, -1.0], loss="squared_error", l1=0.25, kappa=0.5,
    ...     fit_intercept=True, kappa_intercept=2.0)
    >>> twin.duals, twin.centre, twin.centre_intercept = [2.0, -1.0], [1.5], 0.25
    >>> twin.z, twin.weights  # u = (2 - 2) / 2 and z = u + 0.75
    ([0.75], [1.0])
    >>> twin.intercept  # (2 - 1) / 2 / 2 + 0.25
    0.5
    >>> twin.prediction(1, twin.weights, twin.intercept)
    2.5
    """

    def __init__(
        self,
        rows: Sequence[Sequence[Any]],
        targets: Sequence[Any],
        *,
        importances: Sequence[Any] | None = None,
        loss: str = "log_loss",
        l1: Any = 0,
        l2: Any = 0,
        kappa: Any = 0,
        fit_intercept: bool = False,
        kappa_intercept: Any = 1,
        epsilon: Any = 0.1,
        zero: Any = 0.0,
    ) -> None:
        self.rows, self.targets = rows, targets
        self.importances = [1] * len(rows) if importances is None else importances
        self.total = zero + sum(self.importances)
        self.loss, self.epsilon = loss, epsilon
        self.l1, self.l2, self.fit_intercept = l1, l2, fit_intercept
        self.kappa, self.kappa_intercept = kappa, kappa_intercept
        self._check_kappa()
        self.duals: list[Any] = [zero] * len(rows)
        self.centre: list[Any] = [zero] * len(rows[0])
        self.centre_intercept: Any = zero

    def _check_kappa(self) -> None:
        if not self.l2 + self.kappa > 0:
            raise ValueError(f"kappa must be greater than 0 where l2 is 0, got {self.kappa}")
        if self.fit_intercept and not self.kappa_intercept > 0:
            raise ValueError(f"kappa_intercept must be greater than 0, got {self.kappa_intercept}")

    # --- the primal variables, from the dual ones ---

    def correlations(self, duals: Sequence[Any]) -> list[Any]:
        """u = (1/n) sum_i s_i alpha_i x_i of any dual variables.

        >>> twin = DenseDualAscent([[1.0, 0.0], [2.0, 3.0]], [1.0, -1.0], l2=1.0)
        >>> twin.correlations([4.0, 2.0])
        [4.0, 3.0]
        """
        moves = [s * alpha for s, alpha in zip(self.importances, duals, strict=True)]
        columns = zip(*self.rows, strict=True)
        return [
            sum(move * x for move, x in zip(moves, column, strict=True)) / self.total
            for column in columns
        ]

    def balance(self, duals: Sequence[Any]) -> Any:
        """(1/n) sum_i s_i alpha_i of any dual variables.

        >>> DenseDualAscent([[1.0], [1.0]], [1.0, 1.0], importances=[3, 1], l2=1.0).balance([2, -2])
        1.0
        """
        return sum(s * a for s, a in zip(self.importances, duals, strict=True)) / self.total

    @property
    def z(self) -> list[Any]:
        """u + kappa c."""
        u = self.correlations(self.duals)
        return [v + self.kappa * c for v, c in zip(u, self.centre, strict=True)]

    @property
    def weights(self) -> list[Any]:
        """The weights as of now."""
        return [_soft(v, self.l1) / (self.l2 + self.kappa) for v in self.z]

    @property
    def intercept(self) -> Any:
        """The intercept as of now; 0 if none is fitted."""
        if not self.fit_intercept:
            return 0
        return self.balance(self.duals) / self.kappa_intercept + self.centre_intercept

    def prediction(self, i: int, weights: Sequence[Any], intercept: Any) -> Any:
        """x_i.w + b."""
        return sum((x * w for x, w in zip(self.rows[i], weights, strict=True)), start=intercept)

    # --- learning ---

    def curvature(self, i: int) -> Any:
        """q = s_i |x_i|^2 / (n (l2 + kappa)), and s_i / (n kappa_b) for the intercept.

        >>> options = dict(importances=[2.0, 2.0], l2=1.0, kappa=1.0)
        >>> DenseDualAscent([[3.0, 1.0], [0.0, 0.0]], [1.0, 1.0], **options).curvature(0)
        2.5
        """
        share = self.importances[i] / self.total
        q = share * sum(x * x for x in self.rows[i]) / (self.l2 + self.kappa)
        return q + share / self.kappa_intercept if self.fit_intercept else q

    def step(self, i: int) -> Any:
        """Take the best alpha_i with the others fixed; return the prediction made before."""
        p = self.prediction(i, self.weights, self.intercept)
        self.duals[i] = best_dual(
            self.loss, self.duals[i], p, self.targets[i], self.curvature(i), self.epsilon
        )
        return p

    def recentre(self, kappa: Any = None, kappa_intercept: Any = None) -> None:
        """Make w and b the new centres, with another kappa from here on where one is given.

        >>> twin = DenseDualAscent([[2.0]], [3.0], loss="squared_error", kappa=1.0)
        >>> twin.step(0), twin.weights
        (0.0, [1.2])
        >>> twin.recentre(kappa=2.0)
        >>> twin.centre, twin.z, twin.weights  # 1.2 + 2 * 1.2
        ([1.2], [3.5999999999999996], [1.7999999999999998])
        """
        self.centre, self.centre_intercept = self.weights, self.intercept
        if kappa is not None:
            self.kappa = kappa
        if kappa_intercept is not None:
            self.kappa_intercept = kappa_intercept
        self._check_kappa()

    # --- objectives ---

    def objective(self, weights: Sequence[Any] | None = None, intercept: Any = None) -> Any:
        """P at the present weights and intercept, or at those given.

        >>> twin = DenseDualAscent([[2.0]], [3.0], loss="squared_error", l1=0.5, l2=1.0)
        >>> twin.objective(), twin.objective([1.0], 0.0)  # 9/2;  1/2 + 1/2 + 1/2
        (4.5, 1.5)
        """
        w = self.weights if weights is None else weights
        b = self.intercept if intercept is None else intercept
        value = LOSSES[self.loss][0]
        losses = sum(
            s * value(self.prediction(i, w, b), self.targets[i], self.epsilon)
            for i, s in enumerate(self.importances)
        )
        return losses / self.total + sum(self.l1 * abs(v) + self.l2 * v * v / 2 for v in w)

    def centred_objective(self) -> Any:
        """P + kappa/2 |w - c|^2 + kappa_b/2 (b - c_b)^2 at the present weights and intercept.

        >>> twin = DenseDualAscent([[1.0]], [3.0], loss="squared_error", kappa=1.0)
        >>> twin.step(0), twin.weights, twin.centred_objective()  # 1.5^2/2 + 1.5^2/2
        (0.0, [1.5], 2.25)
        >>> twin.centred_dual_objective()  # the minimum
        2.25
        """
        value = self.objective()
        for w, c in zip(self.weights, self.centre, strict=True):
            value += self.kappa * (w - c) * (w - c) / 2
        away = self.intercept - self.centre_intercept
        return value + self.kappa_intercept * away * away / 2

    def centred_dual_objective(self) -> Any:
        """The dual objective of the centred problem, at most ``centred_objective``.

        -(1/n) sum_i s_i l*(-alpha_i) - sum_j [ |z_j| - l1 ]+^2 / (2 (l2 + kappa)) + kappa/2 |c|^2,
        and for the intercept -z_b^2 / (2 kappa_b) + kappa_b/2 c_b^2 with z_b = kappa_b b.
        """
        value = -self._conjugates(self.duals)
        for w, c in zip(self.weights, self.centre, strict=True):
            value += (self.kappa * c * c - (self.l2 + self.kappa) * w * w) / 2
        b, c = self.intercept, self.centre_intercept
        return value + self.kappa_intercept * (c * c - b * b) / 2

    def _conjugates(self, duals: Sequence[Any]) -> Any:
        """(1/n) sum_i s_i l*(-alpha_i); an example of importance 0 adds nothing."""
        return (
            sum(
                s * conjugate(self.loss, alpha, y, self.epsilon)
                for s, alpha, y in zip(self.importances, duals, self.targets, strict=True)
                if s
            )
            / self.total
        )

    # --- the certificate ---

    def balanced(self, duals: Sequence[Any]) -> list[Any]:
        """The dual variables with sum_i s_i alpha_i = 0.

        The variables of one sign are multiplied by a number between 0 and 1, which leaves each of
        them in the interval on which its conjugate is finite.

        >>> DenseDualAscent([[1.0]] * 3, [1.0] * 3, l2=1.0).balanced([3.0, 1.0, -2.0])
        [1.5, 0.5, -2.0]
        """
        moves = [s * alpha for s, alpha in zip(self.importances, duals, strict=True)]
        up = sum(move for move in moves if move > 0)
        down = -sum(move for move in moves if move < 0)
        if up == down:
            return list(duals)
        if up > down:
            return [alpha * down / up if alpha > 0 else alpha for alpha in duals]
        return [alpha * up / down if alpha < 0 else alpha for alpha in duals]

    def scaled(self, duals: Sequence[Any]) -> list[Any]:
        """The dual variables times the greatest number up to 1 that makes every |u_j| <= l1.

        >>> DenseDualAscent([[1.0, 4.0]], [1.0], l1=2.0, kappa=1.0).scaled([2.0])
        [0.5]
        """
        largest = max(abs(u) for u in self.correlations(duals))
        if largest <= self.l1:
            return list(duals)
        return [alpha * self.l1 / largest for alpha in duals]

    def dual_objective(self, duals: Sequence[Any] | None = None) -> Any:
        """D at the present dual variables, or at those given, once they meet D's two conditions.

        The variables are changed for this only: ``balanced`` if an intercept is fitted, then
        ``scaled`` if l2 = 0, which keeps the balance.

        >>> twin = DenseDualAscent([[1.0, 4.0]], [1.0], loss="hinge", l1=2.0, kappa=1.0)
        >>> twin.dual_objective([1.0])  # at alpha = 0.5
        0.5
        """
        duals = self.duals if duals is None else duals
        if self.fit_intercept:
            duals = self.balanced(duals)
        if not self.l2:
            return -self._conjugates(self.scaled(duals))
        excess = [max(0, abs(u) - self.l1) for u in self.correlations(duals)]
        return -self._conjugates(duals) - sum(v * v for v in excess) / (2 * self.l2)

    def certificate(self, duals: Sequence[Any] | None = None) -> tuple[Any, Any, Any]:
        """The objective, a lower bound of the least objective, and the gap between the two.

        The objective is at most the gap above its minimum.  The bound is ``dual_objective`` at
        ``duals``, which may be any; the present dual variables if None.
        """
        objective, bound = self.objective(), self.dual_objective(duals)
        return objective, bound, objective - bound
