"""What a choice of a penalty by folds asks of the rows; and the rows in memory that answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.choice import Fold, folds_of
from lazynet.data import unusable
from lazynet.estimators.base import SparseLinear
from lazynet.estimators.mapped_rows import rows_of
from lazynet.kernels.losses import values_and_slopes
from lazynet.losses import Loss
from lazynet.minimise import Minimiser, Minimum, Problem
from lazynet.params import as_float, is_number, shown

#: Raises an error where a wait is to end.
Check = Callable[[], None]
#: Makes a fitted estimator of weights and intercepts, a row for every problem.
Make = Callable[[NDArray[np.float64], NDArray[np.float64]], SparseLinear]


class FoldToWalk(Protocol):
    """One side of a fold to learn from, and the other side to judge by."""

    def minimiser(self, number: int, seed: int) -> Minimiser:
        """What finds minima of a problem over the rows to learn from."""
        ...

    def judged(self, number: int, minimum: Minimum) -> Any:
        """A handle of what the rows that are held out say of a minimum of this problem."""
        ...

    def losses(self, judged: Sequence[Any]) -> list[float]:
        """The mean loss of the rows that are held out, for every handle."""
        ...

    def score(self, judged: Sequence[Any], make: Make) -> float:
        """What ``scoring`` says of models whose handles are given, one for every problem."""
        ...


class RowsToChoose(Protocol):
    """The checked rows, of which every fold takes its parts."""

    @property
    def classes(self) -> NDArray[Any] | None:
        """The classes; None for a regression."""
        ...

    @property
    def n_problems(self) -> int:
        """The number of binary or regression problems."""
        ...

    @property
    def are_weighted(self) -> bool:
        """Whether the rows have weights of their own."""
        ...

    def folds(self, groups: Any) -> list[Fold]:
        """The checked folds; each can be learned from and judged by."""
        ...

    def told(self, folds: Sequence[Fold]) -> dict[str, Any]:
        """What identifies the rows and the folds."""
        ...

    def minimiser(self, number: int, seed: int, check: Check) -> Minimiser:
        """What finds minima of a problem over all rows."""
        ...

    def fold(self, fold: Fold, check: Check) -> AbstractContextManager[FoldToWalk]:
        """The two sides of a fold."""
        ...

    def weights_to_judge(self, scored: bool) -> NDArray[np.float64] | None:
        """The weights by which rows count where they are held out; None: all the same."""
        ...


@dataclass(frozen=True)
class RowsInMemory:
    """``RowsToChoose`` of a matrix."""

    p: SimpleNamespace
    X: sparse.csr_matrix
    y: NDArray[Any]
    #: the targets and importances of every problem
    problems: list[tuple[NDArray[np.float64], NDArray[np.float64] | None]]
    sample_weight: NDArray[np.float64] | None
    classes: NDArray[Any] | None
    #: whether X is mapped into memory, and so its parts
    mapped: bool

    @property
    def n_problems(self) -> int:
        return len(self.problems)

    @property
    def are_weighted(self) -> bool:
        return self.sample_weight is not None

    def folds(self, groups: Any) -> list[Fold]:
        return folds_of(self.p.cv, self.y, groups, self.problems, self.classes)

    def told(self, folds: Sequence[Fold]) -> dict[str, Any]:
        return {
            "X": self.X,
            "y": self.y,
            "sample_weight": self.sample_weight,
            "the rows of the folds": tuple(
                side for fold in folds for side in (fold.train, fold.test)
            ),
        }

    def minimiser(self, number: int, seed: int, check: Check) -> Minimiser:
        return self.minimiser_of(self.X, *self.problems[number], seed)

    def minimiser_of(
        self,
        X: sparse.csr_matrix,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        seed: int,
    ) -> Minimiser:
        """What finds minima over these rows."""
        problem = Problem(X, targets, weights, self.p.loss, self.p.fit_intercept)
        return Minimiser(problem, np.random.RandomState(seed))

    @contextmanager
    def fold(self, fold: Fold, check: Check) -> Iterator[FoldToWalk]:
        with (
            rows_of(self.X, fold.train, mapped=self.mapped) as X,
            rows_of(self.X, fold.test, mapped=self.mapped) as held_out,
        ):
            yield _FoldInMemory(self, fold, X, held_out)

    def weights_to_judge(self, scored: bool) -> NDArray[np.float64] | None:
        return self.sample_weight if scored else self.problems[0][1]


class _Judged(NamedTuple):
    """The mean loss of the rows that are held out; and the model, where there is a scorer."""

    loss: float
    weights: sparse.csr_matrix | None
    intercept: float


@dataclass(frozen=True)
class _FoldInMemory:
    """``FoldToWalk`` of copies of the rows of both sides."""

    rows: RowsInMemory
    fold: Fold
    X: sparse.csr_matrix
    held_out: sparse.csr_matrix

    def minimiser(self, number: int, seed: int) -> Minimiser:
        return self.rows.minimiser_of(self.X, *self._side(number, self.fold.train), seed)

    def _side(
        self, number: int, side: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        targets, weights = self.rows.problems[number]
        return targets[side], None if weights is None else weights[side]

    def judged(self, number: int, minimum: Minimum) -> _Judged:
        predictions = self.held_out @ minimum.coef + minimum.intercept
        loss = held_out_loss(self.rows.p.loss, predictions, *self._side(number, self.fold.test))
        weights = sparse.csr_matrix(minimum.coef) if self.rows.p.scoring else None
        return _Judged(loss, weights, minimum.intercept)

    def losses(self, judged: Sequence[_Judged]) -> list[float]:
        return [each.loss for each in judged]

    def score(self, judged: Sequence[_Judged], make: Make) -> float:
        rows, test = self.rows, self.fold.test
        weights = sparse.vstack([each.weights for each in judged]).toarray()
        model = make(weights, np.array([each.intercept for each in judged]))
        given = None if rows.sample_weight is None else rows.sample_weight[test]
        return score_of(rows.p.scoring, model, self.held_out, rows.y[test], given)


def summed_loss(
    loss: Loss,
    predictions: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> float:
    """The sum of the losses of these predictions, each times its weight."""
    values, _ = values_and_slopes(loss.code, predictions, targets, loss.epsilon)
    if weights is None:
        return float(values.sum())
    # An infinite loss of a row that does not count would make the sum NaN.
    counted = weights > 0
    return float((values[counted] * weights[counted]).sum())


def held_out_loss(
    loss: Loss,
    predictions: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> float:
    """The mean loss of these predictions, each counted by its weight.

    >>> from lazynet.losses import get_loss
    >>> numbers = np.array([1.0, 3.0])
    >>> held_out_loss(get_loss("squared_error"), numbers, np.zeros(2), np.array([3.0, 1.0]))
    1.5
    """
    total = len(predictions) if weights is None else weights.sum()
    return float(summed_loss(loss, predictions, targets, weights) / total)


def score_of(
    scorer: Callable[..., Any],
    model: SparseLinear,
    X: Any,
    y: Any,
    weights: NDArray[np.float64] | None,
) -> float:
    """The checked score of a model on rows."""
    with unusable("scoring"):
        score = scorer(model, X, y, **({} if weights is None else {"sample_weight": weights}))
    if not is_number(score):
        raise TypeError(f"scoring must return a number, got {shown(score)}")
    return as_float(score)
