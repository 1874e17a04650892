"""Study ``optimum``: which program reaches the minimum of an l1 or elastic-net problem, how fast?

All programs solve the same problems, without intercept, on one thread.  The best of all objectives
counts as the minimum; lazynet's dual objective bounds from below what may be left.  A program
arrives at a level, a share of the objective at zero weights, where its objective is no further
from the minimum.

- lazynet runs at a tolerance equal to the level: it has arrived when its certificate says so.
- Every other program runs from zero weights at one tolerance after another, and its time is that
  of the quickest run that has arrived, although nobody would know beforehand which one that is.

Seconds are those of the processor in the process that runs: the machine may have other work.
"""

from __future__ import annotations

import importlib.metadata
import multiprocessing
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

import lazynet
from lazynet.certificates import certify
from lazynet.losses import get_loss
from lazynet.minimise import Minimiser, Problem
from lazynet.penalties import ElasticNet
from paper_repro.documents import Corpus, medline
from paper_repro.folder import TEST_SHARE, rows_of_files, sets_in
from paper_repro.ladders import Ladder, climb, timed
from paper_repro.measure import in_turns
from paper_repro.minima import HINGE, LOGISTIC, SQUARED, SQUARED_HINGE, Task, largest_l1
from paper_repro.rows import Rows, divided
from paper_repro.solvers import OURS, PEERS, Solver, own, warm_up
from paper_repro.solvers.celer_solvers import CELER
from paper_repro.solvers.scikit_learn import SAGA
from paper_repro.solvers.skglm_solvers import COORDINATES
from paper_repro.study import Cell, Record, Records, Settings

#: Gaps at which a program has arrived, in units of the objective at zero weights.
LEVELS = (1e-4, 1e-6)
#: l1 as shares of the least l1 at which every weight is 0, and l2 as multiples of l1.
SHARES, MULTIPLES = (0.3, 0.1, 0.01, 0.003), (0.0, 0.1, 1.0)
#: l2 alone, as shares of the same l1.
RIDGES = (0.1, 0.001)
LOSSES = (LOGISTIC, SQUARED_HINGE, HINGE, SQUARED)
#: The generated rows, and the most of them that the races are run on.
CORPUS, MOST_ROWS = "corpus", 100_000
#: l1 and l2 as they are, on the corpus only: about a thousandth of the largest l1 there.
WEAK = 1e-5
#: The problem of the figure: share of l1, and the multiples with and without l2.
SHOWN_SHARE, SHOWN_MULTIPLES = 0.01, (0.0, 0.1)
#: A run of another program is stopped after this many times our time at the first level.
PATIENCE = 100.0
#: A path: its points, and its smallest penalty as a share of the largest.
POINTS, SMALLEST = 50, 1e-2


@dataclass(frozen=True)
class Limits:
    """How much time a run of the study may take."""

    #: The least and the most seconds after which a run is stopped, whatever ours takes.
    least: float
    most: float
    #: About how many seconds the rounds of one problem and one level may take.
    rounds: float
    #: Seconds that our run to the minimum may take.
    exact: float


QUICK_LIMITS = Limits(least=0.5, most=200.0, rounds=3.0, exact=20.0)
FULL_LIMITS = Limits(least=5.0, most=400.0, rounds=10.0, exact=600.0)


@dataclass(frozen=True)
class Question:
    """A problem by its name: rows, loss, and the strengths as shares of the largest l1.

    The strengths of a ``weak`` problem are given as they are.
    """

    rows: str
    loss: str
    l1: float
    l2: float
    weak: bool = False

    @property
    def key(self) -> str:
        group = "weak" if self.weak else "race"
        return f"{group}/{self.rows}/{self.loss}/{self.l1:g}/{self.l2:g}"

    @classmethod
    def of(cls, parts: Sequence[str], weak: bool = False) -> Question:
        rows, loss, l1, l2 = parts
        return cls(rows, loss, float(l1), float(l2), weak)

    @property
    def mixed(self) -> bool:
        """Whether the penalty is an elastic net and not l1 or l2 alone."""
        return self.l1 > 0 and self.l2 > 0

    @property
    def lasso(self) -> bool:
        return self.l2 == 0

    def task(self, rows: Rows) -> Task:
        unit = 1.0 if self.weak else largest_l1(rows, self.loss)
        return Task(rows, self.loss, ElasticNet(self.l1 * unit, self.l2 * unit))


def cells(settings: Settings) -> Sequence[Cell]:
    course = Course(settings)
    found = [Cell("setting", course.setting, 3.0)]
    for name in course.names:
        # All cells of one set follow each other: only its rows are in memory.
        for asked in course.asked(name):
            found.append(Cell(asked.key, partial(course.race, asked), course.cost(asked)))
        found.append(Cell(f"path/{name}", partial(course.path, name), 3.0))
        if name == CORPUS:
            for multiple in SHOWN_MULTIPLES:
                by_rows = partial(course.shown_by_rows, multiple)
                found.append(Cell(by_rows_key(multiple), by_rows, 60.0))
            found.append(Cell("pieces", course.pieces, 5.0))
    return [*found, Cell("large", course.large, 10.0)]


# --- measuring -------------------------------------------------------------------------------


class Course:
    """The sets of rows, the questions, and how they are answered."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.limits = FULL_LIMITS if settings.full else QUICK_LIMITS
        self.files = {} if settings.folder is None else sets_in(settings.folder)
        self.names = [CORPUS, *self.files]
        self.rows = lru_cache(maxsize=1)(self._rows)

    def asked(self, name: str) -> list[Question]:
        """The questions on one set of rows."""
        found = [Question(name, *each) for each in asked_of(name, self.settings.full)]
        return found + [Question(name, LOGISTIC, WEAK, WEAK, weak=True)] * (name == CORPUS)

    def cost(self, asked: Question) -> float:
        """About how many seconds a race takes."""
        return (30.0 if asked.rows == CORPUS else 5.0) * (10.0 if self.settings.full else 1.0)

    def _rows(self, name: str) -> Rows:
        if name != CORPUS:
            return rows_of_files(*self.files[name], self.settings.seed)
        rows = min(self.settings.examples, MOST_ROWS)
        return divided(self.generated(round(rows / (1 - TEST_SHARE))), TEST_SHARE, 0)

    def generated(self, rows: int) -> Corpus:
        chosen = self.settings
        return medline(rows, chosen.features, chosen.nonzeros, seed=chosen.seed)

    def setting(self, _: Records) -> Record:
        """The sets of rows, and the programs that run here."""
        # The corpus comes last, so that the first race finds it in memory.
        found = {name: _statistics(self.rows(name)) for name in reversed(self.names)}
        return {
            "sets": {name: found[name] for name in self.names},
            "versions": {
                each: importlib.metadata.version(each)
                for each in ("scikit-learn", "skglm", "celer", "numba")
                if _installed(each)
            },
            "missing": sorted({each.missing for each in PEERS.values() if each.missing}),
        }

    def race(self, asked: Question, _: Records) -> Record:
        """The runs of all programs, and their times in turns at the levels."""
        warm_up()
        task = asked.task(self.rows(asked.rows))
        ours = climb(OURS, task, self.limits.exact)
        if not ours.runs:
            raise RuntimeError(f"{asked.key}: lazynet gave no weights: {ours.failed or 'stopped'}")
        arrived = ours.at(LEVELS[0])
        patience = PATIENCE * arrived.seconds if arrived else 0.0
        most = self.limits.most * (3.0 if asked.weak else 1.0)
        cap = min(max(patience, self.limits.least), most)
        near = ours.least() + 0.9 * min(LEVELS) * task.at_zero
        ladders = {OURS.name: ours} | {
            solver.name: climb(solver, task, cap, near)
            for solver in PEERS.values()
            if solver.missing is None and solver.solves(task) and self._runs(solver, asked)
        }
        least = min(ladder.least() for ladder in ladders.values())
        lower = max(run.objective - run.gap for run in ours.runs if run.gap is not None)
        _check_certificates(asked, task, ours, least)
        return {
            "l1": task.l1,
            "l2": task.l2,
            "at zero": task.at_zero,
            "least": least,
            "lower": lower,
            "nonzeros": ours.runs[-1].nonzeros,
            "test loss at zero": task.test_loss(np.zeros(task.X.shape[1])),
            "ladders": {name: ladder.record() for name, ladder in ladders.items()},
            "seconds": {
                f"{level:g}": self._in_turns(task, ladders, least, level) for level in LEVELS
            },
        }

    def _runs(self, solver: Solver, asked: Question) -> bool:
        """A quick run of the study leaves out what takes most of its time and decides little."""
        if self.settings.full or asked in [shown(multiple) for multiple in SHOWN_MULTIPLES]:
            return True
        if solver.name == SAGA:
            return asked.mixed and asked.l2 < asked.l1 and asked.l1 in (SHARES[0], SHOWN_SHARE)
        if solver.name == COORDINATES:
            return asked.loss != LOGISTIC
        return solver.name != CELER or asked.rows != CORPUS

    def _in_turns(
        self, task: Task, ladders: Mapping[str, Ladder], least: float, level: float
    ) -> dict[str, list[float]]:
        """Seconds of every program that arrived at the level, in all rounds.

        Programs so slow that the rounds would take too long are not run again.
        """
        chosen = {}
        for name, ladder in ladders.items():
            if name == OURS.name:
                run = ladder.at(level)
                # What our certificate does not reach has not arrived.
                if run and run.gap is not None and run.gap > level * task.at_zero:
                    run = None
            else:
                run = ladder.reaching(least + level * task.at_zero)
            if run is not None:
                chosen[name] = run
        again = {name: run for name, run in chosen.items() if run.seconds < self.limits.rounds / 4}
        seconds = {name: [run.seconds] for name, run in chosen.items()}
        if again:
            round_takes = sum(run.seconds for run in again.values())
            rounds = max(1, min(self.settings.repeats, int(self.limits.rounds / round_takes)))
            solvers = {OURS.name: OURS, **PEERS}
            seconds |= in_turns(
                {
                    name: partial(_seconds, solvers[name], task, run.dial)
                    for name, run in again.items()
                },
                rounds,
            )
        return seconds

    def path(self, name: str, _: Records) -> Record:
        """A path of lazynet against one fit at its smallest penalty, in turns."""
        if not hasattr(lazynet, "net_path"):
            return {"skipped": "this version of lazynet has no net_path"}
        rows = self.rows(name)
        smallest = ElasticNet(SMALLEST * largest_l1(rows, LOGISTIC))
        task = Task(rows, LOGISTIC, smallest)

        def whole() -> object:
            return lazynet.net_path(
                task.X,
                task.y,
                n_points=POINTS,
                smallest=SMALLEST,
                tol=LEVELS[0],
                fit_intercept=False,
            )

        def one() -> object:
            return own.dual_net(task, LEVELS[0]).fit(task.X, task.y)

        return in_turns(
            {"path": partial(_clocked, whole), "fit": partial(_clocked, one)},
            1 if name == CORPUS else min(3, self.settings.repeats),
        )

    def shown_by_rows(self, multiple: float, _: Records) -> Record:
        """lazynet's estimators that learn row by row, on the problem of the figure."""
        task = shown(multiple).task(self.rows(CORPUS))
        found = {}
        for name, at_rates in own.by_rows().items():
            ladders = [climb(solver, task, self.limits.most) for solver in at_rates]
            # The runs at all rates: at any time the best one counts.
            found[name] = Ladder([run for ladder in ladders for run in ladder.runs]).record()
        return found

    def pieces(self, _: Records) -> Record:
        """What every fit of lazynet on the corpus does, and what it works on, piece by piece."""
        rows = self.rows(CORPUS)
        task = shown(0.0).task(rows)
        problem = Problem(rows.X, rows.y.copy(), None, get_loss(LOGISTIC), fit_intercept=False)
        mean = Minimiser(problem, np.random.RandomState(0)).mean
        duals = mean.balanced_slopes(np.zeros(mean.n_rows), 0.0)
        weights = np.ones(rows.X.shape[1])
        by_columns = rows.X.tocsc().T
        return in_turns(
            {
                # Zero weights are good enough: X is checked, looked at, and a gap is certified.
                "fit of nothing": partial(
                    _clocked, lambda: own.dual_net(task, 2.0).fit(rows.X, rows.y)
                ),
                "look": partial(_clocked, lambda: mean.correlations(duals)),
                "look by columns": partial(_clocked, lambda: by_columns @ duals),
                "certificate": partial(
                    _clocked, lambda: certify(mean, task.penalty, weights, 0.0, duals.copy())
                ),
                "turn": partial(_clocked, lambda: rows.X.tocsc()),
            },
            max(5, self.settings.repeats),
        )

    def large(self, _: Records) -> Record:
        """One fit of all examples of the settings, in a process of its own."""
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_large, args=(sender, self.settings))
        process.start()
        sender.close()
        try:
            return dict(receiver.recv())
        except EOFError:
            process.join()
            raise RuntimeError(
                f"the process of the large fit ended with code {process.exitcode}"
            ) from None
        finally:
            process.join()


def asked_of(name: str, full: bool) -> list[tuple[str, float, float]]:
    """Loss, l1 and l2 of all questions on one set of rows."""

    def grid(losses: Sequence[str]) -> list[tuple[str, float, float]]:
        return [
            (loss, share, multiplied(share, multiple))
            for loss in losses
            for multiple in MULTIPLES
            for share in SHARES
        ]

    if full or name != CORPUS:
        return grid(LOSSES) + [(LOGISTIC, 0.0, ridge) for ridge in RIDGES]
    return [
        *grid((LOGISTIC,)),
        (LOGISTIC, 0.0, RIDGES[0]),
        *(
            (loss, share, multiplied(share, multiple))
            for loss in (SQUARED_HINGE, SQUARED)
            for share in (SHARES[1], SHOWN_SHARE)
            for multiple in SHOWN_MULTIPLES
        ),
        (HINGE, SHOWN_SHARE, SHOWN_SHARE),
    ]


def by_rows_key(multiple: float) -> str:
    return f"by rows/{multiple:g}"


def shown(multiple: float) -> Question:
    """The problem of the figure with this much l2."""
    return Question(CORPUS, LOGISTIC, SHOWN_SHARE, multiplied(SHOWN_SHARE, multiple))


def multiplied(share: float, multiple: float) -> float:
    """The product as the key of a record tells it.

    >>> 0.1 * 0.003, multiplied(0.003, 0.1)
    (0.00030000000000000003, 0.0003)
    """
    return float(f"{share * multiple:g}")


class WrongCertificate(ArithmeticError):
    """A program found an objective below the bound that a certificate of lazynet gives."""


def _check_certificates(asked: Question, task: Task, ours: Ladder, least: float) -> None:
    rounding = 1e-12 * task.at_zero
    for run in ours.runs:
        if run.gap is not None and run.objective - run.gap > least + rounding:
            raise WrongCertificate(
                f"{asked.key}: at tolerance {run.dial:g} the certificate allows no objective below "
                f"{run.objective - run.gap!r}, and {least!r} was found"
            )


def _seconds(solver: Solver, task: Task, dial: float) -> float:
    return timed(solver, task, dial).seconds


def _clocked(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _statistics(rows: Rows) -> Record:
    return {
        "origin": rows.origin,
        "rows": rows.X.shape[0],
        "test rows": rows.X_test.shape[0],
        "features": rows.X.shape[1],
        "nonzeros per row": rows.X.nnz / rows.X.shape[0],
        "positive": float((rows.y > 0).mean()),
    }


def _large(sender: Any, settings: Settings) -> None:
    """Send the time, the gap and the memory of one fit of all examples."""
    corpus = Course(settings).generated(settings.examples)
    rows = Rows(corpus.X, corpus.y, corpus.X[:1], corpus.y[:1], corpus.origin)
    task = shown(SHOWN_MULTIPLES[-1]).task(rows)
    before = _peak_bytes()
    began = time.process_time()
    model = own.dual_net(task, LEVELS[0]).fit(task.X, task.y)
    seconds = time.process_time() - began
    peak = _peak_bytes()
    sender.send(
        {
            "rows": corpus.X.shape[0],
            "features": corpus.X.shape[1],
            "bytes": corpus.statistics()["bytes"],
            "before": before,
            "peak": peak,
            "seconds": seconds,
            "epochs": int(model.n_iter_),
            "gap": float(model.duality_gap_) / task.at_zero,
            "nonzeros": int(np.count_nonzero(model.coef_)),
        }
    )


def _peak_bytes() -> int:
    """The most memory that this process has held so far; Linux tells it in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
