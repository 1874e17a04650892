"""Standardized features, in plain Python on dense rows."""

from __future__ import annotations

import math
from collections.abc import Sequence


def sizes_and_means(
    rows: Sequence[Sequence[float]], *, centred: bool = True
) -> tuple[list[float], list[float]]:
    """The size and the mean of every feature; the mean is 0 for a feature measured from 0.

    A feature with values other than 0 in at least half of the rows is measured from its mean, and
    its size is its standard deviation.  The size of any other feature is the root mean square of
    its values that are not 0; of a feature without such values, that of all values.

    >>> sizes_and_means([[3.0, 1.0], [0.0, 3.0], [0.0, 1.0], [0.0, 3.0]])
    ([3.0, 1.0], [0.0, 2.0])
    """
    nonzeros = [x for row in rows for x in row if x != 0.0]
    usual = _root_mean_square(nonzeros) if nonzeros else 1.0
    sizes, means = [], []
    for column in zip(*rows, strict=True):
        values = [x for x in column if x != 0.0]
        size, mean = _root_mean_square(values) if values else usual, 0.0
        if centred and values and 2 * len(values) >= len(column):
            mean = math.fsum(column) / len(column)
            spread = _root_mean_square([x - mean for x in column])
            # A spread that is rounding is none: the feature is a constant.
            size = spread if spread > 1e-8 * abs(mean) else size
        sizes.append(size)
        means.append(mean)
    return sizes, means


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
