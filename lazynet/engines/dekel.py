"""Dekel's SGD, averaged SGD and centered averaged SGD over the compiled kernel.

One engine keeps the sums from which all four models are read: the last iterate or the average of
all iterates, each with the rows as passed or centered at a mean.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import take_until_done
from lazynet.kernels import dekel
from lazynet.kernels.examples import Examples
from lazynet.losses import Loss

#: The advice after an overflow: the first steps are 1 / l2 long.
RAISE_L2 = "Raise l2"

Model = tuple[NDArray[np.float64], float]


class DekelEngine:
    """SGD on l2/2 (|w|^2 + b^2) + mean loss at the rate 1 / (l2 t); a step costs its nonzeros.

    ``mean`` is subtracted from the rows; None: the rows are not centered.
    """

    def __init__(
        self,
        n_features: int,
        loss: Loss,
        l2: float,
        mean: NDArray[np.float64] | None = None,
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.mean = np.zeros(0) if mean is None else np.ascontiguousarray(mean, dtype=np.float64)
        # theta is infinite if the rows are huge; the kernel then reports an overflow.
        with np.errstate(over="ignore"):
            self.theta = 1.0 + float(self.mean @ self.mean)
        self.cells = np.zeros((n_features, 2))
        self.fields = np.zeros(dekel.N_FIELDS)

    @property
    def t(self) -> int:
        """Steps taken."""
        return int(self.fields[dekel.STEPS])

    def take(self, examples: Examples, order: NDArray[np.int64]) -> None:
        """Learn from the rows of ``examples`` whose numbers ``order`` lists."""

        run = partial(
            dekel.run, examples, order, self.loss.code, self.loss.epsilon, self.l2, self.mean,
            self.theta, self.cells, self.fields,
        )  # fmt: skip
        take_until_done(
            run, len(order), self.t, examples,
            row_of=lambda step: int(order[step]), remedy=RAISE_L2,
            sweep=lambda: dekel.begin_h_again(self.cells, self.fields),
        )  # fmt: skip

    def last(self) -> Model:
        """Weights and intercept after the last step, for rows that are not centered."""
        # r = a (1 + |mean|^2) - z: the sum of the intercept for rows that are not centered.
        a, z = self.fields[[dekel.A, dekel.Z]].tolist()
        return self._model(self.cells[:, 0], a, a * self.theta - z)

    def average(self) -> Model:
        """The mean of weights and intercept over all steps t = 1, 2, ..., for uncentered rows."""
        h = self.fields[dekel.H]
        # The estimator refuses weights that are not finite.
        with np.errstate(over="ignore", invalid="ignore"):
            sums = h * self.cells[:, 0] - self.cells[:, 1]
        c, s = self.fields[[dekel.C, dekel.S]].tolist()
        return self._model(sums, c, s)

    def _model(self, sums: NDArray[np.float64], offset: float, intercept: float) -> Model:
        if not self.t:
            return np.zeros(len(self.cells)), 0.0
        # The estimator refuses weights that are not finite.
        with np.errstate(over="ignore", invalid="ignore"):
            if len(self.mean):
                sums = sums - offset * self.mean
            return -sums / (self.l2 * self.t), -intercept / (self.l2 * self.t)
