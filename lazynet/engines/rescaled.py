"""Weights as a scale times a vector: the classic trick for an l2 penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Engine
from lazynet.engines.wear import Wear
from lazynet.kernels import rescaled as rescaled_kernel
from lazynet.kernels.examples import Examples, Steps, Task


class RescaledEngine(Engine):
    """Weights as a scale times a vector; there is no l1 penalty.

    >>> engine = RescaledEngine(2)
    >>> engine.load(np.array([1.0, 0.0]), 0.5)
    >>> engine.weights(), engine.intercept
    (array([1., 0.]), 0.5)
    """

    name = "rescaled"
    _per_weight = ("vector",)
    _scalars = ("fields",)

    def __init__(self, n_features: int, wear: Wear | None = None) -> None:
        super().__init__(n_features, wear)
        self.vector = np.zeros(n_features)
        self.fields = np.zeros(rescaled_kernel.RESCALED_FIELDS)
        self.scale = 1.0

    @property
    def scale(self) -> float:
        """The factor c of the vector."""
        return float(self.fields[rescaled_kernel.SCALE_FIELD])

    @scale.setter
    def scale(self, value: float) -> None:
        self.fields[rescaled_kernel.SCALE_FIELD] = value

    @property
    def intercept(self) -> float:
        return float(self.fields[rescaled_kernel.INTERCEPT_FIELD])

    @intercept.setter
    def intercept(self, value: float) -> None:
        self.fields[rescaled_kernel.INTERCEPT_FIELD] = value

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return rescaled_kernel.run(examples, steps, task, self.vector, self.fields, first)

    def _sweep(self) -> None:
        self.vector *= self.scale
        self.scale = 1.0

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        return np.multiply(self.vector, self.scale, out=out)

    def weights_at(self, which: Any) -> NDArray[np.float64]:
        return np.asarray(self.vector[which] * self.scale)

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        np.copyto(self.vector, weights)
        self.scale = 1.0
        self.intercept = intercept
