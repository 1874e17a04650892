"""Epochs: the order of their rows, their lines in the history, the best one, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from lazynet.data.standardise import Units
from lazynet.engines.undo import Undo
from lazynet.training.learners import AnyLearner, evaluated


class EpochRecord(TypedDict):
    """One line of ``history_``."""

    epoch: int
    progressive_loss: float
    seconds: float
    #: with early stopping
    validation_loss: NotRequired[float]
    validation_score: NotRequired[float]


class Orders:
    """The order of the rows in each epoch: explicit, shuffled, or the order of X.

    ``rows`` are the rows to visit, None for all rows.
    """

    def __init__(
        self,
        n_rows: int,
        explicit: NDArray[np.int64] | None,
        generator: np.random.RandomState | None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        self.explicit, self.generator, self.rows = explicit, generator, rows
        self.n_rows = n_rows if rows is None else len(rows)

    @property
    def n_visits(self) -> int:
        """The number of rows that an epoch visits."""
        return self.n_rows if self.explicit is None else int(self.explicit.shape[-1])

    def of(self, epoch: int) -> NDArray[np.int64] | None:
        if self.explicit is not None:
            if self.explicit.ndim == 1:
                return self.explicit
            if epoch >= len(self.explicit):
                raise ValueError(
                    f"sample_order has {len(self.explicit)} epochs, but epoch {epoch} was asked "
                    f"for; give one row for each of max_iter epochs, or a single order for all"
                )
            return self.explicit[epoch]
        if self.generator is None:
            return self.rows
        places = self.generator.permutation(self.n_rows).astype(np.int64, copy=False)
        return places if self.rows is None else self.rows[places]


class Stopping:
    """Counts the epochs in a row that have not lowered the best loss by the share ``tol``.

    ``constant`` is the loss of the best constant prediction; a first epoch is bad if its loss is
    above this loss by more than that share.

    >>> stopping = Stopping(tol=0.1, patience=2)
    >>> [stopping.after(loss) for loss in (1.0, 0.95, 0.85, 0.8, 0.8)]
    [False, False, False, False, True]
    >>> stopping = Stopping(0.1, 2, constant=0.7)
    >>> stopping.is_bad(0.8), stopping.is_bad(0.75)
    (True, False)
    """

    def __init__(self, tol: float | None, patience: int, constant: float | None = None) -> None:
        self.tol, self.patience = tol, patience
        self.constant = np.inf if constant is None else constant
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

    def is_bad(self, first_loss: float) -> bool:
        """Whether a first epoch with this loss has predicted worse than the constant."""
        return self.tol is not None and first_loss > self.constant * (1.0 + self.tol)

    def wait_again(self) -> None:
        """Begin to count anew; the best loss remains."""
        self.idle = 0


class Epoch:
    """The argument of a callback of ``fit``; what costs a pass is computed when it is read."""

    def __init__(
        self,
        record: EpochRecord,
        t: int,
        learners: Sequence[AnyLearner],
        units: Units | None = None,
        *,
        in_memory: bool = True,
    ) -> None:
        self._learners, self._units, self._in_memory = learners, units, in_memory
        self._parts: tuple[float, float, int] | None = None
        self.epoch = record["epoch"]
        """The number of the epoch, from 0 on."""
        self.progressive_loss = record["progressive_loss"]
        """The mean loss of the predictions in this epoch, each made before its row is learned."""
        self.validation_loss = record.get("validation_loss")
        """The mean loss over the rows that are held out; None without early stopping."""
        self.validation_score = record.get("validation_score")
        """Accuracy or R^2 on the rows that are held out; None without early stopping."""
        self.seconds = record["seconds"]
        """The time of training in this epoch, in seconds."""
        self.t = t
        """The number of steps taken so far."""

    def _evaluated(self) -> tuple[float, float, int]:
        if not self._in_memory:
            raise ValueError(
                "the objective, the mean loss and the nonzeros of an epoch are not known where X "
                "is a source of chunks, which would have to be read once more"
            )
        if self._parts is None:
            self._parts = evaluated(self._learners)
        return self._parts

    @property
    def mean_loss(self) -> float:
        """The mean loss over all rows of X, at the cost of a pass over the rows."""
        return self._evaluated()[0]

    @property
    def objective(self) -> float:
        """The mean loss plus the penalty, at the cost of a pass over the rows."""
        return self._evaluated()[1]

    @property
    def nonzeros(self) -> int:
        """The number of weights that are not zero."""
        return self._evaluated()[2]

    @property
    def coef(self) -> NDArray[np.float64]:
        """A copy of the weights, a row for every problem."""
        result = np.vstack([learner.engine.rows() for learner in self._learners])
        return result if self._units is None else self._units.weights(result)

    @property
    def intercept(self) -> NDArray[np.float64]:
        """The intercept of every problem."""
        own = np.concatenate([learner.engine.model_intercepts for learner in self._learners])
        if self._units is None:
            return own
        result = self._units.intercept(self.coef[:, self._units.moved], own)
        return np.asarray(result, dtype=np.float64)


class BestEpoch:
    """The epoch with the least loss, and what is needed to return to its end.

    The copies of an epoch are made when the next epoch begins, so the last epoch is never copied.
    ``columns`` are the columns that the steps may touch.
    """

    def __init__(self, learners: Sequence[AnyLearner], columns: NDArray[Any]) -> None:
        self.learners, self.columns = learners, columns
        self.loss = np.inf
        self.epoch = self.t = 0
        self.plan = learners[0].plan
        #: the copies, from the second epoch on
        self.undos: list[Undo] = []

    def after(self, epoch: int, t: int, loss: float) -> None:
        """Note an epoch that has ended before step ``t``; the first of equal epochs is the best."""
        if loss < self.loss or epoch == 0:
            self.release()
            self.loss, self.epoch, self.t = loss, epoch, t
            self.plan = self.learners[0].plan

    def before(self, epoch: int) -> None:
        """Copy what the steps of ``epoch`` change, if the epoch before it is the best so far."""
        if epoch and self.epoch == epoch - 1:
            if self.undos:
                for undo in self.undos:
                    undo.take()
            else:
                self.undos = [Undo(item.engine, self.columns) for item in self.learners]

    def restore(self) -> None:
        """Return every engine to the end of the best epoch."""
        for undo in self.undos:
            undo.rollback()
        for learner in self.learners:
            learner.plan = self.plan

    def release(self) -> None:
        """Let the engines change freely; the next copies are made in the memory of these."""
        for undo in self.undos:
            undo.done()
