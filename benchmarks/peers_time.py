"""Part (c) of the study ``peers``: objective and test loss against seconds, on one problem a set.

A peer starts from zero weights at one dial after another: tolerances, or passes over the rows.  A
peer with a rate runs at a few rates, and at any time the best of its runs counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.programs import ALL, present
from benchmarks.programs.base import LASSO, NET, How, Peer, row_norm
from lazynet.penalties import ElasticNet
from paper_repro.documents import medline
from paper_repro.folder import TEST_SHARE, rows_of_files, sets_in
from paper_repro.ladders import Ladder, climb
from paper_repro.minima import LOGISTIC, Task, largest_l1
from paper_repro.rows import Rows, divided
from paper_repro.solvers import Answer, Solver, warm_up
from paper_repro.study import Cell, Record, Records, Settings

PART = "time"
#: Generated rows of a quick run and of a full one.
CORPUS = "corpus"
QUICK_ROWS, FULL_ROWS = 5_000, 50_000
#: l1 as a share of the least l1 at which every weight is 0, and l2 in units of l1.
SHARE, MULTIPLES = 0.01, {LASSO: 0.0, NET: 0.1}
#: Rates in the unit 1 / (mean squared length of a row); the best one counts.
RATES = (0.3, 3.0, 30.0, 300.0)
#: Seconds after which a run is stopped, and files of a quick run.
QUICK_SECONDS, FULL_SECONDS, QUICK_FILES = 1.0, 5.0, 1
#: Gaps in units of the objective at zero weights.
LEVELS = (1e-2, 1e-4)


def cells(settings: Settings) -> Sequence[Cell]:
    race = Race(settings)
    return [
        cell
        for name in race.names
        for kind in MULTIPLES
        for cell in (
            Cell(f"{PART}/{name}/{kind}/setting", partial(race.setting, name, kind), 2.0),
            *(
                Cell(f"{PART}/{name}/{kind}/{peer}", partial(race.run, name, kind, peer), 5.0)
                for peer in present()
                if LOGISTIC in present()[peer].losses and kind in present()[peer].penalties
            ),
        )
    ]


class Race:
    """The sets of rows, and the problem on each of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.seconds = FULL_SECONDS if settings.full else QUICK_SECONDS
        self.files = {} if settings.folder is None else sets_in(settings.folder)
        files = sorted(self.files, key=lambda name: -self.files[name][0].stat().st_size)
        self.names = [CORPUS, *files[: None if settings.full else QUICK_FILES]]
        self.rows = lru_cache(maxsize=1)(self._rows)

    def _rows(self, name: str) -> Rows:
        if name != CORPUS:
            return rows_of_files(*self.files[name], self.settings.seed)
        most = FULL_ROWS if self.settings.full else QUICK_ROWS
        count = round(min(self.settings.examples, most) / (1 - TEST_SHARE))
        chosen = self.settings
        corpus = medline(count, chosen.features, chosen.nonzeros, seed=chosen.seed)
        return divided(corpus, TEST_SHARE, 0)

    def task(self, name: str, kind: str) -> Task:
        rows = self.rows(name)
        l1 = SHARE * largest_l1(rows, LOGISTIC)
        return Task(rows, LOGISTIC, ElasticNet(l1, MULTIPLES[kind] * l1))

    def setting(self, name: str, kind: str, _: Records) -> Record:
        task = self.task(name, kind)
        return {
            "rows": task.X.shape[0],
            "features": task.X.shape[1],
            "l1": task.l1,
            "l2": task.l2,
            "at zero": task.at_zero,
            "test loss at zero": task.test_loss(np.zeros(task.X.shape[1])),
        }

    def run(self, name: str, kind: str, peer: str, _: Records) -> Record:
        """The runs of one peer at all dials, and at all rates."""
        warm_up()
        found, task = present()[peer], self.task(name, kind)
        unit = row_norm(task.X)
        rates = [rate / unit for rate in RATES] if found.has_rate else [None]
        ladders = [climb(as_solver(found, task, rate), task, self.seconds) for rate in rates]
        stopped = [each.stopped for each in ladders if each.stopped is not None]
        failed = [each.failed for each in ladders if each.failed is not None]
        runs = [run for each in ladders for run in each.runs if math.isfinite(run.objective)]
        return Ladder(
            runs, max(stopped) if stopped else None, failed[0] if failed else None
        ).record()


def as_solver(peer: Peer, task: Task, rate: float | None) -> Solver:
    """The peer as a program of a race; its rows are prepared here, before any clock starts."""
    prepared = peer.prepare(task)

    def fit(task: Task, dial: float) -> Answer:
        if peer.dials_are_passes:
            how = How(passes=round(dial), rate=rate, shuffle="in random order" in peer.orders)
        else:
            how = How(tol=dial)
        began = time.process_time()
        model: Any = peer.fit(prepared, task, how)
        seconds = time.process_time() - began
        return Answer(peer.weights(model, task), seconds=seconds)

    return Solver(peer.name, peer.module, lambda _: True, fit, peer.dials)


# --- reading what was measured ---------------------------------------------------------------


class Times:
    """The runs of all peers on every problem."""

    def __init__(self, records: Records) -> None:
        self.settings: dict[tuple[str, str], Record] = {}
        self.ladders: dict[tuple[str, str], dict[str, Ladder]] = {}
        for key, record in records.items():
            part, *rest = key.split("/")
            if part != PART:
                continue
            name, kind, peer = rest
            if peer == "setting":
                self.settings[name, kind] = record
            else:
                self.ladders.setdefault((name, kind), {})[peer] = Ladder.of(record)

    def least(self, problem: tuple[str, str]) -> float:
        return min(ladder.least() for ladder in self.ladders[problem].values())

    def best_loss(self, problem: tuple[str, str]) -> float:
        """The least test loss of any run."""
        return min(run.test_loss for each in self.ladders[problem].values() for run in each.runs)

    def seconds(self, problem: tuple[str, str], peer: str, level: float) -> float | None:
        """Seconds of the quickest run that is no farther above the least objective."""
        target = self.least(problem) + level * self.settings[problem]["at zero"]
        run = self.ladders[problem][peer].reaching(target)
        return None if run is None else run.seconds

    def seconds_to_loss(self, problem: tuple[str, str], peer: str, share: float) -> float | None:
        """Seconds of the quickest run whose test loss is within ``share`` of the best one."""
        most = share * self.best_loss(problem)
        runs = [run.seconds for run in self.ladders[problem][peer].runs if run.test_loss <= most]
        return min(runs, default=None)

    def curve(
        self, problem: tuple[str, str], peer: str, what: str
    ) -> tuple[list[float], list[float]]:
        """Seconds, and the least value that any run has reached until then."""
        runs = sorted(self.ladders[problem][peer].runs, key=lambda run: run.seconds)
        seconds, values, least = [], [], math.inf
        for run in runs:
            if getattr(run, what) < least:
                least = getattr(run, what)
                seconds.append(run.seconds)
                values.append(least)
        return seconds, values

    def peers(self) -> list[str]:
        found = {peer for ladders in self.ladders.values() for peer in ladders}
        return [name for name in ALL if name in found]
