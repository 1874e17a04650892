"""Which point of which path to take, from what the folds of a cross-validation say.

A table of losses has an axis for the ratios of l1 to l2, one for the points of a path, the largest
penalty first, and one for the folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from lazynet.data.arrays import unusable
from lazynet.data.weights import total_of
from lazynet.parameters import Special, as_array, check_integer, shown


def _check_cv(name: str, value: Any) -> Any:
    if hasattr(value, "split") and not isinstance(value, str):
        return value
    if isinstance(value, Iterable) and not isinstance(value, (str, np.ndarray)):
        return value
    try:
        return check_integer(name, value, 2)
    except TypeError:
        raise TypeError(
            f"{name} must be a number of folds, a splitter of scikit-learn or a list of pairs of "
            f"rows, got {shown(value)}"
        ) from None


#: The kind of the parameter ``cv``.
FOLDS = Special(check=_check_cv, optional=True)


@dataclass(frozen=True)
class Fold:
    """Rows to learn from, and rows held out to judge by."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def folds_of(
    cv: Any,
    y: NDArray[Any],
    groups: Any,
    problems: Sequence[tuple[NDArray[np.float64], NDArray[np.float64] | None]],
    classes: NDArray[Any] | None,
) -> list[Fold]:
    """The checked folds of a parameter ``cv``; each can be learned from and judged by.

    ``problems`` are targets and importances; ``classes`` is None for a regression.
    """
    n = len(y)
    for _, weights in problems:
        if weights is not None:
            total_of(weights)  # refuses sums that no fold can be judged by
    with unusable("cv"):
        if cv is None or isinstance(cv, int) or hasattr(cv, "split"):
            splitter = check_cv(cv, y, classifier=classes is not None)
            splits = list(splitter.split(np.zeros((n, 1)), y, groups))
        else:
            splits = list(cv)
    folds = check_folds(splits, n)
    for number, fold in enumerate(folds):
        for side, given in (("learn from", fold.train), ("hold out", fold.test)):
            if any(s is not None and not s[given].any() for _, s in problems):
                raise ValueError(
                    f"cv must give rows of a weight above 0 to {side}, and its split {number} has "
                    f"none"
                )
        if classes is None:
            continue
        weights = problems[0][1]
        kept = fold.train if weights is None else fold.train[weights[fold.train] > 0]
        missing = np.setdiff1d(classes, y[kept])
        if len(missing):
            raise ValueError(
                f"cv must give rows of every class to learn from, of a weight above 0, and its "
                f"split {number} has none of {missing[0]}: take fewer folds, leave rare classes "
                f"out, or give them a weight above 0 by class_weight and sample_weight"
            )
    return folds


def check_folds(splits: Sequence[Any], n_rows: int) -> list[Fold]:
    """The folds of ``cv`` as row numbers; a mask of rows is taken too.

    >>> check_folds([([0, 1], [2]), (np.array([False, True, True]), [0])], 3)[1].train
    array([1, 2])
    """
    folds = []
    for number, split in enumerate(splits):
        try:
            train, test = split
        except (TypeError, ValueError):
            raise ValueError(
                f"cv must give pairs of rows to learn from and rows to hold out; its split "
                f"{number} is not a pair"
            ) from None
        sides = (("learn from", train), ("hold out", test))
        folds.append(Fold(*(_rows(number, what, rows, n_rows) for what, rows in sides)))
    if not folds:
        raise ValueError("cv must give at least one split, got none")
    return folds


def _rows(number: int, what: str, given: Any, n_rows: int) -> NDArray[np.int64]:
    rows = as_array("cv", "must give row numbers", given)
    if rows.dtype.kind == "b" and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or not rows.size:
        raise ValueError(f"cv must give rows to {what}, and its split {number} has none")
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n_rows:
        raise ValueError(
            f"cv must give row numbers from 0 to {n_rows - 1}; the rows to {what} in its split "
            f"{number} are others"
        )
    return rows.astype(np.int64)


def means_and_errors(
    table: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The means over the folds, and their standard errors; a fold counts by its weight.

    With folds of equal weight the standard error is that of a mean of n numbers: their standard
    deviation over the root of n.  One fold has no standard error: it is NaN.

    >>> means_and_errors(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    (np.float64(2.0), np.float64(1.0))
    """
    means = np.average(table, axis=-1, weights=weights)
    n_folds = table.shape[-1]
    if n_folds == 1:
        return means, np.full(means.shape, np.nan)
    # The spread of infinite losses is not a number, and that of very large ones is infinite.
    with np.errstate(invalid="ignore", over="ignore"):
        squares = (table - means[..., None]) ** 2
    return means, np.sqrt(np.average(squares, axis=-1, weights=weights) / (n_folds - 1))


Point = tuple[int, int]


def best_and_sparsest(
    means: NDArray[np.float64], errors: NDArray[np.float64], nonzeros: NDArray[np.float64]
) -> tuple[Point, Point]:
    """The ratio and the point with the least mean, and those of the one-standard-error rule.

    The rule (Breiman et al. 1984): of each ratio the largest penalty whose mean is at most one
    standard error above the least mean of all; of those the one with the fewest nonzeros, or of
    several with equally few the one with the least mean.

    >>> means = np.array([[5.0, 3.5, 3.1, 3.0, 3.3]])
    >>> best_and_sparsest(means, np.full((1, 5), 0.6), np.array([[0.0, 2.0, 5.0, 9.0, 20.0]]))
    ((0, 3), (0, 1))
    """
    if not np.isfinite(means).any():
        raise FloatingPointError(
            "the losses of the held-out rows are not finite numbers at any penalty; scale the "
            "features to comparable sizes"
        )
    finite = np.where(np.isfinite(means), means, np.inf)
    best = np.unravel_index(int(finite.argmin()), means.shape)
    # One fold has no standard error: only the best is as good as the best.
    bound = finite[best] + (0.0 if np.isnan(errors[best]) else errors[best])
    candidates = [
        (int(ratio), int(np.argmax(row <= bound)))
        for ratio, row in enumerate(finite)
        if (row <= bound).any()
    ]
    sparsest = min(candidates, key=lambda point: (nonzeros[point], means[point]))
    return (int(best[0]), int(best[1])), sparsest
