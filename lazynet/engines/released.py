"""Stabilised truncated SGD as Ma & Zheng's own program computes it.

The program is another algorithm than the one of the paper's text (``lazynet.engines.stabilised``):
see ``lazynet.reference.released``. Each of several paths of SGD draws rows with replacement, in
bursts of a fixed number of updates. After a stage of bursts the features that were rejected at too
many updates are purged from all paths. Paths share nothing during a stage, so they run in parallel,
and any number of threads gives the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import columns_with_values, rows_with
from lazynet.engines.base import advice_on_overflow, take_until_done
from lazynet.engines.stabilised import Bursts
from lazynet.engines.threads import Workers
from lazynet.kernels import released as kernel
from lazynet.kernels import stabilised as shared_kernel
from lazynet.kernels.examples import Examples
from lazynet.losses import Loss

SCALE_ROWS = advice_on_overflow("Divide X by its largest value")


class ReleasedRecord(TypedDict):
    """One line of ``trace_``."""

    problem: int  # row of ``coef_``
    stage: int
    steps: int  # draws that every path has passed by the end of the stage
    rejection_rate: float  # the share of the weights below the quantile that truncates
    burst_size: int  # updates of a burst
    n_stable: int
    purged: NDArray[np.int64]  # the features that this stage purged
    went_back: bool  # whether the weights went back to what they were after the last purge


class Draws:
    """``n_drawn`` draws with replacement, and after them one permutation again and again.

    >>> draws = Draws(3, 2, np.random.default_rng(0))
    >>> draws.n_drawn, draws.rows_from(6), sorted(draws.rows_from(7).tolist())
    (6, array([0]), [0, 1, 2])
    """

    def __init__(self, n_rows: int, epochs: int, generator: np.random.Generator) -> None:
        self.n_rows, self.n_drawn, self.generator = n_rows, n_rows * epochs, generator
        self.began = 1 - n_rows  # the position of the first row of ``block``
        self.block = np.zeros(n_rows, dtype=np.int64)

    def rows_from(self, position: int) -> NDArray[np.int64]:
        """The rows of a block from ``position`` on; positions never decrease."""
        while position >= self.began + self.n_rows:
            self.began += self.n_rows
            self._draw()
        return self.block[position - self.began :]

    def _draw(self) -> None:
        """Draw the block that begins at ``began``; the permutation is drawn once."""
        if self.began > self.n_drawn + 1:
            return
        if self.began <= self.n_drawn:
            self.block = self.generator.integers(0, self.n_rows, self.n_rows)
        else:
            self.block = self.generator.permutation(self.n_rows).astype(np.int64, copy=False)


@dataclass(frozen=True)
class BurstOrders:
    """What is the same for all bursts of one stage."""

    size: int
    share: float
    n_left: int
    live: NDArray[np.uint8]


class ReleasedPath:
    """One path: its weights, the list of those that are not 0, and its draws."""

    def __init__(self, n_features: int, longest_row: int, draws: Draws) -> None:
        self.draws = draws
        #: the draw that comes next, and how many rows there are to draw by now
        self.position, self.n_available = 1, draws.n_drawn
        self.cells = np.zeros((n_features, 2))
        room = n_features + longest_row
        self.listed = kernel.Listed(
            np.empty(room, np.int64), np.empty(room), np.zeros(n_features, np.int64)
        )
        self.updates = 0  # since the last purge
        self.saved: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None

    def weights(self) -> NDArray[np.float64]:
        """All weights as of now."""
        return self.cells[:, 0].copy()

    def features(self) -> NDArray[np.int64]:
        """The features whose weight may not be 0, a view."""
        return self.listed.features[: self.listed.n]

    def take_burst(
        self,
        examples: Examples,
        loss: Loss,
        orders: BurstOrders,
        n_rows: int,
        workers: Workers,
        after_draw: Callable[[], None] | None = None,
    ) -> None:
        """Draw until the burst has its updates or no row is left, and truncate.

        ``after_draw`` is called after every draw, and after the truncation that may follow it.
        """
        while self.position <= self.n_available:
            rows = self.draws.rows_from(self.position)
            rows = rows[: self.n_available + 1 - self.position if after_draw is None else 1]
            taken = self._draw(examples, loss, orders, rows, workers)
            self.position += taken
            if self.listed.updates >= orders.size:
                break
            if after_draw is not None and self.position <= self.n_available:
                after_draw()
        self.updates += self.listed.updates
        kernel.end_burst(self.listed, self.cells, orders.n_left, orders.share)
        self.position += 1  # a row is skipped here
        if self.position >= self.draws.n_drawn - orders.size:
            self.n_available += n_rows
        if after_draw is not None:
            after_draw()

    def _draw(
        self,
        examples: Examples,
        loss: Loss,
        orders: BurstOrders,
        rows: NDArray[np.int64],
        workers: Workers,
    ) -> int:
        """Draw these rows until the burst is over; returns how many were drawn."""
        taken = 0

        def run(first: int) -> tuple[int, int]:
            nonlocal taken
            workers.check()
            status, taken = kernel.run(
                examples,
                rows,
                float(self.position),
                loss.code,
                orders.size,
                orders.share,
                orders.n_left,
                orders.live,
                self.cells,
                self.listed,
                first,
            )
            return status, len(rows) if status == kernel.STATUS_BURST_OVER else taken

        take_until_done(
            run,
            len(rows),
            self.position - 1,
            examples,
            row_of=lambda step: int(rows[step]),
            advice=SCALE_ROWS,
        )
        return taken

    def purge(self, features: NDArray[np.int64]) -> None:
        """Purge the features, begin to count anew, and save the weights."""
        shared_kernel.purge(features, self.cells)
        kernel.unlist_purged(self.listed, self.cells)
        self.listed.kept[:] = 0
        self.updates = 0
        left = self.features().copy()
        self.saved = left, self.cells[left, 0]

    def go_back(self) -> bool:
        """Go back to the weights after the last purge, if there was one."""
        if self.saved is None:
            return False
        kernel.go_back(self.listed, self.cells, *self.saved)
        return True


class ReleasedEngine:
    """One binary problem: its paths, and how often every feature was rejected.

    >>> from lazynet.data.arrays import as_examples
    >>> from lazynet.losses import get_loss
    >>> X, y = sparse.csr_matrix([[0.5, 0.2], [-0.5, 0.0]]), np.array([1.0, -1.0])
    >>> bursts = Bursts(2, 4, 0.5, 0.0, 0.5, 0.5)
    >>> draws = [Draws(2, 20, np.random.default_rng(seed)) for seed in range(2)]
    >>> engine = ReleasedEngine(as_examples(X, y), X, get_loss("hinge"), bursts, draws)
    >>> with Workers(1) as workers:
    ...     stage = engine.take_stage(workers)
    >>> stage["n_stable"], stage["purged"], engine.weights()
    (1, array([1]), array([1., 0.]))
    """

    def __init__(
        self,
        examples: Examples,
        X: sparse.csr_matrix,
        loss: Loss,
        bursts: Bursts,
        draws: Sequence[Draws],
        number: int = 0,
    ) -> None:
        d = X.shape[1]
        self.number, self.examples, self.X = number, examples, X
        self.loss, self.bursts = loss, bursts
        longest_row = int(np.diff(X.indptr).max(initial=0))
        self.paths = [ReleasedPath(d, longest_row, rows) for rows in draws]
        self.n_draws = min(rows.n_drawn for rows in draws)
        self.stable = np.zeros(d, dtype=bool)
        self.stable[columns_with_values(X)] = True
        self.n_occurring = self.n_stable = int(np.count_nonzero(self.stable))
        for path in self.paths:
            shared_kernel.purge(np.flatnonzero(~self.stable), path.cells)
        #: the rejections of every feature when it was last judged, by the updates of a full stage
        self.rejected = np.full(d, np.nan)
        self.n_stages = 0
        self.beta, self.size = bursts.rejection_rate, bursts.burst_size

    @property
    def t(self) -> int:
        """The number of draws that every path has passed."""
        return min(path.position for path in self.paths) - 1

    @property
    def over(self) -> bool:
        """Whether every path has passed its draws, or no feature is left."""
        return self.t + 1 >= self.n_draws or not self.n_stable

    def next_stage(
        self, workers: Workers, n_steps: int, after_draw: Callable[[], None] | None = None
    ) -> ReleasedRecord | None:
        """Run a stage; None where the run is over, which the draws decide."""
        return None if self.over else self.take_stage(workers, after_draw=after_draw)

    def take_stage(
        self,
        workers: Workers,
        observe: Callable[[ReleasedPath], None] | None = None,
        after_draw: Callable[[], None] | None = None,
    ) -> ReleasedRecord:
        """Run one stage of all paths, purge features unless it is the last, and return its record.

        ``observe`` is called with the path after every burst and its truncation; ``after_draw``
        after every draw of the first path.
        """
        orders = BurstOrders(
            self.size, self.beta, self.n_stable, rows_with(self.X, self.stable).view(np.uint8)
        )

        def stage(path: ReleasedPath) -> None:
            for _ in range(self.bursts.bursts_per_stage):
                path.take_burst(
                    self.examples,
                    self.loss,
                    orders,
                    self.X.shape[0],
                    workers,
                    after_draw if path is self.paths[0] else None,
                )
                if observe is not None:
                    observe(path)

        workers.each(self.paths, stage)
        purged, went_back = np.zeros(0, np.int64), False
        if not self.over:
            purged = self._purge()
            if not len(purged):
                went_back = all(path.go_back() for path in self.paths)
        record = ReleasedRecord(
            problem=self.number,
            stage=self.n_stages,
            steps=self.t,
            rejection_rate=orders.share,
            burst_size=orders.size,
            n_stable=self.n_stable,
            purged=purged,
            went_back=went_back,
        )
        self.n_stages += 1
        if len(purged) and self.n_stable:
            self.beta = self.bursts.rejected_share(self.n_stable / self.n_occurring)
            self.size = self.bursts.size(self.n_occurring, self.n_stable)
        return record

    def _purge(self) -> NDArray[np.int64]:
        """Purge the features that were rejected too often; returns the purged features."""
        updates = sum(path.updates for path in self.paths)
        kept = np.sum([path.listed.kept for path in self.paths], axis=0)
        of_a_stage = self.bursts.bursts_per_stage * len(self.paths) * self.size
        self.rejected[self.stable] = ((updates - kept) / of_a_stage)[self.stable]
        purged = np.flatnonzero(self.stable & (self.rejected >= 1.0 - self.bursts.stability))
        if len(purged):
            self.stable[purged] = False
            self.n_stable -= len(purged)
            for path in self.paths:
                path.purge(purged)
        return purged

    @property
    def frequency(self) -> NDArray[np.float64]:
        """1 less the rejections of every feature, by the updates of a full stage."""
        return 1.0 - self.rejected

    @property
    def intercept(self) -> float:
        """0: the program has no intercept."""
        return 0.0

    def weights(self) -> NDArray[np.float64]:
        """The mean of the paths' weights."""
        return np.mean([path.weights() for path in self.paths], axis=0)

    def weights_of_paths(self) -> NDArray[np.float64]:
        """The weights of every path, a row each."""
        return np.vstack([path.weights() for path in self.paths])
