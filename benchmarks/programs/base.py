"""What the peers have in common: one face for every program that learns linear classifiers.

A peer learns the weights of a ``Task`` without an intercept: whoever wants one adds a column of
ones to the rows, for everybody.  ``prepare`` brings the rows into the peer's own form, ``fit`` is
what is timed, and ``weights`` reads the result.  A peer that cannot run says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.penalties import ElasticNet
from paper_repro.machine import version_of
from paper_repro.minima import LOGISTIC, SLOPES, Task

Array = NDArray[np.float64]

#: The kinds of a penalty.
NONE, LASSO, RIDGE, NET = "no penalty", "l1", "l2", "elastic net"
ANY = (NONE, LASSO, RIDGE, NET)
#: The orders in which rows are visited.
LYING, RANDOM = "as they lie", "in random order"
#: Settings that a peer may try where it is tuned.
BUDGET = 8
#: Passes of the tuned fits of Vowpal Wabbit and of AdaGrad.
TUNED_PASSES = 10
#: Inverse strengths of an l2 penalty on the sum of the losses, and l1 as shares of the least l1 at
#: which nothing but a constant is left.
COSTS = tuple(10.0**k for k in range(-2, 6))
SHARES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)


def kind(penalty: ElasticNet) -> str:
    """Which of the kinds a penalty is.

    >>> kind(ElasticNet()), kind(ElasticNet(0.1)), kind(ElasticNet(0.1, 0.1))
    ('no penalty', 'l1', 'elastic net')
    """
    if penalty.l1:
        return NET if penalty.l2 else LASSO
    return RIDGE if penalty.l2 else NONE


@dataclass(frozen=True)
class How:
    """How a peer runs; what is None is left to the peer."""

    passes: int | None = None
    tol: float | None = None
    #: The scale of the rates, which fall with the square root of the step.
    rate: float | None = None
    shuffle: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Setting:
    """One setting that is tried where a peer is tuned: its name, the penalty, and how to run."""

    name: str
    penalty: ElasticNet
    how: How = How()


class Peer:
    """A program; subclasses say what it can do, and how."""

    name: ClassVar[str]
    #: The distribution whose version is told, and the module without which nothing runs.
    package: ClassVar[str]
    module: ClassVar[str]
    losses: ClassVar[tuple[str, ...]] = (LOGISTIC,)
    penalties: ClassVar[tuple[str, ...]] = ANY
    #: The orders of the rows in its passes; empty for a program that makes no passes.
    orders: ClassVar[tuple[str, ...]] = ()
    #: Whether a rate of its steps can be given.
    has_rate: ClassVar[bool] = False
    #: The parameter that is tuned, in words.
    tuned: ClassVar[str] = ""
    #: Whether it differs from another peer by the parameter that is tuned alone.
    only_tuned: ClassVar[bool] = False
    #: The most rows whose passes are timed.
    most_rows: ClassVar[int | None] = None

    @property
    def missing(self) -> str | None:
        """Why the program cannot run here, or None."""
        try:
            import_module(self.module)
        except ModuleNotFoundError as error:
            if error.name and self.module.split(".")[0] == error.name.split(".")[0]:
                return f"{self.package} is not installed"
            return f"{self.package} cannot be loaded: {error}"
        except Exception as error:  # whatever a package does where it is loaded
            return f"{self.package} cannot be loaded: {type(error).__name__}: {error}"
        return None

    @property
    def version(self) -> str:
        return version_of(self.package)

    def refuses(self, task: Task) -> str | None:
        """Why the program does not learn this task, or None."""
        if task.loss not in self.losses:
            return f"no loss {task.loss}"
        if kind(task.penalty) not in self.penalties:
            return f"no penalty of the kind {kind(task.penalty)}"
        return None

    def prepare(self, task: Task) -> Any:
        """The rows in the program's own form; not timed with ``fit``."""
        return task.X

    def fresh(self, rows: Any) -> None:
        """Forget what an earlier fit has kept of the rows."""

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        """A model."""
        raise NotImplementedError

    def weights(self, model: Any, task: Task) -> Array:
        """The weights of a model, one for each feature."""
        return np.asarray(model.coef_, dtype=np.float64).ravel()

    def settings(self, task: Task) -> list[Setting]:
        """``BUDGET`` settings of the parameter that is usually tuned."""
        raise NotImplementedError

    def solved(self, task: Task, how: How) -> Array:
        """Prepare, fit and read the weights."""
        return self.weights(self.fit(self.prepare(task), task, how), task)


def by_cost(task: Task, costs: Sequence[float] = COSTS, how: How = How()) -> list[Setting]:
    """An l2 penalty of 1 / (C n) on the mean loss, for every C."""
    n = len(task.y)
    return [Setting(f"C = {cost:g}", ElasticNet(0.0, 1.0 / (cost * n)), how) for cost in costs]


def by_share(task: Task, multiple: float = 0.0, how: How = How()) -> list[Setting]:
    """l1 as a share of the least l1 that leaves nothing but a constant, and l2 as its multiple."""
    most = largest_l1_beside_constant(task)
    return [
        Setting(
            f"l1 = {share:g} of the largest", ElasticNet(share * most, multiple * share * most), how
        )
        for share in SHARES
    ]


def largest_l1_beside_constant(task: Task) -> float:
    """The largest slope of the mean loss at the best constant.

    At zero weights a column of ones has the largest slope of all where one class is rare, and says
    nothing of the strengths that other features need.

    >>> from paper_repro.rows import Rows
    >>> X = sparse.csr_matrix([[1.0, 0.1], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    >>> y = np.array([1.0, -1.0, -1.0, -1.0])
    >>> round(largest_l1_beside_constant(Task(Rows(X, y, X, y, ""), LOGISTIC, ElasticNet())), 5)
    0.01875
    """
    positive = float(np.mean(task.y > 0))
    constant = np.log(positive / (1.0 - positive)) if task.loss == LOGISTIC else 2 * positive - 1
    slopes = SLOPES[task.loss](np.full(len(task.y), constant), task.y)
    return float(np.abs(task.X.T @ slopes).max() / len(task.y))


def by_rate(task: Task, rates: Sequence[float], how: How, penalty: ElasticNet) -> list[Setting]:
    """Rates in the unit 1 / (mean squared length of a row)."""
    unit = row_norm(task.X)
    return [
        Setting(f"rate {rate:g}", penalty, How(**{**vars(how), "rate": rate / unit}))
        for rate in rates
    ]


def row_norm(X: sparse.csr_matrix) -> float:
    """The mean squared length of a row."""
    return float(X.multiply(X).sum() / X.shape[0])
