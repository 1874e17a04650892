"""SGD and FoBoS with rates that are computed from the rows: every step visits every weight.

The rate follows the sizes of the rows and the slopes of the loss, as AdaGrad's rate does with one
rate for all weights (Ward, Wu & Bottou 2019).  All is measured in units in which the rows have the
mean size 1 and the intercept is a feature of value 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from lazynet.reference.losses import LOSSES
from lazynet.reference.shrink import SHRINKS

#: The curvature of the losses whose slope has no bound: they take implicit steps.
IMPLICIT = {"squared_hinge": 2.0, "squared_error": 1.0, "squared_epsilon_insensitive": 2.0}
#: The losses of numbers; all other losses depend on the margin.
NUMBERS = (
    "squared_error",
    "absolute_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)


class DenseFromData:
    """Learns from one example at a time; ``weights`` can be read after every step.

    >>> twin = DenseFromData(1, loss="squared_error")
    >>> twin.step([0], [2.0], target=4.0)
    0.0
    >>> twin.mean_size, twin.rate  # 8 * 4 / sqrt(16 + 8 * 16) / 4
    (4.0, 0.6666666666666666)
    >>> round(twin.step([0], [2.0], target=4.0), 3)  # an implicit step does not overshoot
    2.909
    """

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        l1: float = 0.0,
        l2: float = 0.0,
        rule: str = "fobos",
        step_order: str = "gradient_first",
        fit_intercept: bool = False,
        epsilon: float = 0.1,
        largest_rate: float = math.inf,
        positive: bool = False,
    ) -> None:
        self.loss, self.slope, self.shrink = loss, LOSSES[loss][1], SHRINKS[rule]
        self.l1, self.l2 = l1, l2
        self.step_order = step_order
        self.fit_intercept, self.epsilon = fit_intercept, epsilon
        self.largest_rate, self.positive = largest_rate, positive
        self.weights = [0.0] * n_features
        self.intercept = 0.0
        self.t = 0
        self.sizes: list[float] = []  # |x|^2 of the rows seen that are not empty
        self.squared_targets: list[float] = []
        self.mean_size = 0.0  # m, as of the last refresh
        self.acc = 0.0
        self.rate = 0.0  # of the last step

    def predict(self, indices: Iterable[int], values: Iterable[float]) -> float:
        """w.x + b at the present weights."""
        pairs = zip(indices, values, strict=True)
        return sum((self.weights[j] * x for j, x in pairs), self.intercept)

    def step(
        self, indices: Iterable[int], values: Iterable[float], target: float, weight: float = 1.0
    ) -> float:
        """Learn from one example; return the prediction made before learning."""
        indices, values = list(indices), list(values)
        size = math.fsum(x * x for x in values)
        self._see(size, target)
        p = self.predict(indices, values)
        g = weight * self.slope(p, target, self.epsilon)
        self.rate, rate_of_intercept = self._rates(size, g)
        g *= self._damping(p, target, g, weight, self.rate * size + rate_of_intercept)

        if self.step_order == "shrink_first":
            self._shrink_all()
        for j, x in zip(indices, values, strict=True):
            self.weights[j] -= self.rate * g * x
            if self.positive and self.weights[j] < 0:
                self.weights[j] = 0.0
        if self.step_order == "gradient_first":
            self._shrink_all()
        self.intercept -= rate_of_intercept * g
        self.t += 1
        return p

    def _see(self, size: float, target: float) -> None:
        """Count a row; refresh m at the rows 0, 1, 2, 4, 8, ... that are not empty."""
        self.squared_targets.append(target * target)
        if not size:
            return
        self.sizes.append(size)
        number = len(self.sizes) - 1
        if number & (number - 1) == 0:
            mean = math.fsum(self.sizes) / len(self.sizes)
            if self.mean_size:
                factor = math.sqrt(self.mean_size / mean)
                self.weights = [factor * w for w in self.weights]
            self.mean_size = mean

    def _rates(self, size: float, g: float) -> tuple[float, float]:
        """The rates of the weights and of the intercept, for a row whose slope is ``g``."""
        numbers, implicit = self.loss in NUMBERS, self.loss in IMPLICIT
        Y = 1.0
        if numbers:
            Y = math.sqrt(math.fsum(self.squared_targets) / len(self.squared_targets))
        bounds = {"squared_error": Y, "squared_epsilon_insensitive": Y}
        G = {**bounds, "huber": min(Y, self.epsilon)}.get(self.loss, 1.0)
        features = 1.0 + self.fit_intercept  # the mean of |x|^2 / m, and the intercept's 1
        u = (size / self.mean_size if size else 0.0) + self.fit_intercept
        u /= features
        self.acc += g * g * (u if implicit else min(u, 8.0))
        root = math.sqrt(self.acc + 8.0 * G * G)
        eta = (8.0 if numbers else 32.0) * Y / (features * root) if root else 0.0
        if not implicit and u > 8.0:
            eta *= math.sqrt(8.0 / u)
        intercepts = eta if self.fit_intercept else 0.0
        if numbers and G:
            intercepts = min(intercepts, 4.0 * Y / (G * len(self.squared_targets)))
        rate = eta / self.mean_size if self.mean_size else 0.0
        return min(rate, self.largest_rate), intercepts

    def _damping(self, p: float, y: float, g: float, weight: float, reach: float) -> float:
        """The factor of the slope ``g``: the step changes the prediction by reach times g."""
        if self.loss in IMPLICIT:
            return 1.0 / (1.0 + IMPLICIT[self.loss] * weight * reach)
        if self.loss in NUMBERS and abs(g) * reach > abs(p - y):
            return abs(p - y) / (abs(g) * reach)
        return 1.0

    def _shrink_all(self) -> None:
        self.weights = [self.shrink(w, self.rate, self.l1, self.l2) for w in self.weights]
