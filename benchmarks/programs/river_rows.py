"""River: one dictionary after the other, in Python."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.minima import Task
from benchmarks.programs.base import LASSO, LYING, NONE, RIDGE, Array, How, Peer


class River(Peer):
    name = "River"
    package, module = "river", "river.linear_model"
    #: Its documentation excludes both penalties together.
    penalties = (NONE, LASSO, RIDGE)
    orders = (LYING,)
    has_rate = True
    most_rows = 2_000

    def prepare(self, task: Task) -> Any:
        X = task.X
        starts = X.indptr.tolist()
        return [
            dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
            for a, b in pairwise(starts)
        ]

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        from river.linear_model import LogisticRegression
        from river.optim import SGD
        from river.optim.schedulers import InverseScaling

        rate = 0.01 if how.rate is None else how.rate
        schedule = InverseScaling(rate, 0.5)
        model = LogisticRegression(SGD(schedule), l1=task.l1, l2=task.l2, intercept_lr=0.0)
        targets = (task.y > 0).tolist()
        for _ in range(how.passes):
            for x, y in zip(rows, targets, strict=True):
                model.learn_one(x, y)
        return model

    def weights(self, model: Any, task: Task) -> Array:
        found = np.zeros(task.X.shape[1])
        for feature, weight in model.weights.items():
            found[feature] = weight
        return found
