"""The stabilised algorithms beside their dense twins in plain Python.

The lazy model runs first, and the weights of its first path are stored after every step.  Then the
twin visits the same rows, and its first path is compared with these weights.  At the end the
models, the means of all paths, are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.targets import OutputTargets
from lazynet.engines.released import ReleasedEngine
from lazynet.engines.stabilised import Bursts, StabilisedEngine
from lazynet.engines.threads import Workers
from lazynet.losses import Loss
from lazynet.reference.losses import LOSSES
from lazynet.reference.released import DenseReleased
from lazynet.reference.stabilised import TIE, DenseStabilised
from lazynet.schedules import checked_rates
from lazynet.verify.online import Comparison, VerificationReport, examples_of
from lazynet.verify.tolerance import AGREE, AMPLIFIED, DIVERGED, NUDGE, StateBudget, VisitedRow


class _Over(Exception):
    """Comparing has ended."""


class _Run:
    """A lazy run: its first path after every step, by the number of the step that comes next."""

    def __init__(self, engine: StabilisedEngine | ReleasedEngine, n_steps: int) -> None:
        self.engine: Any = engine
        self.after: dict[int, tuple[NDArray[np.float64], float]] = {}
        self.taken, self.overflowed = 0, False
        try:
            with Workers(1) as workers:
                while engine.next_stage(workers, n_steps, self._observe) is not None:
                    self._store()  # anew, because features were purged
        except FloatingPointError:
            self.overflowed = True

    def _observe(self) -> None:
        self.taken += 1
        self._store()

    def _store(self) -> None:
        path = self.engine.paths[0]
        if isinstance(self.engine, ReleasedEngine):
            self.after[path.position] = path.weights(), 0.0
        else:
            self.after[self.taken] = path.weights(), path.intercept


class _Watch:
    """The steps of a twin; its first path is compared with a lazy run before every step."""

    def __init__(
        self, twin: Any, lazy: _Run, nearby: _Run, loss: Loss, features: NDArray[np.intp]
    ) -> None:
        self.twin, self.lazy, self.nearby, self.loss = twin, lazy, nearby, loss
        self.budget, self.comparison, self.bound = StateBudget(loss), Comparison(features), 0.0
        self.released = isinstance(twin, DenseReleased)
        # The number of the next step of every path.
        self.numbers = twin.positions if self.released else twin.steps
        self.first, self.take = self.numbers[0], twin.step

    def step(
        self, indices: Any, values: Any, target: float, weight: float = 1.0, *, path: int = 0
    ) -> float:
        """Let the twin take a step; end where rounding may have decided it."""
        if path == 0 and self.numbers[0] > self.first:
            self.compare()
        prediction = float(self.take(indices, values, target, weight, path=path))
        # At the kink itself both released programs count the row as within the margin.
        within = self.released and self.loss.name == "hinge"
        if not (within and abs(prediction * target - 1.0) <= TIE / 2):
            slope = LOSSES[self.loss.name][1](prediction, target, self.loss.epsilon)
            row = VisitedRow(values, prediction, slope, target, weight)
            self.budget.after_batch(1.0, [row], weights=self.twin.paths[path])
            self._end_if_decided()
        return prediction

    def compare(self) -> None:
        """Compare the first path before its next step."""
        number, comparison = self.numbers[0], self.comparison
        if number not in self.lazy.after:
            if self.lazy.overflowed:
                comparison.overflows()
            else:
                comparison.agrees = False
                comparison.ended = "the lazy model has taken other steps"
            raise _Over
        lazy, lazy_intercept = self.lazy.after[number]
        nearby, _ = self.nearby.after.get(number, (lazy * np.nan, 0.0))
        # Written so that NaN, or a nearby run that took other steps, amplifies.
        limit = AMPLIFIED * NUDGE * (1.0 + np.abs(lazy).max(initial=0.0))
        if not np.abs(nearby - lazy).max(initial=0.0) <= limit:
            self.budget.end(DIVERGED)
        self._end_if_decided()
        dense = np.array(self.twin.paths[0])
        intercept = 0.0 if self.released else self.twin.intercepts[0]
        gap = np.append(lazy - dense, lazy_intercept - intercept)
        largest = float(np.abs(dense).max(initial=abs(intercept)))
        self.bound = AGREE * (1.0 + largest) * math.sqrt(len(gap))
        near = bool(np.linalg.norm(gap) <= self.bound)
        comparison.after_step(comparison.compared, lazy, dense, near)

    def _end_if_decided(self) -> None:
        if not self.budget.comparable:
            self.comparison.ended = self.budget.ended
            raise _Over


def _twin_of(
    engine: StabilisedEngine | ReleasedEngine, p: SimpleNamespace, n_rows: int
) -> tuple[Any, Callable[[int], Any]]:
    """The twin of an engine that has not run, and the rows that its paths visit."""
    paths: Any = engine.paths
    d, n_steps = len(engine.stable), n_rows * p.max_iter
    options = dict(loss=p.loss.name, n_paths=p.n_paths, max_iter=p.max_iter, **Bursts.values_of(p))
    if isinstance(engine, StabilisedEngine):
        options |= dict(epsilon=p.loss.epsilon, gravity=p.gravity, fit_intercept=True)
        options["schedule"] = lambda t: float(checked_rates(engine.schedule, t, t + 1)[0])
        twin = DenseStabilised(d, **options)
        return twin, lambda path: iter(paths[path].rows.take(n_steps).tolist())

    def draws(path: int) -> tuple[list[int], list[int]]:
        rows = paths[path].draws
        drawn = [int(rows.rows_from(position)[0]) for position in range(1, n_steps + 1)]
        return drawn, rows.rows_from(n_steps + 1).tolist()

    return DenseReleased(d, **options), draws


def verify_staged(
    new_engine: Callable[[sparse.csr_matrix], Any],
    X: sparse.csr_matrix,
    problem: OutputTargets,
    features: NDArray[np.intp],
    p: SimpleNamespace,
) -> VerificationReport:
    """Train an engine and its dense twin, and compare the first path after every step.

    ``new_engine`` makes an engine over a matrix, with the same draws at every call.  ``features``
    names the columns of X in the report.  ``p`` holds the parameters of the estimator.
    """
    n_rows, engine = X.shape[0], new_engine(X)
    lazy, nearby = (_Run(new_engine(rows), n_rows * p.max_iter) for rows in (X, X * (1.0 + NUDGE)))
    twin, draws = _twin_of(engine, p, n_rows)
    watch = _Watch(twin, lazy, nearby, p.loss, features)
    comparison, twin.step = watch.comparison, watch.step
    try:
        twin.fit(examples_of(X, *problem), draws)
        if twin.t:
            watch.compare()
            dense_model = np.array(twin.weights), float(twin.intercept)
            lazy_model = lazy.engine.weights(), float(lazy.engine.intercept)
            comparison.average_after_step(comparison.compared - 1, lazy_model, dense_model)
        else:
            comparison.ended = "no feature occurs in these rows"
    except _Over:
        pass
    name = "released" if watch.released else "stabilised"
    return comparison.report(name, n_rows, len(lazy.after), watch.bound)
