"""FTRL-Proximal, McMahan et al. (2013), Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from lazynet.reference.learner import Computed, Learner, MeanSize
from lazynet.reference.losses import entry_named


class DenseFTRL(Computed):
    """Stores z and n per coordinate, both zero at the start; the rate is per coordinate.

    With t steps taken so far, and k = t or with ``penalty="once"`` k = 1:

        w = 0 if |z| <= k l1, else -(z - k l1 sgn z) / ((beta + sqrt n) / alpha + k l2)
        sigma = (sqrt(n + g^2) - sqrt n) / alpha        z += g - sigma w        n += g^2

    The weights need no shrinks.  With k = t the penalty counts once per step, as the loss does; in
    the published form, k = 1, the effect of l1 and l2 falls with the number of examples.  The
    intercept is a coordinate without penalties.

    With ``alpha=None`` the rates follow the data.  With m the mean of |x|_1 over the rows so far
    (``MeanSize``), the row of the step included, alpha is ``alpha_unit`` / m, and beta is
    multiplied by ``beta_unit`` m.  The intercept then has ``intercept_alpha`` and beta.

    >>> dense = DenseFTRL(1, loss="squared_error", l1=1.0, alpha=1.0, beta=0.0, fit_intercept=True)
    >>> _ = dense.step([0], [1.0], 4.0)
    >>> dense.weights, dense.weight(0)  # (4 - 1) / 4
    ([0.75], 0.75)
    >>> dense.intercept  # 4 / 4
    1.0
    >>> _ = dense.step([], [], 1.0)  # a row without nonzeros
    >>> dense.weights  # (4 - 2) / 4
    [0.5]
    """

    state: ClassVar[tuple[str, ...]] = ("t", "z", "n", "mean_size")

    def __init__(
        self,
        n_features: int,
        *,
        alpha: float | None = 0.1,
        beta: float = 1.0,
        penalty: str = "per_example",
        alpha_unit: float = 1.0,
        beta_unit: float = 1.0,
        intercept_alpha: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(n_features, **options)
        self.alpha, self.beta = alpha, beta
        self.per_example = entry_named("penalty", penalty, {"per_example": True, "once": False})
        self.alpha_unit, self.beta_unit = alpha_unit, beta_unit
        self.intercept_alpha = intercept_alpha
        self.mean_size = MeanSize()
        # The intercept is the last coordinate.
        self.z, self.n = [0.0] * (n_features + 1), [0.0] * (n_features + 1)

    def _rates(self, j: int) -> tuple[float, float]:
        """alpha and beta of coordinate j as of now."""
        if self.alpha is not None:
            return self.alpha, self.beta
        if j == self.n_features:
            return self.intercept_alpha, self.beta
        unit = self.mean_size.unit
        return self.alpha_unit / unit, self.beta * self.beta_unit * unit

    def weight(self, j: int) -> float:
        """Weight j as of now."""
        return self._weight_at(j, self._rates(j))

    def _penalty(self, j: int) -> tuple[float, float]:
        """k l1 and k l2 of coordinate j."""
        k = 0 if j == self.n_features else self.t if self.per_example else 1
        return k * self.l1, k * self.l2

    def _weight_at(self, j: int, rates: tuple[float, float]) -> float:
        """Weight j with this alpha and beta."""
        (l1, l2), (alpha, beta) = self._penalty(j), rates
        z, n = self.z[j], self.n[j]
        if abs(z) <= l1:
            return 0.0
        return -(z - math.copysign(l1, z)) / ((beta + math.sqrt(n)) / alpha + l2)

    def continue_from(self, other: Learner) -> None:
        """Start from the state of another FTRL.

        The penalty acts on all steps.  Other rates concern only the next steps: every z changes
        such that the weight under the new penalty is the same with both rates.
        """
        assert isinstance(other, DenseFTRL)
        super().continue_from(other)
        for j in range(self.n_features + 1):
            w, (l1, l2), (alpha, beta) = (
                self._weight_at(j, other._rates(j)), self._penalty(j), self._rates(j)
            )  # fmt: skip
            if w:
                seen = (beta + math.sqrt(self.n[j])) / alpha + l2
                self.z[j] = -w * seen - math.copysign(l1, w)

    @property
    def intercept(self) -> float:
        """The intercept as of now."""
        return self.weight(self.n_features)

    def _see(self, values: Sequence[float]) -> None:
        self.mean_size.count(sum(abs(x) for x in values))

    def _learn(self, example: Sequence[tuple[int, float]], slope: float, importance: float) -> None:
        for j, x in example:
            self._move(j, slope * x)
        if self.fit_intercept:
            self._move(self.n_features, slope)

    def _move(self, j: int, g: float) -> None:
        """Add a gradient of coordinate j."""
        root = math.sqrt(self.n[j] + g * g)
        sigma = (root - math.sqrt(self.n[j])) / self._rates(j)[0]
        self.z[j] += g - sigma * self.weight(j)
        self.n[j] += g * g
