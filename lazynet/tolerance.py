"""How far two exact implementations may drift apart: a bound derived from the unit roundoff.

Let e be the difference of the two weight vectors (intercept included) in the Euclidean norm.

* A shrink never increases e: |w| <- [a |w| - b]+ with a <= 1 is nonexpansive.
* A gradient step on a loss with curvature at most L multiplies e by at most
  max(1, c - 1) if the shrink follows it and max(1, c) if both start from the same weights, where
  c = eta s L |x|^2 (s the importance of the example).
* Rounding adds a few units in the last place of what is computed with: the weights, the move, and,
  in a lazy form, the cushion C of the clock, which follows the same map as a weight: C <- a C + b.

Where the derivative of a loss jumps (hinge, absolute error, epsilon-insensitive), a prediction
within the bound of the jump may legitimately fall on either side: the comparison ends there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lazynet.losses import get_loss
from lazynet.params import FLAG, STRENGTH, Number, SettledFields, table
from lazynet.rules import get_rule

UNIT_ROUNDOFF = 2.0**-53
# Roundings per weight and step, both implementations together: magnitude, move, shrink, scale.
_ROUNDINGS = 8.0
# Roundings of the cushion in one load and store; tests/exact/test_lazy_equals_dense.py holds a
# sweep to them.
_CUSHION_ROUNDINGS = 6.0
# Above this share of the weights the bound no longer says anything worth asserting.
_USELESS = 1e-6

#: Why comparing ended, as a sentence goes on after "because".
AT_A_KINK = "a prediction meets a kink of the loss, where rounding decides the step"
DIVERGED = "the run diverges and amplifies rounding beyond use"
OVERFLOWED = "the numbers of the dense twin leave the range of doubles"


@dataclass
class ErrorBudget(SettledFields):
    """The bound, carried along with a run; ``bound`` is as of the steps taken so far.

    ``comparable`` turns False when a prediction comes too near to a jump of the loss's derivative,
    or when the run itself diverges, so that it has amplified rounding beyond use or overflows;
    ``ended`` then says why.

    >>> budget = ErrorBudget("log_loss", "fobos", l1=0.1, l2=0.0)
    >>> budget.after_step(0.5, [1.0], weights=[0.2], prediction=0.0, slope=-0.5, target=1.0)
    >>> 0 < budget.bound < 1e-14
    True
    """

    _kinds = table(
        l1=STRENGTH,
        l2=STRENGTH,
        fit_intercept=FLAG,
        epsilon=STRENGTH,
        largest_cushion=Number(least=0, infinite=True),
    )
    loss: str
    rule: str
    l1: float = 0.0
    l2: float = 0.0
    step_order: str = "gradient_first"
    fit_intercept: bool = False
    epsilon: float = 0.1
    largest_cushion: float = math.inf
    """A lazy form that sweeps in time never stores beside a larger cushion than this."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bound = 0.0
        self.cushion = 0.0
        self.comparable = True
        self.ended: str | None = None
        self._loss = get_loss(self.loss)
        self._rule = get_rule(self.rule)

    def _end(self, reason: str) -> None:
        if self.comparable:
            self.comparable, self.ended = False, reason

    # Whatever overflows here ends the comparison, and the reason is told.
    @np.errstate(over="ignore", invalid="ignore")
    def after_step(
        self,
        eta: float,
        values: Sequence[float],
        *,
        weights: Sequence[float],
        prediction: float,
        slope: float,
        target: float,
        importance: float = 1.0,
        touched_weights: Sequence[float] | None = None,
        intercept: float = 0.0,
    ) -> None:
        """Account for one step.

        ``weights`` are those after the step, ``touched_weights`` those of the nonzeros before
        it (by default as large as any), ``slope`` the derivative of the loss at ``prediction``.
        """
        x = np.asarray(values, dtype=float)
        w = np.asarray(weights, dtype=float)
        keep, _, pull = self._rule.shrink(eta, self.l1, self.l2)
        self.cushion = min(keep * self.cushion + pull, self.largest_cushion)
        norm = float(np.sqrt(np.dot(x, x) + self.fit_intercept))
        largest = float(np.abs(w).max(initial=0.0))
        before = np.full(len(x), largest) if touched_weights is None else np.abs(touched_weights)

        # The prediction: a sum of len(x) products, in any order.
        terms = float(np.dot(np.abs(x), before + self.cushion)) + abs(intercept)
        prediction_error = UNIT_ROUNDOFF * (len(x) + 4) * terms
        blur = prediction_error + self.bound * norm
        if not (
            np.isfinite(w).all()
            and math.isfinite(intercept)
            and math.isfinite(prediction)
            and math.isfinite(eta * importance * slope)
        ):
            self._end(OVERFLOWED)
        if self._near_a_kink(prediction, target, blur):
            self._end(AT_A_KINK)

        curvature = importance * (self._loss.curvature or 0.0)
        stretch = eta * curvature * norm * norm
        growth = max(1.0, stretch - 1.0 if self.step_order == "gradient_first" else stretch)
        move = eta * abs(importance * slope) * norm
        rounding = UNIT_ROUNDOFF * (
            _ROUNDINGS * (float(np.linalg.norm(w)) + abs(intercept) + 2 * move)
            + _CUSHION_ROUNDINGS * self.cushion * np.sqrt(len(w))
        )
        self.bound = float(
            growth * self.bound + eta * curvature * prediction_error * norm + rounding
        )
        useful = _USELESS * (1.0 + float(np.linalg.norm(w)))
        if not (math.isfinite(useful) and self.bound <= useful):
            self._end(DIVERGED)

    def _near_a_kink(self, prediction: float, target: float, blur: float) -> bool:
        at = prediction * target if self._loss.margin else prediction - target
        wide = blur * max(1.0, abs(target)) if self._loss.margin else blur
        wide += 4 * UNIT_ROUNDOFF * (abs(prediction) + abs(target))
        return any(
            abs(at - (constant + factor * self.epsilon)) <= wide
            for constant, factor in self._loss.kinks
        )
