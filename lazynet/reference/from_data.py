"""SGD and FoBoS with rates that are computed from the rows: every step visits every weight.

The rate follows the sizes of the rows and the slopes of the loss, as in AdaGrad with one rate for
all weights (Ward, Wu & Bottou 2019).  In the units of the formulas the rows have the mean norm 1.

With m the square of the mean of |x| over the rows, k the weight of an intercept relative to a row
of the mean norm (0 without an intercept), g the slope of the loss and s the importance,

    u = (|x|^2 / m + k) / (1 + k)
    acc += s^2 min(g^2, 8 G^2) min(u, 8)
    eta = C Y sqrt(min(1, 8 / u)) / ((1 + k) sqrt(acc + 8 G^2))

The rate of the weights is eta / m, at most half of the largest rate of the rule.  The rate of the
intercept is k eta.

- Losses of a margin: C = 32, Y = G = 1, k = 1/32.
- Losses of numbers: C = 16, k = 1; Y is the standard deviation of the targets so far, for the
  intercept (and without one for the weights) their root mean square.  G is the size of a slope:
  the bound of the slope if the slope jumps, else the smaller of Y and this bound (epsilon for
  "huber", infinite for "squared_error").  The intercept has a separate acc and G.
- C is multiplied by ``factor``, which ``fit`` lowers in the second half of its epochs.
- Unbounded slopes ("squared_error", "squared_hinge" and the like): eta has no factor
  sqrt(min(1, 8 / u)), because the step is implicit, with the slope at the weights after the
  step.  No other step on a loss of numbers goes beyond its target.

m is refreshed at the rows 0, 1, 2, 4, 8, ... that are not empty.  Every weight is then
multiplied by sqrt(m_old / m_new), at no cost, so that very short or very long first rows have no
lasting effect.  If X is multiplied by a number, the weights are divided by it, and no prediction
changes; if y of a loss of numbers is multiplied, and epsilon, so is the model.  (This holds for
the rates: scale a penalty, too.)  The weights of a warm start are not multiplied.

A regressor must not follow the noise of the last rows.  After 32, 64, 128, ... rows the squared
slopes since the last comparison are compared with those before it.  If they did not fall by 5
percent, the rate of the weights is multiplied by 0.5^(1/2), until they fall by 10 percent, and the
rate of the intercept is multiplied for good by 1/4.  Every epoch of ``fit`` without progress
quarters the rate of the weights and halves the rate of the intercept, so that the weights converge
before training ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from lazynet.reference.affine import SHRINKS, SHRINKS_FIRST
from lazynet.reference.learner import Learner
from lazynet.reference.losses import SHAPES, entry_named

#: The squared size of the intercept's feature, relative to rows of the mean norm 1.
INTERCEPT_OF_MARGINS, INTERCEPT_OF_NUMBERS = 2.0**-5, 1.0
#: The factors of the rates of losses of numbers when the slopes no longer shrink.
LOWERING, INTERCEPT_LOWERING = 0.5**0.5, 0.25


class DenseFromData(Learner):
    """``DenseReference`` with the rates of ``lazynet.FromData``: AdaGrad-Norm, Ward et al. (2019).

    Y is the standard deviation of the targets, G the size that slopes have, and u the squared size
    of a row in units of m, the squared mean norm.  The rate is
    share Y / sqrt(8 G^2 + sum g^2 u) / m, where g^2 is at most 8 G^2 and u at most 8.

    >>> dense = DenseFromData(1, loss="squared_error")
    >>> dense.step([0], [2.0], target=4.0)
    0.0
    >>> dense.m, dense.rate  # 16 * 4 / sqrt(16 + 8 * 16) / 4
    (4.0, 1.3333333333333333)
    >>> round(dense.predict([0], [2.0]), 3)
    3.368
    >>> round(dense.step([0], [2.0], target=4.0), 3)  # an implicit step does not overshoot
    3.368
    """

    state: ClassVar[tuple[str, ...]] = (
        *("t", "weights", "intercept", "norms", "targets", "squared_slopes", "m"),
        *("acc", "intercept_acc", "stalls", "lowerings", "rate"),
    )

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        rule: str = "fobos",
        step_order: str = "gradient_first",
        largest_rate: float = math.inf,
        positive: bool = False,
        factor: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(n_features, loss=loss, **options)
        shape, self.shrink = entry_named("loss", loss, SHAPES), entry_named("rule", rule, SHRINKS)
        self.numbers, self.curvature = not shape.margin, shape.curvature
        self.largest_slope = shape.largest_slope(self.epsilon)
        # Losses whose slope has no bound take implicit steps.
        self.implicit = self.largest_slope == math.inf
        self.shrinks_first = entry_named("step_order", step_order, SHRINKS_FIRST)
        self.largest_rate, self.positive, self.factor = largest_rate, positive, factor
        self.weights, self.intercept = [0.0] * n_features, 0.0
        self.norms: list[float] = []  # |x| of the rows seen that are not empty
        self.targets: list[float] = []
        self.squared_slopes: list[float] = []
        self.m = 0.0  # the square of the mean norm, as of the last refresh
        self.acc, self.intercept_acc = 0.0, 0.0
        self.stalls, self.lowerings = 0, 0
        self.rate = 0.0  # of the last step

    def step(
        self, indices: Sequence[int], values: Sequence[float], target: float, importance: float = 1
    ) -> float:
        """Learn from one example; return the prediction before."""
        size = math.fsum(x * x for x in values)
        self._look()
        self.targets.append(target)
        self._measure(size)
        p = self.predict(indices, values)
        slope = self.slope(p, target, self.epsilon)
        self.rate, rate_of_intercept = self._rates(size, slope, importance)
        g = importance * slope
        self.squared_slopes.append(g * g)
        g *= self._damping(p, target, g, importance, self.rate * size + rate_of_intercept)

        if self.shrinks_first:
            self._shrink_all()
        for j, x in zip(indices, values, strict=True):
            self.weights[j] -= self.rate * g * x
            if self.positive and self.weights[j] < 0:
                self.weights[j] = 0.0
        if not self.shrinks_first:
            self._shrink_all()
        self.intercept -= rate_of_intercept * g
        self.t += 1
        return p

    def _look(self) -> None:
        """After 32, 64, 128, ... rows, compare the squared slopes of the two last stretches."""
        n = self.t
        if n < 32 or n & (n - 1):
            return
        last = math.fsum(self.squared_slopes[n // 2 :]) / (n // 2)
        start = n // 4 if n > 32 else 0  # the first stretch has 16 rows
        before = math.fsum(self.squared_slopes[start : n // 2]) / (n // 2 - start)
        if before and last > 0.95 * before:
            self.stalls, self.lowerings = self.stalls + 1, self.lowerings + 1
        elif last < 0.9 * before and self.lowerings:
            self.lowerings -= 1

    def _measure(self, size: float) -> None:
        """Refresh m at the rows 0, 1, 2, 4, 8, ... that are not empty."""
        if not size:
            return
        self.norms.append(math.sqrt(size))
        number = len(self.norms) - 1
        if number & (number - 1) == 0:
            mean = math.fsum(self.norms) / len(self.norms)
            if self.m:
                factor = math.sqrt(self.m) / mean
                self.weights = [factor * w for w in self.weights]
            self.m = mean * mean

    def _rates(self, size: float, slope: float, importance: float) -> tuple[float, float]:
        """The rates of the weights and of the intercept."""
        numbers = self.numbers
        k = (INTERCEPT_OF_NUMBERS if numbers else INTERCEPT_OF_MARGINS) * self.fit_intercept
        u = ((size / self.m if size else 0.0) + k) / (1.0 + k)
        counted = importance * importance * min(u, 8.0)
        share = self.factor * (16.0 if numbers else 32.0) / (1.0 + k)
        if not self.implicit and u > 8.0:
            share *= math.sqrt(8.0 / u)
        deviation, root_mean_square = self._target_sizes() if numbers else (1.0, 1.0)
        G = self._slope_size(root_mean_square)
        self.intercept_acc += min(slope * slope, 8.0 * G * G) * counted
        intercepts = k * share * over_root(root_mean_square, self.intercept_acc + 8.0 * G * G)
        Y = deviation if self.fit_intercept else root_mean_square
        G = self._slope_size(Y)
        self.acc += min(slope * slope, 8.0 * G * G) * counted
        eta = share * over_root(Y, self.acc + 8.0 * G * G)
        if numbers:
            eta *= LOWERING**self.lowerings
            intercepts *= INTERCEPT_LOWERING**self.stalls
        rate = eta / self.m if self.m else 0.0
        return min(rate, self.largest_rate), intercepts

    def _target_sizes(self) -> tuple[float, float]:
        """The standard deviation of the targets seen, and their root mean square."""
        n, first = len(self.targets), self.targets[0]
        # The distances from the first target are exactly 0 if all targets are the same.
        mean = first + math.fsum(y - first for y in self.targets) / n
        variance = math.fsum((y - mean) ** 2 for y in self.targets) / n
        return math.sqrt(variance), math.sqrt(variance + mean * mean)

    def _slope_size(self, Y: float) -> float:
        """G, the size of the slopes of the loss for targets of the size Y."""
        if not self.numbers:
            return 1.0
        return self.largest_slope if self.curvature is None else min(Y, self.largest_slope)

    def _damping(self, p: float, y: float, g: float, importance: float, reach: float) -> float:
        """The factor of the slope ``g``: the step changes the prediction by reach times g."""
        if self.implicit:
            return 1.0 / (1.0 + (self.curvature or 0.0) * importance * reach)
        if self.numbers and abs(g) * reach > abs(p - y):
            return abs(p - y) / (abs(g) * reach)
        return 1.0

    def _shrink_all(self) -> None:
        self.weights = [self.shrink(w, self.rate, self.l1, self.l2) for w in self.weights]


def over_root(Y: float, square: float) -> float:
    """Y / sqrt(square), and 0 instead of 0 / 0.

    >>> over_root(3.0, 4.0), over_root(0.0, 0.0)
    (1.5, 0.0)
    """
    return Y / math.sqrt(square) if square else 0.0
