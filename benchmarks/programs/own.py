"""lazynet: FoBoS on the clock, AdaGrad, and the dual solver, which certifies its gap."""

from __future__ import annotations

from typing import Any

import numpy as np

import lazynet
from benchmarks.programs.base import (
    LASSO,
    LYING,
    NET,
    RANDOM,
    RIDGE,
    TUNED_PASSES,
    How,
    Peer,
    Setting,
    by_cost,
    by_share,
    row_norm,
)
from benchmarks.programs.untuned import ADAGRAD_RATES
from benchmarks.solvers import dual_net
from lazynet import AdaGrad, LazyNetClassifier
from lazynet.penalties import ElasticNet
from lazynet.training.make_plan import L1_SHARE
from paper_repro.minima import HINGE, LOGISTIC, SQUARED_HINGE, Task

#: One rate more than the seven of the grid.
_RATES = (*ADAGRAD_RATES, 300.0)


class _ByRows(Peer):
    package, module = "lazynet-linear", "lazynet"
    losses = (LOGISTIC, HINGE, SQUARED_HINGE)
    orders = (LYING, RANDOM)

    def made(self, task: Task, how: How) -> Any:
        return LazyNetClassifier(
            task.loss,
            l1=task.l1,
            l2=task.l2,
            max_iter=how.passes,
            tol=None,
            shuffle=how.shuffle,
            fit_intercept=False,
            random_state=how.seed,
            **self.options(task, how),
        )

    def options(self, task: Task, how: How) -> dict[str, Any]:
        raise NotImplementedError

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        return self.made(task, how).fit(rows, task.y)


class FoBoS(_ByRows):
    name = "lazynet FoBoS"
    has_rate = True

    def options(self, task: Task, how: How) -> dict[str, Any]:
        if how.rate is None:
            return {"rule": "fobos"}
        return {"rule": lazynet.FoBoS("inverse_sqrt", eta0=how.rate)}


class Default(_ByRows):
    """AdaGrad, the default rule; where it is tuned, in its published form."""

    name = "lazynet AdaGrad"
    tuned = "alpha"

    def options(self, task: Task, how: How) -> dict[str, Any]:
        return {"rule": AdaGrad() if how.rate is None else AdaGrad(alpha=how.rate)}

    def settings(self, task: Task) -> list[Setting]:
        absolute = float(abs(task.X).sum() / task.X.shape[0]) or 1.0
        return [
            Setting(
                f"alpha {rate:g}",
                ElasticNet(_usual_l1(task)),
                How(passes=TUNED_PASSES, rate=rate / absolute, shuffle=True),
            )
            for rate in _RATES
        ]


class Dual(Peer):
    """The dual solver; where it is tuned, l1 is."""

    name = "lazynet DualNet"
    package, module = "lazynet-linear", "lazynet"
    losses = (LOGISTIC, HINGE, SQUARED_HINGE)
    penalties = (LASSO, RIDGE, NET)
    tuned = "l1"

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        return dual_net(task, 1e-3 if how.tol is None else how.tol).fit(rows, task.y)

    def settings(self, task: Task) -> list[Setting]:
        return by_share(task)


class DualRidge(Dual):
    """The same, tuned by l2; elsewhere it would be looked at twice."""

    name = "lazynet DualNet, l2"
    tuned = "l2"
    only_tuned = True

    def settings(self, task: Task) -> list[Setting]:
        return by_cost(task)


def _usual_l1(task: Task) -> float:
    """A weak l1: of rows that are a table, what ``fit`` takes where none is given."""
    return L1_SHARE * float(np.sqrt(row_norm(task.X))) / len(task.y)
