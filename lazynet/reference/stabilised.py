"""Stabilised truncated SGD, Ma & Zheng: bursts, informative truncation, stability selection.

The paper's version (arXiv:1604.06498), not that of the authors' scripts.  Several chains of SGD run
through their own permutations in bursts; after each burst a weight is truncated in proportion to
how often it was informed; after a stage of bursts, features that did not survive often enough are
purged for good.  Reconstructed from the prose: the available text has lost its formulas.  Two
things are added: an intercept, which is neither truncated nor purged, and features that occur in no
row do not count as features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lazynet.reference.losses import LOSSES

Example = tuple[Sequence[int], Sequence[float], float]

#: A ratio that exceeds gravity by no more than this share ties with it, and the weight vanishes:
#: weights whose ratios are equal differ by their rounding.
TIE = 2.0**-30


def kappa(first: set[int], second: set[int], n_features: int) -> float:
    """Cohen's kappa of two selections: agreement beyond chance.

    >>> kappa({0, 1}, {0, 1}, 10), kappa(set(), set(), 10), round(kappa({0}, {1}, 10), 3)
    (1.0, 1.0, -0.111)
    """
    both, either = len(first & second), len(first | second)
    a, b, p = len(first), len(second), n_features
    observed = (both + p - either) / p
    expected = (a * b + (p - a) * (p - b)) / p**2
    return 1.0 if expected == 1.0 else (observed - expected) / (1.0 - expected)


def rejection_rate(share: float, beta0: float, gamma: float) -> float:
    """Eq. 12: the share of ratios to reject while ``share`` of the features are left.

    Zero for none, ``beta0`` for all, and in between bent by gamma.

    >>> [round(rejection_rate(x, 0.8, -9.0), 3) for x in (0.0, 0.5, 1.0)]
    [0.0, 0.592, 0.8]
    """
    if abs(gamma) < 1e-8:
        return beta0 * share
    if gamma > 0:
        return beta0 * (math.exp(-gamma * (1 - share)) - (1 - share) * math.exp(-gamma))
    return beta0 * math.log(1 - gamma * share) / math.log(1 - gamma)


def base_gravity(ratios: Sequence[float], beta: float) -> float:
    """Eq. 11: the least g that rejects a share ``beta`` of the ratios |w_j| / k_j.

    >>> base_gravity([3.0, 1.0, 2.0, 4.0], 0.5), base_gravity([], 0.5)
    (2.0, 0.0)
    """
    if not ratios or beta <= 0:
        return 0.0
    return sorted(ratios)[max(math.ceil(beta * len(ratios)), 1) - 1]


def burst_size(k0: float, n_features: int, left: int, theta: float) -> int:
    """Draws of a burst while ``left`` features are left: longer, the fewer there are.

    >>> [burst_size(20, 1000, left, 0.5) for left in (1000, 100, 10)]  # 20 log(2000 / left)
    [14, 60, 106]
    """
    return max(1, math.ceil(k0 * math.log(n_features / (theta * left))))


@dataclass(frozen=True)
class Stage:
    """One line of the trace.

    >>> model = StabilisedReference(1, n_chains=1, k0=2, epochs=2, beta0=0.0)
    >>> model = model.fit([([0], [1.0], 1.0)], lambda chain: iter([0, 0]))
    >>> model.trace[0].burst_size, model.trace[0].stable
    (2, frozenset({0}))
    """

    gravity: float | None
    """That of all bursts; None in the first stage, where each takes its own."""
    rejection_rate: float
    """The share of the informed weights that was to vanish."""
    realised_rate: float
    """The share that did."""
    burst_size: int
    """Draws of a burst."""
    stable: frozenset[int]
    """Features that are left."""


class StabilisedReference:
    """Every chain, burst and stage as they are described, in plain Python.

    ``draws(chain)`` gives the rows that a chain visits, without end; ``epochs`` is how many times
    the number of rows each of them draws: there the last stage is cut short.  Afterwards
    ``weights`` are the mean of the chains, ``stable`` the features that were never purged,
    ``frequency`` how often each survived when it was last judged, and ``trace`` has a line per
    stage.

    One burst by hand: the first feature is drawn twice, the second once.

    >>> model = StabilisedReference(2, n_chains=1, schedule=lambda t: 0.5)
    >>> examples = [([0], [1.0], 1.0), ([1], [0.5], 1.0)]
    >>> counts = model.burst(0, examples, iter([0, 0, 1]), size=3)
    >>> model.weights, counts, model.ratios(0, counts, size=3)
    ([1.0, 0.25], {0: 2, 1: 1}, [0.5, 0.25])
    >>> model.truncate(0, counts, gravity=0.25, size=3)  # one vanishes
    1
    >>> model.purge()
    >>> model.weights, model.intercept, model.stable
    ([0.5, 0.0], 0.0, {0})
    """

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "hinge",
        schedule: Callable[[int], float] = lambda t: 1.0 / math.sqrt(t + 1),
        n_chains: int = 4,
        bursts_per_stage: int = 5,
        k0: float = 20.0,
        beta0: float = 0.8,
        gamma: float = -9.0,
        pi0: float = 0.85,
        theta: float = 0.5,
        nu: int = 1,
        epochs: float = 20.0,
        universal: bool = False,
        fit_intercept: bool = False,
        epsilon: float = 0.1,
    ) -> None:
        self.slope: Any = LOSSES[loss][1]
        self.n_features, self.schedule, self.epsilon = n_features, schedule, epsilon
        self.bursts_per_stage, self.k0, self.theta, self.nu = bursts_per_stage, k0, theta, nu
        self.beta0, self.gamma, self.pi0 = beta0, gamma, pi0
        self.epochs, self.universal, self.fit_intercept = epochs, universal, fit_intercept
        self.chains = [[0.0] * n_features for _ in range(n_chains)]
        self.intercepts = [0.0] * n_chains
        self.t = [0] * n_chains
        self.stable = set(range(n_features))
        self.informed, self.rejected = [0] * n_features, [0] * n_features
        self.frequency = [math.nan] * n_features
        self.trace: list[Stage] = []

    @property
    def weights(self) -> list[float]:
        """The mean of the chains."""
        return [sum(chain) / len(self.chains) for chain in zip(*self.chains, strict=True)]

    @property
    def intercept(self) -> float:
        """The mean of theirs."""
        return sum(self.intercepts) / len(self.intercepts)

    def fit(
        self, examples: Sequence[Example], draws: Callable[[int], Iterator[int]]
    ) -> StabilisedReference:
        """Train stage after stage, until every chain has drawn its rows or nothing is left.

        >>> import itertools
        >>> model = StabilisedReference(1, schedule=lambda t: 0.25, k0=2, epochs=2, beta0=0.0)
        >>> model = model.fit([([0], [1.0], 1.0)], lambda chain: itertools.repeat(0))
        >>> model.weights, len(model.trace)
        ([0.5], 1)
        """
        rows = [draws(chain) for chain in range(len(self.chains))]
        self.stable = {
            j for indices, values, _ in examples for j, x in zip(indices, values, strict=True) if x
        }
        n_occurring = len(self.stable)
        pool: list[float] | None = None
        beta, size = self.beta0, max(1, math.ceil(self.k0))
        n_steps = math.ceil(self.epochs * len(examples))
        while self.t[0] < n_steps and self.stable:
            gravity = None if pool is None else base_gravity(pool, beta)
            pool, rejections = [], 0
            for chain in range(len(self.chains)):
                for _ in range(self.bursts_per_stage):
                    steps = min(size, n_steps - self.t[chain])  # the last burst may be shorter
                    counts = self.burst(chain, examples, rows[chain], steps)
                    ratios = self.ratios(chain, counts, steps)
                    own = base_gravity(ratios, beta) if gravity is None else gravity
                    rejections += self.truncate(chain, counts, own, steps)
                    pool += ratios
            realised = rejections / len(pool) if pool else 0.0
            self.purge()
            self.trace.append(Stage(gravity, beta, realised, size, frozenset(self.stable)))
            if self.stable:
                left = len(self.stable)
                beta = rejection_rate(left / n_occurring, self.beta0, self.gamma)
                size = burst_size(self.k0, n_occurring, left, self.theta)
        return self

    def burst(
        self, chain: int, examples: Sequence[Example], rows: Iterator[int], size: int
    ) -> dict[int, int]:
        """``size`` steps of SGD on the stable features; how often each of them was informed."""
        w, counts = self.chains[chain], dict[int, int]()
        for _ in range(size):
            indices, values, target = examples[next(rows)]
            example = [
                (j, x) for j, x in zip(indices, values, strict=True) if j in self.stable and x
            ]
            prediction = sum(w[j] * x for j, x in example) + self.intercepts[chain]
            g = self.slope(prediction, target, self.epsilon)
            eta = self.schedule(self.t[chain])
            self.t[chain] += 1
            if self.fit_intercept:
                self.intercepts[chain] -= eta * g
            if g:
                for j, x in example:
                    w[j] -= eta * g * x
                    counts[j] = counts.get(j, 0) + 1
        return counts

    def ratios(self, chain: int, counts: dict[int, int], size: int) -> list[float]:
        """|w_j| / k_j of the informed before they are truncated; / K if gravity is universal."""
        w = self.chains[chain]
        return [abs(w[j]) / (size if self.universal else k) for j, k in counts.items()]

    def truncate(self, chain: int, counts: dict[int, int], gravity: float, size: int) -> int:
        """Towards zero by gravity for each time informed; how many vanished.

        Universal gravity (Algorithm 1) takes everyone for informed at every draw.
        """
        w, vanished = self.chains[chain], 0
        if not size:
            return 0
        strengths = dict.fromkeys(self.stable, size) if self.universal else counts
        for j, k in strengths.items():
            # Asked of the ratio, so that the one that gravity was taken from vanishes for certain.
            tie = abs(w[j]) / k <= gravity * (1 + TIE)
            left = 0.0 if tie else abs(w[j]) - gravity * k
            w[j] = math.copysign(left, w[j]) if left > 0 else 0.0
        for j in counts:
            self.informed[j] += 1
            if w[j] == 0.0:
                self.rejected[j] += 1
                vanished += 1
        return vanished

    def purge(self) -> None:
        """Keep what has survived often enough since it was last judged, Eq. 9, 10 and 16."""
        for j in sorted(self.stable):
            if self.informed[j] < max(self.nu, 1):
                continue  # too little is known: kept, and carried over
            survived = 1.0 - self.rejected[j] / self.informed[j]
            self.frequency[j] = survived
            self.informed[j] = self.rejected[j] = 0
            if survived < self.pi0:
                self.stable.discard(j)
                for w in self.chains:
                    w[j] = 0.0
