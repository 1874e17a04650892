"""The tolerance for two exact implementations: a bound derived from the unit roundoff.

Let e be the difference of the two weight vectors (intercept included) in the Euclidean norm.

* A shrink never increases e: |w| <- [a |w| - b]+ with a <= 1 is nonexpansive.
* A gradient step on a loss with curvature at most L multiplies e by at most
  max(1, c - 1) if the shrink follows it and max(1, c) if both start from the same weights, with
  c = eta s L |x|^2 (s the importance of the example).
* Rounding adds a few units in the last place of the weights, of the move, and, in a lazy form, of
  the cushion C of the clock, which follows the same map as a weight: C <- a C + b.

The derivative of some losses jumps (hinge, absolute error, epsilon-insensitive).  If a prediction
is within the bound of the jump, both sides are right, and the comparison ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lazynet.losses import Loss
from lazynet.penalties import ElasticNet
from lazynet.rules.base import Affine

UNIT_ROUNDOFF = 2.0**-53
# Roundings per weight and step, both implementations together: magnitude, move, shrink, scale.
_ROUNDINGS = 8.0
# Roundings of the cushion in one load and store; tests/exact/test_lazy_equals_dense.py tests them
# in a sweep.
_CUSHION_ROUNDINGS = 6.0
# A bound above this share of the weights is too loose for a test.
_USELESS = 1e-6

#: The tolerance for two exact forms of a rule that is not affine, as a share of 1 + the largest
#: weight.
AGREE = 1e-10
# A comparison of such rules ends if a prediction comes this near to a kink, or exceeds the largest
# prediction in size.
_NEAR_A_KINK = 1e-9
_LARGEST_PREDICTION = 1e6
#: The values of a nearby run, and every second importance, are larger by this share; the comparison
#: ends if this changes the weights by more than the second number times the share.
NUDGE = 2.0**-36
AMPLIFIED = 1e3

#: The reasons why comparing ends; each completes a sentence after "because".
AT_A_KINK = "a prediction is at a kink of the loss, so that rounding decides the step"
DIVERGED = "the run diverges, and amplifies rounding too much for a comparison"
AT_THE_THRESHOLD = "a weight is at the threshold, so that rounding decides the truncation"
OVERFLOWED = "the numbers of the dense reference leave the range of doubles"


class VisitedRow(NamedTuple):
    """A row that a step learns from: its values, prediction, slope, target and importance.

    ``slope`` is the derivative of the loss at ``prediction``.  ``touched_weights`` are the weights
    of the row's nonzeros before the step.

    >>> VisitedRow([1.0], 0.0, -0.5, target=1.0, importance=2.0, touched_weights=[0.0]).importance
    2.0
    """

    values: Sequence[float]
    prediction: float
    slope: float
    target: float
    importance: float
    touched_weights: Sequence[float]


class Budget:
    """The base of the two error budgets: the bound so far, and the reason why comparing ended.

    ``ended`` is None until a prediction comes too near to a jump of the loss's derivative, or the
    run diverges, so that it amplifies rounding too much or overflows.

    >>> from lazynet.losses import get_loss
    >>> budget = StateBudget(get_loss("log_loss"))
    >>> budget.bound, budget.ended is None
    (0.0, True)
    >>> budget.end(DIVERGED)
    >>> budget.ended == DIVERGED
    True
    """

    def __init__(self, loss: Loss) -> None:
        self.loss, self.bound = loss, 0.0
        self.ended: str | None = None

    def end(self, reason: str) -> None:
        """End the comparison for this reason, unless it has ended."""
        if self.ended is None:
            self.ended = reason


class ErrorBudget(Budget):
    """The derived bound of the affine family; ``bound`` holds for the steps taken so far.

    ``largest_cushion`` is the largest cushion with which a lazy form stores a weight, if it sweeps
    in time.

    >>> from lazynet.losses import get_loss
    >>> from lazynet.rules.affine import FoBoS
    >>> budget = ErrorBudget(get_loss("log_loss"), FoBoS(), ElasticNet(l1=0.1))
    >>> row = VisitedRow([1.0], 0.0, -0.5, target=1.0, importance=1.0, touched_weights=[0.0])
    >>> budget.after_step(0.5, row, weights=[0.2])
    >>> 0 < budget.bound < 1e-14
    True
    """

    def __init__(
        self,
        loss: Loss,
        rule: Affine,
        penalty: ElasticNet,
        fit_intercept: bool = False,
        largest_cushion: float = math.inf,
    ) -> None:
        super().__init__(loss)
        self.rule, self.penalty, self.fit_intercept = rule, penalty, fit_intercept
        self.largest_cushion, self.cushion = largest_cushion, 0.0
        self.t = 0

    # A number that overflows here ends the comparison, and ``ended`` gives the reason.
    @np.errstate(over="ignore", invalid="ignore")
    def after_step(
        self, eta: float, row: VisitedRow, *, weights: Sequence[float], intercept: float = 0.0
    ) -> None:
        """Account for one step on a row, after which the weights are ``weights``."""
        w = np.asarray(weights, dtype=float)
        shrink = self.rule.shrinks(np.array([eta], dtype=float), self.penalty, self.t)
        self.t += 1
        self.cushion = min(
            float(shrink.keep[0]) * self.cushion + float(shrink.pull[0]), self.largest_cushion
        )
        if not (np.isfinite(w).all() and math.isfinite(intercept)):
            self.end(OVERFLOWED)
        values, prediction, slope, target, importance, touched_weights = row
        x = np.asarray(values, dtype=float)
        norm = float(np.sqrt(np.dot(x, x) + self.fit_intercept))
        before = np.abs(touched_weights)

        # The prediction: a sum of len(x) products, in any order.
        terms = float(np.dot(np.abs(x), before + self.cushion)) + abs(intercept)
        prediction_error = UNIT_ROUNDOFF * (len(x) + 4) * terms
        if not (math.isfinite(prediction) and math.isfinite(eta * importance * slope)):
            self.end(OVERFLOWED)
        # Before the first rounding, zero weights predict 0 in both implementations.
        exact = self.bound == 0.0 and prediction == 0.0 and not before.any()
        if not exact:
            blur = prediction_error + self.bound * norm
            wide = blur * max(1.0, abs(target)) if self.loss.margin else blur
            wide += 4 * UNIT_ROUNDOFF * (abs(prediction) + abs(target))
            if distance_to_kink(self.loss, prediction, target) <= wide:
                self.end(AT_A_KINK)

        curvature = importance * (self.loss.curvature or 0.0)
        stretch = eta * curvature * norm * norm
        blurred = eta * curvature * prediction_error * norm
        move = eta * abs(importance * slope) * norm
        growth = max(1.0, stretch - 1.0 if self.rule.step_order == "gradient_first" else stretch)
        rounding = UNIT_ROUNDOFF * (
            _ROUNDINGS * (float(np.linalg.norm(w)) + abs(intercept) + 2 * move)
            + _CUSHION_ROUNDINGS * self.cushion * np.sqrt(len(w))
        )
        self.bound = float(growth * self.bound + blurred + rounding)
        useful = _USELESS * (1.0 + float(np.linalg.norm(w)))
        if not (math.isfinite(useful) and self.bound <= useful):
            self.end(DIVERGED)


def distance_to_kink(loss: Loss, prediction: float, target: float) -> float:
    """The distance of the loss's argument, m or p - y, from the nearest jump of the derivative.

    >>> from lazynet.losses import get_loss
    >>> distance_to_kink(get_loss("hinge"), 0.75, 1.0), distance_to_kink(get_loss("log_loss"), 0, 1)
    (0.25, inf)
    """
    at = prediction * target if loss.margin else prediction - target
    distances = [abs(at - (constant + factor * loss.epsilon)) for constant, factor in loss.kinks]
    return min(distances, default=math.inf)


class StateBudget(Budget):
    """The bound of a rule that is not affine: 1e-10 of 1 + the largest weight, not derived.

    ``threshold`` is the threshold of the truncated gradient, and infinite for other rules.

    >>> from lazynet.losses import get_loss
    >>> budget = StateBudget(get_loss("log_loss"))
    >>> row = VisitedRow([1.0], 0.0, -0.5, target=1.0, importance=1.0, touched_weights=[0.0])
    >>> budget.after_step(0.5, row, weights=[0.2])
    >>> round(budget.bound * 1e10, 2)  # one weight, of 0.2
    1.2
    """

    def __init__(self, loss: Loss, threshold: float = math.inf) -> None:
        super().__init__(loss)
        self.threshold, self.has_moved = threshold, False

    def after_step(
        self, eta: float, row: VisitedRow, *, weights: Sequence[float], intercept: float = 0.0
    ) -> None:
        """Account for one step; see ``ErrorBudget.after_step``."""
        w = np.asarray(weights, dtype=float)
        size = np.abs(w)
        largest = float(size.max(initial=abs(intercept)))
        prediction, target = row.prediction, row.target
        near = _NEAR_A_KINK * (1.0 + abs(prediction) + abs(target))
        if not np.isfinite([largest, prediction, row.slope]).all():
            self.end(OVERFLOWED)
        elif abs(prediction) >= _LARGEST_PREDICTION * (1.0 + abs(target)):
            self.end(DIVERGED)
        # Before the first slope that is not 0, both predictions are 0, without any rounding.
        elif (self.has_moved or prediction != 0.0) and (
            distance_to_kink(self.loss, prediction, target) <= near
        ):
            self.end(AT_A_KINK)
        # An infinite weight has no distance to the threshold, and has ended the comparison.
        size = size[np.isfinite(size) & (size > 0)]
        if (np.abs(size - self.threshold) <= _NEAR_A_KINK * (1.0 + size)).any():
            self.end(AT_THE_THRESHOLD)
        self.has_moved = self.has_moved or row.importance * row.slope != 0.0
        # The Euclidean norm of differences that are each within the bound of one weight.
        self.bound = AGREE * (1.0 + largest) * math.sqrt(max(1, len(w)))


def is_amplified(weights: Sequence[float], nearby: Sequence[float]) -> bool:
    """Whether a run has amplified the rounding of a step beyond what 1e-10 of the weights allows.

    ``nearby`` are the numbers of a reference on values, and on every second importance, that are
    larger by the share ``NUDGE``; an intercept counts as a weight.
    Steps that are too long for the loss multiply every difference of two runs, even if the
    predictions stay small.  If the distance of the two references is more than 1,000 times that of
    their values, a tolerance of 1e-10 is too small to judge an implementation.

    >>> is_amplified([1.0], [1.0 + 2.0 * NUDGE]), is_amplified([1.0], [1.0 + 1e-6])
    (False, True)
    """
    w = np.asarray(weights, dtype=float)
    gap = np.abs(np.asarray(nearby, dtype=float) - w).max(initial=0.0)
    # Written so that NaN amplifies.
    return not gap <= AMPLIFIED * NUDGE * (1.0 + np.abs(w).max(initial=0.0))
