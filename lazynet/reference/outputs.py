"""Several outputs: classes with the softmax as their common loss; a penalty on rows of weights.

**The softmax.**  With predictions p_k the loss of an example of class y is
log(sum of exp p_k) - p_y, and its slope in p_k is the probability of class k, less 1 for k = y.
Every class takes a step of its rule with its slope; the references of the rules give these steps.

**Groups.**  FoBoS keeps or drops a feature for all outputs.  A feature has a row v of weights, an
entry per output, and the penalty of a row is

    l1 ||v||_2 + (l2 / 2) ||v||_2^2

Duchi & Singer (2009), section 5.  A shrink keeps the direction of the row, and its norm takes the
map of a single weight.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from lazynet.reference.learner import Learner


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
    """A reference for every class, such as ``DenseReference``, with the slopes of the softmax.

    >>> from lazynet.reference import DenseReference
    >>> references = [DenseReference(1, schedule=lambda t: 1.0) for _ in range(2)]
    >>> softmax = DenseSoftmax(references)
    >>> softmax.slopes([0.0, 0.0], 1)
    [0.5, -0.5]
    >>> softmax.step([0], [1.0], 1)
    [0.0, 0.0]
    >>> softmax.weights, softmax.intercepts
    ([[-0.5], [0.5]], [0.0, 0.0])
    """

    def __init__(self, references: Sequence[Any]) -> None:
        self.references = list(references)
        for dense in self.references:
            # A reference receives the slope in place of the target, and uses it unchanged.
            dense.slope = lambda prediction, slope, epsilon: slope

    @property
    def weights(self) -> list[list[float]]:
        """The weights of every class."""
        return [list(dense.weights) for dense in self.references]

    @property
    def intercepts(self) -> list[float]:
        """The intercept of every class."""
        return [float(dense.intercept) for dense in self.references]

    def slopes(self, predictions: Sequence[float], label: int) -> list[float]:
        """The slope of every class in its prediction."""
        return softmax_slopes(predictions, label)

    def step(
        self, indices: Sequence[int], values: Sequence[float], label: int, importance: float = 1.0
    ) -> list[float]:
        """Learn from one example; return the predictions before."""
        # A reference predicts in its step, after it has counted the row: use the steps of copies.
        copies = copy.deepcopy(self.references)
        predictions = [float(dense.step(indices, values, 0.0)) for dense in copies]
        slopes = self.slopes(predictions, label)
        for dense, slope in zip(self.references, slopes, strict=True):
            dense.step(indices, values, slope, importance)
        return predictions


def l2_prox(row: Sequence[Any], a: Any) -> list[Any]:
    """The v with the least a ||v||_2 + ||v - row||_2^2 / 2: the norm falls by a, down to 0.

    >>> l2_prox([3.0, -4.0], 2.5), l2_prox([3.0, 4.0], 5.0)
    ([1.5, -2.0], [0.0, 0.0])
    """
    norm = math.hypot(*row)
    if norm <= a:
        return [v * 0 for v in row]
    return [v * ((norm - a) / norm) for v in row]


def shrink_row(row: Sequence[Any], eta: Any, l1: Any, l2: Any) -> list[Any]:
    """The proximal map of eta times the penalty of a row.

    >>> shrink_row([6.0, -8.0], 1.0, 2.5, 1.0)  # [3, -4], whose norm loses 2.5 / 2
    [2.25, -3.0]
    """
    a = 1 + eta * l2
    return l2_prox([v / a for v in row], eta * l1 / a)


class DenseGroups(Learner):
    """A penalty of rows: every step shrinks every row.

    With ``softmax`` the target of an example is the number of its class; else it is a list of
    numbers, one per output, and every output has the same loss.

    >>> dense = DenseGroups(2, 2, loss="squared_error", l1=5, schedule=lambda t: 0.5)
    >>> dense.step([0], [1.0], target=[6.0, -8.0])
    [0.0, 0.0]
    >>> dense.weights  # the gradient gives [3, -4], the shrink takes 2.5 off the norm of 5
    [[1.5, -2.0], [0.0, 0.0]]
    >>> dense.predict([0], [2.0]), dense.slopes([3.0, -4.0], [3.0, -5.0])
    ([3.0, -4.0], [0.0, 1.0])
    """

    state: ClassVar[tuple[str, ...]] = ("t", "weights", "intercepts")

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        schedule: Callable[[int], Any] = lambda t: 1,
        softmax: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(n_features, **options)
        self.schedule, self.softmax = schedule, softmax
        #: a row per feature
        self.weights = [[self.zero] * n_outputs for _ in range(n_features)]
        self.intercepts = [self.zero] * n_outputs

    def predict(self, indices: Sequence[int], values: Sequence[Any]) -> list[Any]:
        """The predictions of all outputs at the present weights."""
        totals = list(self.intercepts)
        for j, x in zip(indices, values, strict=True):
            totals = [p + w * x for p, w in zip(totals, self.weights[j], strict=True)]
        return totals

    def slopes(self, predictions: list[Any], target: Any) -> list[Any]:
        """The derivative of the loss in the prediction of every output."""
        if self.softmax:
            return softmax_slopes(predictions, target)
        pairs = zip(predictions, target, strict=True)
        return [self.slope(p, y, self.epsilon) for p, y in pairs]

    def step(
        self, indices: Sequence[int], values: Sequence[Any], target: Any, importance: Any = 1
    ) -> list[Any]:
        """Learn from one example; return the predictions before."""
        eta = self.schedule(self.t)
        predictions = self.predict(indices, values)
        moves = [eta * importance * g for g in self.slopes(predictions, target)]
        for j, x in zip(indices, values, strict=True):
            pairs = zip(self.weights[j], moves, strict=True)
            self.weights[j] = [w - move * x for w, move in pairs]
        self.weights = [shrink_row(row, eta, self.l1, self.l2) for row in self.weights]
        if self.fit_intercept:
            pairs = zip(self.intercepts, moves, strict=True)
            self.intercepts = [b - move for b, move in pairs]
        self.t += 1
        return predictions
