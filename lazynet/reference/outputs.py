"""Several outputs: classes that share the softmax as their loss, and a penalty of rows of weights.

**The softmax.**  With predictions p_k the loss of an example of class y is
log(sum of exp p_k) - p_y, and its slope in p_k is the probability of class k, less 1 for k = y.
Every class takes a step of its rule with its slope; the references of the rules give these steps.

**Groups.**  FoBoS keeps or drops a feature for all outputs.  A feature has a row v of weights, an
entry per output, and the penalty of a row is

    l1 ||v||_2 + (l2 / 2) ||v||_2^2

Duchi & Singer (2009), section 5.  ``DenseGroups`` shrinks every row at every step.  The lazy form
``PlainGroupsOnClock`` brings a row current when an example touches it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

from lazynet.reference.affine import fobos_map
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
    """Shrinks every row at every step; the lazy form stores a row in another way.

    With ``softmax`` the target of an example is the number of its class; else it is a list of
    numbers, one per output, and every output has the same loss.

    >>> twin = DenseGroups(2, 2, loss="squared_error", l1=5, schedule=lambda t: 0.5)
    >>> twin.step([0], [1.0], target=[6.0, -8.0])
    [0.0, 0.0]
    >>> twin.weights  # the gradient gives [3, -4], the shrink takes 2.5 off the norm of 5
    [[1.5, -2.0], [0.0, 0.0]]
    >>> twin.predict([0], [2.0]), twin.slopes([3.0, -4.0], [3.0, -5.0])
    ([3.0, -4.0], [0.0, 1.0])
    >>> twin.store(1, [4.0, 0.0])
    >>> twin.advance(0.5)
    >>> twin.load(1)
    [1.5, 0.0]
    """

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
        self.stored = [[self.zero] * n_outputs for _ in range(n_features)]
        self.intercepts = [self.zero] * n_outputs

    def load(self, j: int) -> list[Any]:
        """The weights of feature j as of now."""
        return self.stored[j]

    def store(self, j: int, row: list[Any]) -> None:
        """Make ``row`` the weights of feature j as of now."""
        self.stored[j] = row

    def advance(self, eta: Any) -> None:
        """Let one shrink pass over every row."""
        self.stored = [shrink_row(row, eta, self.l1, self.l2) for row in self.stored]

    @property
    def weights(self) -> list[list[Any]]:
        """All weights as of now, a row per feature."""
        return [self.load(j) for j in range(self.n_features)]

    def predict(self, indices: Sequence[int], values: Sequence[Any]) -> list[Any]:
        """The predictions of all outputs at the present weights."""
        totals = list(self.intercepts)
        for j, x in zip(indices, values, strict=True):
            totals = [p + w * x for p, w in zip(totals, self.load(j), strict=True)]
        return totals

    def slopes(self, predictions: list[Any], target: Any) -> list[Any]:
        """The derivative of the loss in the prediction of every output."""
        if self.softmax:
            return softmax_slopes(predictions, target)
        pairs = zip(predictions, target, strict=True)
        return [self.slope(p, y, self.epsilon) for p, y in pairs]

    def step(
        self, indices: Sequence[int], values: Sequence[Any], target: Any, weight: Any = 1
    ) -> list[Any]:
        """Learn from one example; return the predictions before."""
        eta = self.schedule(self.t)
        predictions = self.predict(indices, values)
        moves = [eta * weight * g for g in self.slopes(predictions, target)]
        for j, x in zip(indices, values, strict=True):
            self.store(j, [w - move * x for w, move in zip(self.load(j), moves, strict=True)])
        self.advance(eta)
        if self.fit_intercept:
            pairs = zip(self.intercepts, moves, strict=True)
            self.intercepts = [b - move for b, move in pairs]
        self.t += 1
        return predictions


class PlainGroupsOnClock(DenseGroups):
    """Lazy: the norm of a row is on the clock, as a single weight is in ``PlainClock``.

    A shrink keeps the direction of the row, and its norm takes the map of a single weight.

    >>> lazy = PlainGroupsOnClock(1, 2, l1=2.5, l2=1.0)
    >>> lazy.store(0, [6.0, -8.0])
    >>> lazy.advance(1.0)
    >>> lazy.scale, lazy.shift, lazy.load(0)
    (0.5, 2.5, [2.25, -3.0])
    >>> lazy.rebase()
    >>> lazy.scale, lazy.shift, lazy.load(0)
    (1.0, 0.0, [2.25, -3.0])
    """

    def __init__(self, n_features: int, n_outputs: int, **options: Any) -> None:
        super().__init__(n_features, n_outputs, **options)
        self.scale, self.shift = self.zero + 1, self.zero

    def load(self, j: int) -> list[Any]:
        """The weights of feature j as of now: z [ ||z|| - shift ]+ / ||z|| scale."""
        return [v * self.scale for v in l2_prox(self.stored[j], self.shift)]

    def store(self, j: int, row: list[Any]) -> None:
        """Store row (||row|| / scale + shift) / ||row||."""
        norm = math.hypot(*row)
        share = (norm / self.scale + self.shift) / norm if norm else self.zero
        self.stored[j] = [v * share for v in row]

    def advance(self, eta: Any) -> None:
        """scale <- a scale, shift <- shift + b / scale, with |w| <- [a |w| - b]+ of FoBoS."""
        a, b = fobos_map(eta, self.l1, self.l2)
        self.scale = self.scale * a
        self.shift = self.shift + b / self.scale

    def rebase(self) -> None:
        """Bring every row current and set the clock to its start; no weight changes."""
        rows = self.weights
        self.scale, self.shift = self.zero + 1, self.zero
        for j, row in enumerate(rows):
            self.store(j, row)
