"""FTRL-Proximal, McMahan et al. (2013), Algorithm 1.

The algorithm follows the proximally regularised leader with a rate per coordinate.  A weight is a
function of two sums over its own gradients and of the number of steps, so no shrink is ever missed.

The penalty counts on every example seen so far: after t steps it is t l1 |w| + t l2 w^2 / 2, beside
t losses.  The published form has l1 |w| + l2 w^2 / 2 for every t; there l1 and l2 lose their
effect as examples come in, and their values are not comparable with the l1 and l2 of other rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from lazynet.reference.batches import Example, mean_gradient
from lazynet.reference.losses import LOSSES
from lazynet.reference.scale import Scale


class DenseFTRL:
    """Keeps z and n per coordinate, both zero at the start.  With t steps taken so far, and k = t
    or with ``penalty="once"`` k = 1:

        w = 0 if |z| <= k l1, else -(z - k l1 sgn z) / ((beta + sqrt n) / alpha + k l2)
        sigma = (sqrt(n + g^2) - sqrt n) / alpha        z += g - sigma w        n += g^2

    The intercept is a coordinate without penalties.

    With ``alpha=None`` the rates follow the data.  With m the mean of |x|_1 over the rows seen so
    far (``Scale``), alpha is ``alpha_unit`` / m, and beta is multiplied by ``beta_unit`` m.  The
    intercept then has ``intercept_alpha`` and beta itself.

    >>> twin = DenseFTRL(1, loss="squared_error", l1=1.0, alpha=1.0, beta=0.0, fit_intercept=True)
    >>> _ = twin.step([0], [1.0], 4.0)
    >>> twin.weights, twin.weight(0)  # (4 - 1) / 4
    ([0.75], 0.75)
    >>> twin.intercept  # 4 / 4
    1.0
    >>> _ = twin.step([], [], 1.0)  # a row without nonzeros
    >>> twin.weights  # (4 - 2) / 4
    [0.5]
    """

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        l1: float = 0.0,
        l2: float = 0.0,
        alpha: float | None = 0.1,
        beta: float = 1.0,
        penalty: str = "per_example",
        alpha_unit: float = 1.0,
        beta_unit: float = 1.0,
        intercept_alpha: float = 1.0,
        fit_intercept: bool = False,
        epsilon: float = 0.1,
    ) -> None:
        self.slope = LOSSES[loss][1]
        self.l1, self.l2, self.alpha, self.beta = l1, l2, alpha, beta
        self.per_example = penalty == "per_example"
        self.alpha_unit, self.beta_unit = alpha_unit, beta_unit
        self.intercept_alpha = intercept_alpha
        self.scale = Scale()
        self.fit_intercept, self.epsilon = fit_intercept, epsilon
        # The intercept is the last coordinate.
        self.z, self.n = [0.0] * (n_features + 1), [0.0] * (n_features + 1)
        self.t = 0

    def _rates(self, j: int) -> tuple[float, float]:
        """alpha and beta of coordinate j as of now."""
        if self.alpha is not None:
            return self.alpha, self.beta
        if j == len(self.z) - 1:
            return self.intercept_alpha, self.beta
        unit = self.scale.unit
        return self.alpha_unit / unit, self.beta * self.beta_unit * unit

    def weight(self, j: int) -> float:
        """Weight j as of now; the other weights are not visited."""
        count = 0 if j == len(self.z) - 1 else self.t if self.per_example else 1
        l1, l2 = count * self.l1, count * self.l2
        z, n, (alpha, beta) = self.z[j], self.n[j], self._rates(j)
        if abs(z) <= l1:
            return 0.0
        return -(z - math.copysign(l1, z)) / ((beta + math.sqrt(n)) / alpha + l2)

    @property
    def weights(self) -> list[float]:
        """All weights as of now."""
        return [self.weight(j) for j in range(len(self.z) - 1)]

    @property
    def intercept(self) -> float:
        """The intercept as of now."""
        return self.weight(len(self.z) - 1)

    def step(
        self, indices: Iterable[int], values: Iterable[float], target: float, weight: float = 1.0
    ) -> float:
        """Learn from one example; return the prediction made before learning."""
        example = list(zip(indices, values, strict=True))
        self.scale.count(sum(abs(x) for _, x in example))
        if self.fit_intercept:
            example.append((len(self.z) - 1, 1.0))
        p = sum((self.weight(j) * x for j, x in example), 0.0)
        slope = weight * self.slope(p, target, self.epsilon)
        for j, x in example:
            self._move(j, slope * x)
        self.t += 1
        return p

    def step_batch(self, batch: Sequence[Example]) -> list[float]:
        """Learn from all examples of the batch by one step; return the predictions before it.

        The penalty counts on every step, beside the mean loss of the step's batch.  Where the rates
        follow the data, all rows of the batch are measured before the first prediction.

        >>> twin = DenseFTRL(1, loss="squared_error", l1=1.0, alpha=1.0, beta=0.0)
        >>> twin.step_batch([([0], [1.0], 4.0, 1.0), ([0], [1.0], 8.0, 1.0)])
        [0.0, 0.0]
        >>> twin.weights  # the mean gradient is -6, and (6 - 1) / 6
        [0.8333333333333334]
        """
        for _, values, _, _ in batch:
            self.scale.count(sum(abs(x) for x in values))
        w = self.weights
        offset = self.intercept if self.fit_intercept else 0.0
        predictions = [
            sum((w[j] * x for j, x in zip(indices, values, strict=True)), offset)
            for indices, values, _, _ in batch
        ]
        gradient, slope = mean_gradient(batch, predictions, self.slope, self.epsilon)
        for j, g in gradient.items():
            self._move(j, g)
        if self.fit_intercept:
            self._move(len(self.z) - 1, slope)
        self.t += 1
        return predictions

    def _move(self, j: int, g: float) -> None:
        """Add a gradient of coordinate j."""
        root = math.sqrt(self.n[j] + g * g)
        sigma = (root - math.sqrt(self.n[j])) / self._rates(j)[0]
        self.z[j] += g - sigma * self.weight(j)
        self.n[j] += g * g
