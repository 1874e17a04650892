"""lazynet: FoBoS on the clock, and AdaGrad, the default rule, on the features as passed."""

from __future__ import annotations

from typing import Any

from benchmarks.minima import Task
from benchmarks.programs.base import LYING, RANDOM, How, Peer
from lazynet import AdaGrad, LazyNetClassifier
from lazynet import FoBoS as FoBoSRule
from lazynet.rules.base import Rule


class Default(Peer):
    name = "lazynet AdaGrad"
    package, module = "lazynet-linear", "lazynet"
    orders = (LYING, RANDOM)

    def rule(self, how: How) -> Rule:
        return AdaGrad()

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        return LazyNetClassifier(
            l1=task.l1, l2=task.l2, rule=self.rule(how), standardize=False, max_iter=how.passes,
            tol=None, shuffle=how.shuffle, fit_intercept=False, random_state=0,
        ).fit(rows, task.y)  # fmt: skip


class FoBoS(Default):
    name = "lazynet FoBoS"
    has_rate = True

    def rule(self, how: How) -> Rule:
        return FoBoSRule() if how.rate is None else FoBoSRule("inverse_sqrt", eta0=how.rate)
