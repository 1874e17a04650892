"""The loss of a model on rows, and its objective."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from lazynet.data.arrays import plain
from lazynet.data.targets import Classes, Targets
from lazynet.engines.base import Engine
from lazynet.kernels.losses import values_and_slopes
from lazynet.kernels.objective import weight_sums
from lazynet.losses import Loss
from lazynet.training.plan import Plan

#: Some rows and their targets.
Block = tuple[sparse.csr_matrix, Targets]

# Rows whose predictions are computed at once.
_ROWS_AT_ONCE = 2**14


class Evaluation(NamedTuple):
    """Losses and counts that a pass over the rows computes; losses are summed over the outputs."""

    mean_loss: float
    objective: float
    nonzeros: int


def evaluate(
    engines: Sequence[Engine], plan: Plan, X: sparse.csr_matrix, targets: Targets
) -> Evaluation:
    """The mean loss and the objective of the model, and the nonzeros of its last weights."""
    mean = total_loss(engines, plan, partial(_parts_of, X, targets)) / X.shape[0]
    penalty, nonzeros = 0.0, 0
    for engine in engines:
        weights = engine.coefficients()
        penalty += _penalty_of(weights, plan)
        # An average of sparse weights is dense: count the nonzeros of the last weights.
        last = engine.coefficients(last=True) if engine.averaging else weights
        nonzeros += int(np.count_nonzero(last))
    return Evaluation(mean, mean + penalty, nonzeros)


def _parts_of(X: sparse.csr_matrix, targets: Targets) -> Iterator[Block]:
    """The rows, some at a time."""
    for start in range(0, X.shape[0], _ROWS_AT_ONCE):
        rows = np.arange(start, min(start + _ROWS_AT_ONCE, X.shape[0]))
        yield X[rows], targets.only(rows)


def _penalty_of(weights: NDArray[np.float64], plan: Plan) -> float:
    """The penalty of the outputs whose weights are the rows."""
    absolute, squared = weight_sums(weights.ravel())
    if plan.rule.group is not None:
        absolute = float(np.linalg.norm(weights, axis=0).sum())
    return plan.penalty.of_sums(absolute, squared)


def total_loss(
    engines: Sequence[Engine], plan: Plan, blocks: Callable[[], Iterable[Block]]
) -> float:
    """The sum over rows and outputs of importance times loss; ``blocks`` gives the rows anew."""
    total, first = 0.0, 0
    for engine in engines:
        rows, intercepts = engine.coefficients(), engine.intercepts()[:, None]
        for X, targets in blocks():
            with np.errstate(over="ignore", invalid="ignore"):
                decisions = ((X @ rows[0])[None] if len(rows) == 1 else (X @ rows.T).T) + intercepts
                total += _loss_of(decisions, first, targets, plan)
        first += engine.n_outputs
    return total


def _loss_of(decisions: NDArray[np.float64], first: int, targets: Targets, plan: Plan) -> float:
    """The sum of importance times loss, for a row of decisions per output from ``first`` on."""
    if plan.softmax:
        assert isinstance(targets, Classes), "the softmax is a loss of classes"
        losses = softmax_losses(decisions, targets.codes)
        return float((losses * targets.weights).sum())
    return sum(
        total_loss_of(row, *targets[first + k], plan.loss) for k, row in enumerate(decisions)
    )


def total_loss_of(
    predictions: NDArray[np.float64],
    targets: NDArray[np.float64],
    importances: NDArray[np.float64] | None,
    loss: Loss,
) -> float:
    """The sum of importance times loss of given predictions.

    >>> from lazynet.losses import get_loss
    >>> total_loss_of(np.array([0.0, 3.0]), np.array([1.0, 1.0]), None, get_loss("squared_error"))
    2.5
    """
    doubles = np.dtype(np.float64)
    losses, _ = values_and_slopes(
        loss.code, plain(predictions, doubles), plain(targets, doubles), loss.epsilon
    )
    if importances is not None:
        # An infinite loss of a row that does not count would make the sum NaN.
        losses = np.multiply(importances, losses, out=np.zeros(len(losses)), where=importances > 0)
    # A product and a sum, and not a dot product, whose last bits depend on the BLAS library.
    return float(losses.sum())


def softmax_losses(decisions: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """log(sum over the classes of exp p) - p of its class, for every row.

    >>> softmax_losses(np.zeros((4, 1)), np.array([2])).round(4)  # log 4
    array([1.3863])
    """
    chosen = decisions[codes, np.arange(len(codes))]
    return np.asarray(logsumexp(decisions, axis=0) - chosen, dtype=np.float64)
