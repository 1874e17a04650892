"""Stochastic gradient descent and FoBoS with an elastic net: every step visits every weight.

This is Lipton & Elkan's Algorithm 1 without the lazy updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lazynet.reference.batches import Example, mean_gradient
from lazynet.reference.losses import LOSSES
from lazynet.reference.shrink import SHRINKS


class DenseReference:
    """Learns from one example at a time; ``weights`` can be read after every step.

    - ``step_order="gradient_first"`` (the default): w <- shrink_t(w - eta_t g x).
    - ``step_order="shrink_first"``: w <- shrink_t(w) - eta_t g x, where g is the slope at the w
      before the shrink.

    With ``positive`` the gradient step sets a weight of the example that it takes below 0 to 0.

    >>> twin = DenseReference(2, loss="squared_error", rule="sgd", l1=1, schedule=lambda t: 0.5)
    >>> twin.step([0], [1.0], target=4.0)
    0.0
    >>> twin.weights  # the gradient gives 2, the shrink takes 0.5
    [1.5, 0.0]
    >>> twin.predict([0], [2.0])
    3.0
    >>> twin = DenseReference(2, loss="squared_error", positive=True, schedule=lambda t: 0.5)
    >>> _ = twin.step([0, 1], [1.0, -1.0], target=4.0)
    >>> twin.weights  # the gradient gives 2 and -2
    [2.0, 0.0]
    """

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        l1: Any = 0,
        l2: Any = 0,
        rule: str = "fobos",
        step_order: str = "gradient_first",
        schedule: Callable[[int], Any] = lambda t: 1,
        fit_intercept: bool = False,
        positive: bool = False,
        epsilon: Any = 0.1,
        zero: Any = 0.0,
    ) -> None:
        self.value, self.slope = LOSSES[loss]
        self.shrink = SHRINKS[rule]
        self.l1, self.l2 = l1, l2
        self.schedule = schedule
        self.step_order = step_order
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.epsilon = epsilon
        self.zero = zero
        self.weights = [zero] * n_features
        self.intercept = zero
        self.t = 0

    def predict(self, indices: Iterable[int], values: Iterable[Any]) -> Any:
        """w.x + b at the present weights."""
        total = self.intercept
        for j, x in zip(indices, values, strict=True):
            total += self.weights[j] * x
        return total

    def step(
        self, indices: Iterable[int], values: Iterable[Any], target: Any, weight: Any = 1
    ) -> Any:
        """Learn from one example; return the prediction made before learning."""
        indices, values = list(indices), list(values)
        eta = self.schedule(self.t)
        p = self.predict(indices, values)
        g = weight * self.slope(p, target, self.epsilon)

        if self.step_order == "shrink_first":
            self._shrink_all(eta)
        for j, x in zip(indices, values, strict=True):
            self.weights[j] -= eta * g * x
            if self.positive and self.weights[j] < 0:
                self.weights[j] = self.zero
        if self.step_order == "gradient_first":
            self._shrink_all(eta)

        if self.fit_intercept:
            self.intercept -= eta * g
        self.t += 1
        return p

    def step_batch(self, batch: Sequence[Example]) -> list[Any]:
        """Learn from all examples of the batch by one step; return the predictions before it.

        >>> twin = DenseReference(1, loss="squared_error", schedule=lambda t: 0.5)
        >>> twin.step_batch([([0], [1.0], 4.0, 1.0), ([0], [1.0], 8.0, 1.0)])
        [0.0, 0.0]
        >>> twin.weights, twin.t  # the gradients are -4 and -8
        ([3.0], 1)
        """
        eta = self.schedule(self.t)
        predictions = [self.predict(indices, values) for indices, values, _, _ in batch]
        gradient, slope = mean_gradient(batch, predictions, self.slope, self.epsilon)

        if self.step_order == "shrink_first":
            self._shrink_all(eta)
        for j, g in gradient.items():
            self.weights[j] -= eta * g
            if self.positive and self.weights[j] < 0:
                self.weights[j] = self.zero
        if self.step_order == "gradient_first":
            self._shrink_all(eta)

        if self.fit_intercept:
            self.intercept -= eta * slope
        self.t += 1
        return predictions

    def _shrink_all(self, eta: Any) -> None:
        self.weights = [self.shrink(w, eta, self.l1, self.l2) for w in self.weights]
