"""Dekel's SGD, averaged SGD and centered averaged SGD.

From "Linear Learning with Sparse Data" (arXiv:1612.09147).

The objective is lambda / 2 (|w|^2 + b^2) + mean loss, the rate 1 / (lambda t) with t = 1, 2, ...,
and the intercept b is penalised like a weight.  Averages run over the iterates 1 ... T.  Centered
learners see x - mean, where ``mean`` is the average row of the training set, and report the
intercept that belongs to the rows as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lazynet.reference.losses import LOSSES

Model = tuple[list[Any], Any]


class _Dekel:
    """What is learned, and from where rows are seen."""

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        strength: Any = 1,
        mean: Sequence[Any] | None = None,
        epsilon: Any = 0.1,
        zero: Any = 0.0,
    ) -> None:
        self.slope = LOSSES[loss][1]
        self.strength, self.epsilon, self.zero = strength, epsilon, zero
        self.mean = [zero] * n_features if mean is None else list(mean)
        self.t = 0


class DenseDekel(_Dekel):
    """Every weight and every average at every step, Eq. 3 and 5, with rows centered in so many
    words.

    >>> twin = DenseDekel(1, loss="hinge", strength=1)
    >>> for _ in range(2):
    ...     _ = twin.step([0], [2.0], target=1)
    >>> twin.last(), twin.average()
    (([1.0], 0.5), ([1.5], 0.75))
    """

    def __init__(self, n_features: int, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.weights, self.intercept = [self.zero] * n_features, self.zero
        self.weight_sums, self.intercept_sum = [self.zero] * n_features, self.zero

    def step(self, indices: Iterable[int], values: Iterable[Any], target: Any) -> Any:
        """Learn from one example; returns the prediction made before learning."""
        x = [-m for m in self.mean]
        for j, value in zip(indices, values, strict=True):
            x[j] += value
        p = sum((w * value for w, value in zip(self.weights, x, strict=True)), self.intercept)
        g = self.slope(p, target, self.epsilon)
        self.t += 1
        # Not 1 - 1 / t: over exact fractions 1 / t would be rounded.
        self.weights = [
            (w * (self.t - 1) - g * value / self.strength) / self.t
            for w, value in zip(self.weights, x, strict=True)
        ]
        self.intercept = (self.intercept * (self.t - 1) - g / self.strength) / self.t
        self.weight_sums = [s + w for s, w in zip(self.weight_sums, self.weights, strict=True)]
        self.intercept_sum += self.intercept
        return p

    def last(self) -> Model:
        """Weights and intercept after the last step."""
        return self._uncentered(self.weights, self.intercept)

    def average(self) -> Model:
        """The mean of both over all steps."""
        weights = [s / self.t for s in self.weight_sums] if self.t else self.weight_sums
        intercept = self.intercept_sum / self.t if self.t else self.intercept_sum
        return self._uncentered(weights, intercept)

    def _uncentered(self, weights: list[Any], intercept: Any) -> Model:
        offset = sum((w * m for w, m in zip(weights, self.mean, strict=True)), intercept * 0)
        return list(weights), intercept - offset


class PlainDekel(_Dekel):
    """The same at the cost of the nonzeros: Algorithms 1 to 3, corrected.

    With g_t the slopes, v = sum g x and a = sum g are all that SGD needs; u = sum h_{t-1} g x with
    the harmonic numbers h, and c = sum a_t / t, make the averages; z = v.mean, r = a (1 + |mean|^2)
    - z and s = sum r_t / t do what centering would.  In the text of the note that came down to
    us h grows by 1 where 1 / t is meant, c by g where a / t is meant, and Algorithm 3's loop begins
    at step 1, which its prelude has taken already; the author's own library has them right.

    >>> lazy = PlainDekel(1, loss="hinge", strength=1)
    >>> for _ in range(2):
    ...     _ = lazy.step([0], [2.0], target=1)
    >>> lazy.last(), lazy.average()
    (([1.0], 0.5), ([1.5], 0.75))
    """

    def __init__(self, n_features: int, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.theta = 1 + sum((m * m for m in self.mean), self.zero)
        self.v, self.u = [self.zero] * n_features, [self.zero] * n_features
        self.a = self.c = self.h = self.z = self.r = self.s = self.zero

    def step(self, indices: Iterable[int], values: Iterable[Any], target: Any) -> Any:
        """Learn from one example; returns the prediction made before learning."""
        example = list(zip(indices, values, strict=True))
        q = sum((self.mean[j] * x for j, x in example), self.zero)
        p = self.zero
        if self.t:
            inner = sum((self.v[j] * x for j, x in example), self.zero)
            p = -(inner - self.a * q + self.r) / (self.strength * self.t)
        g = self.slope(p, target, self.epsilon)
        self.t += 1
        one = self.zero + 1
        self.a += g
        for j, x in example:
            self.u[j] += self.h * g * x
            self.v[j] += g * x
        self.h += one / self.t
        self.c += self.a / (one * self.t)
        self.z += g * q
        self.r = self.a * self.theta - self.z
        self.s += self.r / (one * self.t)
        return p

    def last(self) -> Model:
        """Weights and intercept after the last step."""
        if not self.t:
            return list(self.v), self.zero
        factor = self.strength * self.t
        weights = [-(v - self.a * m) / factor for v, m in zip(self.v, self.mean, strict=True)]
        return weights, -self.r / factor

    def average(self) -> Model:
        """The mean of both over all steps."""
        if not self.t:
            return list(self.v), self.zero
        factor = self.strength * self.t
        weights = [
            -(self.h * v - u - self.c * m) / factor
            for v, u, m in zip(self.v, self.u, self.mean, strict=True)
        ]
        return weights, -self.s / factor
