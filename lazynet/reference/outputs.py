"""Several classes that share the softmax as their loss: the classes are coupled through it alone.

With predictions p_k the loss of an example of class y is log(sum of exp p_k) - p_y, and its slope
in p_k is the probability of class k, less 1 for k = y.  Every class takes a step of its rule with
its slope; the references of the rules give these steps.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any


def softmax_slopes(predictions: Sequence[float], label: int) -> list[float]:
    """The slope of log(sum of exp p_k) - p_label in every prediction.

    >>> [round(slope, 6) for slope in softmax_slopes([0.0, math.log(3.0)], 0)]
    [-0.75, 0.75]
    """
    highest = max(predictions)
    sizes = [math.exp(p - highest) for p in predictions]
    total = sum(sizes)
    return [size / total - (k == label) for k, size in enumerate(sizes)]


def softmax_loss(predictions: Sequence[float], label: int) -> float:
    """log(sum of exp p_k) - p_label.

    >>> round(softmax_loss([0.0, 0.0], 1), 6)  # log 2
    0.693147
    """
    highest = max(predictions)
    return math.log(sum(math.exp(p - highest) for p in predictions)) + highest - predictions[label]


class DenseSoftmax:
    """A reference for every class, such as ``DenseReference``; the softmax gives them their slopes.

    >>> from lazynet.reference import DenseReference
    >>> twins = [DenseReference(1, schedule=lambda t: 1.0) for _ in range(2)]
    >>> softmax = DenseSoftmax(twins)
    >>> softmax.slopes([0.0, 0.0], 1)
    [0.5, -0.5]
    >>> softmax.step([0], [1.0], 1)
    [0.0, 0.0]
    >>> softmax.weights, softmax.intercepts
    ([[-0.5], [0.5]], [0.0, 0.0])
    """

    def __init__(self, twins: Sequence[Any]) -> None:
        self.twins = list(twins)
        for twin in self.twins:
            # The slope that a twin receives in place of a target is the slope that it takes.
            twin.slope = lambda prediction, slope, epsilon: slope

    @property
    def weights(self) -> list[list[float]]:
        """The weights of every class."""
        return [list(twin.weights) for twin in self.twins]

    @property
    def intercepts(self) -> list[float]:
        """The intercept of every class."""
        return [float(twin.intercept) for twin in self.twins]

    def slopes(self, predictions: Sequence[float], label: int) -> list[float]:
        """The slope of every class in its prediction."""
        return softmax_slopes(predictions, label)

    def step(
        self, indices: Sequence[int], values: Sequence[float], label: int, weight: float = 1.0
    ) -> list[float]:
        """Learn from one example; return the predictions before."""
        # A twin predicts within its step, after it has measured the row: let copies take one.
        predictions = [float(copy.deepcopy(twin).step(indices, values, 0.0)) for twin in self.twins]
        slopes = self.slopes(predictions, label)
        for twin, slope in zip(self.twins, slopes, strict=True):
            twin.step(indices, values, slope, weight)
        return predictions
