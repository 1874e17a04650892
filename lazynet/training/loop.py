"""Training: epochs of passes over the rows, until one of the ends is reached.

A training that has a checkpoint can be interrupted between two chunks of steps, or behind the last
of them; a later run of the same training goes on from its ``state``.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.data.standardise import Units
from lazynet.engines.threads import Workers
from lazynet.engines.undo import Undo
from lazynet.schedules import Adaptive, Schedule
from lazynet.training.epochs import Epoch, EpochRecord, Stopping
from lazynet.training.learners import AnyLearner
from lazynet.training.plan import Plan
from lazynet.training.rows import RowsInMemory, Shuffle
from lazynet.training.stream_rows import SourceRows

#: By what the rates of AdaGrad are divided where a training begins anew, because its first epoch
#: has predicted worse than a constant.
SLOWER = 4.0


def progress_bar(total: int, show: bool, label: str) -> Any:
    """A bar of tqdm, if it is installed and the error stream is a terminal; else None."""
    if not (show and sys.stderr.isatty()):
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=total, desc=label, unit="example", leave=False, unit_scale=True)


@dataclass
class Training:
    """Learners, the rows that all of them visit in the same order, and what decides when to end.

    Where the first epoch is bad (``stopping``), the second one begins anew at lower rates.  If this
    one is not bad, training ends with its weights.  Otherwise training goes back to the end of the
    first epoch and ends after one more from there: more epochs would overfit.
    """

    learners: Sequence[AnyLearner]
    rows: RowsInMemory | SourceRows
    stopping: Stopping
    max_iter: int
    workers: Workers
    generator: np.random.RandomState | None = None
    """Draws the order of the rows in every epoch."""
    validate: Callable[[], tuple[float, float]] | None = None
    """The loss and the score of the present models on held-out rows; the loss then decides."""
    columns: NDArray[Any] | None = None
    """The columns that the steps may touch; None: the last epoch gives the weights.

    Otherwise the engines return to the end of the epoch with the least loss: the loss on held-out
    rows, or else the progressive loss, which is that of the weights of the whole epoch.
    """
    callback: Callable[[Epoch], Any] | None = None
    verbose: int = 0
    units: Units | None = None
    """The units of the rows; a callback sees the model of rows as they were passed."""
    checkpoint: Any = None
    """Reads and writes the state, as ``lazynet.persistence.checkpoints.Checkpoint``."""

    def __post_init__(self) -> None:
        self.first_plan = self.best_plan = self.learners[0].plan
        #: the epoch, the first step of it, and the number of its rows that have been visited
        self.epoch = self.t = self.n_visited = 0
        #: the seconds that the visits took, and the losses of the rows by learner
        self.seconds, self.losses = 0.0, np.zeros(len(self.learners))
        self.history: list[EpochRecord] = []
        #: the epoch at whose end the engines had the best weights, its loss and its last step
        self.best_epoch, self.best_loss, self.best_t = 0, math.inf, 0
        #: copies of these weights; they are made when the next epoch begins, so that those of the
        #: last epoch are never made
        self.undos: list[Undo] = []
        #: the state of the generator before it drew the order of the epoch
        self.drawn_from: Any = None
        #: whether training ended before it had made all epochs
        self.ended_early = False

    # --- the loop ---

    def run(self) -> None:
        """Train for up to ``max_iter`` epochs; the engines then have the weights of the best."""
        try:
            following, resumed = nullcontext(), None
            if self.checkpoint is not None:
                following = self.checkpoint.following(self.state)
                resumed = self.checkpoint.resumed()
            if resumed is not None:
                self._go_on_from(resumed)
            with following:
                for epoch in range(self.epoch, self.max_iter):
                    order = self._begin_epoch(epoch, goes_on=resumed is not None)
                    resumed = None  # the engines have copies
                    line, t = self._pass(order)
                    self._end_epoch(line, t)
                    if self.ended_early:
                        break
            if self.columns is None:
                self.best_epoch, self.best_t = len(self.history) - 1, self.t
            elif self.best_epoch < len(self.history) - 1:
                self._restore_best()
        finally:
            for undo in self.undos:
                undo.done()

    def _begin_epoch(self, epoch: int, goes_on: bool) -> Shuffle:
        """Begin an epoch, or go on within that of a checkpoint; returns the order of its rows."""
        if goes_on:
            if self.generator is not None:
                self.generator.set_state(self.drawn_from)
        else:
            self.epoch, self.n_visited, self.seconds = epoch, 0, 0.0
            self.losses = np.zeros(len(self.learners))
            self.drawn_from = None if self.generator is None else self.generator.get_state()
            if self.columns is not None and epoch and self.best_epoch == epoch - 1:
                for undo in self.undos:
                    undo.take()
                self.undos = self.undos or [
                    Undo(learner.engine, self.columns) for learner in self.learners
                ]
        order = self.rows.order_of(epoch, self.generator)
        if epoch == 1 and self._began_badly() and not self.n_visited:
            # Begin anew, at lower rates; the copies of the first epoch remain.
            self.t = 0
            for learner in self.learners:
                learner.engine.set_state(learner.plan.new_like(learner.engine).state())
                learner.engine.retune(learner.plan.settings(SLOWER))
        divisor = self.first_plan.divisor_in(epoch)
        if divisor != 1.0:
            for learner in self.learners:
                learner.engine.retune(learner.plan.settings(divisor))
        return order

    def _began_badly(self) -> bool:
        """Whether the first epoch predicted worse than a constant."""
        return self.stopping.is_bad(self.history[0]["progressive_loss"])

    def _pass(self, order: Shuffle) -> tuple[EpochRecord, int]:
        """Train to the end of the epoch; returns its line of the history and the next step."""
        n_rows = self.rows.n_visits if order is None else len(order)
        bar = progress_bar(n_rows, self.verbose > 0, f"epoch {self.epoch + 1}")
        began = time.perf_counter() - self.seconds

        def after(n_visited: int) -> None:
            """Note the rows visited so far, after every chunk."""
            if bar is not None:
                bar.update(n_visited - self.n_visited)
            self.n_visited, self.seconds = n_visited, time.perf_counter() - began
            if self.checkpoint is not None:
                self.checkpoint.point()

        try:
            if bar is not None:
                bar.update(self.n_visited)
            t = self.rows.visit(
                self.learners, self.epoch, order, self.t, self.losses, self.workers,
                self.n_visited, after,
            )  # fmt: skip
        finally:
            if bar is not None:
                bar.close()
        line = EpochRecord(
            epoch=self.epoch,
            progressive_loss=float(self.losses.sum()) / n_rows,
            seconds=time.perf_counter() - began,
        )
        return line, t

    def _end_epoch(self, line: EpochRecord, t: int) -> None:
        """Complete the line of an epoch, tell it, and decide how training goes on."""
        if self.validate is not None:
            line["validation_loss"], line["validation_score"] = self.validate()
        progressive = line["progressive_loss"]
        loss = line.get("validation_loss", progressive)
        for name, value in (("progressive", progressive), ("validation", loss)):
            if not math.isfinite(value):
                raise FloatingPointError(
                    f"the model overflowed by step {t}: its {name} loss is {value}. "
                    f"{self.learners[0].engine.advice}"
                )
        if self.verbose > 0:
            figures = [
                f"{name.replace('_', ' ')} {line[name]:.6g}"
                for name in ("progressive_loss", "validation_loss", "validation_score")
                if name in line
            ]
            print("  ".join([f"epoch {self.epoch + 1:4d}", *figures, f"{line['seconds']:.3f} s"]))
        asked = False
        if self.callback is not None:
            in_memory = isinstance(self.rows, RowsInMemory)
            told = Epoch(line, t, self.learners, self.units, in_memory=in_memory)
            answer = self.callback(told)
            try:
                asked = bool(answer)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"callback must return something true or false, got {type(answer).__name__}: "
                    f"{error}"
                ) from None
        if self.checkpoint is not None:
            self.checkpoint.point()
        self.history.append(line)
        self.t = t
        self._decide(loss, asked)

    def _decide(self, loss: float, asked: bool) -> None:
        """Compare the epoch with those before it; the callback may have ``asked`` to end."""
        epoch, stopping, plan = self.epoch, self.stopping, self.learners[0].plan
        began_badly = epoch > 0 and self._began_badly()
        # Lower rates have helped if they predict as well as a constant.
        goes_back = began_badly and epoch == 1 and stopping.is_bad(loss)
        if goes_back:
            self._restore_best()
            self.t = self.best_t
        elif self.columns is not None and (loss < self.best_loss or epoch == 0):
            for undo in self.undos:
                undo.done()
            self.best_epoch, self.best_loss, self.best_t = epoch, loss, self.t
            self.best_plan = plan
        if self.verbose > 0 and (goes_back or (epoch == 0 and stopping.is_bad(loss))):
            then = (
                "training goes back to the end of the first epoch, and makes one more from there"
                if goes_back
                else "the next epoch begins anew, at lower rates"
            )
            print(f"the best constant prediction has the loss {stopping.constant:.6g}: {then}")
        if asked or (began_badly and not goes_back):
            self.ended_early = True
        # An epoch that is undone does not count among those without progress.
        elif not goes_back and stopping.after(loss):
            schedule = plan.schedule
            slower = schedule.lowered() if isinstance(schedule, Adaptive) else None
            if slower is None:
                self.ended_early = True
                return
            stopping.idle = 0
            for learner in self.learners:
                learner.plan = replace(plan, schedule=slower)
        elif stopping.idle and plan.adaptive:
            for learner in self.learners:
                learner.engine.calm()

    def _restore_best(self) -> None:
        """Return every engine to the end of the best epoch."""
        for undo in self.undos:
            undo.rollback()
        for learner in self.learners:
            learner.plan = self.best_plan

    # --- for a later run ---

    def state(self) -> dict[str, Any]:
        """Everything that the training has changed: numbers, arrays, schedules, a generator."""
        generator = None
        if self.drawn_from is not None:
            generator = np.random.RandomState(0)
            generator.set_state(self.drawn_from)
        engines = [learner.engine for learner in self.learners]
        best = {
            "loss": self.best_loss,
            "epoch": self.best_epoch,
            "t": self.best_t,
            "schedule": self._changed_schedule(self.best_plan),
            # Copies are made when the second epoch begins.
            "engines": [undo.state() for undo in self.undos] if self.epoch else [],
        }
        return {
            "outputs": [engine.n_outputs for engine in engines],
            "engines": [engine.state() for engine in engines],
            "epoch": self.epoch,
            "t": self.t,
            "rows": self.n_visited,
            "seconds": self.seconds,
            "losses": self.losses,
            "history": self.history,
            "generator": generator,
            "stopping": [self.stopping.best, self.stopping.idle],
            "schedule": self._changed_schedule(self.learners[0].plan),
            "best": None if self.columns is None else best,
        }

    def _changed_schedule(self, plan: Plan) -> Schedule | None:
        """The schedule, if the training has changed it."""
        return None if plan.schedule is self.first_plan.schedule else plan.schedule

    def _plan_with(self, schedule: Schedule | None) -> Plan:
        """The plan with a schedule that a training has changed."""
        return self.first_plan if schedule is None else replace(self.first_plan, schedule=schedule)

    def _go_on_from(self, state: dict[str, Any]) -> None:
        """Take over the state of an earlier run of the same training."""
        self.epoch, self.t, self.n_visited = state["epoch"], state["t"], state["rows"]
        self.seconds, self.history = state["seconds"], state["history"]
        if self.epoch < 0 or not 0 <= self.n_visited <= self.rows.n_visits:
            raise ValueError("the state of the training counts epochs or rows that there are not")
        self.losses[:] = state["losses"]
        if state["generator"] is not None:
            self.drawn_from = state["generator"].get_state()
        self.stopping.best, self.stopping.idle = state["stopping"]
        if self.columns is not None:
            best = state["best"]
            self.best_loss, self.best_epoch, self.best_t = best["loss"], best["epoch"], best["t"]
            self.best_plan = self._plan_with(best["schedule"])
            for learner, arrays in zip(self.learners, best["engines"], strict=self.epoch > 0):
                learner.engine.set_state(arrays)
                self.undos.append(Undo(learner.engine, self.columns))
        for learner, arrays in zip(self.learners, state["engines"], strict=True):
            learner.engine.set_state(arrays)
            learner.plan = self._plan_with(state["schedule"])
