"""The dense twin that knows how far an exact implementation may be from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.reference import DenseReference
from lazynet.tolerance import ErrorBudget


class BoundedTwin:
    """``DenseReference`` with an ``ErrorBudget``: step it beside anything that claims to be exact.

    >>> twin = BoundedTwin(2, loss="hinge", rule="sgd", l1=0.1, schedule=lambda t: 0.5)
    >>> _ = twin.step([0], [1.0], 1.0)
    >>> twin.weights
    array([0.45, 0.  ])
    >>> twin.comparable and twin.bound < 1e-14
    True
    >>> twin.ended is None  # comparing goes on
    True
    >>> round(twin.distance(np.array([0.45, 0.25]), twin.intercept), 6)
    0.25
    """

    def __init__(
        self,
        n_features: int,
        *,
        schedule: Callable[[int], float],
        largest_cushion: float = math.inf,
        **options: Any,
    ) -> None:
        self.dense = DenseReference(n_features, schedule=schedule, **options)
        self.budget = ErrorBudget(**options, largest_cushion=largest_cushion)
        self.epsilon = options.get("epsilon", 0.1)

    def step(
        self, indices: Sequence[int], values: Sequence[float], target: float, weight: float = 1.0
    ) -> float:
        """One step of the reference, and what it adds to the bound."""
        dense = self.dense
        touched = [dense.weights[j] for j in indices]
        eta = dense.schedule(dense.t)
        prediction = dense.step(indices, values, target, weight)
        self.budget.after_step(
            eta,
            values,
            weights=dense.weights,
            prediction=prediction,
            slope=dense.slope(prediction, target, self.epsilon),
            target=target,
            importance=weight,
            touched_weights=touched,
            intercept=dense.intercept,
        )
        return float(prediction)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The twin's weights after the last step."""
        return np.array(self.dense.weights, dtype=np.float64)

    @property
    def intercept(self) -> float:
        """The twin's intercept after the last step."""
        return float(self.dense.intercept)

    @property
    def bound(self) -> float:
        """The Euclidean distance, intercept included, that rounding may have made by now."""
        return self.budget.bound

    @property
    def ended(self) -> str | None:
        """Why comparing ended; None while it goes on."""
        return self.budget.ended

    @property
    def comparable(self) -> bool:
        """False once rounding may have decided a branch, or a diverging run amplified it."""
        return self.budget.comparable

    def distance(self, weights: NDArray[np.float64], intercept: float) -> float:
        """How far weights and intercept are from the twin's."""
        gap = float(np.linalg.norm(np.asarray(weights, dtype=np.float64) - self.weights))
        return float(np.hypot(gap, intercept - self.intercept))
