"""The folds of a cross-validation, the table of their results, and the choice of the best setting.

A setting is a pair of strengths, l1 and l2.  A table has its settings in the order of
``settings_of``, the largest penalties first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from lazynet.data.arrays import errors_about
from lazynet.data.weights import total_of
from lazynet.parameters import Kind, as_array, check_integer, refuse_masked, shown


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


#: The type of the parameter ``cv``.
Folds = Annotated[Any, Kind(_check_cv)]


@dataclass(frozen=True)
class Fold:
    """Row numbers to train on, and held-out row numbers to test on."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def folds_of(
    cv: Any,
    y: NDArray[Any],
    groups: Any,
    weights: NDArray[np.float64] | None,
    classes: NDArray[Any] | None,
) -> list[Fold]:
    """The checked folds of the parameter ``cv``; training and test are possible on each.

    ``weights`` are the importances of the rows; ``classes`` is None for a regression.
    """
    if weights is not None:
        total_of(weights)  # refuses a sum by which a mean loss cannot be computed
    refuse_masked("groups", groups)
    with errors_about("cv"):
        if cv is None or isinstance(cv, int) or hasattr(cv, "split"):
            splitter = check_cv(cv, y, classifier=classes is not None)
            splits = list(splitter.split(np.zeros((len(y), 1)), y, groups))
        else:
            splits = list(cv)
    folds = check_folds(splits, len(y))
    for number, fold in enumerate(folds):
        for side, rows in (("learn from", fold.train), ("hold out", fold.test)):
            if weights is not None and not weights[rows].any():
                raise ValueError(
                    f"cv must give rows of a weight above 0 to {side}, and its split {number} has "
                    f"none"
                )
        if classes is None:
            continue
        counted = fold.train if weights is None else fold.train[weights[fold.train] > 0]
        missing = np.setdiff1d(classes, y[counted])
        if len(missing):
            raise ValueError(
                f"cv must give rows of every class to learn from, of a weight above 0, and its "
                f"split {number} has none of {missing[0]}: take fewer folds, leave rare classes "
                f"out, or give them a weight above 0 by class_weight and sample_weight"
            )
    return folds


def check_folds(splits: Sequence[Any], n_rows: int) -> list[Fold]:
    """The folds of ``cv`` as row numbers, from row numbers or masks of rows.

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
        folds.append(Fold(*(_checked_rows(number, side, rows, n_rows) for side, rows in sides)))
    if not folds:
        raise ValueError("cv must give at least one split, got none")
    return folds


def _checked_rows(number: int, side: str, rows: Any, n_rows: int) -> NDArray[np.int64]:
    rows = as_array("cv", "must give row numbers", rows)
    if rows.dtype.kind == "b" and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or not rows.size:
        raise ValueError(f"cv must give rows to {side}, and its split {number} has none")
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n_rows:
        raise ValueError(
            f"cv must give row numbers from 0 to {n_rows - 1}; the rows to {side} in its split "
            f"{number} have other numbers"
        )
    return rows.astype(np.int64)


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
    # The classes with the largest loss by rounding down get the remaining rows.
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


def weights_of_folds(
    folds: Sequence[Fold], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """The weight of the held-out rows of every fold."""
    return np.array(
        [float(len(fold.test) if weights is None else weights[fold.test].sum()) for fold in folds]
    )


def refuse_repeated(folds: Sequence[Fold]) -> None:
    """Refuse a fold whose training rows contain a row several times."""
    for number, fold in enumerate(folds):
        rows, counts = np.unique(fold.train, return_counts=True)
        if counts.max() > 1:
            raise ValueError(
                f"cv must name a row to learn from once, and its split {number} names row "
                f"{rows[counts.argmax()]} several times: every epoch visits a row once, so that "
                f"bootstrap splits cannot be used"
            )


def settings_of(l1s: NDArray[np.float64], l2s: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Every combination of an l1 and an l2, the largest penalties first.

    >>> settings_of(np.array([0.1, 0.2]), np.array([0.0]))
    [(0.2, 0.0), (0.1, 0.0)]
    """
    return [(l1, l2) for l2 in np.sort(l2s)[::-1].tolist() for l1 in np.sort(l1s)[::-1].tolist()]


def means_and_errors(
    values: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The means over the folds, weighted by the weights of the folds, and their standard errors.

    With folds of equal weight the standard error is that of a mean of n numbers: their standard
    deviation over the root of n.  One fold has no standard error: it is NaN.

    >>> means_and_errors(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    (np.float64(2.0), np.float64(1.0))
    """
    means = np.average(values, axis=-1, weights=weights)
    n_folds = values.shape[-1]
    if n_folds == 1:
        return means, np.full(means.shape, np.nan)
    # The spread of infinite losses is not a number, and that of very large ones is infinite.
    with np.errstate(invalid="ignore", over="ignore"):
        squares = (values - means[..., None]) ** 2
    return means, np.sqrt(np.average(squares, axis=-1, weights=weights) / (n_folds - 1))


def results_of(
    settings: Sequence[tuple[float, float]],
    measure: str,
    values: NDArray[np.float64],
    nonzeros: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """The table ``cv_results_``: arrays by name, with an entry for every setting.

    ``values`` and ``nonzeros`` have a row for every setting and a column for every fold.
    ``measure`` names the values: "loss" or "score".  ``weights`` are the weights of the folds.

    >>> losses, nonzeros = np.array([[4.0, 2.0], [2.0, 1.0]]), np.array([[1, 2], [3, 3]])
    >>> results = results_of([(0.2, 0.0), (0.1, 0.0)], "loss", losses, nonzeros, np.ones(2))
    >>> {name: array.tolist() for name, array in results.items()}
    {'l1': [0.2, 0.1], 'l2': [0.0, 0.0], 'split0_loss': [4.0, 2.0], 'split1_loss': [2.0, 1.0], \
'mean_loss': [3.0, 1.5], 'standard_error': [1.0, 0.5], 'nonzeros': [1.5, 3.0]}
    """
    l1s, l2s = np.array(settings).T
    splits = {f"split{fold}_{measure}": column for fold, column in enumerate(values.T)}
    means, errors = means_and_errors(values, weights)
    return {
        **{"l1": l1s, "l2": l2s, **splits},
        **{f"mean_{measure}": means, "standard_error": errors, "nonzeros": nonzeros.mean(axis=1)},
    }


def means_to_minimise(results: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """The mean losses of a table, or its mean scores times -1; infinity in place of NaN.

    >>> means_to_minimise({"mean_loss": np.array([1.0, np.nan])}).tolist()
    [1.0, inf]
    """
    means = -results["mean_score"] if "mean_score" in results else results["mean_loss"]
    return np.where(np.isfinite(means), means, np.inf)


def best_setting(
    results: Mapping[str, NDArray[np.float64]], one_standard_error: bool = False
) -> int:
    """The setting with the best mean, or the sparsest within one standard error of the best.

    Of settings with equal means, or with equally many nonzeros, the largest penalty is the best.
    The rule of one standard error is by Breiman et al. (1984).

    >>> results = {"mean_loss": np.array([5.0, 3.5, 3.1, 3.0, 3.3])}
    >>> results |= {"standard_error": np.full(5, 0.6), "nonzeros": np.array([0, 2, 5, 9, 20])}
    >>> best_setting(results), best_setting(results, one_standard_error=True)
    (3, 1)
    """
    means = means_to_minimise(results)
    best = int(means.argmin())
    if not np.isfinite(means[best]):
        raise FloatingPointError(
            "the losses of the held-out rows are not finite numbers at any penalty; scale the "
            "features to comparable sizes"
        )
    error = results["standard_error"][best]
    if not one_standard_error or not np.isfinite(error):
        return best
    candidates = np.flatnonzero(means <= means[best] + error)
    return int(candidates[results["nonzeros"][candidates].argmin()])


# A longer grid goes on by this factor beyond its end.
_BEYOND = 100.0


def _longer(name: str, tried: NDArray[np.float64], downwards: bool) -> str:
    """The parameter with a grid that goes on beyond the least or the largest value tried.

    >>> _longer("l1s", np.array([0.1, 1.0]), True)
    'l1s=np.geomspace(1, 0.001, 4)'
    >>> _longer("l2s", np.array([0.0, 0.1, 0.2]), False)
    'l2s=[*np.geomspace(20, 0.1, 4), 0]'
    """
    positive = tried[tried > 0.0]
    first = positive[-1] if downwards else positive[-1] * _BEYOND
    last = positive[0] / _BEYOND if downwards else positive[0]
    values = f"np.geomspace({first:.3g}, {last:.3g}, {2 * len(positive)})"
    return f"{name}={values if len(positive) == len(tried) else f'[*{values}, 0]'}"


def warnings_of_ends(
    results: Mapping[str, NDArray[np.float64]], l1s: Any, tol: float | None
) -> list[Warning]:
    """Warnings about a best setting at an end of the l1s or l2s that were tried.

    ``l1s`` are the l1s of the user, or the number of l1s to try.

    There is no warning if a value beyond the end cannot be better: if the best strength is 0, if
    all weights are 0 at the largest l1, or if the neighbouring value is as good up to ``tol``.
    """
    best, means = best_setting(results), means_to_minimise(results)
    warnings: list[Warning] = []
    for name, fixed in (("l1", "l2"), ("l2", "l1")):
        values, same = results[name], results[fixed] == results[fixed][best]
        tried = np.unique(values)
        if len(tried) == 1 or values[best] == 0 or tried[0] < values[best] < tried[-1]:
            continue
        smallest = values[best] == tried[0]
        leaves_none = isinstance(l1s, int) or not results["nonzeros"][best]
        if name == "l1" and not smallest and leaves_none:
            continue
        neighbours = (values == tried[1 if smallest else -2]) & same
        if means[neighbours].min() - means[best] <= (tol or 0.0) * abs(means[best]):
            continue
        end, size = ("smallest", "smaller") if smallest else ("largest", "larger")
        warnings.append(
            UserWarning(
                f"the best {name}, {values[best]:.3g}, is the {end} of those tried, and a {size} "
                f"one may be better: pass {_longer(f'{name}s', tried, bool(smallest))}"
            )
        )
    return warnings
