"""Regularised dual averaging with an l1 penalty, Xiao (2010).

A weight is a function of the mean of its gradients alone.  No shrink is ever missed, so the dense
algorithm can read each weight by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from lazynet.reference.batches import Example, mean_gradient
from lazynet.reference.losses import LOSSES
from lazynet.reference.scale import Scale


class DenseRDA:
    """w minimises  gbar.w + lambda_t |w|_1 + l2/2 |w|^2 + gamma / (2 sqrt t) |w|^2

    where gbar is the mean of the t gradients so far and lambda_t = l1 + gamma rho / sqrt(t).  The
    paper's plain form has rho = 0.  The intercept has a mean gradient too, and no penalty.

    With ``gamma=None`` gamma follows the data: it is ``gamma_unit`` m^2, m the mean Euclidean norm
    of the rows seen so far (``Scale``).  The intercept then has ``intercept_gamma``.

    >>> twin = DenseRDA(1, loss="squared_error", l1=0.5, gamma=2.0, fit_intercept=True)
    >>> _ = twin.step([0], [1.0], 4.0)
    >>> twin.weights, twin.weight(0)  # (4 - 0.5) / (0 + 2)
    ([1.75], 1.75)
    >>> twin.intercept  # 4 / 2
    2.0
    >>> twin.gamma
    2.0
    """

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        l1: float = 0.0,
        l2: float = 0.0,
        gamma: float | None = 1.0,
        rho: float = 0.0,
        gamma_unit: float = 1.0,
        intercept_gamma: float = 1.0,
        fit_intercept: bool = False,
        epsilon: float = 0.1,
    ) -> None:
        self.slope = LOSSES[loss][1]
        self.l1, self.l2, self.given_gamma, self.rho = l1, l2, gamma, rho
        self.gamma_unit = gamma_unit
        self.intercept_gamma = intercept_gamma if gamma is None else gamma
        self.scale = Scale()
        self.fit_intercept, self.epsilon = fit_intercept, epsilon
        self.gradient_sums = [0.0] * n_features
        self.intercept_sum = 0.0
        self.t = 0

    @property
    def gamma(self) -> float:
        """gamma of the weights as of now."""
        if self.given_gamma is not None:
            return self.given_gamma
        return self.gamma_unit * (self.scale.unit * self.scale.unit)

    def _minimiser(self, gradient_sum: float, l1: float, l2: float, gamma: float) -> float:
        """The minimiser in one coordinate, whose gradients add up to ``gradient_sum``."""
        if not self.t:
            return 0.0
        mean = gradient_sum / self.t
        if abs(mean) <= l1:
            return 0.0
        return -(mean - math.copysign(l1, mean)) / (l2 + gamma / math.sqrt(self.t))

    def weight(self, j: int) -> float:
        """Weight j as of now; the other weights are not visited."""
        l1 = self.l1 + (self.gamma * self.rho / math.sqrt(self.t) if self.t else 0.0)
        return self._minimiser(self.gradient_sums[j], l1, self.l2, self.gamma)

    @property
    def weights(self) -> list[float]:
        """All weights as of now."""
        return [self.weight(j) for j in range(len(self.gradient_sums))]

    @property
    def intercept(self) -> float:
        """The intercept as of now."""
        return self._minimiser(self.intercept_sum, 0.0, 0.0, self.intercept_gamma)

    def step(
        self, indices: Iterable[int], values: Iterable[float], target: float, weight: float = 1.0
    ) -> float:
        """Learn from one example; return the prediction made before learning."""
        indices, values = list(indices), list(values)
        self.scale.count(math.sqrt(sum(x * x for x in values)))
        w, p = self.weights, self.intercept
        for j, x in zip(indices, values, strict=True):
            p += w[j] * x
        g: Any = weight * self.slope(p, target, self.epsilon)
        for j, x in zip(indices, values, strict=True):
            self.gradient_sums[j] += g * x
        if self.fit_intercept:
            self.intercept_sum += g
        self.t += 1
        return p

    def step_batch(self, batch: Sequence[Example]) -> list[float]:
        """Learn from all examples of the batch by one step; return the predictions before it.

        t counts the steps.  Where gamma follows the data, all rows of the batch are measured before
        the first prediction.

        >>> twin = DenseRDA(1, loss="squared_error", l1=0.5, gamma=2.0)
        >>> twin.step_batch([([0], [1.0], 4.0, 1.0), ([0], [1.0], 8.0, 1.0)])
        [0.0, 0.0]
        >>> twin.weights  # the mean gradient is -6, and (6 - 0.5) / (0 + 2)
        [2.75]
        """
        for _, values, _, _ in batch:
            self.scale.count(math.sqrt(sum(x * x for x in values)))
        w, intercept = self.weights, self.intercept
        predictions = [
            sum((w[j] * x for j, x in zip(indices, values, strict=True)), intercept)
            for indices, values, _, _ in batch
        ]
        gradient, slope = mean_gradient(batch, predictions, self.slope, self.epsilon)
        for j, g in gradient.items():
            self.gradient_sums[j] += g
        if self.fit_intercept:
            self.intercept_sum += slope
        self.t += 1
        return predictions
