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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynet.reference.losses import LOSSES, best_dual, conjugate, entry_named, soft


class DenseDualAscent:
    """One dual variable at a time, on P(w, b) + kappa/2 |w - c|^2 + kappa_b/2 (b - c_b)^2.

    The state is the dual variables and the centres c and c_b.  With z = u + kappa c,

        w = sgn(z) [ |z| - l1 ]+ / (l2 + kappa),        b = (1/n) sum_i s_i alpha_i / kappa_b + c_b.

    A step on example i raises the dual objective of this centred problem, or does not change it.
    ``recentre`` makes w and b the new centres, and the minimum of the next centred problem is then
    nearer to the minimum of P.  Without an intercept, kappa = 0 solves P itself, if l2 > 0.

    >>> dense = DenseDualAscent([[2.0]], [3.0], loss="squared_error", l1=0.5, l2=1.0)
    >>> dense.objective(), dense.curvature(0)  # 9/2; q = 4
    (4.5, 4.0)
    >>> dense.step(0), dense.duals, dense.weights  # alpha = 3/5, u = 6/5, w = 6/5 - 1/2
    (0.0, [0.6], [0.7])
    >>> dense.step(0), dense.duals, dense.weights
    (1.4, [0.8], [1.1])
    >>> [round(number, 9) for number in dense.certificate()]  # 0.32 + 0.55 + 0.605
    [1.475, 1.475, 0.0]

    With a centre and an intercept:

    >>> dense = DenseDualAscent(
    ...     [[1.0], [2.0]], [3.0, -1.0], loss="squared_error", l1=0.25, kappa=0.5,
    ...     fit_intercept=True, kappa_intercept=2.0)
    >>> dense.duals, dense.centre, dense.centre_intercept = [2.0, -1.0], [1.5], 0.25
    >>> dense.correlations(dense.duals), dense.balance(dense.duals)  # u = (2 - 2) / 2; (2 - 1) / 2
    ([0.0], 0.5)
    >>> dense.z, dense.weights, dense.intercept  # z = u + 0.75; b = 0.5 / 2 + 0.25
    ([0.75], [1.0], 0.5)
    >>> dense.prediction(1, dense.weights, dense.intercept)
    2.5
    >>> dense.centred_dual_objective() < dense.centred_objective()
    True
    >>> dense.recentre(kappa=2.0)
    >>> dense.centre, dense.centre_intercept, dense.z
    ([1.0], 0.5, [2.0])
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
            raise ValueError(f"kappa must be greater than 0 if l2 is 0, got {self.kappa}")
        if self.fit_intercept and not self.kappa_intercept > 0:
            raise ValueError(f"kappa_intercept must be greater than 0, got {self.kappa_intercept}")

    # --- the primal variables, from the dual ones ---

    def _moves(self, duals: Sequence[Any]) -> list[Any]:
        """s_i alpha_i"""
        return [s * alpha for s, alpha in zip(self.importances, duals, strict=True)]

    def correlations(self, duals: Sequence[Any]) -> list[Any]:
        """u = (1/n) sum_i s_i alpha_i x_i of any dual variables."""
        moves = self._moves(duals)
        return [
            sum(move * x for move, x in zip(moves, column, strict=True)) / self.total
            for column in zip(*self.rows, strict=True)
        ]

    def balance(self, duals: Sequence[Any]) -> Any:
        """(1/n) sum_i s_i alpha_i of any dual variables."""
        return sum(self._moves(duals)) / self.total

    @property
    def z(self) -> list[Any]:
        """u + kappa c."""
        u = self.correlations(self.duals)
        return [v + self.kappa * c for v, c in zip(u, self.centre, strict=True)]

    @property
    def weights(self) -> list[Any]:
        """The weights as of now."""
        return [soft(v, self.l1) / (self.l2 + self.kappa) for v in self.z]

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
        """q = s_i |x_i|^2 / (n (l2 + kappa)), and s_i / (n kappa_b) for the intercept."""
        share = self.importances[i] / self.total
        q = share * sum(x * x for x in self.rows[i]) / (self.l2 + self.kappa)
        return q + share / self.kappa_intercept if self.fit_intercept else q

    def step(self, i: int) -> Any:
        """Take the best alpha_i with the others fixed; return the prediction before."""
        p = self.prediction(i, self.weights, self.intercept)
        self.duals[i] = best_dual(
            self.loss, self.duals[i], p, self.targets[i], self.curvature(i), self.epsilon
        )
        return p

    def recentre(self, kappa: Any = None, kappa_intercept: Any = None) -> None:
        """Make w and b the new centres, and change kappa or kappa_intercept if it is not None."""
        self.centre, self.centre_intercept = self.weights, self.intercept
        if kappa is not None:
            self.kappa = kappa
        if kappa_intercept is not None:
            self.kappa_intercept = kappa_intercept
        self._check_kappa()

    # --- objectives ---

    def objective(self, weights: Sequence[Any] | None = None, intercept: Any = None) -> Any:
        """P at the given weights and intercept; None: at the present ones."""
        w = self.weights if weights is None else weights
        b = self.intercept if intercept is None else intercept
        value = entry_named("loss", self.loss, LOSSES)[0]
        losses = sum(
            s * value(self.prediction(i, w, b), self.targets[i], self.epsilon)
            for i, s in enumerate(self.importances)
        )
        return losses / self.total + sum(self.l1 * abs(v) + self.l2 * v * v / 2 for v in w)

    def centred_objective(self) -> Any:
        """P + kappa/2 |w - c|^2 + kappa_b/2 (b - c_b)^2 at the present weights and intercept."""
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
        examples = zip(self.importances, duals, self.targets, strict=True)
        terms = (s * conjugate(self.loss, a, y, self.epsilon) for s, a, y in examples if s)
        return sum(terms) / self.total

    # --- the certificate ---

    def balanced(self, duals: Sequence[Any]) -> list[Any]:
        """The dual variables with sum_i s_i alpha_i = 0.

        The variables of one sign are multiplied by a number between 0 and 1, which leaves each of
        them in the interval on which its conjugate is finite.

        >>> DenseDualAscent([[1.0]] * 3, [1.0] * 3, l2=1.0).balanced([3.0, 1.0, -2.0])
        [1.5, 0.5, -2.0]
        """
        moves = self._moves(duals)
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
        """D at dual variables that meet the two conditions, from any; None: the present ones.

        To meet the conditions, copies of the variables are ``balanced`` if an intercept is fitted,
        then ``scaled`` if l2 = 0, which does not change the balance.

        >>> dense = DenseDualAscent([[1.0, 4.0]], [1.0], loss="hinge", l1=2.0, kappa=1.0)
        >>> dense.dual_objective([1.0])  # at alpha = 0.5
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

        The objective exceeds its minimum by at most the gap.  The bound is ``dual_objective`` at
        any ``duals``; None: at the present dual variables.
        """
        objective, bound = self.objective(), self.dual_objective(duals)
        return objective, bound, objective - bound
