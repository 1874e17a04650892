"""The mean loss over all rows, its derivatives and its conjugate.

    P(w, b) = (1/n) sum s_i l(x_i.w + b, y_i) + l1 |w|_1 + l2/2 |w|^2,   n = sum s_i

A weight s_i of 2 is two rows.  With dual variables a_i = -l'(p_i), u = (1/n) sum s_i a_i x_i.

Property: the sums are those of the reference (tests/exact/test_compact_rows.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.data.weights import total_of
from lazynet.engines.base import take_until_done
from lazynet.kernels import slopes
from lazynet.kernels import sums as sums_of_rows
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.examples import Examples
from lazynet.kernels.objective import values_and_slopes, weight_sums
from lazynet.losses import Loss

Vector = NDArray[np.float64]

#: What to do about predictions that overflow.
RAISE_PENALTY = "Raise l1 or l2"
# The best intercept lies within this distance of the targets and margins: beyond it the logistic
# loss of either class has no slope that a double could hold beside that of the other class.
_REACH = 64.0
# How near to a jump of the slope a prediction counts as at the jump, relative to its size.
_NEAR = 1e-9
#: The unit roundoff, and roundings of a few operations relative to their result.
UNIT = float(np.finfo(np.float64).eps)
SLACK = 32 * UNIT
#: The scale of duals from which on their conjugates are computed with more than a bound; the
#: second derivative of an expansion is limited for this one (kernels/slopes.pyx).
CLOSE = 0.8
# Roundings of a mean loss: a search adds 256 terms in plain arithmetic, and carries the digits that
# further additions lose; a term has a few more.
_ROUNDINGS = 1024.0
# The relative length of the bracket at which the search for an intercept ends.
_FINE = 1e-15


def importance_of_rows(y: Vector, importances: Vector | None) -> float:
    """sum s_i, the number of rows where all count the same."""
    return float(len(y)) if importances is None else total_of(importances)


class Expansion(NamedTuple):
    """(1/n) sum s_i l*(-f a_i) at f = 1, minus its first derivative in f, and about its second."""

    value: float
    first: float
    second: float

    def at(self, f: float) -> float:
        """About the value at f <= 1, and not less far from 1."""
        # The sum is convex in f, and 0 at f = 0.
        away, bound = 1.0 - f, f * self.value
        if f < CLOSE:
            return bound
        return min(bound, self.value + away * (self.first + 0.5 * away * self.second))


class MeanLoss:
    """The mean loss of one problem; every method visits all rows, and handles signals meanwhile.

    With ``rows``, these are the rows, and ``examples`` has their targets and importances.

    >>> from lazynet.losses import get_loss
    >>> rows = Examples(np.array([2.0]), np.zeros(1, np.int32), np.array([0, 1], np.int32), 1,
    ...                 np.ones(1))
    >>> mean = MeanLoss(rows, np.ones(1), None, get_loss("squared_error"), fit_intercept=False)
    >>> mean.margins(np.array([3.0])), mean.value(np.array([6.0]), 0.0)[0]
    (array([6.]), 12.5)
    """

    def __init__(
        self,
        examples: Examples,
        y: Vector,
        importances: Vector | None,
        loss: Loss,
        *,
        fit_intercept: bool,
        total: float | None = None,
        rows: CompactRows | None = None,
    ) -> None:
        self.examples, self.y, self.importances = examples, y, importances
        self.loss, self.fit_intercept, self.rows = loss, fit_intercept, rows
        self.n_rows, self.n_columns = examples.n_rows, examples.n_columns
        #: the number of stored values of all rows
        self.n_values = examples.n_values
        if rows is not None:
            self.n_columns, self.n_values = rows.n_columns, rows.n_values
        if total is None:
            total = importance_of_rows(y, importances)
        #: 1 / n; where the rows are a part of all rows, n is the ``total`` of all
        self.share = 1.0 / total

    def over_rows(self, run: Callable[[int], tuple[int, int]]) -> None:
        """Let a kernel visit all rows; it returns how a call ended and the next row."""
        take_until_done(
            run, self.n_rows, 0, self.examples, row_of=lambda row: row, remedy=RAISE_PENALTY
        )

    def margins(self, weights: Vector, *, compensated: bool = False) -> Vector:
        """x_i.w of every row; ``compensated``: right to the last digit."""
        if not weights.any():
            return np.zeros(self.n_rows)
        out, rows = np.empty(self.n_rows), self.rows
        if rows is not None and not compensated:
            self.over_rows(lambda first: rows.margins(weights, out, first))
        else:
            self.over_rows(
                lambda first: sums_of_rows.margins(self.examples, weights, out, first, compensated)
            )
        return out

    def one_pass(self, weights: Vector) -> tuple[float, float, Expansion, Vector, Vector]:
        """What one pass over compact rows finds where there is no intercept.

        The mean loss, the sum of the curvatures, (1/n) sum s_i l*(-f a_i) near f = 1; margins,
        duals and curvatures; and u.
        """
        of_rows, totals, u = np.empty((3, self.n_rows)), np.zeros(6), np.zeros(self.n_columns)
        loss = self.loss.code, self.loss.epsilon, self.share
        arguments = self.rows, self.examples, weights, *loss, *of_rows, u, totals
        self.over_rows(lambda first: slopes.evaluate(*arguments, first))
        value, low, bend, *expansion = totals.tolist()
        return value + low, bend, Expansion(*expansion), of_rows, u

    def duals_of_model(
        self, before: Sequence[Vector], after: Sequence[Vector], shift: float
    ) -> tuple[Vector, float]:
        """a_i - l''_i (d_i + shift), in the domain of the conjugate; and about what they cost.

        ``before`` and ``after`` a step are margins, duals and curvatures; d_i are the moves of the
        margins, and ``shift`` is that of the intercept.  By these duals the bound of the mean loss
        is lower by about this number than by those after the step.
        """
        loss, out = self.loss, np.empty(self.n_rows)
        numbers = *before, *after, shift, self.share, loss.margin, loss.largest_slope
        return out, slopes.duals_of_model(self.examples, *numbers, out)

    @property
    def steepest_change(self) -> float:
        """A bound on the second derivative of the loss, wherever it has one."""
        # 2 bounds the curvatures of most losses.
        return max(2.0, self.loss.curvature or 0.0)

    def value(self, margins: Vector, intercept: float) -> tuple[float, float]:
        """The mean loss of margins right to the last digit, and a bound on what rounding loses."""
        loss = self.loss
        jump = loss.largest_slope if loss.curvature is None else 0.0
        return sums_of_rows.total_loss(
            self.examples, margins, intercept, loss.code, loss.epsilon, self.share, jump,
            self.steepest_change,
        )  # fmt: skip

    def lost_by_rounding(
        self, loss: float, weights: Vector, intercept: float, duals: Vector
    ) -> float:
        """A bound on what rounding has lost of a mean loss of plain margins.

        ``duals`` are the negative slopes of the loss there.
        """
        # |x_i| |w| bounds the sum of |x_ij w_j|, of which at most the nonzero weights are added.
        size = self.longest_bound * weight_sums(weights)[1] ** 0.5
        size = (np.count_nonzero(weights) + 1.0) * size + abs(intercept)
        away = SLACK * (size + float(np.abs(self.y).max(initial=0.0)))
        steepest = self.loss.largest_slope
        if not np.isfinite(steepest):
            steepest = float(np.abs(duals).max(initial=0.0))
        return _ROUNDINGS * UNIT * loss + (steepest + self.steepest_change * away) * away

    def conjugate(self, duals: Vector, factor: float = 1.0) -> tuple[float, float]:
        """(1/n) sum s_i l*(-factor a_i), and a bound on what rounding loses of it."""
        code, epsilon = self.loss.code, self.loss.epsilon
        return sums_of_rows.total_conjugate(self.examples, duals, factor, code, epsilon, self.share)

    def weighted(self, numbers: Vector) -> Vector:
        """s_i / n times a number of each row."""
        return numbers * (self.share if self.importances is None else self.share * self.importances)

    def sum_of(self, duals: Vector) -> float:
        """sum s_i a_i, in plain arithmetic."""
        return float(np.sum(duals if self.importances is None else duals * self.importances))

    def negative_slopes(self, margins: Vector, intercept: float) -> Vector:
        """a_i = -l'(p_i): the dual variables that belong to predictions."""
        duals = np.empty(self.n_rows)
        code, epsilon = self.loss.code, self.loss.epsilon
        sums_of_rows.negative_slopes(self.examples, margins, intercept, code, epsilon, duals)
        return duals

    def balanced_slopes(self, margins: Vector, intercept: float) -> Vector:
        """a_i = -l'(p_i), chosen or scaled so that sum s_i a_i = 0 if there is an intercept.

        Where the slope of a loss jumps, any a between its two sides belongs to the prediction: the
        share of the way between them is the same for all examples at a jump.
        """
        duals = self.negative_slopes(margins, intercept)
        if self.fit_intercept and self.loss.curvature is None:
            near = _NEAR * (1.0 + abs(intercept) + float(np.abs(self.y).max(initial=0.0)))
            before, after = (
                self.negative_slopes(margins, intercept + side * near) for side in (-1.0, 1.0)
            )
            counts = 1.0 if self.importances is None else self.importances
            rise, fall = float(np.sum(counts * before)), -float(np.sum(counts * after))
            if rise >= 0.0 and fall >= 0.0 and rise + fall > 0.0:
                duals = (fall * before + rise * after) / (rise + fall)
        self.balance(duals)
        return duals

    def balance(self, duals: Vector, *, exactly: bool = True) -> float:
        """Scale duals so that sum s_i a_i = 0 if there is an intercept; returns what is left."""
        return sums_of_rows.balance(self.examples, duals, exactly) if self.fit_intercept else 0.0

    @cached_property
    def squared_norms(self) -> Vector:
        """|x_i|^2 of every row."""
        return self.examples.squared_norms()

    @property
    def largest_value(self) -> float:
        """At least every |x_ij|."""
        assert self.rows is not None, "the rows are compact"
        return float(self.rows.largest)

    @property
    def longest_bound(self) -> float:
        """A bound on every |x_i|."""
        assert self.rows is not None, "the rows are compact"
        return self.largest_value * float(self.rows.longest) ** 0.5

    def correlations(self, duals: Vector) -> Vector:
        """u = (1/n) sum s_i a_i x_i, a number per feature."""
        rows = self.rows
        if rows is not None:
            factors, sums = self.weighted(duals), np.zeros(self.n_columns)
            self.over_rows(lambda first: rows.add(factors, sums, first))
            return sums
        return self.add_rows(duals, np.zeros((self.n_columns, 1)))[:, 0] * self.share

    def compensated_sums(self, duals: Vector) -> Vector:
        """sum s_i a_i x_i, right to the last digit: {high, low} per feature."""
        return self.add_rows(duals, np.zeros((self.n_columns, 2)))

    def add_rows(self, duals: Vector, cells: Vector) -> Vector:
        """Add sum s_i a_i x_i to ``cells``: {sum} or {high, low} per feature; returns them."""
        self.over_rows(lambda first: sums_of_rows.add_rows(self.examples, duals, cells, first))
        return cells

    def best_intercept(self, margins: Vector) -> float:
        """An intercept that minimises the mean loss of these margins; 0 where none is fitted.

        The slope in the intercept never falls: the search halves a bracket of its zero.  Where the
        mean loss has no minimum in the intercept, as the logistic loss of a single class, the
        search ends at an end of the bracket.
        """
        if not self.fit_intercept:
            return 0.0
        reach = _REACH + float(np.abs(self.y).max(initial=0.0) + np.abs(margins).max(initial=0.0))
        low, high, duals = -reach, reach, np.empty(self.n_rows)
        code, epsilon = self.loss.code, self.loss.epsilon
        while high - low > _FINE * (1.0 + abs(low) + abs(high)):
            middle = 0.5 * (low + high)
            # By how much the summed loss falls per unit of the intercept.
            fall = sums_of_rows.negative_slopes(
                self.examples, margins, middle, code, epsilon, duals
            )
            low, high = (low, middle) if fall < 0.0 else (middle, high)
        return 0.5 * (low + high)

    def at_zero(self) -> tuple[float, float, float]:
        """The mean loss at zero weights and their best intercept, its rounding, the intercept."""
        if not self.loss.margin:
            margins = np.zeros(self.n_rows)
            intercept = self.best_intercept(margins)
            return *self.value(margins, intercept), intercept
        if not self.fit_intercept:
            # The loss at 0 is that of either class.
            code, epsilon = self.loss.code, self.loss.epsilon
            value = float(values_and_slopes(code, np.zeros(1), np.ones(1), epsilon)[0][0])
            return value, SLACK * value, 0.0
        # Two rows stand for all: one for each target.
        signs = np.array([-1.0, 1.0])
        counts = np.array(
            [
                float(np.sum(self.y == sign))
                if self.importances is None
                else math.fsum(self.importances[self.y == sign])
                for sign in signs
            ]
        )
        nothing = np.zeros(0), np.zeros(0, np.int32), np.zeros(3, np.int32), 0
        rows = Examples(*nothing, signs, counts)
        both = MeanLoss(rows, signs, counts, self.loss, fit_intercept=self.fit_intercept)
        margins = np.zeros(2)
        intercept = both.best_intercept(margins)
        return *both.value(margins, intercept), intercept
