"""Stabilised truncated SGD as the program computes it that Ma & Zheng released with their paper.

``lazynet.reference.stabilised`` is the algorithm of the paper; ``docs/errata.md`` lists where the
two differ.  Here several paths of SGD draw rows with replacement.  A burst takes ``burst_size``
updates, however many draws these need: with the hinge loss a row updates only if its margin is at
most 1.  After each update, every feature whose weight is not larger than a quantile of the sizes of
all weights is counted as rejected; nothing is truncated yet.  After a burst the weights are
truncated by this quantile and divided by their norm.  After a stage of bursts, features that were
rejected too often are purged.

Four habits of the program are reproduced.  A path skips one row after every burst.  A path that
comes to the end of its draws continues with one permutation of the rows, again and again.  If a
stage purges nothing, the counts of rejections continue, but the weights go back to what they were
after the last purge.  The last stage is not judged.

Four things are added, because the program stops with an error, or is not defined, without them.
Weights that all vanish are not divided by their norm.  A positive ``annealing`` follows Eq. 12 of
the paper; the program has lost a bracket there.  A run whose first stage purges nothing continues
from the weights that it has.  A feature that occurs in no row does not count as a feature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lazynet.reference.losses import LOSSES
from lazynet.reference.stabilised import (
    TIE,
    Example,
    Paths,
    occurring,
    rejected_share,
    steps_of_burst,
)


def slope(loss: str, prediction: float, target: float) -> float:
    """The slope of the loss; a row at the kink of the hinge loss is within the margin."""
    if loss == "hinge":
        return -target if target * prediction <= 1.0 + TIE else 0.0
    return float(LOSSES[loss][1](prediction, target, 0.0))


def quantile(sizes: Iterable[float], share: float) -> float:
    """The quantile that R computes by default, its type 7, between two order statistics.

    >>> quantile([4.0, 1.0, 2.0], 0.5), quantile([0.0, 1.0], 0.75), quantile([], 0.5)
    (2.0, 0.75, 0.0)
    """
    ordered = sorted(sizes)
    if not ordered:
        return 0.0
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return low + (place - below) * (high - low)


class DenseReleased(Paths):
    """Every path, burst and stage as the authors' program computes them, in plain Python.

    The parameters have the names of ``StabilisedSGDClassifier``; the program writes K_0 for
    ``burst_size``, nK for ``bursts_per_stage``, beta_0 for ``rejection_rate``, gamma for
    ``annealing``, pi_0 for ``stability`` and Theta for ``theta``.  It returns the paths, and has no
    intercept.  ``trace`` has for every stage the features that are left, and whether the weights
    went back to what they were after the last purge.

    ``positions`` says for each path which of its draws comes next; the first one has the number 1,
    and the draw with number i has the rate 1 / sqrt(i + 1).

    One burst by hand: both features are drawn once, and their weights are 1 / sqrt(2) and
    0.5 / sqrt(3).  The second weight is at most the quantile after both updates, and vanishes.

    >>> model = DenseReleased(2, n_paths=1, rejection_rate=0.25)
    >>> examples = [([0], [1.0], 1.0), ([1], [0.5], 1.0)]
    >>> model.burst(0, examples, rows=[0, 1, 1], size=2)
    2
    >>> model.rejections, [round(w, 3) for w in model.paths[0]], model.positions
    ([0, 2], [0.707, 0.289], [4])
    >>> model.truncate(0)
    >>> [round(w, 3) for w in model.paths[0]]  # 0.707 less the quantile 0.393, divided by the norm
    [1.0, 0.0]
    >>> model.quantile(0), slope("hinge", 0.5, 1.0), slope("hinge", 1.5, 1.0)
    (0.25, -1.0, 0.0)
    >>> model.purge(size=2)  # rejected after 2 of the 5 * 2 updates of a whole stage
    {1}
    >>> model.step(0, ([0], [2.0], 1.0)), model.rejections  # beyond the margin
    (False, [0, 0])
    >>> whole = DenseReleased(2, n_paths=1, max_iter=1, burst_size=1)
    >>> whole.fit(examples, lambda path: ([0, 1], [1, 0])).positions
    [11]
    """

    def __init__(
        self,
        n_features: int,
        *,
        burst_size: int = 20,
        rejection_rate: float = 0.8,
        stability: float = 0.85,
        **options: Any,
    ) -> None:
        options |= dict(burst_size=burst_size, rejection_rate=rejection_rate, stability=stability)
        super().__init__(n_features, **options)
        self.positions = [1] * len(self.paths)
        #: the share of the weights below the quantile, as of now
        self.beta = rejection_rate
        #: how often each feature was rejected since the last purge
        self.rejections = [0] * n_features

    def fit(
        self,
        examples: Sequence[Example],
        draws: Callable[[int], tuple[Sequence[int], Sequence[int]]],
    ) -> DenseReleased:
        """Train stage after stage, until every path has passed its draws or no feature is left.

        ``draws(path)`` gives the ``max_iter * len(examples)`` rows that the path draws, and the
        permutation of all rows, which follows them as often as needed.
        """
        drawn = [draws(path) for path in range(len(self.paths))]
        rows, permutations = [list(first) for first, _ in drawn], [last for _, last in drawn]
        self.stable = occurring(examples)
        n_occurring, n_draws = len(self.stable), self.max_iter * len(examples)
        size = int(self.burst_size)
        after_purge: list[list[float]] = []
        while min(self.positions) < n_draws and self.stable:
            for path in range(len(self.paths)):
                for _ in range(self.bursts_per_stage):
                    self.burst(path, examples, rows[path], size)
                    self.truncate(path)
                    if self.positions[path] >= n_draws - size:
                        rows[path] += permutations[path]
            is_last = min(self.positions) >= n_draws
            purged = set() if is_last else self.purge(size)
            went_back = not (is_last or purged) and bool(after_purge)
            self.trace.append((frozenset(self.stable), went_back))
            if went_back:
                self.paths = [list(path) for path in after_purge]
            if purged and self.stable:
                left = len(self.stable)
                self.beta = rejected_share(left / n_occurring, self.rejection_rate, self.annealing)
                size = steps_of_burst(self.burst_size, n_occurring, left, self.theta)
                after_purge = [list(path) for path in self.paths]
        return self

    def step(self, path: int, example: Example) -> bool:
        """Pass one draw of one path; returns whether the row made an update."""
        indices, values, target = example[:3]
        w, nonzeros = self.paths[path], self._nonzeros(indices, values)
        prediction = sum(w[j] * x for j, x in nonzeros)
        g = slope(self.loss, prediction, target) if nonzeros else 0.0
        eta = 1.0 / math.sqrt(self.positions[path] + 1)
        self.positions[path] += 1
        if g:
            for j, x in nonzeros:
                w[j] -= eta * g * x
            q = self.quantile(path)
            for j in self.stable:
                self.rejections[j] += abs(w[j]) <= q * (1 + TIE)
        return g != 0.0

    def burst(self, path: int, examples: Sequence[Example], rows: Sequence[int], size: int) -> int:
        """Draw until ``size`` updates are made or no row is left; return the number of updates."""
        updates = 0
        while updates < size and self.positions[path] <= len(rows):
            updates += self.step(path, examples[rows[self.positions[path] - 1]])
        self.positions[path] += 1  # the program skips a row here
        return updates

    def quantile(self, path: int) -> float:
        """The quantile of the sizes of all weights that are left, zeros among them."""
        return quantile((abs(self.paths[path][j]) for j in self.stable), self.beta)

    def truncate(self, path: int) -> None:
        """Move every weight towards zero by the quantile, and divide the weights by their norm."""
        w, q = self.paths[path], self.quantile(path)
        for j, old in enumerate(w):
            # A weight at the quantile vanishes under any rounding.
            left = 0.0 if abs(old) <= q * (1 + TIE) else abs(old) - q
            w[j] = math.copysign(left, old) if left else 0.0
        norm = math.hypot(*w)
        if norm:
            self.paths[path] = [value / norm for value in w]

    def purge(self, size: int) -> set[int]:
        """Purge the features that were rejected too often; return the purged features."""
        updates = self.bursts_per_stage * len(self.paths) * size
        most = 1.0 - self.stability
        purged = {j for j in self.stable if self.rejections[j] / updates >= most}
        if purged:
            self.stable -= purged
            self.rejections = [0] * self.n_features
            for w in self.paths:
                for j in purged:
                    w[j] = 0.0
        return purged
