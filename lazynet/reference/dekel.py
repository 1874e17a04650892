"""Dekel's SGD, averaged SGD and centered averaged SGD.

From "Linear Learning with Sparse Data" (arXiv:1612.09147).  The objective is
l2 / 2 (|w|^2 + b^2) + mean loss, the rate 1 / (l2 t) with t = 1, 2, ..., and the intercept b is
penalised like a weight.  Averages run over the iterates 1 ... T.  Centered learners learn from
x - mean, with ``mean`` the average row of the training set, and report the intercept for x itself.
The paper's lambda is ``l2``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lazynet.reference.learner import Learner

Model = tuple[list[Any], Any]


class _Dekel(Learner):
    """The options, and the model after the last step as ``weights`` and ``intercept``."""

    def __init__(
        self,
        n_features: int,
        *,
        l2: Any = 1,
        mean: Sequence[Any] | None = None,
        fit_intercept: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(n_features, l2=l2, fit_intercept=fit_intercept, **options)
        if self.l1:
            raise ValueError(f"l1 must be 0: Dekel's algorithms have no l1 penalty, got {self.l1}")
        if l2 <= 0:
            raise ValueError(f"l2 must be positive: the rate is 1 / (l2 t), got l2={l2}")
        if not fit_intercept:
            raise ValueError("fit_intercept must be True: Dekel's algorithms have an intercept")
        self.mean = [self.zero] * n_features if mean is None else list(mean)

    def last(self) -> Model:
        """Weights and intercept after the last step."""
        raise NotImplementedError

    @property
    def weights(self) -> list[Any]:
        """All weights after the last step."""
        return self.last()[0]

    @property
    def intercept(self) -> Any:
        """The intercept after the last step, for rows that are not centered."""
        return self.last()[1]


class DenseDekel(_Dekel):
    """Centers every row explicitly and sums every weight at every step, Eq. 3 and 5.

    >>> dense = DenseDekel(1, loss="hinge", l2=1)
    >>> for _ in range(2):
    ...     _ = dense.step([0], [2.0], target=1)
    >>> dense.last(), dense.average()
    (([1.0], 0.5), ([1.5], 0.75))
    >>> dense.weights, dense.intercept
    ([1.0], 0.5)
    """

    def __init__(self, n_features: int, **options: Any) -> None:
        super().__init__(n_features, **options)
        # Weights and intercept for centered rows, and their sums over the steps.
        self.w, self.b = [self.zero] * n_features, self.zero
        self.w_sums, self.b_sum = [self.zero] * n_features, self.zero

    def step(
        self, indices: Iterable[int], values: Iterable[Any], target: Any, importance: Any = 1
    ) -> Any:
        """Learn from one example; return the prediction before."""
        x = [-m for m in self.mean]
        for j, value in zip(indices, values, strict=True):
            x[j] += value
        p = sum((w * value for w, value in zip(self.w, x, strict=True)), self.b)
        g = importance * self.slope(p, target, self.epsilon)
        self.t += 1
        # (t - 1) / t and not 1 - 1 / t: with an integer t, 1 / t would be a rounded float.
        self.w = [
            (w * (self.t - 1) - g * value / self.l2) / self.t
            for w, value in zip(self.w, x, strict=True)
        ]
        self.b = (self.b * (self.t - 1) - g / self.l2) / self.t
        self.w_sums = [s + w for s, w in zip(self.w_sums, self.w, strict=True)]
        self.b_sum += self.b
        return p

    def last(self) -> Model:
        """Weights and intercept after the last step."""
        return self._uncentered(self.w, self.b)

    def average(self) -> Model:
        """The means of the weights and of the intercept over all steps."""
        t = self.t or 1
        return self._uncentered([s / t for s in self.w_sums], self.b_sum / t)

    def _uncentered(self, weights: list[Any], intercept: Any) -> Model:
        offset = sum((w * m for w, m in zip(weights, self.mean, strict=True)), intercept * 0)
        return list(weights), intercept - offset


class PlainDekel(_Dekel):
    """Dekel's Algorithms 1 to 3: a step visits only the features of its example.

    With the slopes g_t, SGD needs only the sums v = sum g x and a = sum g.  The averages need
    u = sum h_{t-1} g x, with the harmonic numbers h, and c = sum a_t / t.  Centering needs
    z = v.mean, r = a (1 + |mean|^2) - z and s = sum r_t / t.

    Here the loop of Algorithm 3 begins at step 2.  As printed it begins at step 1, but the lines
    before the loop already take step 1.  In our copy of the text the fractions in the lines of h, c
    and s are missing; ``docs/errata.md`` says how we completed them.

    >>> lazy = PlainDekel(1, loss="hinge", l2=1)
    >>> for _ in range(2):
    ...     _ = lazy.step([0], [2.0], target=1)
    >>> lazy.last(), lazy.average()
    (([1.0], 0.5), ([1.5], 0.75))
    >>> lazy.weights, lazy.intercept
    ([1.0], 0.5)
    """

    def __init__(self, n_features: int, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.theta = 1 + sum((m * m for m in self.mean), self.zero)
        self.v, self.u = [self.zero] * n_features, [self.zero] * n_features
        self.a = self.c = self.h = self.z = self.r = self.s = self.zero

    def step(
        self, indices: Iterable[int], values: Iterable[Any], target: Any, importance: Any = 1
    ) -> Any:
        """Learn from one example; return the prediction before."""
        example = list(zip(indices, values, strict=True))
        q = sum((self.mean[j] * x for j, x in example), self.zero)
        p = self.zero
        if self.t:
            inner = sum((self.v[j] * x for j, x in example), self.zero)
            p = -(inner - self.a * q + self.r) / (self.l2 * self.t)
        g = importance * self.slope(p, target, self.epsilon)
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
        factor = self.l2 * (self.t or 1)
        weights = [-(v - self.a * m) / factor for v, m in zip(self.v, self.mean, strict=True)]
        return weights, -self.r / factor

    def average(self) -> Model:
        """The means of the weights and of the intercept over all steps."""
        factor = self.l2 * (self.t or 1)
        weights = [
            -(self.h * v - u - self.c * m) / factor
            for v, u, m in zip(self.v, self.u, self.mean, strict=True)
        ]
        return weights, -self.s / factor
