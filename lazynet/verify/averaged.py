"""Dekel's averaged SGD beside its dense twin, which centers every row and sums every weight."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.data.targets import Targets
from lazynet.engines.dekel import DekelEngine
from lazynet.parameters import check_integer
from lazynet.reference.dekel import DenseDekel
from lazynet.verify.online import (
    LARGEST_EPOCHS,
    Comparison,
    VerificationReport,
    affordable_rows,
    examples_of,
    first_rows,
)
from lazynet.verify.tolerance import AGREE, NUDGE, NearbyRun, StateBudget
from lazynet.verify.twin import BoundedTwin


class _DekelTwin(BoundedTwin):
    """Dekel's algorithm with dense steps; the rows are centered at ``mean``.

    The bound is 1e-10 of 1 + the largest number, times 1 + |mean|^2: the lazy intercept is the
    difference of two sums of this size.
    """

    def __init__(self, p: SimpleNamespace, mean: list[float]) -> None:
        self.loss, self.scheduled, self.streams = p.loss, False, True
        self.budget, self.theta = StateBudget(p.loss), 1.0 + sum(x * x for x in mean)
        options = dict(loss=p.loss.name, l2=p.l2, epsilon=p.loss.epsilon)
        self.dense = DenseDekel(len(mean), mean=mean, **options)
        nudged = [x * (1.0 + NUDGE) for x in mean]
        self.nearby = NearbyRun(DenseDekel(len(mean), mean=nudged, **options))

    @property
    def bound(self) -> float:
        return self.theta * self.budget.bound


def verify_averaged(
    p: SimpleNamespace, X: sparse.csr_matrix, problems: Targets, max_rows: int, epochs: int
) -> VerificationReport:
    """Train Dekel's engine and its dense twin on the first rows, and compare after every step.

    Last iterates and averages are compared.  The rows are centered at the mean of the rows used.
    ``p`` holds the parameters of the estimator.
    """
    max_rows = check_integer("max_rows", max_rows, 1)
    epochs = check_integer("epochs", epochs, 1, LARGEST_EPOCHS)
    head, features = first_rows(X, affordable_rows(X, max_rows, epochs))
    n_rows, d = head.shape
    problem = problems.only(np.arange(n_rows))[0]
    mean = as_examples(head).column_sums() / n_rows if p.center else None
    engine = DekelEngine(d, p.loss, p.l2, mean)
    twin = _DekelTwin(p, [0.0] * d if mean is None else mean.tolist())
    comparison = Comparison(features, AGREE * twin.theta)
    examples, rows = as_examples(head, *problem), examples_of(head, *problem)
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
        weights, offset = twin.dense.average()
        comparison.average_after_step(t, engine.average(), (np.array(weights), float(offset)))
    return comparison.report("dekel", n_rows, n_rows * epochs, twin.bound)
