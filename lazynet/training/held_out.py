"""Rows that a fit holds out, whose loss says when it should stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from lazynet.data.targets import Classes, Columns, Labels, Targets
from lazynet.kernels.losses import values_and_slopes
from lazynet.losses import Loss


def split(
    n_rows: int,
    fraction: float,
    generator: np.random.RandomState,
    strata: NDArray[np.intp] | None = None,
    otherwise: str = "set early_stopping=False",
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows to train on and the rows to hold out, each in rising order.

    ``strata`` holds the number of each row's class; every class keeps its share up to rounding, and
    at least one row to train on.  ``otherwise`` is the advice of an error to hold out no row.

    >>> classes = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    >>> rows, held_out = split(10, 0.5, np.random.RandomState(0), classes)
    >>> len(rows), np.bincount(classes[held_out])
    (5, array([3, 2]))
    """
    groups = np.zeros(n_rows, dtype=np.intp) if strata is None else strata
    sizes = np.bincount(groups)
    wanted = math.ceil(fraction * n_rows)
    room = np.maximum(sizes - 1, 0)
    if wanted > room.sum():
        classes = "" if strata is None else f" in {np.count_nonzero(sizes)} classes"
        raise ValueError(
            f"validation_fraction={fraction:g} of {n_rows} rows{classes} leaves too few rows to "
            f"train on: pass more rows, lower validation_fraction, or {otherwise}"
        )
    shares = wanted * sizes / n_rows
    counts = np.minimum(np.floor(shares).astype(np.int64), room)
    # What rounding down has left goes to the classes that it has cost most.
    for group in cycle(np.argsort(counts - shares, kind="stable")):
        if counts.sum() == wanted:
            break
        counts[group] += counts[group] < room[group]
    held = np.zeros(n_rows, dtype=bool)
    by_group = np.argsort(groups, kind="stable")
    ends = np.cumsum(sizes)
    for end, size, count in zip(ends, sizes, counts, strict=True):
        members = by_group[end - size : end]
        held[members[generator.permutation(size)[:count]]] = True
    return np.flatnonzero(~held).astype(np.int64), np.flatnonzero(held).astype(np.int64)


def copied_rows(X: sparse.csr_matrix, rows: NDArray[np.int64]) -> sparse.csr_matrix:
    """A copy of some rows of X, in float64.

    >>> copied_rows(sparse.csr_matrix([[1.0, 0.0], [0.0, 2.0]]), np.array([1])).toarray()
    array([[0., 2.]])
    """
    return X[rows].astype(np.float64, copy=False)


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
    given = np.ascontiguousarray(predictions, dtype=np.float64)
    losses, _ = values_and_slopes(loss.code, given, targets, loss.epsilon)
    # A product and a sum, and not a dot product, whose last bits depend on the BLAS library.
    return float((losses if importances is None else importances * losses).sum())


def decisions_of(
    X: sparse.csr_matrix, engines: Sequence[Any]
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """For every engine the number of its first output, and w.x + b: a row per output."""
    first = 0
    for engine in engines:
        with np.errstate(over="ignore", invalid="ignore"):
            rows = engine.coefficients()
            products = (X @ rows[0])[None] if len(rows) == 1 else (X @ rows.T).T
            yield first, products + engine.model_intercepts[:, None]
        first += engine.n_outputs


def softmax_losses(decisions: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """log(sum over the classes of exp p) - p of its class, for every row.

    >>> softmax_losses(np.zeros((4, 1)), np.array([2])).round(4)  # log 4
    array([1.3863])
    """
    chosen = decisions[codes, np.arange(len(codes))]
    return np.asarray(logsumexp(decisions, axis=0) - chosen, dtype=np.float64)


def summed_losses(
    decisions: NDArray[np.float64], first: int, targets: Targets, loss: Loss, softmax: bool
) -> float:
    """The sum over rows and outputs of importance times loss, for outputs from ``first`` on."""
    if softmax:
        assert isinstance(targets, Classes), "the softmax is a loss of classes"
        losses = softmax_losses(decisions, targets.codes)
        return float((losses * targets.weights).sum())
    return sum(total_loss_of(row, *targets[first + k], loss) for k, row in enumerate(decisions))


#: Some rows and their targets.
Block = tuple[sparse.csr_matrix, Targets]


class HeldOut:
    """Rows that no step visits, with their targets, in blocks that are made when they are read.

    ``n_rows`` is the number of all of them.
    """

    def __init__(
        self, blocks: Callable[[], Iterable[Block]], n_rows: int, loss: Loss, softmax: bool = False
    ) -> None:
        self.blocks, self.n_rows, self.loss, self.softmax = blocks, n_rows, loss, softmax
        #: the means of the targets where these are numbers
        self._means: NDArray[np.float64] | None = None

    def evaluate(self, engines: Sequence[Any]) -> tuple[float, float]:
        """The mean loss of the models, summed over the outputs, and a score.

        The score is what ``score`` of an estimator gives: the accuracy, for several labels the
        share of the rows with no wrong one, or R^2.
        """
        total = right = weight = 0.0
        missed: Any = 0.0
        spread: Any = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for X, targets in self.blocks():
                parts = []
                for first, decisions in decisions_of(X, engines):
                    total += summed_losses(decisions, first, targets, self.loss, self.softmax)
                    parts.append(decisions)
                found, weights = np.concatenate(parts), targets.weights
                if isinstance(targets, Columns):
                    numbers = targets.numbers.T
                    missed = missed + _squares(numbers - found, weights)
                    spread = spread + _squares(numbers - self._means_of_targets(), weights)
                    continue
                if isinstance(targets, Labels):
                    is_right = ((found.T > 0) == targets.indicator.toarray()).all(axis=1)
                else:
                    assert isinstance(targets, Classes), "numbers, labels or classes"
                    code = found[0] > 0 if len(found) == 1 else found.argmax(axis=0)
                    is_right = code == targets.codes
                right += float(np.multiply(is_right, weights).sum())
                weight += float(weights.sum())
        if weight:
            return total / self.n_rows, right / weight
        pairs = zip(missed.tolist(), spread.tolist(), strict=True)
        return total / self.n_rows, float(
            np.mean([1.0 - m / s if s else float(not m) for m, s in pairs])
        )

    def _means_of_targets(self) -> NDArray[np.float64]:
        """The mean of every target by the weights of the rows, in a column."""
        if self._means is None:
            sums: Any = 0.0
            count = 0.0
            for _, targets in self.blocks():
                weights = targets.weights
                sums = sums + np.array([np.multiply(y, weights).sum() for y, _ in targets])
                count += float(weights.sum())
            self._means = np.asarray(sums / count)[:, None]
        return self._means


def _squares(distances: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted sum of the squares in every row."""
    return np.array([weights @ np.ascontiguousarray(row) ** 2 for row in distances])
