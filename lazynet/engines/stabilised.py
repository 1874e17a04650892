"""Ma & Zheng's stabilised truncated SGD: paths, bursts, stages, the purge.

Each of several paths of SGD goes through its own permutations of the rows in bursts.  After each
burst the weights are truncated, all by the same amount or each in proportion to how often the rows
informed it; after a stage of bursts, features that did not survive often enough are purged from all
paths for good.  Paths share nothing during a stage, so they run in parallel, and any number of
threads gives the same model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import LOWER_ETA0, take_until_done
from lazynet.engines.threads import Workers
from lazynet.kernels import stabilised as kernel
from lazynet.kernels.examples import Examples
from lazynet.losses import Loss
from lazynet.parameters import FLAG, LARGEST_INTEGER, Integer, Kind, Number, SettledFields, table
from lazynet.schedules import Schedule, checked_rates

#: Records that a path has room for at first.
_FIRST_ROOM = 2**12
#: The largest number of bursts that can be counted.
_LARGEST_COUNT = 2**31 - 1


@dataclass(frozen=True)
class Bursts(SettledFields):
    """How long bursts are, how much they truncate, and what is purged; with the paper's symbols."""

    _kinds = table(
        bursts_per_stage=Integer(least=1),
        # Later bursts are at most 64 times as long, and their steps are counted too.
        burst_size=Integer(least=1, most=LARGEST_INTEGER // 64),
        rejection_rate=Number(least=0, below=1),
        annealing=Number(least=-20, most=20),
        stability=Number(least=0, most=1),
        theta=Number(least=1e-9, below=1),
    )

    #: bursts of each path in a stage (n_K)
    bursts_per_stage: int
    #: steps of a burst in the first stage; later ones grow as features are purged (K0)
    burst_size: int
    #: share of the ratios |w| / k that a truncation rejects while all features are left (beta0)
    rejection_rate: float
    #: how the rejected share falls as features are purged (gamma): at 0 in proportion to the
    #: features left, below 0 later, above 0 sooner
    annealing: float
    #: share of the bursts informing it that a feature must survive (pi0)
    stability: float
    #: a smaller theta makes the bursts of later stages longer (Theta)
    theta: float = 0.5

    @classmethod
    def of_estimators(cls) -> dict[str, Kind]:
        """The kinds of the parameters that estimators have, too."""
        return {name: kind for name, kind in Bursts._kinds.items() if name != "theta"}

    @classmethod
    def values_of(cls, p: SimpleNamespace) -> dict[str, Any]:
        """The values of these parameters."""
        return {name: getattr(p, name) for name in cls.of_estimators()}

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
        return max(1, math.ceil(self.burst_size * math.log(n_features / (self.theta * left))))


@dataclass(frozen=True)
class Stages(Bursts):
    """``Bursts``, and what the algorithm of the paper's text knows besides."""

    _kinds = table(
        **Bursts._kinds,
        min_informed=Integer(least=1, most=_LARGEST_COUNT),
        universal=FLAG,
    )

    #: bursts that must have informed a feature before it is judged (nu)
    min_informed: int = 1
    #: whether gravity is the same for all weights (Algorithm 1), or follows the number of times
    #: that a weight was informed (Algorithm 2)
    universal: bool = True


class StageRecord(TypedDict):
    """One line of ``trace_``."""

    problem: int  # row of ``coef_``
    stage: int
    steps: int  # of each path, by the end of the stage
    rejection_rate: float  # the share of the informed weights that should vanish
    realised_rate: float  # the share of the informed weights that vanished
    gravity: float | None  # None in the first stage, where each burst has its own gravity
    burst_size: int
    n_stable: int
    purged: NDArray[np.int64]  # the features that this stage purged


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


@dataclass(frozen=True)
class Data(SettledFields):
    """The rows to learn from, the loss, and whether there is an intercept."""

    _kinds = table(fit_intercept=FLAG)

    examples: Examples
    loss: Loss
    fit_intercept: bool = False


@dataclass(frozen=True)
class StageOrders:
    """The rates, burst size and truncation of one stage, the same for all paths."""

    rates: NDArray[np.float64]
    size: int
    beta: float
    gravity: float | None
    universal: bool


class Path:
    """One path: its weights, its stream of rows, and the records of its bursts."""

    def __init__(self, n_features: int, rows: Permutations) -> None:
        self.rows = rows
        self.cells = np.zeros((n_features, 2))
        self.fields = np.zeros(kernel.STABILISED_FIELDS)
        self.records = kernel.Records(*_record_arrays(_FIRST_ROOM))

    def weights(self) -> NDArray[np.float64]:
        """All weights as of now."""
        current = np.empty(len(self.cells))
        kernel.read(self.cells, self.fields, current)
        return current

    @property
    def intercept(self) -> float:
        return float(self.fields[kernel.INTERCEPT_FIELD])

    def ratios(self) -> NDArray[np.float64]:
        """The ratios in the records of this stage, a view."""
        return self.records.ratios[: self.records.n]

    def n_vanished(self) -> int:
        """The number of records in which the weight was truncated to zero."""
        return int(np.count_nonzero(self.records.vanished[: self.records.n]))

    def take_stage(
        self,
        problem: Data,
        orders: StageOrders,
        t: int,
        workers: Workers,
        observe: Callable[[], None] | None = None,
    ) -> None:
        """Run the bursts of one stage; ``observe`` is called after a step and its truncation."""
        records = self.records
        records.clear()
        rows = self.rows.take(len(orders.rates))

        def run(first: int) -> tuple[int, int]:
            workers.check()
            end = len(rows) if observe is None else first + 1
            status, step = kernel.run(
                problem.examples,
                rows[:end],
                orders.rates[:end],
                problem.loss.code,
                problem.loss.epsilon,
                problem.fit_intercept,
                orders.size,
                -1.0 if orders.gravity is None else orders.gravity,
                orders.universal,
                self.cells,
                self.fields,
                records,
                first,
            )
            if status == kernel.STATUS_NO_ROOM:
                least = records.n + problem.examples.length_of(int(rows[step]))
                records.extend(*_record_arrays(2 * least))
            elif status == kernel.STATUS_UNTRUNCATED:
                self._truncate(orders, orders.size)
            if step == len(rows) and step % orders.size:
                self._truncate(orders, step % orders.size)
            if observe is not None and step > first:
                observe()
            return status, step

        take_until_done(
            run,
            len(rows),
            t,
            problem.examples,
            row_of=lambda step: int(rows[step]),
            advice=LOWER_ETA0,
            sweep=lambda: kernel.sweep(self.cells, self.fields),
        )

    def _truncate(self, orders: StageOrders, size: int) -> None:
        """Truncate after a burst of the first stage, which has no gravity yet, or a cut burst."""
        records, state = self.records, (self.cells, self.fields)
        gravity = orders.gravity
        if gravity is None:
            ratios = np.empty(records.n - records.began)
            kernel.ratios(records, *state, size, orders.universal, ratios)
            gravity = base_gravity(ratios, orders.beta)
        kernel.truncate(records, *state, gravity, size, orders.universal)


def _record_arrays(
    room: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint8]]:
    return np.empty(room, np.int64), np.empty(room), np.empty(room, np.uint8)


class StabilisedEngine:
    """One binary problem: its paths, and how often every feature survived.

    >>> from lazynet.data.arrays import as_examples
    >>> from lazynet.losses import get_loss
    >>> from lazynet.schedules import InverseSqrt
    >>> from scipy import sparse
    >>> X, y = sparse.csr_matrix([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    >>> problem = Data(as_examples(X, y), get_loss("hinge"))
    >>> stages = Stages(2, 4, 0.0, 0.0, 0.5, 0.5, 1, False)
    >>> streams = [Permutations(2, np.random.default_rng(seed)) for seed in range(2)]
    >>> engine = StabilisedEngine(problem, stages, InverseSqrt(1.0), streams, X.getnnz(axis=0) > 0)
    >>> with Workers(1) as workers:
    ...     stage = engine.take_stage(workers)
    >>> engine.weights(), stage["n_stable"]
    (array([1., 0.]), 1)
    """

    def __init__(
        self,
        problem: Data,
        stages: Stages,
        schedule: Schedule,
        streams: Sequence[Permutations],
        occurs: NDArray[np.bool_],
        number: int = 0,
    ) -> None:
        d = len(occurs)
        self.number = number
        self.problem, self.stages, self.schedule = problem, stages, schedule
        self.paths = [Path(d, rows) for rows in streams]
        self.n_occurring = self.n_stable = int(np.count_nonzero(occurs))
        self.stable = occurs.copy()
        #: for every feature since it was last judged: the bursts that informed the feature, and
        #: the bursts that the feature did not survive
        self.counts = np.zeros((d, 2), np.int32)
        self.frequency = np.full(d, np.nan)
        self.t = self.n_stages = 0
        self.beta, self.size = stages.rejection_rate, stages.burst_size
        self.gravity: float | None = None

    def next_stage(
        self, workers: Workers, n_steps: int, observe: Callable[[], None] | None = None
    ) -> StageRecord | None:
        """Run a stage; None after ``n_steps`` steps of every path, and where no feature is left."""
        if self.t >= n_steps or not self.n_stable:
            return None
        return self.take_stage(workers, observe, n_steps - self.t)

    def take_stage(
        self,
        workers: Workers,
        observe: Callable[[], None] | None = None,
        n_steps_left: float = math.inf,
    ) -> StageRecord:
        """Run one stage of all paths, purge features, and return the record of the stage.

        ``observe`` is called after every step of the first path.  Each path takes at most
        ``n_steps_left`` steps, which may cut its last burst short.
        """
        stages, paths = self.stages, self.paths
        n_steps = int(min(stages.bursts_per_stage * self.size, n_steps_left))
        rates = checked_rates(self.schedule, self.t, self.t + n_steps)
        orders = StageOrders(rates, self.size, self.beta, self.gravity, stages.universal)

        def run(path: Path) -> None:
            path.take_stage(
                self.problem, orders, self.t, workers, observe if path is paths[0] else None
            )

        workers.each(paths, run)
        self.t += n_steps
        purged = self._judge()
        pool = np.concatenate([path.ratios() for path in paths])
        record = StageRecord(
            problem=self.number,
            stage=self.n_stages,
            steps=self.t,
            rejection_rate=self.beta,
            realised_rate=sum(path.n_vanished() for path in paths) / max(len(pool), 1),
            gravity=self.gravity,
            burst_size=self.size,
            n_stable=self.n_stable,
            purged=purged,
        )
        self.n_stages += 1
        if self.n_stable:
            self.beta = stages.rejected_share(self.n_stable / self.n_occurring)
            self.size = stages.size(self.n_occurring, self.n_stable)
            self.gravity = base_gravity(pool, self.beta)
        return record

    def _judge(self) -> NDArray[np.int64]:
        """Purge the features that have not survived often enough; returns the purged features."""
        purged = []
        for path in self.paths:
            kernel.tally(path.records, self.counts)
        for path in self.paths:
            unfit = np.empty(path.records.n, np.int64)
            n = kernel.judge(
                path.records,
                self.stages.min_informed,
                self.stages.stability,
                self.counts,
                self.frequency,
                unfit,
            )
            purged.append(unfit[:n])
        features = np.sort(np.concatenate(purged))
        self.stable[features] = False
        self.n_stable -= len(features)
        for path in self.paths:
            kernel.purge(features, path.cells)
        return features

    def weights(self) -> NDArray[np.float64]:
        """The mean of the paths' weights."""
        # A sum that overflows is infinite, and the estimator refuses infinite weights.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.mean([path.weights() for path in self.paths], axis=0)

    @property
    def intercept(self) -> float:
        """The mean of the paths' intercepts."""
        return sum(path.intercept for path in self.paths) / len(self.paths)
