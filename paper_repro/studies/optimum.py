"""Study ``optimum``: which program reaches the minimum of an l1 or elastic-net problem, how fast?

All programs solve the same problems, without intercept, on one thread.  The best of all objectives
counts as the minimum; lazynet's dual objective bounds from below what may be left.  A program
arrives at a level, a share of the objective at zero weights, where its objective is no further
from the minimum.

- lazynet runs at a tolerance equal to the level: it has arrived when its certificate says so.
- Every other program runs from zero weights at one tolerance after another, and its time is that
  of the quickest run that has arrived, although nobody would know beforehand which one that is.
"""

from __future__ import annotations

import importlib.metadata
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from statistics import geometric_mean, median
from typing import Any

import numpy as np

import lazynet
from lazynet.penalties import ElasticNet
from paper_repro.documents import Corpus, medline
from paper_repro.folder import TEST_SHARE, rows_of_files, sets_in
from paper_repro.ladders import Ladder, Run, climb, timed
from paper_repro.measure import in_turns
from paper_repro.minima import HINGE, LOGISTIC, SQUARED, SQUARED_HINGE, Task, largest_l1
from paper_repro.rows import Rows, divided
from paper_repro.score import significant
from paper_repro.solvers import OURS, PEERS, Solver, warm_up
from paper_repro.solvers.celer_solvers import CELER
from paper_repro.solvers.own import by_rows, dual_net
from paper_repro.solvers.scikit_learn import LIBLINEAR, SAGA
from paper_repro.solvers.skglm_solvers import COORDINATES, PROX_NEWTON
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Gaps at which a program has arrived, in units of the objective at zero weights.
LEVELS = (1e-4, 1e-6)
#: l1 as shares of the least l1 at which every weight is 0, and l2 as multiples of l1.
SHARES, MULTIPLES = (0.3, 0.1, 0.01, 0.003), (0.0, 0.1, 1.0)
#: l2 alone, as shares of the same l1.
RIDGES = (0.1, 0.001)
LOSSES = (LOGISTIC, SQUARED_HINGE, HINGE, SQUARED)
#: The generated rows, and the most of them that the races are run on.
CORPUS, MOST_ROWS = "corpus", 100_000
#: The problem of the figure: share of l1, and the multiples with and without l2.
SHOWN_SHARE, SHOWN_MULTIPLES = 0.01, (0.0, 0.1)
#: A run of another program is stopped after this many times our time at the first level.
PATIENCE = 100.0
#: A path: its points, and its smallest penalty as a share of the largest.
POINTS, SMALLEST = 50, 1e-2
SKGLM = (PROX_NEWTON, COORDINATES)


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


QUICK_LIMITS = Limits(least=2.0, most=40.0, rounds=6.0, exact=60.0)
FULL_LIMITS = Limits(least=5.0, most=400.0, rounds=30.0, exact=600.0)


@dataclass(frozen=True)
class Question:
    """A problem by its name: rows, loss, and the strengths as shares of the largest l1."""

    rows: str
    loss: str
    l1: float
    l2: float

    @property
    def key(self) -> str:
        return f"race/{self.rows}/{self.loss}/{self.l1:g}/{self.l2:g}"

    @classmethod
    def of(cls, parts: Sequence[str]) -> Question:
        rows, loss, l1, l2 = parts
        return cls(rows, loss, float(l1), float(l2))

    @property
    def mixed(self) -> bool:
        """Whether the penalty is an elastic net and not l1 or l2 alone."""
        return self.l1 > 0 and self.l2 > 0

    @property
    def lasso(self) -> bool:
        return self.l2 == 0

    def task(self, rows: Rows) -> Task:
        unit = largest_l1(rows, self.loss)
        return Task(rows, self.loss, ElasticNet(self.l1 * unit, self.l2 * unit))


def cells(settings: Settings) -> Sequence[Cell]:
    course = Course(settings)
    return [
        Cell("setting", course.setting, 3.0),
        *(Cell(each.key, partial(course.race, each), course.cost(each)) for each in course),
        *(
            Cell(f"path/{name}", partial(course.path, name), 10.0 if name == CORPUS else 1.0)
            for name in course.names
        ),
        *(
            Cell(f"by rows/{multiple:g}", partial(course.shown_by_rows, multiple), 60.0)
            for multiple in SHOWN_MULTIPLES
        ),
        Cell("large", course.large, 10.0),
    ]


# --- measuring -------------------------------------------------------------------------------


class Course:
    """The sets of rows, the questions, and how they are answered."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.limits = FULL_LIMITS if settings.full else QUICK_LIMITS
        self.files = {} if settings.folder is None else sets_in(settings.folder)
        self.names = [CORPUS, *self.files]
        self.rows = lru_cache(maxsize=1)(self._rows)

    def __iter__(self) -> Iterator[Question]:
        for name in self.names:
            yield from (Question(name, *each) for each in _asked(self.settings.full))

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
        return {
            "sets": {name: _statistics(self.rows(name)) for name in self.names},
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
        cap = min(max(patience, self.limits.least), self.limits.most)
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
        """saga takes minutes for a pass: a quick run of the study waits for it only once."""
        return solver.name != SAGA or self.settings.full or _isshown(asked)

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
            return dual_net(task, LEVELS[0]).fit(task.X, task.y)

        return in_turns(
            {"path": partial(_clocked, whole), "fit": partial(_clocked, one)},
            min(3, self.settings.repeats),
        )

    def shown_by_rows(self, multiple: float, _: Records) -> Record:
        """lazynet's rules that learn row by row, on the problem of the figure."""
        task = shown(multiple).task(self.rows(CORPUS))
        found = {}
        for name, at_rates in by_rows().items():
            ladders = [climb(solver, task, self.limits.most) for solver in at_rates]
            found[name] = min(ladders, key=Ladder.least).record()
        return found

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


def _asked(full: bool) -> list[tuple[str, float, float]]:
    """Loss, l1 and l2 of all questions on one set of rows."""
    if full:
        grid = [
            (loss, share, multiple * share)
            for loss in LOSSES
            for multiple in MULTIPLES
            for share in SHARES
        ]
        return grid + [(LOGISTIC, 0.0, ridge) for ridge in RIDGES]
    return [
        *((LOGISTIC, share, m * share) for m in SHOWN_MULTIPLES for share in (0.1, SHOWN_SHARE)),
        (LOGISTIC, 0.0, RIDGES[0]),
        (SQUARED_HINGE, SHOWN_SHARE, 0.0),
        (HINGE, SHOWN_SHARE, SHOWN_SHARE),
        (SQUARED, SHOWN_SHARE, 0.1 * SHOWN_SHARE),
    ]


def shown(multiple: float) -> Question:
    return Question(CORPUS, LOGISTIC, SHOWN_SHARE, multiple * SHOWN_SHARE)


def _isshown(asked: Question) -> bool:
    return asked in [shown(multiple) for multiple in SHOWN_MULTIPLES if multiple]


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
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


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
    began = time.perf_counter()
    model = dual_net(task, LEVELS[0]).fit(task.X, task.y)
    seconds = time.perf_counter() - began
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


# --- reading what was measured ---------------------------------------------------------------


@dataclass(frozen=True)
class Ratio:
    """How many times longer another program takes; a lower bound where it has not arrived."""

    value: float
    bound: bool = False


@dataclass(frozen=True)
class Summary:
    """Ratios of several problems in one number, with their range; a lower bound or a number."""

    value: float
    least: float
    most: float
    count: int
    bound: bool = False


class Race(Measured):
    """Who arrived, and when."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.setting = self.records["setting"]
        self.races = {Question.of(parts): record for parts, record in self.group("race")}

    @property
    def names(self) -> list[str]:
        return list(self.setting["sets"])

    def seconds(self, asked: Question, name: str, level: float) -> float | None:
        """The median time at which a program arrived, or None if it did not."""
        found = self.races[asked]["seconds"][f"{level:g}"].get(name)
        return median(found) if found else None

    def ladder(self, asked: Question, name: str) -> Ladder | None:
        record = self.races[asked]["ladders"].get(name)
        return None if record is None else Ladder.of(record)

    def gap(self, asked: Question, objective: float) -> float:
        """What is left, in units of the objective at zero weights."""
        record = self.races[asked]
        return float((objective - record["least"]) / record["at zero"])

    def ratio(self, asked: Question, names: Sequence[str], level: float) -> Ratio | None:
        """The quickest of several programs against ours, or None if none of them ran."""
        ran = {name: ladder for name in names if (ladder := self.ladder(asked, name))}
        ours = self.seconds(asked, OURS.name, level)
        if not ran:
            return None
        if ours is None:
            return Ratio(0.0)
        arrived = [taken for name in ran if (taken := self.seconds(asked, name, level))]
        if arrived:
            return Ratio(min(arrived) / ours)
        waited = [
            max([each.seconds for each in ladder.runs] + [ladder.stopped or 0.0])
            for ladder in ran.values()
        ]
        return Ratio(min(waited) / ours, bound=True)

    def of(self, name: str, loss: str) -> list[Question]:
        """The questions on a set of rows with a loss."""
        return [asked for asked in self.races if (asked.rows, asked.loss) == (name, loss)]

    def left(self, asked: Question) -> float:
        """How far below the least objective the minimum may be, as the certificates say."""
        return max(0.0, -self.gap(asked, self.races[asked]["lower"]))

    def shown_ladders(self, multiple: float) -> dict[str, Ladder]:
        """The runs of all programs on a problem of the figure."""
        records = {
            **self.races[shown(multiple)]["ladders"],
            **self.records[f"by rows/{multiple:g}"],
        }
        return {name: Ladder.of(record) for name, record in records.items()}

    def at_level(self, asked: Question) -> Run | None:
        """Our run at the first level, or None if it did not end."""
        ladder = self.ladder(asked, OURS.name)
        return ladder.at(LEVELS[0]) if ladder else None

    def excess(self, asked: Question) -> float | None:
        """How far our nonzeros at the first level are from the optimum's, as a share."""
        run, optimum = self.at_level(asked), self.races[asked]["nonzeros"]
        return abs(run.nonzeros / optimum - 1) if run and optimum else None

    def paths(self) -> dict[str, float]:
        """How many times longer a path takes than one fit, by set."""
        return {
            name: median(a / b for a, b in zip(record["path"], record["fit"], strict=True))
            for [name], record in self.group("path")
            if "skipped" not in record
        }


@dataclass(frozen=True)
class Line:
    """A line of the table of bounds: what is summed up, and the bound that it should keep."""

    label: str
    bound: float
    #: "geometric mean", "worst", or "greatest" for what should be small
    summary: str
    values: Callable[[Race], list[Ratio]] = field(repr=False)

    @property
    def at_most(self) -> bool:
        return self.summary == "greatest"

    @property
    def expected(self) -> str:
        return f"{'<=' if self.at_most else '>='} {significant(self.bound, 2)}"

    def measured(self, race: Race) -> Summary | None:
        found = self.values(race)
        if not found:
            return None
        return summed_up(self.summary, found)

    def verdict(self, race: Race) -> str:
        """``holds``, ``MISSED``, or nothing where nothing was measured."""
        found = self.measured(race)
        if found is None:
            return ""
        holds = found.value <= self.bound if self.at_most else found.value >= self.bound
        return "holds" if holds else "MISSED"


def summed_up(how: str, ratios: Sequence[Ratio]) -> Summary:
    """Ratios by their geometric mean, by the worst one or by the greatest one, and their range."""
    of: Callable[[Sequence[float]], float]
    of = {"geometric mean": _geometric_mean, "worst": min, "greatest": max}[how]
    numbers = [each.value for each in ratios]
    bound = any(each.bound for each in ratios)
    return Summary(of(numbers), min(numbers), max(numbers), len(numbers), bound)


def _geometric_mean(values: Sequence[float]) -> float:
    return geometric_mean(values) if min(values) > 0 else 0.0


def _against(
    names: Sequence[str],
    level: float,
    which: Callable[[Question], bool],
) -> Callable[[Race], list[Ratio]]:
    def values(race: Race) -> list[Ratio]:
        return [
            ratio
            for asked in race.races
            if asked.loss == LOGISTIC and which(asked)
            if (ratio := race.ratio(asked, names, level)) is not None
        ]

    return values


def on_corpus(asked: Question) -> bool:
    return asked.rows == CORPUS


def _nonzeros(race: Race) -> list[Ratio]:
    return [
        Ratio(excess)
        for asked in race.races
        if asked.l1 and (excess := race.excess(asked)) is not None
    ]


def _lines() -> Iterator[Line]:
    first, second = LEVELS
    for level, bound in ((first, 10.0), (second, 25.0)):
        yield Line(
            f"skglm / lazynet, elastic net, corpus, at {level:g}",
            bound,
            "geometric mean",
            _against(SKGLM, level, lambda asked: on_corpus(asked) and asked.mixed),
        )
    yield Line(
        f"scikit-learn saga / lazynet, elastic net, corpus, at {first:g}",
        100.0,
        "geometric mean",
        _against((SAGA,), first, lambda asked: on_corpus(asked) and asked.mixed),
    )
    yield Line(
        f"liblinear / lazynet, l1, corpus, at {first:g}",
        1.0,
        "geometric mean",
        _against((LIBLINEAR,), first, lambda asked: on_corpus(asked) and asked.lasso),
    )
    for names, label, kind, mean, worst in (
        ((LIBLINEAR,), "liblinear / lazynet, l1", "lasso", 1.0, 1 / 3),
        (SKGLM, "skglm / lazynet, elastic net", "mixed", 3.0, 1.0),
    ):
        values = _against(
            names,
            first,
            lambda asked, kind=kind: not on_corpus(asked) and getattr(asked, kind),  # type: ignore[misc]
        )
        yield Line(f"{label}, real files, at {first:g}", mean, "geometric mean", values)
        yield Line(f"{label}, real files, at {first:g}", worst, "worst", values)
    yield Line("nonzeros, difference from the optimum's", 0.02, "greatest", _nonzeros)
    yield Line(
        f"a path of {POINTS} points / one fit at its smallest penalty",
        6.0,
        "greatest",
        lambda race: [Ratio(value) for value in race.paths().values()],
    )


LINES = tuple(_lines())
#: The columns of the tables: a program, or the quicker one of several programs of a library.
COLUMNS: dict[str, Sequence[str]] = {
    LIBLINEAR: (LIBLINEAR,),
    "skglm": SKGLM,
    CELER: (CELER,),
    **{name: (name,) for name in PEERS if name.startswith("scikit-learn")},
}
