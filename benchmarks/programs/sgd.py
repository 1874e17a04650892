"""scikit-learn's SGDClassifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.programs.base import (
    BUDGET,
    LYING,
    RANDOM,
    How,
    Peer,
    Setting,
)
from lazynet.penalties import ElasticNet
from paper_repro.minima import HINGE, LOGISTIC, SQUARED_HINGE, Task

#: Passes at most of a tuned fit; the tolerance is scikit-learn's own.
_PASSES = 1000


class SGD(Peer):
    name = "scikit-learn SGD"
    package, module = "scikit-learn", "sklearn"
    losses = (LOGISTIC, HINGE, SQUARED_HINGE)
    orders = (LYING, RANDOM)
    has_rate = True
    tuned = "alpha"

    def made(self, task: Task, how: How) -> Any:
        rates: dict[str, Any] = {}
        if how.rate is not None:
            rates = dict(learning_rate="invscaling", eta0=how.rate, power_t=0.5)
        passes: dict[str, Any] = dict(max_iter=_PASSES)
        if how.passes is not None:
            passes = dict(max_iter=how.passes, tol=None)
        penalised = task.l1 + task.l2 > 0
        return SGDClassifier(
            loss=task.loss,
            penalty="elasticnet" if penalised else None,
            # The schedule "optimal" computes its rates from alpha, which must not be 0.
            alpha=task.strength or 1e-4,
            l1_ratio=task.l1_ratio if penalised else 0.15,
            fit_intercept=False,
            shuffle=how.shuffle,
            random_state=how.seed,
            **passes,
            **rates,
        )

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        return self.made(task, how).fit(rows, task.y)

    def settings(self, task: Task) -> list[Setting]:
        """alpha of an l2 penalty, which with its default schedule is its rate too."""
        return [
            Setting(f"alpha {alpha:g}", ElasticNet(0.0, float(alpha)), How(shuffle=True))
            for alpha in np.logspace(-7, 0, BUDGET)
        ]
