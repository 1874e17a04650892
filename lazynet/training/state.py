"""Where a training stands between two chunks of steps, and how a later run goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Engine
from lazynet.engines.undo import Undo
from lazynet.persistence.checkpoints import Saved, is_like, is_number, is_whole
from lazynet.persistence.engines import read_engine, written
from lazynet.persistence.values import Writer
from lazynet.schedules import Adaptive, Schedule
from lazynet.training.epochs import BestEpoch, Orders, Stopping
from lazynet.training.learners import AnyLearner
from lazynet.training.plan import Plan

Generator = np.random.RandomState
Shuffle = NDArray[np.int64] | None


class Course:
    """Where a training stands; what ``written`` writes a new course of the same fit reads.

    A course is written within an epoch, between two chunks of steps, or behind the last of them.
    One that is never written (``is_written``) keeps no copy of the random generator.
    """

    def __init__(
        self,
        learners: Sequence[AnyLearner],
        orders: Orders,
        stopping: Stopping,
        best: BestEpoch | None,
        t: int,
        *,
        is_written: bool = True,
    ) -> None:
        self.learners, self.orders, self.stopping, self.best = learners, orders, stopping, best
        self.is_written = is_written
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
        if self.is_written and generator is not None:
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
            engine.copy_state(plan.new_like(engine))
            engine.retune(plan.slower_settings)

    def go_back(self) -> None:
        """Return to the end of the best epoch, and go on from there."""
        assert self.best is not None, "whoever begins anew keeps the best epoch"
        self.best.restore()
        self.t = self.best.t

    # --- in a file ---

    def written(self, writer: Writer) -> dict[str, Any]:
        """The JSON of the course."""
        generator = None
        if self._drawn_from is not None:
            generator = Generator(0)
            generator.set_state(self._drawn_from)
        values = {
            "epoch": self.epoch,
            "t": self.t,
            "rows": self.rows,
            "seconds": self.seconds,
            "losses": self.losses,
            "history": self.history,
            "generator": generator,
            "stopping": [float(self.stopping.best), self.stopping.idle],
            "schedule": self._lowered(self.learners[0].plan),
        }
        engines = [each.engine for each in self.learners]
        return {
            "engines": [written(writer, f"engines/{i}", each) for i, each in enumerate(engines)],
            **{name: writer.value(f"training/{name}", value) for name, value in values.items()},
            "best": self._best_written(writer),
        }

    def _lowered(self, plan: Plan) -> Schedule | None:
        """The schedule, if the training has changed it."""
        return None if plan.schedule is self.first_plan.schedule else plan.schedule

    def _best_written(self, writer: Writer) -> dict[str, Any] | None:
        best = self.best
        if best is None:
            return None
        values = {
            "loss": float(best.loss),
            "epoch": best.epoch,
            "t": best.t,
            "schedule": self._lowered(best.plan),
        }
        # Copies are made when the second epoch begins.
        undos = best.undos if self.epoch else []
        return {
            **{name: writer.value(f"best/{name}", value) for name, value in values.items()},
            "undos": [
                {name: writer.value(f"best/{i}/{name}", part) for name, part in undo.copies.items()}
                for i, undo in enumerate(undos)
            ],
        }

    def go_on_from(self, saved: Saved | None, max_iter: int, n_rows: int) -> None:
        """Stand where the course of the file stood."""
        if saved is None:
            return
        self.epoch = saved.value("epoch", is_whole(max_iter - 1))
        self.t = saved.value("t", is_whole(2**62))
        self.rows = saved.value("rows", is_whole(n_rows))
        self.seconds = saved.value("seconds", is_number)
        saved.into("losses", self.losses)
        self.history = saved.value("history", lambda found: _is_history(found, self.epoch))
        wanted = type(self.orders.generator)
        generator = saved.value("generator", lambda found: type(found) is wanted)
        self._drawn_from = None if generator is None else generator.get_state()
        self.stopping.best, self.stopping.idle = saved.value("stopping", _is_stopping)
        for learner in self.learners:
            learner.plan = self._plan_with(saved)
        if self.best is not None:
            self._restore_best(self.best, saved.part("best"))
        self._resumed = True

    def _plan_with(self, saved: Saved) -> Plan:
        """The plan with the schedule of the file."""
        if saved.node("schedule") is None:
            return self.first_plan
        wanted = Adaptive if type(self.first_plan.schedule) is Adaptive else None
        schedule = saved.value("schedule", lambda found: type(found) is wanted)
        return self.first_plan.with_schedule(schedule)

    def _restore_best(self, best: BestEpoch, saved: Saved) -> None:
        best.loss = saved.value("loss", is_number)
        best.epoch = saved.value("epoch", is_whole(max(self.epoch - 1, 0)))
        best.t = saved.value("t", is_whole(2**62))
        best.plan = self._plan_with(saved)
        parts = saved.parts("undos")
        if len(parts) != (len(self.learners) if self.epoch else 0):
            raise saved.refusal("the copies of the best epoch are not as many as the engines")
        for learner, part in zip(self.learners, parts, strict=bool(parts)):
            undo = Undo(learner.engine, best.columns)
            undo.copies = {
                name: part.value(name, _suits(name, learner.engine, undo.copies))
                for name in undo.copies
            }
            best.undos.append(undo)


def _suits(name: str, engine: Engine, wanted: dict[str, Any]) -> Any:
    """Whether a part of the copies of an engine can be that of this engine."""
    state = engine.state()

    def suits(found: Any) -> bool:
        if name == "tables":
            known = {key: array.dtype for key, array in state.tables.items()}
            return found is None or (
                found.keys() == known.keys()
                and all(a.ndim == 1 and a.dtype == known[key] for key, a in found.items())
            )
        # All weights are copied at once, or only when a sweep visits them.
        of = state.per_weight if name == "all" else wanted[name]
        if name == "all" and not found:
            return type(found) is dict and not wanted["all"]
        return bool(found.keys() == of.keys()) and all(is_like(of[key])(found[key]) for key in of)

    return suits


def _is_history(found: Any, n_epochs: int) -> bool:
    return (
        type(found) is list
        and len(found) == n_epochs
        and all(
            type(line) is dict and type(line.get("progressive_loss")) is float for line in found
        )
    )


def _is_stopping(found: Any) -> bool:
    return type(found) is list and [*map(type, found)] == [float, int]


def engines_of(saved: Saved, blank: Sequence[Engine], n_features: int) -> list[Engine]:
    """The engines of a course in a file; ``blank`` engines of one feature are of their kind."""
    n_outputs, kinds = sum(each.n_outputs for each in blank), {type(each) for each in blank}
    nodes = saved.node("engines")
    if type(nodes) is not list:
        raise saved.refusal("the engines are no list")
    try:
        found = [read_engine(saved.reader, node, n_features, n_outputs) for node in nodes]
    except (ValueError, MemoryError) as error:
        raise saved.refusal(error) from None
    if sum(each.n_outputs for each in found) != n_outputs or {type(e) for e in found} != kinds:
        raise saved.refusal("its engines are not those of this fit")
    return found
