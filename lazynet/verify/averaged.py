"""Dekel's averaged SGD beside its dense twin, which centers every row and sums every weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.data.targets import Problems
from lazynet.engines.dekel import DekelEngine
from lazynet.losses import Loss
from lazynet.reference.dekel import DenseDekel
from lazynet.verify.online import (
    Comparison,
    VerificationReport,
    affordable_rows,
    examples_of,
    first_rows,
)
from lazynet.verify.tolerance import AGREE, NUDGE, NearbyRun, StateBudget
from lazynet.verify.twin import BoundedTwin


class DekelTwin(BoundedTwin):
    """Dekel's algorithm with dense steps; ``mean`` is the point at which the rows are centered.

    The bound is 1e-10 of 1 + the largest number, times 1 + |mean|^2: the lazy intercept is the
    difference of two sums of this size.

    >>> from lazynet.losses import get_loss
    >>> twin = DekelTwin(1, get_loss("hinge"), 1.0, [2.0])
    >>> twin.step([0], [3.0], 1.0), twin.weights, twin.intercept
    (0.0, array([1.]), -1.0)
    >>> round(twin.bound * 1e10, 2)  # (1 + 1) (1 + 4)
    10.0
    """

    def __init__(self, n_features: int, loss: Loss, l2: float, mean: Sequence[float]) -> None:
        self.loss, self.scheduled, self.streams = loss, False, True
        self.theta = 1.0 + sum(value * value for value in mean)
        self.dense, nearby = (
            DenseDekel(
                n_features,
                loss=loss.name,
                l2=l2,
                mean=[value * factor for value in mean],
                epsilon=loss.epsilon,
            )
            for factor in (1.0, 1.0 + NUDGE)
        )
        self.nearby = NearbyRun(nearby)
        self.budget = StateBudget(loss)

    @property
    def bound(self) -> float:
        """The largest Euclidean distance, intercept included, that counts as rounding."""
        return self.theta * self.budget.bound


def verify_averaged(
    X: sparse.csr_matrix,
    problems: Problems,
    loss: Loss,
    l2: float,
    center: bool,
    max_rows: int,
    epochs: int,
) -> VerificationReport:
    """Train Dekel's engine and its dense twin on the first rows, and compare after every step.

    Last iterates and averages are compared.  The rows are centered at the mean of the rows used.
    """
    head, features = first_rows(X, affordable_rows(X, max_rows, epochs))
    n_rows, d = head.shape
    y, weights = problems.only(np.arange(n_rows))[0]
    mean = as_examples(head).column_sums() / n_rows if center else None
    engine = DekelEngine(d, loss, l2, mean)
    examples = as_examples(head, y, weights)
    twin = DekelTwin(d, loss, l2, [0.0] * d if mean is None else mean.tolist())
    comparison = Comparison(features)
    comparison.average_share = AGREE * twin.theta
    rows = examples_of(head, y, weights)
    for t in range(n_rows * epochs):
        twin.step(*rows[t % n_rows])
        if not twin.comparable:
            comparison.ended = twin.ended
            break
        try:
            engine.take(examples, np.array([t % n_rows]))
        except FloatingPointError:
            comparison.overflows()
            break
        lazy, intercept = engine.last()
        near = twin.distance(lazy, intercept) <= twin.bound
        comparison.after_step(t, lazy, twin.weights, near)
        comparison.average_after_step(t, engine.average(), _as_model(*twin.dense.average()))
    return comparison.report("dekel", n_rows, n_rows * epochs, twin.bound)


def _as_model(weights: list[float], intercept: float) -> tuple[NDArray[np.float64], float]:
    return np.array(weights), float(intercept)
