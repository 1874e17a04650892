"""lightning: stochastic dual coordinate ascent, with an elastic net."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.base import NET, RANDOM, RIDGE, How, Peer, Setting, by_cost
from paper_repro.minima import HINGE, LOGISTIC, SQUARED_HINGE, Task

_LOSSES = {LOGISTIC: "log", HINGE: "hinge", SQUARED_HINGE: "squared_hinge"}


class SAGA(Peer):
    name = "lightning SAGA"
    package, module = "sklearn-contrib-lightning", "lightning.classification"
    losses = (LOGISTIC, SQUARED_HINGE)
    penalties = (RIDGE, NET)
    orders = (RANDOM,)
    to_minimum = True
    tuned = "alpha"
    most_exact = How(passes=10_000)

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        from lightning.classification import SAGAClassifier

        mixed: dict[str, Any] = dict(penalty="l1", beta=task.l1) if task.l1 else {}
        return SAGAClassifier(
            loss=_LOSSES[task.loss],
            alpha=task.l2,
            max_iter=10 if how.passes is None else how.passes,
            tol=0.0 if how.passes else 1e-3,
            random_state=how.seed,
            **mixed,
        ).fit(rows, task.y)

    def settings(self, task: Task) -> list[Setting]:
        return by_cost(task)
