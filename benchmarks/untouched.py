"""Study ``untouched``: how good is a model with nothing set, and how long does it take?

Every program is fitted as its constructor makes it, with one exception: SGDClassifier of
scikit-learn has no probabilities by default, so that it runs a second time with the log loss.  The
programs learn from the same rows in the same form, in turns, on one thread, with 1, 5 and 20 passes
and with as many as they make by themselves.  Beside them stands the best of a grid of rates of
lazynet's own, chosen by the test loss: an oracle that no user has.
"""

from __future__ import annotations

import importlib.metadata
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import median
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks import defaults_programs as programs
from benchmarks.defaults_programs import MEASURE, OURS, Program
from benchmarks.problems import MOST_CLASSES, NUMBERS, Problem, in_form, problems
from paper_repro.measure import turns
from paper_repro.rows import Rows
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Passes over the rows; None is what a program does by itself.
PASSES: tuple[int | None, ...] = (1, 5, 20, None)
#: Seeds of the programs whose result depends on one, in a quick run and in a full one.
QUICK_SEEDS, FULL_SEEDS = 3, 5
#: Programs are timed again while their rounds take no more seconds than this.
QUICK_ROUNDS, FULL_ROUNDS = 1.0, 20.0
#: Rows of the fits that do not count.
FEW = 50
#: The grid of a quick run has every second rate, and there is none for more classes than these.
QUICK_STEP, QUICK_CLASSES = 2, 10
#: Within this much of the best untouched competitor's test loss.
NEAR_BEST = 1.05
#: Within this much of the tuned grid in this share of the cells, and never more than the last.
NEAR_GRID, SHARE_NEAR_GRID, MOST_GRID = 1.10, 0.85, 1.5
#: The time of a fit, in units of SGDClassifier's or SGDRegressor's: at most, and on average.
MOST_TIME, MEAN_TIME = 2.0, 1.0


def cells(settings: Settings) -> Sequence[Cell]:
    course = Course(settings)
    scale = 5.0 if settings.full else 1.0
    found = [Cell("setting", course.setting, 5.0)]
    for name in course.problems:
        for form in course.forms(name):
            for passes in PASSES:
                where = key(name, form, passes)
                work = (name, form, passes)
                found.append(Cell(f"race/{where}", partial(course.race, *work), 2.0 * scale))
                if course.is_large(name):
                    continue
                found.append(Cell(f"grid/{where}", partial(course.grid, *work), 3.0 * scale))
                if passes is None:
                    found.append(Cell(f"own/{where}", partial(course.own, *work), 2.0 * scale))
    return found


def key(name: str, form: str, passes: int | None) -> str:
    return f"{name}/{form}/{named(passes)}"


def named(passes: int | None) -> str:
    """The number of passes in the keys of the records."""
    return "default" if passes is None else f"{passes}"


def in_words(passes: int | None) -> str:
    """The number of passes in words."""
    if passes is None:
        return "default"
    return f"{passes} pass{'es' * (passes > 1)}"


# --- measuring -------------------------------------------------------------------------------


class Course:
    """The problems, and how the programs are fitted to them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.problems: dict[str, Problem] = problems(settings)
        self.seeds = min(settings.repeats, FULL_SEEDS if settings.full else QUICK_SEEDS)
        self.raw = lru_cache(maxsize=1)(lambda name: self.problems[name].rows())
        self.rows = lru_cache(maxsize=1)(lambda name, form: in_form(self.raw(name), form))

    def is_large(self, name: str) -> bool:
        """Whether a quick run looks at the raw rows alone, and at no other rates and rules."""
        return not self.settings.full and self.problems[name].classes > QUICK_CLASSES

    def forms(self, name: str) -> tuple[str, ...]:
        return self.problems[name].forms[: 1 if self.is_large(name) else None]

    def setting(self, _: Records) -> Record:
        """The sets of rows, and the programs that run here."""
        sets = {}
        for name, problem in self.problems.items():
            rows = problem.rows()
            sets[name] = {
                "kind": problem.kind,
                "forms": list(self.forms(name)),
                "origin": rows.origin,
                "rows": rows.X.shape[0],
                "test rows": rows.X_test.shape[0],
                "features": rows.X.shape[1],
                "nonzeros per row": rows.X.nnz / rows.X.shape[0],
            }
        wabbit = not programs.CLASSIFIERS[programs.WABBIT].missing
        versions = {"scikit-learn": importlib.metadata.version("scikit-learn")}
        if wabbit:
            versions["vowpalwabbit"] = importlib.metadata.version("vowpalwabbit")
        missing = [] if wabbit else [programs.WABBIT]
        return {"sets": sets, "versions": versions, "missing": missing, "seeds": self.seeds}

    def race(self, name: str, form: str, passes: int | None, _: Records) -> Record:
        """All programs, untouched but for the number of passes."""
        kind = self.problems[name].kind
        chosen = programs.programs(kind)
        if passes is not None:
            chosen = {each: p for each, p in chosen.items() if self._takes(p, each, kind)}
        found = self._in_turns(chosen, self.rows(name, form), passes)
        if passes is None:
            # Around the bar of the run, and at once where the output goes to a file.
            with tqdm.external_write_mode():
                print(told(f"{name}, {form}", kind, found), flush=True)
        return found

    def grid(self, name: str, form: str, passes: int | None, _: Records) -> Record:
        """lazynet at the rates of the grid, each fitted once."""
        rows = self.rows(name, form)
        every = 1 if self.settings.full else QUICK_STEP
        chosen = programs.grid(self.problems[name].kind, rows, every)
        return {each: Runs.of(program, rows, passes, [0]) for each, program in chosen.items()}

    def own(self, name: str, form: str, passes: int | None, _: Records) -> Record:
        """lazynet's other rules and estimators, at their own defaults, each fitted once."""
        rows = self.rows(name, form)
        chosen = programs.of_ours(self.problems[name].kind)
        return {each: Runs.of(program, rows, passes, [0]) for each, program in chosen.items()}

    def _takes(self, program: Program, name: str, kind: str) -> bool:
        """A quick run counts the passes of lazynet and of its measure alone."""
        quick = not self.settings.full
        return program.passes is not None and (
            not quick or name in (OURS, MEASURE[kind == NUMBERS])
        )

    def _in_turns(
        self, chosen: Mapping[str, Program], rows: Rows, passes: int | None
    ) -> dict[str, Record]:
        """Round by round; whoever takes long is fitted once, or once for every seed."""
        for program in chosen.values():
            # Code is loaded, and tables are filled, before the first fit that counts.
            if program.passes is not None:
                program.fitted(_few(rows), 1, 0)
        runs = {name: Runs() for name in chosen}
        limit = FULL_ROUNDS if self.settings.full else QUICK_ROUNDS
        for repeat in range(max(self.seeds, self.settings.repeats)):
            for name in turns(list(chosen), repeat):
                seeded = name in programs.BY_CHANCE
                needed = repeat < (self.seeds if seeded else 1)
                taken = sum(runs[name].seconds)
                if needed or taken + taken / max(1, repeat) <= limit:
                    seed = repeat % self.seeds if seeded else 0
                    runs[name].add(chosen[name], rows, passes, seed, judged=needed)
        return {name: each.record() for name, each in runs.items()}


class Runs:
    """The fits of one program to one problem: seconds of all, and a judgement for each seed."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.judged: list[dict[str, Any]] = []

    def add(
        self, program: Program, rows: Rows, passes: int | None, seed: int, *, judged: bool
    ) -> None:
        began = time.process_time()
        try:
            model, seconds = program.fitted(rows, passes, seed)
        except (ArithmeticError, ValueError) as error:
            self.seconds.append(time.process_time() - began)
            if judged:
                self.judged.append(programs.without_model(f"{type(error).__name__}: {error}"))
            return
        self.seconds.append(seconds)
        if judged:
            self.judged.append({**program.judged(model, rows), "failed": None})

    def record(self) -> Record:
        by_seed = {name: [each[name] for each in self.judged] for name in self.judged[0]}
        return {"seconds": self.seconds, **by_seed}

    @classmethod
    def of(cls, program: Program, rows: Rows, passes: int | None, seeds: Sequence[int]) -> Record:
        runs = cls()
        for seed in seeds:
            runs.add(program, rows, passes, seed, judged=True)
        return runs.record()


def _few(rows: Rows) -> Rows:
    """The first rows, and the first one of every class."""
    _, first_of_class = np.unique(rows.y, return_index=True)
    kept = np.union1d(np.arange(min(FEW, rows.X.shape[0])), first_of_class[:MOST_CLASSES])
    return Rows(rows.X[kept], rows.y[kept], rows.X_test[:1], rows.y_test[:1], rows.origin)


def middle(record: Mapping[str, Sequence[Any]], what: str) -> float | None:
    """The median over the seeds or the rounds, or None where the program tells nothing."""
    values = [value for value in record[what] if value is not None]
    return float(median(values)) if values else None


def told(where: str, kind: str, race: Mapping[str, Record]) -> str:
    """A line on one set: ours, and the best of the others."""
    ours, measure = race[OURS], race[MEASURE[kind == NUMBERS]]
    losses = {name: middle(race[name], "loss") or math.inf for name in programs.competitors(kind)}
    best = min(losses, key=losses.__getitem__)
    seconds, theirs = middle(ours, "seconds") or 0.0, middle(measure, "seconds") or math.inf
    return (
        f"{where:34.34} loss {middle(ours, 'loss'):9.4g}, best {losses[best]:9.4g} of {best:18}  "
        f"error {middle(ours, 'error'):.3f}  {seconds:.3f} s, {seconds / theirs:.2f} of "
        f"{MEASURE[kind == NUMBERS]}'s  epochs {middle(ours, 'epochs') or 0:g}"
    )


# --- reading what was measured ---------------------------------------------------------------


@dataclass(frozen=True)
class Set:
    """A set of rows in one form."""

    name: str
    form: str

    def __str__(self) -> str:
        return f"{self.name}, {self.form}"


class Untouched(Measured):
    """Losses, errors and times of all programs on all sets."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.setting = self.records["setting"]
        self.sets = [
            Set(name, form)
            for name, found in self.setting["sets"].items()
            for form in found["forms"]
        ]

    def about(self, each: Set) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.setting["sets"][each.name]
        return found

    def kind(self, each: Set) -> str:
        return str(self.about(each)["kind"])

    def measure(self, each: Set) -> str:
        """The program whose time is the unit."""
        return MEASURE[self.kind(each) == NUMBERS]

    def race(self, each: Set, passes: int | None = None) -> Mapping[str, Record]:
        return self.records[f"race/{key(each.name, each.form, passes)}"]

    def own(self, each: Set) -> Mapping[str, Record] | None:
        return self.records.get(f"own/{key(each.name, each.form, None)}")

    def found(self, each: Set, program: str, what: str, passes: int | None = None) -> float | None:
        """The median of one program's loss, error, seconds, epochs or nonzeros, or None."""
        record = self.race(each, passes).get(program)
        return None if record is None else middle(record, what)

    def best(self, each: Set, passes: int | None = None) -> tuple[str, float]:
        """The untouched program of others with the least test loss, and that loss."""
        others = {
            name: loss
            for name in self.race(each, passes)
            if name not in (OURS, programs.DUAL)
            and (loss := self.found(each, name, "loss", passes)) is not None
        }
        name = min(others, key=others.__getitem__)
        return name, others[name]

    def tuned(self, each: Set, passes: int | None) -> tuple[str, float] | None:
        """The best rate of our grid, chosen by the test loss, and its test loss."""
        grid = self.records.get(f"grid/{key(each.name, each.form, passes)}")
        if grid is None:
            return None
        losses = {name: middle(record, "loss") for name, record in grid.items()}
        found = {name: loss for name, loss in losses.items() if loss is not None}
        name = min(found, key=found.__getitem__)
        return name, found[name]

    def loss_ratio(self, each: Set) -> float:
        """Our test loss in units of the best untouched competitor's."""
        return self._ours(each, "loss") / self.best(each)[1]

    def grid_ratio(self, each: Set, passes: int | None) -> float | None:
        """Our test loss in units of the tuned grid's."""
        tuned = self.tuned(each, passes)
        return None if tuned is None else self._ours(each, "loss", passes) / tuned[1]

    def time_ratio(self, each: Set, program: str | None = None) -> float:
        """Our seconds in units of a program's, or of scikit-learn's stochastic gradient descent."""
        theirs = self.found(each, program or self.measure(each), "seconds")
        return self._ours(each, "seconds") / theirs if theirs else math.inf

    def _ours(self, each: Set, what: str, passes: int | None = None) -> float:
        found = self.found(each, OURS, what, passes)
        return math.inf if found is None else found

    def failures(self) -> dict[str, str]:
        """What the untouched programs that raised an error said, by set and program."""
        return {
            f"{each}, {name}": said
            for each in self.sets
            for name, record in self.race(each).items()
            for said in record["failed"]
            if said is not None
        }

    def grid_cells(self) -> dict[tuple[Set, int | None], float]:
        """Our test loss in units of the tuned grid's, set by set and number of passes."""
        return {
            (each, passes): ratio
            for each in self.sets
            for passes in PASSES
            if (ratio := self.grid_ratio(each, passes)) is not None
        }
