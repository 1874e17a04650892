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
    """A linear model w.x + b at zero weights; a subclass has the step of an algorithm.

    ``fit_intercept`` trains b, which no penalty shrinks; else b stays 0.  ``zero`` is 0 in the type
    of the weights, such as ``Fraction(0)``.

    >>> from lazynet.reference import DenseReference
    >>> dense = DenseReference(2, loss="squared_error", l1=0.5)
    >>> dense.step([0], [1.0], target=4.0, importance=0.5), dense.weights, dense.intercept, dense.t
    (0.0, [1.5, 0.0], 0.0, 1)
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

    def step(
        self, indices: Sequence[int], values: Sequence[Any], target: Any, importance: Any = 1
    ) -> Any:
        """Learn from one example, its loss times ``importance``; return the prediction before."""
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


def sizes_and_means(
    rows: Sequence[Sequence[float]],
    *,
    own: bool = False,
    centred: bool = True,
    shared: float | None = None,
) -> tuple[list[float], list[float]]:
    """The size and the mean of every feature; the mean of a feature that is not centred is 0.

    A feature with nonzeros in at least half of the rows is centred, and its size is its standard
    deviation.  A sparser feature has the size ``shared`` (None: ``shared_size``), unless the root
    mean square of its nonzeros is more than 10 times larger or smaller; with ``own`` it has its
    standard deviation.  Without ``centred`` deviations are measured from 0.

    >>> sizes_and_means([[3.0, 1.0], [0.0, 3.0], [0.0, 1.0], [0.0, 3.0]])
    ([3.0, 1.0], [0.0, 2.0])
    """
    usual, sizes, means = shared_size(rows) if shared is None else shared, [], []
    for column in zip(*rows, strict=True):
        values = [x for x in column if x != 0.0]
        full, size, mean = _is_full(column), usual, 0.0
        if values:
            size = _root_mean_square(values)
            if full or own:
                middle = math.fsum(column) / len(column) if centred else 0.0
                mean = middle if full else 0.0
                deviation = _root_mean_square([x - middle for x in column])
                # If the deviation is only rounding, the feature is a constant.
                size = deviation if deviation > 1e-8 * abs(middle) else size
            elif usual <= 10.0 * size and size <= 10.0 * usual:
                size = usual
        sizes.append(size)
        means.append(mean)
    return sizes, means


def shared_size(rows: Sequence[Sequence[float]], before: float = 1.0) -> float:
    """The median of the root mean squares of the nonzeros of sparse features.

    Without any it is that ``before``.

    >>> shared_size([[3.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
    4.0
    """
    columns = [column for column in zip(*rows, strict=True) if any(column) and not _is_full(column)]
    roots = [_root_mean_square([x for x in column if x != 0.0]) for column in columns]
    return statistics.median(roots) if roots else before


def _is_full(column: Sequence[float]) -> bool:
    """Whether a feature is nonzero in at least half of the rows."""
    return any(column) and 2 * sum(x != 0.0 for x in column) >= len(column)


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


def _root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(math.fsum(x * x for x in values) / len(values))
