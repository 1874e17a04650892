"""What a step on several examples at once learns from: the mean of their gradients.

A step on a batch is the step on a single example with two words exchanged.  All predictions of the
batch are made with the weights before the step, and the gradient is the mean of the gradients of
the examples: sum_i s_i l'(p_i, y_i) x_i / n for n examples with the importances s_i.  There is one
shrink, and t counts the steps.  The last batch of an epoch may be shorter: n is the number of
examples that the batch has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

# The indices, values, target and importance of an example.
Example = tuple[Sequence[int], Sequence[Any], Any, Any]


def mean_gradient(
    batch: Sequence[Example], predictions: Sequence[Any], slope: Callable[..., Any], epsilon: Any
) -> tuple[dict[int, Any], Any]:
    """The mean of s l'(p, y) x in every column that an example names, and the mean of s l'(p, y).

    >>> batch = [([0, 2], [1.0, 4.0], 1.5, 1.0), ([2], [2.0], 0.0, 3.0)]
    >>> mean_gradient(batch, [2.0, 1.0], lambda p, y, epsilon: p - y, 0.0)
    ({0: 0.25, 2: 4.0}, 1.75)
    """
    sums: dict[int, Any] = {}
    total: Any = 0
    for (indices, values, target, weight), p in zip(batch, predictions, strict=True):
        g = weight * slope(p, target, epsilon)
        total += g
        for j, x in zip(indices, values, strict=True):
            sums[j] = sums.get(j, 0) + g * x
    n = len(batch)
    return {j: mean_of(sum_of_j, n) for j, sum_of_j in sums.items()}, mean_of(total, n)


def size_of_slopes(
    batch: Sequence[Example], predictions: Sequence[Any], slope: Callable[..., Any], epsilon: Any
) -> Any:
    """The mean of |l'(p, y)|, in which an example counts by its importance; below 2^-960 it is 1.

    >>> batch = [([0, 2], [1.0, 4.0], 1.5, 1.0), ([2], [2.0], 2.0, 3.0)]
    >>> size_of_slopes(batch, [2.0, 1.0], lambda p, y, epsilon: p - y, 0.0)
    0.875
    """
    total = weights = 0.0
    for (_, _, target, weight), p in zip(batch, predictions, strict=True):
        total += abs(weight * slope(p, target, epsilon))
        weights += weight
    size = total / weights if weights else 0.0
    return size if size >= 2.0**-960 else 1.0


def mean_of(total: Any, n: int) -> Any:
    """The n-th part of a sum; the sum itself for n = 1, which keeps whole numbers whole.

    >>> mean_of(3, 1), mean_of(3, 2)
    (3, 1.5)
    """
    return total if n == 1 else total / n
