"""Regularised dual averaging with an elastic net, Xiao (2010)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from lazynet.reference.learner import Computed, Learner, MeanSize


class DenseRDA(Computed):
    """w minimises  gbar.w + lambda_t |w|_1 + l2/2 |w|^2 + gamma / (2 sqrt t) |w|^2

    where gbar is the mean of the t gradients so far and lambda_t = l1 + gamma rho / sqrt(t).  The
    paper's plain form has rho = 0.  The intercept has a mean gradient too, and no penalty.  The
    weights need no shrinks, because a weight is a function of its gradients.

    With ``gamma=None`` gamma follows the data: it is ``gamma_unit`` m^2, m the mean Euclidean norm
    of the rows so far (``MeanSize``), the row of the step included.  The intercept then has
    ``intercept_gamma``.

    >>> dense = DenseRDA(1, loss="squared_error", l1=0.5, gamma=2.0, fit_intercept=True)
    >>> _ = dense.step([0], [1.0], 4.0)
    >>> dense.weights, dense.weight(0)  # (4 - 0.5) / (0 + 2)
    ([1.75], 1.75)
    >>> dense.intercept, dense.gamma  # 4 / 2
    (2.0, 2.0)
    """

    state: ClassVar[tuple[str, ...]] = ("t", "gradient_sums", "intercept_sum", "mean_size")

    def __init__(
        self,
        n_features: int,
        *,
        gamma: float | None = 1.0,
        rho: float = 0.0,
        gamma_unit: float = 1.0,
        intercept_gamma: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(n_features, **options)
        self.fixed_gamma, self.rho, self.gamma_unit = gamma, rho, gamma_unit
        self.intercept_gamma = intercept_gamma if gamma is None else gamma
        self.mean_size = MeanSize()
        self.gradient_sums, self.intercept_sum = [0.0] * n_features, 0.0

    @property
    def gamma(self) -> float:
        """gamma of the weights as of now."""
        if self.fixed_gamma is not None:
            return self.fixed_gamma
        return self.gamma_unit * (self.mean_size.unit * self.mean_size.unit)

    def _minimiser(self, gradient_sum: float, l1: float, l2: float, gamma: float) -> float:
        """The minimiser in one coordinate, whose gradients add up to ``gradient_sum``."""
        if not self.t:
            return 0.0
        mean = gradient_sum / self.t
        if abs(mean) <= l1:
            return 0.0
        return -(mean - math.copysign(l1, mean)) / (l2 + gamma / math.sqrt(self.t))

    def weight(self, j: int) -> float:
        """Weight j as of now."""
        return self._weight_at(j, self.gamma, self.rho)

    def _weight_at(self, j: int, gamma: float, rho: float) -> float:
        """Weight j with this gamma and this rho."""
        l1 = self.l1 + (gamma * rho / math.sqrt(self.t) if self.t else 0.0)
        return self._minimiser(self.gradient_sums[j], l1, self.l2, gamma)

    def continue_from(self, other: Learner) -> None:
        """Start from the state of another RDA.

        The penalty acts on all steps.  Another gamma or rho concerns only the next steps: every sum
        changes such that the weight under the new penalty is the same with both.  The sum of a
        weight of 0 changes only if the weight would not be 0, and as little as possible.
        """
        assert isinstance(other, DenseRDA)
        super().continue_from(other)
        root, intercept = math.sqrt(self.t), other.intercept
        shift = self.t * self.l1 + self.gamma * self.rho * root
        for j, total in enumerate(self.gradient_sums):
            w = self._weight_at(j, other.gamma, other.rho)
            moved = -w * (self.t * self.l2 + self.gamma * root) - math.copysign(shift, w)
            self.gradient_sums[j] = moved if w else min(max(total, -shift), shift)
        self.intercept_sum = -intercept * self.intercept_gamma * root

    @property
    def intercept(self) -> float:
        """The intercept as of now."""
        return self._minimiser(self.intercept_sum, 0.0, 0.0, self.intercept_gamma)

    def _see(self, values: Sequence[float]) -> None:
        self.mean_size.count(math.sqrt(sum(x * x for x in values)))

    def _learn(self, example: Sequence[tuple[int, float]], slope: float, importance: float) -> None:
        for j, x in example:
            self.gradient_sums[j] += slope * x
        if self.fit_intercept:
            self.intercept_sum += slope
