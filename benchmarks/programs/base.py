"""What the peers have in common: one face for every program that makes passes over rows.

A peer learns the weights of a ``Task`` with the logistic loss, without an intercept.  ``prepare``
brings the rows into the peer's own form, ``fit`` is what is timed, and ``weights`` reads the
result.  A peer that cannot run says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.minima import Task
from lazynet.penalties import ElasticNet

Array = NDArray[np.float64]

#: The kinds of a penalty.
NONE, LASSO, RIDGE, NET = "no penalty", "l1", "l2", "elastic net"
ANY = (NONE, LASSO, RIDGE, NET)
#: The orders in which rows are visited.
LYING, RANDOM = "as they lie", "in random order"


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
    """How a peer runs."""

    passes: int = 1
    #: The scale of the rates, which fall with the square root of the step; None: the peer's own.
    rate: float | None = None
    shuffle: bool = False


class Peer:
    """A program; subclasses say what it can do, and how."""

    name: ClassVar[str]
    #: The distribution whose version is reported, and the module that the program needs.
    package: ClassVar[str]
    module: ClassVar[str]
    penalties: ClassVar[tuple[str, ...]] = ANY
    #: The orders of the rows in its passes.
    orders: ClassVar[tuple[str, ...]]
    #: Whether a rate of its steps can be given.
    has_rate: ClassVar[bool] = False
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

    def takes(self, task: Task) -> bool:
        """Whether the program has this kind of penalty."""
        return kind(task.penalty) in self.penalties

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
