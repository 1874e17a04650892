"""Training: epochs of passes over the rows, until one of the ends is reached."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lazynet.data.standardise import Units
from lazynet.engines.threads import Workers
from lazynet.schedules import Adaptive
from lazynet.training.epochs import BestEpoch, Epoch, EpochRecord, Orders, Stopping
from lazynet.training.learners import AnyLearner, run_pass
from lazynet.training.progress import Progress
from lazynet.training.state import Checkpoint, Course


class PassOver(Protocol):
    """Lets learners visit the rows of an epoch, the first of which has step ``t``.

    Adds to their losses, and returns the next t.  ``begin`` and ``after`` as in ``run_pass``.
    """

    def __call__(
        self,
        epoch: int,
        t: int,
        progress: Progress,
        losses: NDArray[np.float64],
        workers: Workers | None,
        begin: int,
        after: Callable[[int], None],
    ) -> int: ...


@dataclass
class Run:
    """What a training has come to."""

    t: int
    """The number of steps behind the weights."""
    history: list[EpochRecord]
    best_epoch: int
    """The epoch at whose end the engines have the weights that they hold."""
    ended_early: bool
    """Whether training ended before it had made all epochs."""


def train(
    learners: Sequence[AnyLearner],
    orders: Orders,
    *,
    t: int,
    max_iter: int,
    stopping: Stopping,
    verbose: int,
    callback: Callable[[Epoch], Any] | None = None,
    validate: Callable[[], tuple[float, float]] | None = None,
    columns: NDArray[Any] | None = None,
    workers: Workers | None = None,
    units: Units | None = None,
    pass_over: PassOver | None = None,
    checkpoint: Checkpoint | None = None,
) -> Run:
    """Train for up to ``max_iter`` epochs.

    Several learners all visit the rows in the same order; losses in the history are sums over the
    learners.  ``validate`` gives the loss and the score of the present
    models on rows that are held out; the loss then decides when training stops.  The threads of
    ``workers`` share the learners.

    With ``columns``, the columns that the rows name, the engines return to the end of the best
    epoch.  Its loss is the least: the loss on the rows that are held out, which judges the weights
    at the end of the epoch; or else the progressive loss, which judges the weights of the whole
    epoch, of which the last have learned most.

    Where the first epoch is bad (``stopping``), the second one begins anew at lower rates.  If this
    one is not bad, training ends with its weights.  Otherwise training goes back to the end of the
    first epoch and ends after one more from there: more epochs would overfit.

    ``units`` are those of the rows; a callback sees the model of rows as they were given.

    ``pass_over`` lets the learners visit rows that are not in memory; ``orders`` then has their
    number alone.

    ``checkpoint`` may write the state of the training after every chunk, and may have the state of
    an earlier run of the same training.
    """
    best = BestEpoch(learners, columns) if columns is not None else None
    course = Course(learners, orders, stopping, best, t)
    following = nullcontext() if checkpoint is None else checkpoint.following(course.state)
    ended = False
    try:
        state = None if checkpoint is None else checkpoint.resumed()
        if state is not None:
            course.go_on_from(state)
            del state  # the engines have copies
        with following:
            for epoch in range(course.epoch, max_iter):
                order = course.enter(epoch)
                began_badly = epoch > 0 and stopping.is_bad(course.loss_of_epoch(0))
                if began_badly and epoch == 1 and not course.rows:
                    course.begin_anew()
                if learners[0].plan.divides_in(epoch):
                    for learner in learners:
                        learner.engine.retune(learner.plan.settings_in(epoch))
                line, t = _one_epoch(course, order, verbose, workers, pass_over, checkpoint)
                if validate is not None:
                    line["validation_loss"], line["validation_score"] = validate()
                _check_losses(line, learners, t)
                if verbose > 0:
                    print(_told(line))
                asked = False
                if callback is not None:
                    told = Epoch(line, t, learners, units, in_memory=pass_over is None)
                    asked = _asks_to_stop(callback, told)
                if checkpoint is not None:
                    checkpoint.point()
                course.history.append(line)
                course.t = t
                judged = line.get("validation_loss", line["progressive_loss"])
                # Lower rates have helped if they predict as well as a constant.
                goes_back = began_badly and epoch == 1 and stopping.is_bad(judged)
                if goes_back:
                    course.go_back()
                elif best is not None:
                    best.after(epoch, t, judged)
                if verbose > 0 and (goes_back or (epoch == 0 and stopping.is_bad(judged))):
                    print(_told_of_bad(stopping.constant, goes_back))
                if asked or (began_badly and not goes_back):
                    ended = True
                    break
                # An epoch that is undone does not count among those without progress.
                if not goes_back and stopping.after(judged):
                    schedule = learners[0].plan.schedule
                    slower = schedule.lowered() if isinstance(schedule, Adaptive) else None
                    if slower is None:
                        ended = True
                        break
                    stopping.wait_again()
                    for learner in learners:
                        learner.plan = learner.plan.with_schedule(slower)
                elif stopping.idle and learners[0].plan.adaptive:
                    for learner in learners:
                        learner.engine.calm()
        history: list[EpochRecord] = course.history
        if best is None or best.epoch == len(history) - 1:
            return Run(t, history, len(history) - 1, ended)
        best.restore()
        return Run(best.t, history, best.epoch, ended)
    finally:
        if best is not None:
            best.release()


def _one_epoch(
    course: Course,
    order: NDArray[np.int64] | None,
    verbose: int,
    workers: Workers | None,
    pass_over: PassOver | None,
    checkpoint: Checkpoint | None,
) -> tuple[EpochRecord, int]:
    """Train to the end of the epoch; returns its line of the history and the next t."""
    epoch, learners = course.epoch, course.learners
    n_rows = course.orders.n_rows if order is None else len(order)
    progress = Progress(n_rows, verbose > 0, f"epoch {epoch + 1}")
    began = time.perf_counter() - course.seconds

    def after(rows: int) -> None:
        course.rows, course.seconds = rows, time.perf_counter() - began
        if checkpoint is not None:
            checkpoint.point()

    try:
        progress.advance(course.rows)
        given = progress, course.losses, workers
        if pass_over is None:
            t = run_pass(learners, order, course.t, *given, begin=course.rows, after=after)
        else:
            t = pass_over(epoch, course.t, *given, begin=course.rows, after=after)
    finally:
        progress.close()
    seconds = time.perf_counter() - began
    loss = float(course.losses.sum()) / n_rows
    return EpochRecord(epoch=epoch, progressive_loss=loss, seconds=seconds), t


def _check_losses(line: EpochRecord, learners: Sequence[AnyLearner], t: int) -> None:
    """Refuse a model that overflowed in an epoch."""
    judged = {
        "progressive loss": line["progressive_loss"],
        "validation loss": line.get("validation_loss", 0.0),
    }
    for name, value in judged.items():
        if not math.isfinite(value):
            raise FloatingPointError(
                f"the model overflowed by step {t}: its {name} is {value}. "
                f"{learners[0].engine.advice}"
            )


def _asks_to_stop(callback: Callable[[Epoch], Any], epoch: Epoch) -> bool:
    """Call the callback; returns whether training shall end."""
    answer = callback(epoch)
    try:
        return bool(answer)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"callback must return something true or false, got {type(answer).__name__}: {error}"
        ) from None


def _told(line: EpochRecord) -> str:
    """The line of an epoch that ``verbose`` prints."""
    figures = [
        f"{name.replace('_', ' ')} {line[name]:.6g}"
        for name in ("progressive_loss", "validation_loss", "validation_score")
        if name in line
    ]
    return "  ".join([f"epoch {line['epoch'] + 1:4d}", *figures, f"{line['seconds']:.3f} s"])


def _told_of_bad(constant: float, goes_back: bool) -> str:
    """The line that ``verbose`` prints after an epoch that has predicted worse than a constant."""
    then = (
        "training goes back to the end of the first epoch, and makes one more from there"
        if goes_back
        else "the next epoch begins anew, at lower rates"
    )
    return f"the best constant prediction has the loss {constant:.6g}: {then}"
