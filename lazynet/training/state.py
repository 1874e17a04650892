"""The state of a training between two chunks of steps, from which a later run goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Engine
from lazynet.engines.undo import Undo
from lazynet.schedules import Schedule
from lazynet.training.epochs import BestEpoch, Orders, Stopping
from lazynet.training.learners import AnyLearner
from lazynet.training.plan import Plan

Generator = np.random.RandomState
Shuffle = NDArray[np.int64] | None


class Checkpoint(Protocol):
    """Keeps the state of a training, from which a later run of the same training goes on."""

    def outputs(self) -> list[int] | None:
        """The numbers of outputs of the engines of an earlier run."""

    def resumed(self) -> dict[str, Any] | None:
        """The state that an earlier run has left."""

    def following(self, state: Callable[[], dict[str, Any]]) -> AbstractContextManager[None]:
        """A block in which ``state`` gives the state at every ``point``."""

    def point(self) -> None:
        """Called between two chunks of steps, where the state may be written."""


class Course:
    """What a training changes; a new course of the same fit resumes from its ``state``.

    The state is taken within an epoch, between two chunks of steps, or behind the last of them.
    """

    def __init__(
        self,
        learners: Sequence[AnyLearner],
        orders: Orders,
        stopping: Stopping,
        best: BestEpoch | None,
        t: int,
    ) -> None:
        self.learners, self.orders, self.stopping, self.best = learners, orders, stopping, best
        self.first_plan = learners[0].plan
        #: the epoch, and the first step of it
        self.epoch, self.t, self.first_t = 0, t, t
        #: the rows of the epoch that have been visited, and the seconds that the visits took
        self.rows, self.seconds = 0, 0.0
        self.losses = np.zeros(len(learners))
        self.history: list[Any] = []
        #: the generator as it was before it drew the order of the epoch
        self._drawn_from: Any = None
        self._resumed = False

    def enter(self, epoch: int) -> Shuffle:
        """Begin an epoch, or go on with the epoch of the file; returns the order of its rows."""
        generator = self.orders.generator
        if self._resumed:
            self._resumed = False
            if generator is not None:
                generator.set_state(self._drawn_from)
            return self.orders.of(epoch)
        self.epoch, self.rows, self.seconds = epoch, 0, 0.0
        self.losses = np.zeros(len(self.learners))
        self._drawn_from = None
        if generator is not None:
            self._drawn_from = generator.get_state()
        order = self.orders.of(epoch)
        if self.best is not None:
            self.best.before(epoch)
        return order

    def loss_of_epoch(self, epoch: int) -> float:
        """The progressive loss of an epoch that has ended."""
        return float(self.history[epoch]["progressive_loss"])

    def begin_anew(self) -> None:
        """Begin once more, at lower rates; the copies of the best epoch remain."""
        self.t = self.first_t
        for learner in self.learners:
            engine, plan = learner.engine, learner.plan
            engine.set_state(plan.new_like(engine).state())
            engine.retune(plan.slower_settings)

    def go_back(self) -> None:
        """Return to the end of the best epoch, and go on from there."""
        assert self.best is not None, "whoever begins anew keeps the best epoch"
        self.best.restore()
        self.t = self.best.t

    # --- for a later run ---

    def state(self) -> dict[str, Any]:
        """Everything that the training has changed: numbers, arrays, schedules, a generator."""
        generator = None
        if self._drawn_from is not None:
            generator = Generator(0)
            generator.set_state(self._drawn_from)
        engines = [learner.engine for learner in self.learners]
        return {
            "outputs": [engine.n_outputs for engine in engines],
            "engines": [engine.state() for engine in engines],
            "epoch": self.epoch,
            "t": self.t,
            "rows": self.rows,
            "seconds": self.seconds,
            "losses": self.losses,
            "history": self.history,
            "generator": generator,
            "stopping": [self.stopping.best, self.stopping.idle],
            "schedule": self._changed_schedule(self.learners[0].plan),
            "best": self._state_of_best(),
        }

    def _changed_schedule(self, plan: Plan) -> Schedule | None:
        """The schedule, if the training has changed it."""
        return None if plan.schedule is self.first_plan.schedule else plan.schedule

    def _state_of_best(self) -> dict[str, Any] | None:
        best = self.best
        if best is None:
            return None
        # Copies are made when the second epoch begins.
        undos = best.undos if self.epoch else []
        return {
            "loss": best.loss,
            "epoch": best.epoch,
            "t": best.t,
            "schedule": self._changed_schedule(best.plan),
            "engines": [undo.state() for undo in undos],
        }

    def go_on_from(self, state: dict[str, Any]) -> None:
        """Take over the state of an earlier run of the same training."""
        self.epoch, self.t = state["epoch"], state["t"]
        self.rows, self.seconds = state["rows"], state["seconds"]
        if self.epoch < 0 or not 0 <= self.rows <= self.orders.n_visits:
            raise ValueError("the state of the training counts epochs or rows that there are not")
        self.losses[:] = state["losses"]
        self.history = state["history"]
        generator = state["generator"]
        self._drawn_from = None if generator is None else generator.get_state()
        self.stopping.best, self.stopping.idle = state["stopping"]
        if self.best is not None:
            self._restore_best(self.best, state["best"])
        for learner, arrays in zip(self.learners, state["engines"], strict=True):
            learner.engine.set_state(arrays)
            learner.plan = self._plan_with(state["schedule"])
        self._resumed = True

    def _plan_with(self, schedule: Schedule | None) -> Plan:
        """The plan with a schedule that a training has changed."""
        return self.first_plan if schedule is None else self.first_plan.with_schedule(schedule)

    def _restore_best(self, best: BestEpoch, state: dict[str, Any]) -> None:
        best.loss, best.epoch, best.t = state["loss"], state["epoch"], state["t"]
        best.plan = self._plan_with(state["schedule"])
        for learner, arrays in zip(self.learners, state["engines"], strict=self.epoch > 0):
            learner.engine.set_state(arrays)
            best.undos.append(Undo(learner.engine, best.columns))


def engines_for(
    outputs: Sequence[int], plan: Plan, n_features: int, n_outputs: int
) -> list[Engine]:
    """New engines for ``outputs``, the numbers of outputs of the engines of an earlier run."""
    if sum(outputs) != n_outputs or min(outputs) < 1:
        raise ValueError(f"the engines of the checkpoint do not have {n_outputs} outputs")
    engines = plan.new_engines(n_features, n_outputs)
    if [engine.n_outputs for engine in engines] == list(outputs):
        return engines
    return [plan.new_outputs(n_features, number) for number in outputs]
