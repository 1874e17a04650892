"""What the four estimators share that choose l1 and l2 by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lazynet.data.weights import check_sample_weight
from lazynet.estimators.classifier import has_a_column_per_label
from lazynet.estimators.linear import LinearModel
from lazynet.minimum.path import check_l1s, check_strengths, falling
from lazynet.parameters import Flag, Kind, Threads
from lazynet.training.folds import (
    Folds,
    RowsInFolds,
    best_setting,
    folds_of,
    means_to_minimise,
    results_of,
    settings_of,
)
from lazynet.training.settings import Seed


def _check_l2s(name: str, value: Any) -> NDArray[np.float64]:
    return np.atleast_1d(check_strengths(name, value))


@dataclass(repr=False, eq=False)
class Search(LinearModel):
    """Chooses l1 and l2 by cross-validation."""

    _: KW_ONLY
    l1s: Annotated[int | ArrayLike, Kind(check_l1s)] = 50
    l2s: Annotated[ArrayLike, Kind(_check_l2s)] = 0.0
    cv: Folds | None = 5
    one_standard_error: Flag = False
    fit_intercept: Flag = True
    random_state: Seed | None = None
    n_jobs: Threads | None = None

    # Set by training.
    l1_: float = field(init=False)
    l2_: float = field(init=False)
    cv_results_: dict[str, NDArray[np.float64]] = field(init=False)
    best_index_: int = field(init=False)
    n_iter_: int = field(init=False)

    def _train_in_folds(self, p: SimpleNamespace, rows: RowsInFolds) -> list[Warning]:
        """Choose l1 and l2 by the folds, and train with all rows; returns the warnings to give."""
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose l1 and l2, and train; an interrupted call leaves the estimator as it was.

        X holds the rows, y a class label or a number for each, ``sample_weight`` a factor of each
        row's loss, in the rows held out too, and ``groups`` the group of each, for a ``cv`` that
        keeps groups together.  X may be a source of ``lazynet.data``, which has y and the weights
        in it: its rows are mapped into memory from a temporary file.

        Warns
        -----
        UserWarning
            If the best l1 or l2 is the smallest or the largest one, and going on might help.
        ConvergenceWarning
            If a fit has stopped too early.
        """
        self._warn(self._learn(X, y, sample_weight, groups))
        return self

    def _train(
        self, p: SimpleNamespace, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> list[Warning]:
        if has_a_column_per_label(y):
            name = type(self).__name__
            raise ValueError(
                f"{name} chooses for one target, or for classes one against the rest, got a y with "
                f"several columns: fit one {name} for each column"
            )
        X, y, targets = self._read_rows(p, X, y, sample_weight)
        classes = getattr(self, "classes_", None)
        folds = folds_of(p.cv, y, groups, targets.importances, classes)
        if p.one_standard_error and len(folds) == 1:
            raise ValueError(
                "one_standard_error=True needs at least two splits from cv: one has no "
                "standard error"
            )
        sample_weight = check_sample_weight(sample_weight, X)
        return self._train_in_folds(p, RowsInFolds(X, y, targets, sample_weight, classes, folds))

    def _choose(
        self,
        p: SimpleNamespace,
        settings: Sequence[tuple[float, float]],
        measure: str,
        values: NDArray[np.float64],
        nonzeros: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> None:
        """Set the table of results, and the setting that it says is the best."""
        self.cv_results_ = results_of(settings, measure, values, nonzeros, weights)
        self.best_index_ = best_setting(self.cv_results_, p.one_standard_error)
        self.l1_, self.l2_ = settings[self.best_index_]

    def _best_setting(self, one_standard_error: bool) -> int:
        """The best setting of the table, with or without the rule of one standard error."""
        return best_setting(self.cv_results_, one_standard_error)


def grid_of(p: SimpleNamespace, largest_l1: float, smallest: float) -> list[tuple[float, float]]:
    """The settings that the parameters l1s and l2s name; see ``falling``.

    >>> grid_of(SimpleNamespace(l1s=3, l2s=np.zeros(1)), 2.0, 0.01)
    [(2.0, 0.0), (0.2, 0.0), (0.02, 0.0)]
    """
    return settings_of(falling(p.l1s, largest_l1, smallest), p.l2s)


def warnings_of_ends(p: SimpleNamespace, results: dict[str, NDArray[np.float64]]) -> list[Warning]:
    """Warnings about a best setting at an end of the l1s or l2s that were tried.

    No warning is given where going on could change nothing: at a strength of 0, at an l1 that
    leaves no weight, and where the next value towards the middle is as good up to ``tol``.
    """
    best, means = best_setting(results), means_to_minimise(results)
    warnings: list[Warning] = []
    for name, fixed in (("l1", "l2"), ("l2", "l1")):
        values, same = results[name], results[fixed] == results[fixed][best]
        tried = np.unique(values)
        if len(tried) == 1 or values[best] == 0 or tried[0] < values[best] < tried[-1]:
            continue
        smallest = values[best] == tried[0]
        leaves_none = isinstance(p.l1s, int) or not results["nonzeros"][best]
        if name == "l1" and not smallest and leaves_none:
            continue
        beside = (values == tried[1 if smallest else -2]) & same
        if means[beside].min() - means[best] <= (p.tol or 0.0) * abs(means[best]):
            continue
        end, size = ("smallest", "smaller") if smallest else ("largest", "larger")
        warnings.append(
            UserWarning(
                f"the best {name}, {values[best]:.3g}, is the {end} one that was tried: a {size} "
                f"one may be better: give {size} {name}s"
            )
        )
    return warnings
