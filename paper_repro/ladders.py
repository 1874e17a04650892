"""Runs of one program at one dial after another, each from zero weights, in a process of their own.

Times are seconds of the processor, which other programs on the machine hardly change.

A compiled program that does not return cannot be stopped from within.  The runs are made in a
process that is forked from this one, and that is ended where a run takes too long.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from paper_repro.minima import Task
from paper_repro.solvers.base import Solver

# Seconds between two looks at how long a run has taken, and the share of the limit.
BETWEEN, SHARE_BETWEEN = 0.5, 0.05


@dataclass(frozen=True)
class Run:
    """One run: its dial, the seconds of ``fit``, and what the weights are worth."""

    dial: float
    seconds: float
    objective: float
    nonzeros: int
    test_loss: float
    #: the program's own bound on its gap
    gap: float | None


@dataclass(frozen=True)
class Ladder:
    """The runs that ended, and after how many seconds a run was stopped, or None."""

    runs: Sequence[Run]
    stopped: float | None = None
    #: the error that ended the runs, in words
    failed: str | None = None

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, record: dict[str, Any]) -> Ladder:
        return cls([Run(**run) for run in record["runs"]], record["stopped"], record["failed"])

    def least(self) -> float:
        """The least objective of all runs."""
        return min((run.objective for run in self.runs), default=np.inf)

    def waited(self) -> float:
        """The most seconds of a run, ended or stopped."""
        return max([*(run.seconds for run in self.runs), self.stopped or 0.0])

    def at(self, dial: float) -> Run | None:
        """The run at a dial, or None."""
        return next((run for run in self.runs if run.dial == dial), None)

    def reaching(self, objective: float) -> Run | None:
        """The quickest run whose objective is not greater, or None."""
        good = [run for run in self.runs if run.objective <= objective]
        return min(good, key=lambda run: run.seconds, default=None)


def timed(solver: Solver, task: Task, dial: float) -> Run:
    """One run in this process."""
    solver.prepare(task)
    with warnings.catch_warnings():
        # A dial that is not exact does not converge; the objective tells.
        warnings.simplefilter("ignore")
        began = time.process_time()
        answer = solver.fit(task, dial)
        seconds = time.process_time() - began
    return Run(
        dial,
        seconds if answer.seconds is None else answer.seconds,
        task.objective(answer.coef),
        int(np.count_nonzero(answer.coef)),
        task.test_loss(answer.coef),
        answer.gap,
    )


def climb(solver: Solver, task: Task, cap: float, target: float = -np.inf) -> Ladder:
    """Runs at all dials, until an objective is at most ``target`` or one takes ``cap`` seconds."""
    solver.prepare(task)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_runs, args=(sender, solver, task, target), daemon=True)
    process.start()
    sender.close()
    runs: list[Run] = []
    try:
        began = seconds_of(process.pid)
        while seconds_of(process.pid) - began < cap:
            if not receiver.poll(min(BETWEEN, SHARE_BETWEEN * cap)):
                continue
            message = receiver.recv()
            if not isinstance(message, Run):
                return Ladder(runs, failed=message)
            runs.append(message)
            began = seconds_of(process.pid)
        return Ladder(runs, stopped=cap)
    except EOFError:
        process.join()
        return Ladder(runs, failed=f"the process ended with code {process.exitcode}")
    finally:
        process.kill()
        process.join()
        receiver.close()


def _runs(sender: Connection, solver: Solver, task: Task, target: float) -> None:
    """Send every run, and then None or what went wrong."""
    try:
        for dial in solver.dials:
            run = timed(solver, task, dial)
            sender.send(run)
            if run.objective <= target:
                break
        sender.send(None)
    except Exception as error:
        sender.send(f"{type(error).__name__}: {str(error)[:200]}")


def seconds_of(process: int | None) -> float:
    """Seconds of the processor that another process has had; on the wall where nobody tells."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
