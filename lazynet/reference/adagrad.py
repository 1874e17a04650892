"""AdaGrad with an elastic net, Duchi, Hazan & Singer (2011), composite form.

The rate of a coordinate changes only when an example touches the coordinate.  The shrinks that a
weight misses between two touches therefore all have the same rate, and their composition has a
closed form.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from lazynet.reference.affine import fobos_shrink
from lazynet.reference.learner import Computed, Learner, MeanSize


class DenseAdaGrad(Computed):
    """Takes the gradients first; then FoBoS shrinks every weight with the weight's own rate.

    The rate is alpha / (delta + sqrt G_j), where G_j is the sum of the squared gradients of weight
    j.  A gradient of exactly zero changes neither G_j nor the weight: the rate need not be finite.
    Before the first gradient that is not 0, G_j is set to (``initial`` x_j)^2, with x_j times the
    importance of the example.

    With ``alpha=None`` the rates follow the data: with m the mean of ||x||_1 over the rows so far
    (``MeanSize``, which refreshes m if it has changed by more than a sixteenth), the row of the
    step included, alpha = ``product`` / m, and delta is multiplied by m.  When m changes, every
    weight is multiplied by alpha_new / alpha_old.  The intercept has the rate
    1 / (delta + sqrt G) with the delta of the options.

    >>> dense = DenseAdaGrad(1, loss="squared_error", l1=0.5, alpha=1.0, delta=0.0)
    >>> _ = dense.step([0], [1.0], 4.0)
    >>> dense.G, dense.rate(16.0)  # the gradient was -4
    ([16.0], 0.25)
    >>> dense.weights, dense.weight(0)  # the gradient gives 1, the shrink takes 0.5 / 4
    ([0.875], 0.875)
    """

    state: ClassVar[tuple[str, ...]] = ("t", "w", "G", "intercept", "intercept_G")

    def __init__(
        self,
        n_features: int,
        *,
        alpha: float | None = None,
        delta: float = 1e-6,
        initial: float = 0.0,
        product: float = 5.0,
        **options: Any,
    ) -> None:
        super().__init__(n_features, **options)
        self.follows_data, self.product, self.intercept_delta = alpha is None, product, delta
        self.alpha = product if alpha is None else alpha
        self.delta, self.initial = delta, initial
        self.mean_size = MeanSize(tolerance=1 / 16)
        self.intercept_alpha = 1.0 if alpha is None else alpha
        self.w, self.G = [0.0] * n_features, [0.0] * n_features
        self.intercept, self.intercept_G = 0.0, 0.0

    def rate(self, G: float) -> float:
        """The rate of a coordinate whose squared gradients add up to ``G``."""
        return self.alpha / (self.delta + math.sqrt(G))

    def weight(self, j: int) -> float:
        """Weight j as of now."""
        return self.w[j]

    def _learn(self, example: Sequence[tuple[int, float]], slope: float, importance: float) -> None:
        self._catch_up([j for j, _ in example])
        for j, x in example:
            self._move(j, slope * x, importance * x)
        if self.fit_intercept and slope:
            self.intercept_G += slope * slope
            rate = self.intercept_alpha / (self.intercept_delta + math.sqrt(self.intercept_G))
            self.intercept -= rate * slope
        self._shrink_all()

    def _move(self, j: int, g: float, x: float) -> None:
        """Move weight j by the gradient g; G_j begins at (initial x)^2."""
        if g:
            if self.G[j] == 0.0:
                first = self.initial * x
                self.G[j] = first * first
            self.G[j] += g * g
            self.w[j] -= self.rate(self.G[j]) * g

    def _shrink_all(self) -> None:
        self.w = [
            fobos_shrink(w, self.rate(G), self.l1, self.l2) if w else w
            for w, G in zip(self.w, self.G, strict=True)
        ]

    def _catch_up(self, columns: Iterable[int]) -> None:
        """Apply the shrinks that these weights have missed: none."""

    def _see(self, values: Sequence[float]) -> None:
        """Count the row, and recompute alpha if this is due."""
        if not self.follows_data:
            return
        before = self.mean_size.mean
        self.mean_size.count(sum(abs(x) for x in values))
        mean = self.mean_size.mean
        if mean == before:
            return
        self._catch_up(range(self.n_features))
        old = self.alpha
        self.alpha, self.delta = self.product / mean, self.intercept_delta * mean
        if before:
            self.w = [w * (self.alpha / old) for w in self.w]

    def continue_from(self, other: Learner) -> None:
        """Start from the state of another AdaGrad; the missed shrinks have the rates of the other.

        If both follow the data, the sizes of the rows so far count.
        """
        assert isinstance(other, DenseAdaGrad)
        other._catch_up(range(self.n_features))
        super().continue_from(other)
        if self.follows_data and other.follows_data:
            self.mean_size = copy.copy(other.mean_size)
            unit = self.mean_size.unit
            self.alpha, self.delta = self.product / unit, self.intercept_delta * unit


class PlainAdaGrad(DenseAdaGrad):
    """AdaGrad whose step visits only the features of its example, unless alpha changes.

    n missed shrinks at the rate eta amount to one,

        |w| <- [ |w| exp(-l) + (l1 / l2) expm1(-l) ]+        l = n log1p(eta l2)

    and without an l2 penalty to |w| <- [ |w| - n eta l1 ]+.  ``psi`` is the step as of which a
    weight is stored.

    >>> lazy = PlainAdaGrad(2, loss="squared_error", l1=0.5, alpha=1.0, delta=0.0)
    >>> for j in (0, 1):
    ...     _ = lazy.step([j], [1.0], 4.0)
    >>> lazy.weights  # after two shrinks, and after one, by 0.5 / 4 each
    [0.75, 0.875]
    """

    state: ClassVar[tuple[str, ...]] = (*DenseAdaGrad.state, "psi")

    def __init__(self, n_features: int, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.psi = [0] * n_features

    def weight(self, j: int) -> float:
        """Weight j as of now."""
        w, missed, eta = self.w[j], self.t - self.psi[j], self.rate(self.G[j]) if self.w[j] else 0.0
        if self.l2:
            decay = missed * math.log1p(eta * self.l2)
            magnitude = abs(w) * math.exp(-decay) + self.l1 / self.l2 * math.expm1(-decay)
        else:
            magnitude = abs(w) - missed * eta * self.l1
        return math.copysign(max(magnitude, 0.0), w)

    def _catch_up(self, columns: Iterable[int]) -> None:
        for j in columns:
            self.w[j], self.psi[j] = self.weight(j), self.t

    def _shrink_all(self) -> None:
        """Do nothing: ``weight`` applies the missed shrinks later."""
