"""The one place where studies make lazynet's learners and time their steps."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples, row_sizes_of
from lazynet.engines.base import Engine
from lazynet.engines.catalogue import RuleLike, check_rule
from lazynet.losses import get_loss
from lazynet.penalties import ElasticNet
from lazynet.schedules import AUTO, InverseSqrt
from lazynet.training.passes import Learner, run_pass
from lazynet.training.plan import Plan
from paper_repro.documents import Corpus

#: The strengths of the penalty and the rate of all timed learners.
L1 = L2 = 1e-6
ETA0 = 0.05


def plan(
    rule: RuleLike = "fobos",
    l1: float = L1,
    l2: float = L2,
    eta0: float = ETA0,
    *,
    loss: str = "log_loss",
    fit_intercept: bool = True,
) -> Plan:
    """By default logistic regression with an elastic net at the rates eta0 / sqrt(t + 1).

    A rule that has a schedule keeps it, and needs no ``eta0``.
    """
    chosen = check_rule("rule", rule)
    return Plan(
        loss=get_loss(loss),
        penalty=ElasticNet(l1, l2),
        rule=chosen,
        schedule=InverseSqrt(eta0) if chosen.schedule == AUTO else chosen.schedule,
        average=chosen.average,
        fit_intercept=fit_intercept,
    )


def learner(
    X: sparse.csr_matrix, y: NDArray[np.float64], chosen: Plan, engine: Engine | None = None
) -> Learner:
    """A learner at zero weights, in the plan's engine or in the engine that is given.

    The system hands out memory when an array is first written, which takes time.  Each array of
    the engine is written here, so that no timed step waits for memory.
    """
    engine = chosen.new_engines(X.shape[1])[0] if engine is None else engine
    for array in engine.state().values():
        np.positive(array, out=array)
    examples = as_examples(X, y, None, row_sizes_of(X, chosen.size_kind))
    return Learner(engine, examples, chosen)


def seconds_per_step(visiting: Learner, rows: NDArray[np.int64] | None, t: int = 0) -> float:
    """The mean processor time of a step of a learner that visits the rows in order from step t."""
    began = time.process_time()
    next_t = run_pass([visiting], rows, t)
    return (time.process_time() - began) / (next_t - t)


class Epochs:
    """Passes over the rows in ``order``, one after another; call it for the next pass.

    A call returns the processor time per example.
    """

    def __init__(
        self, corpus: Corpus, chosen: Plan, order: NDArray[np.int64] | None = None
    ) -> None:
        self.learner = learner(corpus.X, corpus.y, chosen)
        self.order, self.t = order, 0
        self.n_rows = corpus.X.shape[0] if order is None else len(order)

    def __call__(self) -> float:
        seconds = seconds_per_step(self.learner, self.order, self.t)
        self.t += self.n_rows
        return seconds
