"""The stabilised algorithms beside their dense twins in plain Python.

The lazy model runs first, and keeps the weights of its first path after every step.  Then the twin
runs with the same rows, and compares its first path with these weights.  At the end the models, the
means of all paths, are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet import StabilisedSGDClassifier
from lazynet.data.targets import Columns
from lazynet.engines.released import ReleasedEngine
from lazynet.engines.stabilised import StabilisedEngine
from lazynet.engines.threads import Workers
from lazynet.estimators.stabilised import _scale_of_rates
from lazynet.losses import Loss
from lazynet.reference.released import DenseReleased
from lazynet.reference.stabilised import TIE, DenseStabilised
from lazynet.schedules import checked_rates
from lazynet.verify.online import Comparison, VerificationReport, examples_of
from lazynet.verify.tolerance import (
    AGREE,
    AMPLIFIED,
    DIVERGED,
    NUDGE,
    StateBudget,
    VisitedRow,
)

Engine = StabilisedEngine | ReleasedEngine


class _Over(Exception):
    """Comparing has ended."""


class _Run:
    """A lazy run: its first path after every step, by the number of the step that comes next."""

    def __init__(self, engine: Engine, n_steps: int) -> None:
        self.engine = engine
        self.after: dict[int, tuple[NDArray[np.float64], float]] = {}
        self.overflowed = False
        try:
            with Workers(1) as workers:
                while self._take_stage(workers, n_steps):
                    self._keep()  # anew, because features were purged
        except FloatingPointError:
            self.overflowed = True

    def _take_stage(self, workers: Workers, n_steps: int) -> bool:
        """Run a stage; returns whether there was one left."""
        engine = self.engine
        if isinstance(engine, ReleasedEngine):
            if engine.over:
                return False
            engine.take_stage(workers, after_draw=self._keep)
            return True
        if engine.t >= n_steps or not engine.n_stable:
            return False
        self._steps = engine.t
        engine.take_stage(workers, self._keep_step, n_steps - engine.t)
        return True

    def _keep_step(self) -> None:
        self._steps += 1
        self._keep()

    def _keep(self) -> None:
        path: Any = self.engine.paths[0]
        if isinstance(self.engine, ReleasedEngine):
            self.after[path.position] = path.weights(), 0.0
        else:
            self.after[self._steps] = path.weights(), path.intercept


class _Watch:
    """The comparison of a twin's first path with a lazy run, and with a run on nearby values."""

    def __init__(self, lazy: _Run, nearby: _Run, loss: Loss, features: NDArray[np.intp]) -> None:
        self.lazy, self.nearby = lazy, nearby
        self.budget = StateBudget(loss)
        self.comparison = Comparison(features)
        self.bound = 0.0

    def compare(self, number: int, weights: Sequence[float], intercept: float) -> None:
        """Compare the first path before its step ``number``."""
        dense, comparison = np.array(weights), self.comparison
        if number not in self.lazy.after:
            if self.lazy.overflowed:
                comparison.overflows()
            else:
                comparison.agrees = False
                comparison.ended = "the lazy model has taken other steps"
            raise _Over
        lazy, lazy_intercept = self.lazy.after[number]
        self._end_if_amplified(lazy, self.nearby.after.get(number))
        gap = np.append(lazy - dense, lazy_intercept - intercept)
        largest = float(np.abs(dense).max(initial=abs(intercept)))
        self.bound = AGREE * (1.0 + largest) * math.sqrt(len(gap))
        near = bool(np.linalg.norm(gap) <= self.bound)
        comparison.after_step(comparison.compared, lazy, dense, near)

    def _end_if_amplified(
        self, lazy: NDArray[np.float64], nearby: tuple[NDArray[np.float64], float] | None
    ) -> None:
        if nearby is not None:
            gap = np.abs(nearby[0] - lazy).max(initial=0.0)
            if gap <= AMPLIFIED * NUDGE * (1.0 + np.abs(lazy).max(initial=0.0)):
                return
        self.budget.end(DIVERGED)
        self.end_if_decided()

    def look_at(self, row: VisitedRow, weights: Sequence[float]) -> None:
        """End the comparison where rounding may have decided the step on this row."""
        self.budget.after_batch(1.0, [row], weights=weights)
        self.end_if_decided()

    def end_if_decided(self) -> None:
        if not self.budget.comparable:
            self.comparison.ended = self.budget.ended
            raise _Over


class _WatchedStabilised(DenseStabilised):
    watch: _Watch

    def step(
        self, indices: Any, values: Any, target: float, weight: float = 1.0, *, path: int = 0
    ) -> float:
        if path == 0 and self.steps[0]:
            self.compare()
        prediction = super().step(indices, values, target, weight, path=path)
        slope = self.slope(prediction, target, self.epsilon)
        row = VisitedRow(values, prediction, slope, target, weight)
        self.watch.look_at(row, self.paths[path])
        return prediction

    def compare(self) -> None:
        self.watch.compare(self.steps[0], self.paths[0], self.intercepts[0])


class _WatchedReleased(DenseReleased):
    watch: _Watch

    def step(
        self, indices: Any, values: Any, target: float, weight: float = 1.0, *, path: int = 0
    ) -> float:
        if path == 0 and self.positions[0] > 1:
            self.compare()
        prediction = super().step(indices, values, target, weight, path=path)
        # At the kink itself both implementations count the row as within the margin.
        if self.loss != "hinge" or abs(prediction * target - 1.0) > TIE / 2:
            slope = self.slope(prediction, target)
            row = VisitedRow(values, prediction, slope, target, weight)
            self.watch.look_at(row, self.paths[path])
        return prediction

    def compare(self) -> None:
        self.watch.compare(self.positions[0], self.paths[0], 0.0)


def _stabilised_twin(
    engine: StabilisedEngine, epochs: int
) -> tuple[_WatchedStabilised, Callable[[int], Any]]:
    """The twin of an engine that has not run, and the rows that its paths visit."""
    options = asdict(engine.stages)
    twin = _WatchedStabilised(
        len(engine.stable),
        loss=engine.problem.loss.name,
        epsilon=engine.problem.loss.epsilon,
        fit_intercept=engine.problem.fit_intercept,
        n_paths=len(engine.paths),
        max_iter=epochs,
        gravity="universal" if options.pop("universal") else "informative",
        schedule=lambda t: float(checked_rates(engine.schedule, t, t + 1)[0]),
        **options,
    )

    def draws(path: int) -> Iterator[int]:
        while True:
            yield int(engine.paths[path].rows.take(1)[0])

    return twin, draws


def _released_twin(
    engine: ReleasedEngine, epochs: int
) -> tuple[_WatchedReleased, Callable[[int], Any]]:
    """The same for the algorithm of the released program."""
    twin = _WatchedReleased(
        len(engine.stable),
        loss=engine.loss.name,
        n_paths=len(engine.paths),
        max_iter=epochs,
        **asdict(engine.bursts),
    )

    def draws(path: int) -> tuple[list[int], list[int]]:
        rows, n = engine.paths[path].draws, engine.X.shape[0]
        drawn = [int(rows.rows_from(position)[0]) for position in range(1, n * epochs + 1)]
        return drawn, rows.rows_from(n * epochs + 1).tolist()

    return twin, draws


def compare_with_twin(
    model: Any, X: sparse.csr_matrix, y: NDArray[np.float64], weights: Any = None
) -> VerificationReport:
    """Train the engine of an estimator and its dense twin; compare the first path after every step.

    y holds -1 and 1, and ``random_state`` of the estimator is a number.
    """
    p, features = model._settle(), np.arange(X.shape[1])
    if isinstance(model, StabilisedSGDClassifier):
        p.eta0 = _scale_of_rates(p, X, weights)  # the same for the nearby rows
    problems = Columns(y, weights)
    epochs = p.max_iter

    def new_engine(rows: sparse.csr_matrix) -> Any:
        return next(model._new_engines(p, rows, problems))

    n_steps = epochs * X.shape[0]
    lazy, nearby = (_Run(new_engine(rows), n_steps) for rows in (X, X * (1.0 + NUDGE)))
    engine = new_engine(X)
    twin: Any
    if isinstance(engine, ReleasedEngine):
        name, loss, (twin, draws) = "released", engine.loss, _released_twin(engine, epochs)
    else:
        name, loss = "stabilised", engine.problem.loss
        twin, draws = _stabilised_twin(engine, epochs)
    twin.watch = watch = _Watch(lazy, nearby, loss, features)
    comparison = watch.comparison
    try:
        twin.fit(examples_of(X, y, weights), draws)
        if twin.t:
            twin.compare()
            model = np.array(twin.weights), float(twin.intercept)
            found = lazy.engine.weights(), float(lazy.engine.intercept)
            comparison.average_after_step(comparison.compared - 1, found, model)
        else:
            comparison.ended = "no feature occurs in these rows"
    except _Over:
        pass
    return comparison.report(name, X.shape[0], len(lazy.after), watch.bound)
