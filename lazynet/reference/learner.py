"""The base of the learners, with their options; sizes of rows and of features."""

from __future__ import annotations

import copy
import math
import statistics
from collections.abc import Sequence
from typing import Any, ClassVar

from lazynet.reference.losses import LOSSES, entry_named

# The indices, values, target and importance of an example.
Example = tuple[Sequence[int], Sequence[Any], Any, Any]


class Learner:
    """A linear model w.x + b at zero weights; a subclass has ``_learn``, or a ``step`` of its own.

    ``fit_intercept`` trains b, which no penalty shrinks; else b stays 0.  ``zero`` is 0 in the type
    of the weights, such as ``Fraction(0)``.

    >>> from lazynet.reference import DenseReference
    >>> dense = DenseReference(2, loss="squared_error", l1=0.5)
    >>> dense.step([0], [1.0], target=4.0, importance=0.5), dense.weights, dense.intercept, dense.t
    (0.0, [1.5, 0.0], 0.0, 1)
    >>> dense.weight(0), dense.predict([0], [2.0])
    (1.5, 3.0)
    """

    weights: Any
    intercept: Any
    #: the attributes that a step changes
    state: ClassVar[tuple[str, ...]] = ("t",)

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        l1: Any = 0,
        l2: Any = 0,
        fit_intercept: bool = False,
        epsilon: Any = 0.1,
        zero: Any = 0.0,
    ) -> None:
        self.n_features = n_features
        self.slope = entry_named("loss", loss, LOSSES)[1]
        self.l1, self.l2 = l1, l2
        self.fit_intercept, self.epsilon, self.zero = fit_intercept, epsilon, zero
        self.t = 0

    def weight(self, j: int) -> Any:
        """Weight j as of now."""
        return self.weights[j]

    def predict(self, indices: Sequence[int], values: Sequence[Any]) -> Any:
        """w.x + b at the present weights; the other weights are not visited."""
        pairs = zip(indices, values, strict=True)
        return sum((self.weight(j) * x for j, x in pairs), self.intercept)

    def step(
        self, indices: Sequence[int], values: Sequence[Any], target: Any, importance: Any = 1
    ) -> Any:
        """Learn from one example, its loss times ``importance``; return the prediction before."""
        self._see(values)
        prediction = self.predict(indices, values)
        slope = importance * self.slope(prediction, target, self.epsilon)
        self._learn(list(zip(indices, values, strict=True)), slope, importance)
        self.t += 1
        return prediction

    def _see(self, values: Sequence[Any]) -> None:
        """Count a row before its prediction, if the rates follow the rows."""

    def _learn(self, example: Sequence[tuple[int, Any]], slope: Any, importance: Any) -> None:
        """Move all weights by the slope of an example, given by its features and values."""
        raise NotImplementedError

    def continue_from(self, other: Learner) -> None:
        """Start from the state of another learner of the same rule, with its own parameters.

        >>> from lazynet.reference import DenseReference
        >>> first = DenseReference(1, loss="squared_error", l1=0.5)
        >>> _ = first.step([0], [1.0], target=4.0)
        >>> second = DenseReference(1, loss="squared_error", l1=2.0)
        >>> second.continue_from(first)
        >>> second.weights, second.t
        ([3.5], 1)
        >>> second.step([], [], target=0.0), second.weights
        (0.0, [1.5])
        """
        for name in self.state:
            setattr(self, name, copy.deepcopy(getattr(other, name)))


class Computed(Learner):
    """A learner whose weights are computed one by one, by ``weight``.

    >>> from lazynet.reference import DenseRDA
    >>> isinstance(DenseRDA(1), Computed), DenseRDA(1).weights
    (True, [0.0])
    """

    @property
    def weights(self) -> list[Any]:  # type: ignore[override]
        """All weights as of now."""
        return [self.weight(j) for j in range(self.n_features)]


#: The bounds of a mean: numbers within them have finite inverses and squares.
LEAST, LARGEST = 2.0**-300, 2.0**300


class MeanSize:
    """The mean size of the rows, refreshed before the steps 0, 1, 2, 4, 8, ... and before the first
    row whose size is not 0; ``unit`` is 1 until then.

    A mean that has changed by at most the share ``tolerance`` of itself keeps its former value.

    >>> mean = MeanSize()
    >>> [(mean.count(size), mean.unit)[1] for size in (0.0, 4.0, 8.0, 100.0, 3.0)]
    [1.0, 2.0, 4.0, 4.0, 23.0]
    """

    def __init__(self, tolerance: float = 0.0) -> None:
        self.rows, self.sum_of_sizes, self.mean = 0, 0.0, 0.0
        self.tolerance = tolerance

    @property
    def unit(self) -> float:
        """The mean at its last refresh, or 1."""
        return self.mean or 1.0

    def count(self, size: float) -> None:
        """Count a row before its step."""
        is_due = self.rows & (self.rows - 1) == 0 or not self.mean
        self.rows += 1
        self.sum_of_sizes += size
        if is_due and self.sum_of_sizes:
            mean = min(max(self.sum_of_sizes / self.rows, LEAST), LARGEST)
            if abs(mean - self.mean) > self.tolerance * self.mean:
                self.mean = mean


#: A feature that is not full has its own size if this is more than FAR times the shared size, or if
#: the shared size is more than FAR times the feature's.
FAR = 2.0
# The share of a mean below which a deviation is rounding, and the feature a constant.
_CONSTANT = 1e-8


class RunningUnits:
    """The sizes and the means of the features in the rows so far; the rule of ``standardize``.

    A feature is full if at least half of its values are not 0.  Its size is its standard deviation.
    With ``centred`` it has its mean, and deviations are from means; else its mean is 0, and
    deviations are from 0.

    Any other feature has the mean 0.  With ``own`` its size is its standard deviation too.  Else it
    is ``shared``, the median of the root mean squares of the nonzeros of these features, unless the
    feature's own is more than twice as large, or less than half.  ``shared`` is computed anew when
    the rows have doubled.

    The size of a constant is the root mean square of its nonzeros.

    >>> units = RunningUnits()
    >>> units.count([[3.0, 1.0], [0.0, 3.0], [0.0, 1.0], [0.0, 3.0]])
    >>> units.shared, units.sizes, units.means
    (3.0, [3.0, 1.0], [0.0, 2.0])
    >>> units.count([[5.0, 2.0]])
    >>> units.shared, units.sizes[0]
    (3.0, 3.0)
    """

    def __init__(self, *, own: bool = False, centred: bool = True) -> None:
        self.own, self.centred = own, centred
        self.rows: list[Sequence[float]] = []
        #: the shared size, and the number of rows at which it is due
        self.shared, self.due = 1.0, 0
        self.sizes: list[float] = []
        self.means: list[float] = []

    def count(self, rows: Sequence[Sequence[float]]) -> None:
        """Count more rows."""
        self.rows += rows
        columns = list(zip(*self.rows, strict=True))
        if len(self.rows) >= self.due:
            self.due = 2 * len(self.rows)
            others = [column for column in columns if any(column) and not _is_full(column)]
            if others:
                self.shared = statistics.median(map(_size_of_nonzeros, others))
        self.sizes = [self._size(column) for column in columns]
        self.means = [
            _mean(column) if self.centred and _is_full(column) else 0.0 for column in columns
        ]

    def _size(self, column: Sequence[float]) -> float:
        """The size of a feature with these values."""
        if not any(column):
            return self.shared
        size, mean = _size_of_nonzeros(column), _mean(column) if self.centred else 0.0
        if self.own or _is_full(column):
            deviation = _root_mean_square([x - mean for x in column])
            return deviation if deviation > _CONSTANT * abs(mean) else size
        is_near = self.shared <= FAR * size and size <= FAR * self.shared
        return self.shared if is_near else size


def _is_full(column: Sequence[float]) -> bool:
    """Whether at least half of the values are not 0, and one at least."""
    return 2 * sum(x != 0.0 for x in column) >= len(column) and any(column)


def _size_of_nonzeros(column: Sequence[float]) -> float:
    """The root mean square of the values that are not 0."""
    return _root_mean_square([x for x in column if x != 0.0])


def standardized(
    rows: Sequence[Sequence[float]], sizes: Sequence[float], means: Sequence[float]
) -> list[list[float]]:
    """The rows (x_j - mean_j) / size_j.

    >>> standardized([[6.0, 5.0]], [2.0, 4.0], [0.0, 1.0])
    [[3.0, 1.0]]
    """
    return [
        [(x - mean) / size for x, size, mean in zip(row, sizes, means, strict=True)] for row in rows
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(_mean([x * x for x in values]))
