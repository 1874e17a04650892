"""Stabilised truncated SGD, Ma & Zheng: bursts, informative truncation, stability selection.

The algorithm is the paper's (arXiv:1604.06498); the authors' scripts differ from it.  Several paths
of SGD visit the rows in bursts, each path in its own order.  After a burst the weights are
truncated, all equally or in proportion to how often the burst informed them.  After a stage of
bursts, features that did not survive often enough are purged for good.

The algorithm is reconstructed from the prose, because the available text has lost its formulas.
Two things are added: an intercept, which is neither truncated nor purged, and the convention that a
feature that occurs in no row does not count as a feature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lazynet.reference.losses import LOSSES, entry_named

#: indices, values, target, and the importance if it is not 1
Example = (
    tuple[Sequence[int], Sequence[float], float]
    | tuple[Sequence[int], Sequence[float], float, float]
)

#: A ratio that exceeds gravity by at most this share of gravity counts as equal to gravity,
#: and its weight vanishes: ratios that are equal in exact arithmetic differ by their rounding.
TIE = 2.0**-30


def rejected_share(left: float, rejection_rate: float, annealing: float) -> float:
    """Eq. 12: beta, the share of the ratios to reject while the share ``left`` of features is left.

    The share is 0 when no feature is left and ``rejection_rate`` (the paper's beta0) when all are;
    ``annealing`` (gamma) bends the curve between the two.

    >>> [round(rejected_share(left, 0.8, -9.0), 3) for left in (0.0, 0.5, 1.0)]
    [0.0, 0.592, 0.8]
    """
    beta0, gamma = rejection_rate, annealing
    if abs(gamma) < 1e-8:
        return beta0 * left
    if gamma > 0:
        return beta0 * (math.exp(-gamma * (1 - left)) - (1 - left) * math.exp(-gamma))
    return beta0 * math.log(1 - gamma * left) / math.log(1 - gamma)


def base_gravity(ratios: Sequence[float], beta: float) -> float:
    """Eq. 11: the least g that rejects a share ``beta`` of the ratios |w_j| / k_j.

    >>> base_gravity([3.0, 1.0, 2.0, 4.0], 0.5), base_gravity([], 0.5)
    (2.0, 0.0)
    """
    if not ratios or beta <= 0:
        return 0.0
    return sorted(ratios)[max(math.ceil(beta * len(ratios)), 1) - 1]


def steps_of_burst(burst_size: float, n_features: int, left: int, theta: float) -> int:
    """Steps of a burst while ``left`` of the features are left: the fewer are left, the longer.

    >>> [steps_of_burst(20, 1000, left, 0.5) for left in (1000, 100, 10)]  # 20 log(2000 / left)
    [14, 60, 106]
    """
    return max(1, math.ceil(burst_size * math.log(n_features / (theta * left))))


def occurring(examples: Sequence[Example]) -> set[int]:
    """The features that have a value other than 0 in at least one row.

    >>> occurring([([0, 2], [1.0, 0.0], 1.0), ([3], [2.0], -1.0)])
    {0, 3}
    """
    return {
        j for indices, values, *_ in examples for j, x in zip(indices, values, strict=True) if x
    }


class Paths:
    """The base of both stabilised algorithms: options, paths of SGD, and the features left.

    ``paths`` has the weights of every path, and ``stable`` the features that were never purged.

    >>> DenseStabilised(2, n_paths=3).paths, DenseStabilised(2).stable, DenseStabilised(2).weights
    ([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], {0, 1}, [0.0, 0.0])
    """

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "hinge",
        n_paths: int = 4,
        max_iter: float = 20,
        burst_size: float,
        bursts_per_stage: int = 5,
        rejection_rate: float,
        annealing: float = -9.0,
        stability: float,
        theta: float = 0.5,
        epsilon: float = 0.1,
    ) -> None:
        self.n_features, self.loss, self.epsilon = n_features, loss, epsilon
        self.max_iter, self.bursts_per_stage = max_iter, bursts_per_stage
        self.burst_size, self.theta = burst_size, theta
        self.rejection_rate, self.annealing = rejection_rate, annealing
        self.stability = stability
        self.paths = [[0.0] * n_features for _ in range(n_paths)]
        self.stable = set(range(n_features))
        self.trace: list[Any] = []

    @property
    def weights(self) -> list[float]:
        """The mean of the weights of the paths."""
        return [sum(path) / len(self.paths) for path in zip(*self.paths, strict=True)]

    def _nonzeros(self, indices: Iterable[int], values: Iterable[float]) -> list[tuple[int, float]]:
        """The nonzeros of an example in the features that are left."""
        return [(j, x) for j, x in zip(indices, values, strict=True) if j in self.stable and x]


@dataclass(frozen=True)
class Stage:
    """One line of the trace.

    >>> model = DenseStabilised(1, n_paths=1, burst_size=2, max_iter=2, rejection_rate=0.0)
    >>> model = model.fit([([0], [1.0], 1.0)], lambda path: iter([0, 0]))
    >>> model.trace[0].burst_size, model.trace[0].stable
    (2, frozenset({0}))
    """

    gravity: float | None
    """g of all bursts; None in the first stage, in which each burst computes its g."""
    rejection_rate: float
    """The share of the informed weights that was to vanish."""
    realised_rate: float
    """The share of the informed weights that vanished."""
    burst_size: int
    """Steps of a burst."""
    stable: frozenset[int]
    """The features that are left after the stage."""


class DenseStabilised(Paths):
    """Every path, burst and stage as the paper describes it, in plain Python.

    The parameters have the names of ``StabilisedSGDClassifier``; the paper writes K0 for
    ``burst_size``, n_K for ``bursts_per_stage``, beta0 for ``rejection_rate``, gamma for
    ``annealing``, pi0 for ``stability`` and Theta for ``theta``; its nu is 1.
    ``gravity="informative"`` is its Algorithm 2, ``gravity="universal"`` its Algorithm 1.
    ``frequency`` is the share of bursts that each feature survived, at the last decision about it,
    and ``trace`` has a line per stage.

    One burst by hand, in which the first feature is drawn twice and the second once:

    >>> model = DenseStabilised(2, n_paths=1, gravity="informative", schedule=lambda t: 0.5)
    >>> examples = [([0], [1.0], 1.0), ([1], [0.5], 1.0)]
    >>> counts = model.burst(0, examples, iter([0, 0, 1]), size=3)
    >>> model.weights, counts, model.ratios(0, counts, size=3)
    ([1.0, 0.25], {0: 2, 1: 1}, [0.5, 0.25])
    >>> model.truncate(0, counts, g=0.25, size=3)  # one weight vanishes
    1
    >>> model.purge()
    >>> model.weights, model.intercept, model.stable, model.t
    ([0.5, 0.0], 0.0, {0}, 3)
    >>> model.step([0, 1], [1.0, 1.0], 1.0), model.weights  # feature 1 is purged
    (0.5, [1.0, 0.0])
    """

    def __init__(
        self,
        n_features: int,
        *,
        burst_size: float = 1000,
        rejection_rate: float = 0.3,
        stability: float = 0.7,
        gravity: str = "universal",
        schedule: Callable[[int], float] = lambda t: 1.0 / math.sqrt(t + 1),
        fit_intercept: bool = False,
        **options: Any,
    ) -> None:
        options |= dict(burst_size=burst_size, rejection_rate=rejection_rate, stability=stability)
        super().__init__(n_features, **options)
        self.universal = entry_named("gravity", gravity, {"universal": True, "informative": False})
        self.slope, self.schedule = entry_named("loss", self.loss, LOSSES)[1], schedule
        self.fit_intercept = fit_intercept
        self.intercepts = [0.0] * len(self.paths)
        self.steps = [0] * len(self.paths)
        #: per path, the number of rows of the present burst with each feature: k_j
        self.counts: list[dict[int, int]] = [{} for _ in self.paths]
        self.informed, self.rejected = [0] * n_features, [0] * n_features
        self.frequency = [math.nan] * n_features

    @property
    def intercept(self) -> float:
        """The mean of the intercepts of the paths."""
        return sum(self.intercepts) / len(self.intercepts)

    @property
    def t(self) -> int:
        """The number of steps that every path has taken."""
        return min(self.steps)

    def fit(
        self, examples: Sequence[Example], draws: Callable[[int], Iterator[int]]
    ) -> DenseStabilised:
        """Train stage after stage, until every path has taken its steps or no feature is left.

        Each path takes ``max_iter`` times as many steps as there are rows, so the last stage may be
        shorter.  ``draws(path)`` is an endless iterator of the rows that a path visits.

        >>> import itertools
        >>> model = DenseStabilised(
        ...     1, schedule=lambda t: 0.25, burst_size=2, max_iter=2, rejection_rate=0.0
        ... )
        >>> model = model.fit([([0], [1.0], 1.0)], lambda path: itertools.repeat(0))
        >>> model.weights, len(model.trace)
        ([0.5], 1)
        """
        rows = [draws(path) for path in range(len(self.paths))]
        self.stable = occurring(examples)
        n_occurring = len(self.stable)
        pool: list[float] | None = None
        beta, size = self.rejection_rate, max(1, math.ceil(self.burst_size))
        n_steps = math.ceil(self.max_iter * len(examples))
        while self.t < n_steps and self.stable:
            g = None if pool is None else base_gravity(pool, beta)
            pool, rejections = [], 0
            for path in range(len(self.paths)):
                for _ in range(self.bursts_per_stage):
                    steps = min(size, n_steps - self.steps[path])  # the last burst may be shorter
                    counts = self.burst(path, examples, rows[path], steps)
                    ratios = self.ratios(path, counts, steps)
                    g_of_burst = base_gravity(ratios, beta) if g is None else g
                    rejections += self.truncate(path, counts, g_of_burst, steps)
                    pool += ratios
            realised = rejections / len(pool) if pool else 0.0
            self.purge()
            self.trace.append(Stage(g, beta, realised, size, frozenset(self.stable)))
            if self.stable:
                left = len(self.stable)
                beta = rejected_share(left / n_occurring, self.rejection_rate, self.annealing)
                size = steps_of_burst(self.burst_size, n_occurring, left, self.theta)
        return self

    def step(
        self,
        indices: Iterable[int],
        values: Iterable[float],
        target: float,
        importance: float = 1.0,
        *,
        path: int = 0,
    ) -> float:
        """Take one step of SGD with one path; return the prediction before.

        The step sees only the stable features, and counts in ``counts`` which of them it informed:
        those with a nonzero gradient.
        """
        w, counts = self.paths[path], self.counts[path]
        example = self._nonzeros(indices, values)
        prediction = sum(w[j] * x for j, x in example) + self.intercepts[path]
        g = importance * self.slope(prediction, target, self.epsilon)
        eta = self.schedule(self.steps[path])
        self.steps[path] += 1
        if self.fit_intercept:
            self.intercepts[path] -= eta * g
        if g:
            for j, x in example:
                w[j] -= eta * g * x
                counts[j] = counts.get(j, 0) + 1
        return float(prediction)

    def burst(
        self, path: int, examples: Sequence[Example], rows: Iterator[int], size: int
    ) -> dict[int, int]:
        """Take ``size`` steps with one path; return how often each feature was informed."""
        self.counts[path] = {}
        for _ in range(size):
            self.step(*examples[next(rows)], path=path)
        return self.counts[path]

    def ratios(self, path: int, counts: dict[int, int], size: int) -> list[float]:
        """|w_j| / k_j of the informed features before the truncation.

        Universal gravity divides by K, the ``size`` of the burst, instead of k_j.
        """
        w = self.paths[path]
        return [abs(w[j]) / (size if self.universal else k) for j, k in counts.items()]

    def truncate(self, path: int, counts: dict[int, int], g: float, size: int) -> int:
        """Move w_j towards zero by g k_j; return how many of the informed weights vanished.

        Universal gravity moves every weight by g K, with K the ``size`` of the burst.
        """
        w, vanished = self.paths[path], 0
        if not size:
            return 0
        strengths = dict.fromkeys(self.stable, size) if self.universal else counts
        for j, k in strengths.items():
            # Compare the ratio: then the weight whose ratio is g vanishes under any rounding.
            tie = abs(w[j]) / k <= g * (1 + TIE)
            left = 0.0 if tie else abs(w[j]) - g * k
            w[j] = math.copysign(left, w[j]) if left > 0 else 0.0
        for j in counts:
            self.informed[j] += 1
            if w[j] == 0.0:
                self.rejected[j] += 1
                vanished += 1
        return vanished

    def purge(self) -> None:
        """Purge the features that survived too few of the bursts that informed them.

        Eq. 9, 10 and 16 with nu = 1: a feature that no burst of the stage informed stays.
        """
        for j in sorted(self.stable):
            if not self.informed[j]:
                continue
            survived = 1.0 - self.rejected[j] / self.informed[j]
            self.frequency[j] = survived
            self.informed[j] = self.rejected[j] = 0
            if survived < self.stability:
                self.stable.discard(j)
                for w in self.paths:
                    w[j] = 0.0
