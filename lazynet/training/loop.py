"""Training: epochs, each a pass over the rows, until a stopping condition holds.

A training with a checkpoint writes its state between two epochs; a later run of the same training
continues from this state.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lazynet.data.statistics import Units
from lazynet.data.targets import Targets
from lazynet.engines.base import Engine, intercepts_of, overflow, stacked_coefficients
from lazynet.engines.threads import Workers
from lazynet.engines.undo import Undo
from lazynet.parameters import shown
from lazynet.training.automatic import Choice, Choices
from lazynet.training.passes import Evaluation, Learner, new_learners, run_pass, total_loss
from lazynet.training.plan import Plan
from lazynet.training.rows import Rows
from lazynet.training.settings import Settings

#: A warning is due if the loss fell in the last epoch by at least these shares: of the loss before
#: this epoch, and of the loss of the first epoch.
_FAST, _MUCH = 0.1, 0.01
#: The text that is printed after a bad epoch, before the loss of a constant prediction.
_BAD = "the epoch was no better than a constant prediction, whose loss is"
# The fields of ``Training`` that a checkpoint has besides the engines and the generator.
_PROGRESS = "history", "t", "restarted", "best_loss", "n_idle", "best_epoch", "best_t"


def progress_bar(n_rows: int, label: str) -> Any:
    """A context with a bar of tqdm, or with None without tqdm or without a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    try:
        from tqdm import tqdm
    except ImportError:
        return nullcontext()
    return tqdm(total=n_rows, desc=label, unit="row", unit_scale=True, leave=False)


def line_of_progress(line: EpochRecord) -> str:
    """The text that is printed after an epoch.

    >>> line_of_progress({"epoch": 0, "progressive_loss": 0.25, "seconds": 1.5})
    'epoch    1  progressive loss 0.25  1.500 s'
    """
    figures = [
        f"{name.replace('_', ' ')} {line[name]:.6g}"
        for name in ("progressive_loss", "validation_loss")
        if name in line
    ]
    return "  ".join([f"epoch {line['epoch'] + 1:4d}", *figures, f"{line['seconds']:.3f} s"])


@dataclass
class Training:
    """Engines, the rows that all engines visit in the same order, and the stopping conditions.

    If the loss of the first epoch exceeds ``Plan.bad_loss``, the second epoch starts again from
    zero weights, at a quarter of the rates.

    With ``settings.early_stopping`` the engines return to the end of the epoch with the least loss
    on held-out rows.

    ``generator`` draws the order of the rows in every epoch; None: the order in X.
    ``checkpoint`` reads and writes the state (``lazynet.persistence.checkpoints.Checkpoint``).
    ``units`` are the units of the rows; a callback gets the weights of features as passed.
    """

    settings: Settings
    plan: Plan
    engines: Sequence[Engine]
    rows: Rows
    workers: Workers | None
    generator: np.random.RandomState | None
    units: Units | None
    callback: Callable[[Epoch], Any] | None
    checkpoint: Any
    history: list[EpochRecord] = field(default_factory=list, init=False)
    #: the number of the next step
    t: int = field(default=0, init=False)
    #: whether the first epoch was worse than a constant prediction
    restarted: bool = field(default=False, init=False)
    #: the least loss, and the number of epochs since it last fell by the share ``tol``
    best_loss: float = field(default=math.inf, init=False)
    n_idle: int = field(default=0, init=False)
    #: the epoch at whose end the engines had the best weights, and its last step
    best_epoch: int = field(default=0, init=False)
    best_t: int = field(default=0, init=False)
    #: copies of these weights, made at the beginning of the next epoch: the last epoch needs none
    undos: list[Undo] = field(default_factory=list, init=False)
    #: whether training ended before its last epoch
    ended_early: bool = field(default=False, init=False)
    #: in an epoch: the losses of the predictions of each engine, and what is called after a chunk
    losses: NDArray[np.float64] = field(init=False)
    after: Callable[[int], Any] | None = field(default=None, init=False)
    #: the learners, and the targets of their rows
    _learned: Any = field(default=None, init=False)
    _learners: list[Learner] = field(default_factory=list, init=False)

    # --- the loop ---

    def run(self) -> None:
        """Train for up to ``max_iter`` epochs; the engines then have the weights of the best."""
        try:
            if self.checkpoint is not None:
                self.checkpoint.resume(self._set_state)
            while len(self.history) < self.plan.max_iter and not self.ended_early:
                self._begin_epoch()
                self._end_epoch(self._visit_rows())
                if self.checkpoint is not None and not self.ended_early:
                    self.checkpoint.write_if_due(self.state)
            if not self.settings.early_stopping:
                self.best_epoch, self.best_t = len(self.history) - 1, self.t
            elif self.best_epoch < len(self.history) - 1:
                for undo in self.undos:
                    undo.rollback()
        finally:
            for engine in self.engines:
                engine.before_sweep = None

    @property
    def epoch(self) -> int:
        """The number of the present epoch."""
        return len(self.history)

    @property
    def plan_now(self) -> Plan:
        """The plan of the present epoch."""
        return self.plan.in_epoch(self.epoch, self.restarted)

    def _begin_epoch(self) -> None:
        """Copy the weights of the best epoch if it was the last, and set the rates."""
        epoch, plan = self.epoch, self.plan_now
        if self.settings.early_stopping and epoch and self.best_epoch == epoch - 1:
            self._copy_engines()
        if self.restarted and epoch == 1:
            self.t = 0
            for engine, new in zip(
                self.engines, plan.new_engines(self.rows.n_features), strict=True
            ):
                engine.set_state(new.state())
        for engine in self.engines:
            engine.set_constants(plan.constants)

    def _visit_rows(self) -> EpochRecord:
        """Visit all rows once; returns the line of the epoch, whose losses are finite."""
        epoch, began, n_rows = self.epoch, time.perf_counter(), self.rows.n_visits
        shows = self.settings.verbose > 0
        self.losses = np.zeros(len(self.engines))
        with progress_bar(n_rows, f"epoch {epoch + 1}") if shows else nullcontext() as bar:
            self.after = None if bar is None else bar.update
            self.rows.visit(self)
        loss, remedy = float(self.losses.sum()) / n_rows, self.engines[0].remedy
        line = EpochRecord(epoch=epoch, progressive_loss=loss, seconds=time.perf_counter() - began)
        if not math.isfinite(loss):
            raise overflow(f"by step {self.t}", f"its progressive loss is {loss}", remedy)
        if self.settings.early_stopping:
            held_out = self.rows.held_out
            total = total_loss(self.engines, self.plan, lambda: [held_out])
            line["validation_loss"] = loss = total / held_out[0].shape[0]
            if not math.isfinite(loss):
                raise overflow(f"by step {self.t}", f"its validation loss is {loss}", remedy)
        return line

    def learn(
        self,
        X: sparse.csr_matrix,
        targets: Targets,
        order: NDArray[np.int64] | None = None,
        length: int | None = None,
        sizes: Callable[[str | None], NDArray[np.float64] | None] | None = None,
    ) -> None:
        """Let every engine visit rows of X in ``order``, ``length`` at a time (``run_pass``).

        ``sizes`` computes the sizes of the rows, for rates that depend on them.
        """
        plan = self.plan_now
        if self._learned is not targets:
            row_sizes = None if sizes is None else sizes(plan.size_kind)
            self._learned = targets
            self._learners = new_learners(self.engines, X, targets, plan, row_sizes)
        for learner in self._learners:
            learner.plan = plan
        self.t = run_pass(
            self._learners, order, self.t, self.losses, self.workers,
            length=length, after=self.after,
        )  # fmt: skip

    def _end_epoch(self, line: EpochRecord) -> None:
        """Print and record an epoch, and decide whether training continues, restarts or ends."""
        settings, plan, epoch = self.settings, self.plan, line["epoch"]
        verbose, progressive = settings.verbose, line["progressive_loss"]
        loss = line.get("validation_loss", progressive)
        if verbose:
            print(line_of_progress(line))
        asked = self.callback is not None and self._ask(line)
        self.history.append(line)
        if epoch == 0 and progressive > plan.bad_loss and plan.max_iter > 1 and not asked:
            self.restarted = True
            if verbose:
                print(f"{_BAD} {plan.bad_loss:.6g}: training restarts at lower rates")
            return
        if loss < self.best_loss:
            self.best_epoch, self.best_t = epoch, self.t
        tol, best = settings.tol, self.best_loss
        lowered = tol is None or math.isinf(best) or loss < best * (1.0 - tol)
        self.n_idle = 0 if lowered else self.n_idle + 1
        self.best_loss = min(self.best_loss, loss)
        if asked or self.n_idle >= settings.n_iter_no_change:
            self.ended_early = True
        elif self.n_idle and plan.rates_from_data:
            for engine in self.engines:
                engine.lower_rates()

    def _ask(self, line: EpochRecord) -> bool:
        """Call the callback after an epoch; returns whether the callback ends the training."""
        assert self.callback is not None
        evaluate = partial(self.rows.evaluation, self.engines, self.plan)
        answer = self.callback(Epoch(line, self.t, self.engines, evaluate, self.units))
        try:
            return bool(answer)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"callback must return something true or false, got {type(answer).__name__}: "
                f"{error}"
            ) from None

    def choices(self, before: Choices) -> Choices:
        """The automatic choices, also of a restart."""
        if not self.restarted:
            return before
        reason = (
            f"the first epoch was worse than a constant, whose loss is {self.plan.bad_loss:.4g}"
        )
        return Choices([*before, Choice("restart", "a quarter of the rates", reason)])

    def _copy_engines(self) -> None:
        """Copy the arrays that the steps may change."""
        # Free the memory of the former copies first, so that it is used again.
        self.undos.clear()
        for engine in self.engines:
            self.undos.append(Undo(engine, self.rows.touched))

    # --- for a later run ---

    def state(self) -> dict[str, Any]:
        """The numbers, arrays and the generator that the epochs so far have changed."""
        has_copies = self.settings.early_stopping and self.best_epoch < len(self.history) - 1
        return {
            **{name: getattr(self, name) for name in _PROGRESS},
            "engines": [engine.state() for engine in self.engines],
            "generator": self.generator,
            "best engines": [undo.state() for undo in self.undos] if has_copies else None,
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        """Continue from the state of an earlier run of the same training."""
        for name in _PROGRESS:
            if type(state[name]) is not type(getattr(self, name)):
                raise TypeError(f"{name} of a run cannot be {shown(state[name]):.100}")
            setattr(self, name, state[name])
        if self.generator is not None:
            self.generator.set_state(state["generator"].get_state())
        if state["best engines"] is not None:
            self._set_engines(state["best engines"])
            self._copy_engines()
        self._set_engines(state["engines"])

    def _set_engines(self, states: Sequence[dict[str, Any]]) -> None:
        for engine, arrays in zip(self.engines, states, strict=True):
            engine.set_state(arrays)


class EpochRecord(TypedDict):
    """One line of ``history_``."""

    epoch: int
    progressive_loss: float
    seconds: float
    #: with early stopping
    validation_loss: NotRequired[float]


def warnings_of_falls(
    losses: Sequence[float], max_iter: int, *, standardises: bool = True
) -> list[Warning]:
    """The warning that the last of the losses, one per epoch, fell by more than a tenth; or none.

    >>> warnings_of_falls([0.7, 0.5, 0.4], max_iter=3)
    [ConvergenceWarning('the loss still fell by 20% in the last of max_iter=3 epochs: raise \
max_iter, or the rates')]
    >>> warnings_of_falls([0.7, 0.5, 0.49], max_iter=3)
    []
    """
    if len(losses) < 2:
        return []
    fall = losses[-2] - losses[-1]
    if fall <= _FAST * losses[-2] or fall <= _MUCH * losses[0]:
        return []
    instead = "raise max_iter, or the rates"
    if not standardises:
        instead = "write standardize='auto', which learns features of any size, or raise max_iter"
    return [
        ConvergenceWarning(
            f"the loss still fell by {fall / losses[-2]:.0%} in the last of max_iter={max_iter} "
            f"epochs: {instead}"
        )
    ]


class Epoch:
    """The argument of a callback of ``fit``; attributes that cost a pass are computed on access."""

    def __init__(
        self,
        record: EpochRecord,
        t: int,
        engines: Sequence[Engine],
        evaluate: Callable[[], Evaluation],
        units: Units | None = None,
    ) -> None:
        self._engines, self._evaluate, self._units = engines, evaluate, units
        self.epoch = record["epoch"]
        """The number of the epoch, from 0 on."""
        self.progressive_loss = record["progressive_loss"]
        """The mean loss of the predictions in this epoch, each made before its row is learned."""
        self.validation_loss = record.get("validation_loss")
        """The mean loss over the held-out rows; None without early stopping."""
        self.seconds = record["seconds"]
        """The time of training in this epoch, in seconds."""
        self.t = t
        """The number of steps taken so far."""

    @cached_property
    def _evaluation(self) -> Evaluation:
        return self._evaluate()

    @property
    def mean_loss(self) -> float:
        """The mean loss over all rows of X, at the cost of a pass over the rows."""
        return self._evaluation.mean_loss

    @property
    def objective(self) -> float:
        """The mean loss plus the penalty, at the cost of a pass over the rows."""
        return self._evaluation.objective

    @property
    def nonzeros(self) -> int:
        """The number of weights that are not zero."""
        return self._evaluation.nonzeros

    @property
    def coef(self) -> NDArray[np.float64]:
        """A copy of the weights, a row for every output."""
        return stacked_coefficients(self._engines, self._units).copy()

    @property
    def intercept(self) -> NDArray[np.float64]:
        """The intercept of every output."""
        return intercepts_of(self._engines, self._units)
