"""scikit-learn's SGDClassifier."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import SGDClassifier

from benchmarks.minima import Task
from benchmarks.programs.base import LYING, RANDOM, How, Peer


class SGD(Peer):
    name = "scikit-learn SGD"
    package, module = "scikit-learn", "sklearn"
    orders = (LYING, RANDOM)
    has_rate = True

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        rates: dict[str, Any] = {}
        if how.rate is not None:
            rates = dict(learning_rate="invscaling", eta0=how.rate, power_t=0.5)
        penalised = task.l1 + task.l2 > 0
        return SGDClassifier(
            loss="log_loss",
            penalty="elasticnet" if penalised else None,
            # The schedule "optimal" computes its rates from alpha, which must not be 0.
            alpha=task.strength or 1e-4,
            l1_ratio=task.l1_ratio if penalised else 0.15,
            fit_intercept=False,
            max_iter=how.passes,
            tol=None,
            shuffle=how.shuffle,
            random_state=0,
            **rates,
        ).fit(rows, task.y)
