"""Epochs: their lines in the history, what a callback sees of them, when to stop, a warning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from lazynet.data.standardise import Units
from lazynet.engines.base import Engine
from lazynet.training.evaluation import Evaluation

#: A fall of the loss in the last epoch that is worth a warning: a share of the loss before, and
#: at the same time a share of the loss of the first epoch.
_FAST, _MUCH = 0.1, 0.01


class EpochRecord(TypedDict):
    """One line of ``history_``."""

    epoch: int
    progressive_loss: float
    seconds: float
    #: with early stopping
    validation_loss: NotRequired[float]


class Stopping:
    """Counts the epochs in a row that have not lowered the best loss by the share ``tol``.

    >>> stopping = Stopping(tol=0.1, patience=2)
    >>> [stopping.after(loss) for loss in (1.0, 0.95, 0.85, 0.8, 0.8)]
    [False, False, False, False, True]
    """

    def __init__(self, tol: float | None, patience: int) -> None:
        self.tol, self.patience = tol, patience
        self.best = np.inf
        self.idle = 0

    def after(self, loss: float) -> bool:
        """Whether ``patience`` epochs without progress have passed, the last with this loss."""
        if self.tol is None:
            return False
        progress = math.isinf(self.best) or loss < self.best * (1.0 - self.tol)
        self.idle = 0 if progress else self.idle + 1
        self.best = min(self.best, loss)
        return self.idle >= self.patience


def warnings_of_falls(
    losses: Sequence[float], max_iter: int, name: str = "the loss"
) -> list[Warning]:
    """The warning that the last of the losses, one per epoch, fell by more than a tenth; or none.

    >>> warnings_of_falls([0.7, 0.5, 0.4], max_iter=3)
    [ConvergenceWarning('the loss still fell by 20% in the last of max_iter=3 epochs: raise \
max_iter, or the rates')]
    >>> warnings_of_falls([0.7, 0.5, 0.49], max_iter=3)
    []
    """
    if len(losses) < 2:
        return []
    fall = losses[-2] - losses[-1]
    if fall <= _FAST * losses[-2] or fall <= _MUCH * losses[0]:
        return []
    return [
        ConvergenceWarning(
            f"{name} still fell by {fall / losses[-2]:.0%} in the last of max_iter={max_iter} "
            f"epochs: raise max_iter, or the rates"
        )
    ]


class Epoch:
    """The argument of a callback of ``fit``; what costs a pass is computed when it is read."""

    def __init__(
        self,
        record: EpochRecord,
        t: int,
        engines: Sequence[Engine],
        evaluate: Callable[[], Evaluation],
        units: Units | None = None,
    ) -> None:
        self._engines, self._evaluate, self._units = engines, evaluate, units
        self.epoch = record["epoch"]
        """The number of the epoch, from 0 on."""
        self.progressive_loss = record["progressive_loss"]
        """The mean loss of the predictions in this epoch, each made before its row is learned."""
        self.validation_loss = record.get("validation_loss")
        """The mean loss over the rows that are held out; None without early stopping."""
        self.seconds = record["seconds"]
        """The time of training in this epoch, in seconds."""
        self.t = t
        """The number of steps taken so far."""

    @cached_property
    def _evaluation(self) -> Evaluation:
        return self._evaluate()

    @property
    def mean_loss(self) -> float:
        """The mean loss over all rows of X, at the cost of a pass over the rows."""
        return self._evaluation.mean_loss

    @property
    def objective(self) -> float:
        """The mean loss plus the penalty, at the cost of a pass over the rows."""
        return self._evaluation.objective

    @property
    def nonzeros(self) -> int:
        """The number of weights that are not zero."""
        return self._evaluation.nonzeros

    @property
    def coef(self) -> NDArray[np.float64]:
        """A copy of the weights, a row for every output."""
        result = np.vstack([engine.coefficients() for engine in self._engines])
        return result if self._units is None else self._units.weights(result)

    @property
    def intercept(self) -> NDArray[np.float64]:
        """The intercept of every output."""
        intercepts = np.concatenate([engine.intercepts() for engine in self._engines])
        if self._units is None:
            return intercepts
        result = self._units.intercept(self.coef[:, self._units.moved], intercepts)
        return np.asarray(result, dtype=np.float64)
