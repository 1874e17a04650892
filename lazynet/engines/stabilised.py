"""Stabilised truncated SGD, Ma & Zheng: paths of bursts, and a purge after each stage.

A stage is a number of bursts of each path; see ``lazynet.reference.stabilised``.  After a burst the
weights are truncated.  A feature survives a burst if its weight stays nonzero.  After a stage,
features that did not survive often enough are purged from all paths for good.  Paths are
independent during a stage, so they run in parallel, and any number of threads gives the same model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import LOWER_ETA0, take_until_done
from lazynet.engines.threads import Workers
from lazynet.kernels import stabilised
from lazynet.kernels.examples import Examples
from lazynet.losses import Loss
from lazynet.parameters import LARGEST_INTEGER, Choice, Integer, Number, PositiveInt, SettledFields
from lazynet.schedules import Schedule, checked_rates

#: The paper's Theta, in the length of the bursts of later stages (``Stages.size``).
_THETA = 0.5
#: A ratio that exceeds gravity by at most this share ties with gravity, and the weight becomes 0.
#: Rounding makes equal ratios differ, and a shift of 1,024 bursts costs ten of a weight's 53 bits.
_TIE = 2.0**-30
#: The largest shift, in pulls of one burst.  Past this shift, weights as small as the pull of a
#: burst lose too many digits, and the bursts have paid for a visit to all weights.
_LARGEST_SHIFT = 1024


# Later bursts are at most 64 times as long, and their steps are counted too.
BurstSize = Annotated[int, Integer(least=1, most=LARGEST_INTEGER // 64)]
RejectionRate = Annotated[float, Number(least=0, below=1)]
Annealing = Annotated[float, Number(least=-20, most=20)]
Stability = Annotated[float, Number(least=0, most=1)]
Gravity = Annotated[str, Choice(accepted=("universal", "informative"))]


@dataclass(frozen=True)
class Stages(SettledFields):
    """The parameters of ``StabilisedSGDClassifier`` about bursts, their truncation, and purges."""

    burst_size: BurstSize
    bursts_per_stage: PositiveInt
    rejection_rate: RejectionRate
    annealing: Annealing
    stability: Stability
    gravity: Gravity = "universal"

    def rejected_share(self, left: float) -> float:
        """Eq. 12: the rejected share beta while a share ``left`` of the features is left."""
        beta0, gamma = self.rejection_rate, self.annealing
        if abs(gamma) < 1e-8:
            return beta0 * left
        if gamma > 0:
            return beta0 * (math.exp(-gamma * (1 - left)) - (1 - left) * math.exp(-gamma))
        return beta0 * math.log1p(-gamma * left) / math.log1p(-gamma)

    def size(self, n_features: int, left: int) -> int:
        """Steps of a burst while ``left`` of the features are left."""
        return max(1, math.ceil(self.burst_size * math.log(n_features / (_THETA * left))))


class Permutations:
    """An endless stream of rows: one random permutation of all rows after another.

    >>> stream = Permutations(3, np.random.default_rng(0))
    >>> sorted(stream.take(2).tolist() + stream.take(1).tolist())
    [0, 1, 2]
    """

    def __init__(self, n_rows: int, generator: np.random.Generator) -> None:
        self.n_rows, self.generator = n_rows, generator
        self.left = np.zeros(0, dtype=np.int64)

    def take(self, count: int) -> NDArray[np.int64]:
        """The next ``count`` rows."""
        drawn, n_drawn = [self.left], len(self.left)
        while n_drawn < count:
            drawn.append(self.generator.permutation(self.n_rows).astype(np.int64, copy=False))
            n_drawn += self.n_rows
        rows = np.concatenate(drawn) if len(drawn) > 1 else self.left
        self.left = rows[count:]
        return rows[:count]


def base_gravity(ratios: NDArray[np.float64], beta: float) -> float:
    """Eq. 11: the least g that rejects a share ``beta`` of the ratios.

    >>> base_gravity(np.array([3.0, 1.0, 2.0, 4.0]), 0.5)
    2.0
    """
    if not len(ratios) or beta <= 0:
        return 0.0
    rank = max(math.ceil(beta * len(ratios)), 1) - 1
    return float(np.partition(ratios, rank)[rank])


class Burst(NamedTuple):
    """The results of a burst that its stage needs, with an entry per informed feature."""

    features: NDArray[np.int64]
    ratios: NDArray[np.float64]
    vanished: NDArray[np.bool_]


class Path:
    """The weights of one path, its stream of rows, and the rows to learn from."""

    def __init__(
        self, examples: Examples, loss: Loss, generator: np.random.Generator, universal: bool
    ) -> None:
        d = examples.n_columns
        self.examples, self.loss, self.universal = examples, loss, universal
        self.rows = Permutations(examples.n_rows, generator)
        self.cells = np.zeros((d, 2))
        self.fields = np.zeros(stabilised.N_FIELDS)
        self.informed = np.empty(d + 1, dtype=np.int64)
        #: the universal gravity of the last burst, times K; 0 after a sweep
        self.pull = 0.0

    @property
    def shift(self) -> float:
        """The number to subtract from the size of every stored weight."""
        return float(self.fields[stabilised.SHIFT])

    @property
    def intercept(self) -> float:
        return float(self.fields[stabilised.INTERCEPT])

    def weights(self) -> NDArray[np.float64]:
        """All present weights; a weight that tied with gravity in the last burst is zero."""
        weights = np.empty(len(self.cells))
        stabilised.read(self.cells, self.shift, _TIE * self.pull, weights)
        return weights

    def purge(self, features: NDArray[np.int64]) -> None:
        """Set the weights of these features to zero for good."""
        self.cells[features, 0] = 0.0
        self.cells[features, 1] = -1.0

    def take_burst(
        self,
        rates: NDArray[np.float64],
        gravity: float | None,
        beta: float,
        t: int,
        workers: Workers,
        observe: Callable[[], None] | None = None,
    ) -> Burst:
        """Take a step at each of the rates, and truncate.

        Without a ``gravity`` the burst computes a gravity that rejects a share ``beta``.
        ``observe`` is called after every step and its truncation.
        """
        rows, size = self.rows.take(len(rates)), len(rates)

        def run(first: int) -> tuple[int, int]:
            workers.check()
            end = size if observe is None else first + 1
            status, step = stabilised.run(
                self.examples, rows[:end], rates[:end], self.loss.code, self.loss.epsilon,
                self.cells, self.fields, self.informed, first,
            )  # fmt: skip
            if observe is not None and first < step < size:
                observe()
            return status, step

        take_until_done(
            run, size, t, self.examples, row_of=lambda step: int(rows[step]), remedy=LOWER_ETA0
        )
        burst = self._truncate(size, gravity, beta)
        if observe is not None:
            observe()
        return burst

    def _truncate(self, size: int, gravity: float | None, beta: float) -> Burst:
        """Truncate the weights after a burst of ``size`` steps."""
        features = self.informed[: int(self.fields[stabilised.INFORMED])].copy()
        ratios = np.empty(len(features))
        stabilised.find_ratios(features, self.cells, self.shift, size * self.universal, ratios)
        if gravity is None:
            gravity = base_gravity(ratios, beta)
        tie = gravity * (1.0 + _TIE)
        stabilised.truncate(features, self.cells, ratios, gravity, tie, self.universal)
        self.fields[stabilised.INFORMED] = 0
        if self.universal:
            self.pull = gravity * size
            self.fields[stabilised.SHIFT] += self.pull
            if self.shift > _LARGEST_SHIFT * self.pull > 0.0:
                self._sweep()
        return Burst(features, ratios, ratios <= tie)

    def _sweep(self) -> None:
        """Set the shift to 0; the weights stay the same."""
        self.cells[:, 0] = self.weights()
        self.fields[stabilised.SHIFT] = self.pull = 0.0


class StabilisedEngine:
    """One output: its paths, and the features that were never purged.

    ``occurs`` says which features have a value other than 0 in a row.
    """

    def __init__(
        self,
        examples: Examples,
        loss: Loss,
        stages: Stages,
        schedule: Schedule,
        generators: Sequence[np.random.Generator],
        occurs: NDArray[np.bool_],
    ) -> None:
        d = len(occurs)
        self.stages, self.schedule = stages, schedule
        universal = stages.gravity == "universal"
        self.paths = [Path(examples, loss, generator, universal) for generator in generators]
        self.n_occurring = self.n_stable = int(np.count_nonzero(occurs))
        self.stable = occurs.copy()
        self.counts = np.zeros((d, 2), np.int32)  # of ``judge``
        #: the share of the bursts visiting it that a feature survived, at its last decision
        self.frequency = np.full(d, np.nan)
        self.t = self.n_stages = 0
        self.beta, self.size = stages.rejection_rate, stages.burst_size
        #: the gravity of the next stage; None: each burst computes its own gravity
        self.gravity: float | None = None

    def take_stage(
        self,
        workers: Workers,
        n_steps: float = math.inf,
        observe: Callable[[], None] | None = None,
    ) -> dict[str, Any]:
        """Run one stage of all paths, purge features, and return a line of ``trace_``.

        Each path takes at most ``n_steps`` steps in all, so its last burst may be shorter.
        ``observe`` is called after every step of the first path.
        """
        end = int(min(self.t + self.stages.bursts_per_stage * self.size, n_steps))
        rates = checked_rates(self.schedule, self.t, end)
        starts = range(0, len(rates), self.size)
        bursts: dict[int, list[Burst]] = {}

        def run(number: int) -> None:
            path = self.paths[number]
            bursts[number] = [
                path.take_burst(
                    rates[start : start + self.size],
                    self.gravity,
                    self.beta,
                    self.t + start,
                    workers,
                    observe if number == 0 else None,
                )
                for start in starts
            ]

        workers.map(run, range(len(self.paths)))
        self.t = end
        of_all = (bursts[number] for number in range(len(self.paths)))
        parts = zip(*(burst for of_path in of_all for burst in of_path), strict=True)
        features, ratios, vanished = map(np.concatenate, parts)
        purged = self._judge(features, vanished)
        record = dict(
            stage=self.n_stages,
            steps=self.t,
            rejection_rate=self.beta,
            realised_rate=int(np.count_nonzero(vanished)) / max(len(ratios), 1),
            gravity=self.gravity,
            burst_size=self.size,
            n_stable=self.n_stable,
            purged=purged,
        )
        self.n_stages += 1
        if self.n_stable:
            self.beta = self.stages.rejected_share(self.n_stable / self.n_occurring)
            self.size = self.stages.size(self.n_occurring, self.n_stable)
            self.gravity = base_gravity(ratios, self.beta)
        return record

    def _judge(self, features: NDArray[np.int64], vanished: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Purge the features that have not survived often enough; returns the purged features."""
        purged = np.empty_like(features)
        n_purged = stabilised.judge(
            features,
            vanished.view(np.uint8),
            self.stages.stability,
            self.counts,
            self.frequency,
            purged,
        )
        purged = np.sort(purged[:n_purged])
        self.stable[purged] = False
        self.n_stable -= n_purged
        for path in self.paths:
            path.purge(purged)
        return purged

    def weights(self) -> NDArray[np.float64]:
        """The mean of the paths' weights."""
        # A sum that overflows is infinite, and the estimator refuses infinite weights.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.mean([path.weights() for path in self.paths], axis=0)

    @property
    def intercept(self) -> float:
        """The mean of the paths' intercepts."""
        return sum(path.intercept for path in self.paths) / len(self.paths)
