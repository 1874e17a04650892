"""Study ``defaults``: how good is a model with nothing set, and how long does it take?

Every program is fitted as its constructor makes it, with one exception: SGDClassifier of
scikit-learn has no probabilities by default, so that it runs a second time with the log loss.  The
programs learn from the same rows in the same form, in turns, on one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from statistics import geometric_mean, median
from typing import Any

from benchmarks.problems import NUMBERS, in_form, problems
from benchmarks.programs.untuned import (
    BY_CHANCE,
    DUAL,
    HUGE,
    OURS,
    SGD,
    SGD_LOG,
    SGD_SQUARED,
    Program,
    programs,
)
from paper_repro.machine import version_of
from paper_repro.measure import turns
from paper_repro.render import Content, Dots, Table
from paper_repro.rows import Rows
from paper_repro.score import duration, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Seeds, and the seconds that the rounds of a program may take, in a quick run and in a full one.
QUICK_SEEDS, FULL_SEEDS, QUICK_ROUNDS, FULL_ROUNDS = 3, 5, 1.0, 20.0
#: A quick run has raw rows alone for more classes than these.
QUICK_CLASSES = 10
#: Rows of the fits that do not count.
FEW = 200
#: Bounds: the test loss in units of the best other program's, and the seconds in units of
#: scikit-learn's stochastic gradient descent, at most and in the geometric mean.
NEAR_BEST, MOST_TIME, MEAN_TIME = 1.05, 2.0, 1.0


# --- measuring -------------------------------------------------------------------------------


def cells(settings: Settings) -> Sequence[Cell]:
    found = problems(settings)
    raw = lru_cache(maxsize=1)(lambda name: found[name].rows())
    chosen = {
        name: each.forms[: 1 if each.classes > QUICK_CLASSES and not settings.full else None]
        for name, each in found.items()
    }

    def setting(_: Records) -> Record:
        sets = {}
        for name, problem in found.items():
            rows = raw(name)
            sets[name] = {
                "kind": problem.kind, "forms": list(chosen[name]), "origin": rows.origin,
                "rows": rows.X.shape[0], "test rows": rows.X_test.shape[0],
                "features": rows.X.shape[1], "nonzeros per row": rows.X.nnz / rows.X.shape[0],
            }  # fmt: skip
        versions = {each: version_of(each) for each in ("scikit-learn", "vowpalwabbit")}
        return {"sets": sets, "versions": versions}

    def run(name: str, form: str, _: Records) -> Record:
        return in_turns(programs(found[name].kind), in_form(raw(name), form), settings)

    return [
        Cell("setting", setting, 5.0),
        *(
            Cell(f"race/{name}/{form}", partial(run, name, form), 3.0)
            for name in found
            for form in chosen[name]
        ),
    ]


def in_turns(chosen: Mapping[str, Program], rows: Rows, settings: Settings) -> Record:
    """Round by round; whoever takes long is fitted once, or once for every seed."""
    seeds = min(settings.repeats, FULL_SEEDS if settings.full else QUICK_SEEDS)
    limit = FULL_ROUNDS if settings.full else QUICK_ROUNDS
    runs: dict[str, list[Record]] = {name: [] for name in chosen}
    few = replace(rows, X=rows.X[:FEW], y=rows.y[:FEW])
    for program in chosen.values():  # code is loaded before the first fit that counts
        program.judged(few, 0)
    for repeat in range(max(seeds, settings.repeats)):
        for name in turns(list(chosen), repeat):
            seeded = name in BY_CHANCE
            needed = repeat < (seeds if seeded else 1)
            taken = sum(run["seconds"] for run in runs[name])
            if needed or taken + taken / max(1, repeat) <= limit:
                runs[name].append(chosen[name].judged(rows, repeat % seeds if seeded else 0))
    return {name: listed(each) for name, each in runs.items()}


def listed(runs: Sequence[Record]) -> dict[str, list[Any]]:
    """The values of all runs by their names."""
    return {what: [run[what] for run in runs] for what in runs[0]}


# --- the page --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Set:
    """A set of rows in one form: the medians of every program."""

    name: str
    kind: str
    programs: Mapping[str, Record]

    def value(self, program: str, what: str) -> float | None:
        found = self.programs.get(program, {what: []})[what]
        known = [value for value in found if value is not None]
        return float(median(known)) if known else None

    def best(self) -> float:
        """The least test loss of the programs of others."""
        others = (self.value(name, "loss") for name in self.programs if name not in (OURS, DUAL))
        return min(loss for loss in others if loss is not None)

    def loss_ratio(self) -> float:
        return (self.value(OURS, "loss") or HUGE) / self.best()

    def time_ratio(self) -> float:
        """Our seconds in units of scikit-learn's stochastic gradient descent."""
        theirs = self.value(SGD_SQUARED if self.kind == NUMBERS else SGD, "seconds")
        return (self.value(OURS, "seconds") or HUGE) / (theirs or HUGE)


def sets_of(document: Mapping[str, Any]) -> list[Set]:
    records = Measured(document).records
    return [
        Set(f"{name}, {form}", about["kind"], records[f"race/{name}/{form}"])
        for name, about in records["setting"]["sets"].items()
        for form in about["forms"]
    ]


def content(document: Mapping[str, Any]) -> Content:
    sets, setting = sets_of(document), document["records"]["setting"]
    losses = {each.name: each.loss_ratio() for each in sets}
    times = {each.name: each.time_ratio() for each in sets}
    near = sum(ratio <= NEAR_BEST for ratio in losses.values())
    worst, slowest, mean = max(losses.values()), max(times.values()), geometric_mean(times.values())
    bounds = [
        ("test loss / that of the best other program: largest", worst, NEAR_BEST),
        ("seconds / those of SGD: largest", slowest, MOST_TIME),
        ("seconds / those of SGD: geometric mean", mean, MEAN_TIME),
    ]
    versions = ", ".join(f"{name} {told}" for name, told in setting["versions"].items())
    return Content(
        f"With default settings, lazynet's test loss is at most {NEAR_BEST - 1:.0%} above that of "
        f"the best other program with default settings on {near} of {len(sets)} datasets; the "
        f"largest ratio is {significant(worst)}. A fit takes {significant(mean)} times as long as "
        f"scikit-learn's stochastic gradient descent (geometric mean), and at most "
        f"{significant(slowest)} times.",
        [
            "Every program has only the argument `random_state`, and is fitted to the same "
            f"rows on one thread ({versions}). *{SGD}* and *{SGD_SQUARED}* are scikit-learn's "
            "SGDClassifier and SGDRegressor; the classifier has no probabilities, so that "
            f"*{SGD_LOG}* is the same with the log loss. Seconds are processor seconds. "
            "*TF-IDF* weights are computed from the training rows; in *scaled* rows every feature "
            "is divided by its largest absolute value in the training rows. One label is "
            "classified against the rest unless the classes are named."
,
            Table(
                ["", "measured", "expected", ""],
                [
                    [label, significant(found), f"<= {bound:g}", verdict(found, bound)]
                    for label, found, bound in bounds
                ],
            ),
            *_tables(sets, losses, times),
            "## The rows",
            Table(
                ["", "targets", "rows x features", "test rows", "nonzeros per row", "origin"],
                [
                    [
                        name, about["kind"], f"{about['rows']:,} x {about['features']:,}",
                        f"{about['test rows']:,}", significant(about["nonzeros per row"]),
                        about["origin"],
                    ]
                    for name, about in setting["sets"].items()
                ],
            ),
        ],
        [
            Dots(
                "Test loss",
                "test loss / lowest test loss",
                {each.name: _relative_losses(each) for each in sets},
                most=4.0,
                across=1.0,
            ),
            Dots(
                "Seconds of a fit",
                "seconds",
                {
                    each.name: {
                        name: seconds
                        for name in each.programs
                        if (seconds := each.value(name, "seconds")) is not None
                    }
                    for each in sets
                },
            ),
        ],
        width=11.0,
    )  # fmt: skip


def verdict(found: float, bound: float) -> str:
    return "holds" if found <= bound else "MISSED"


def _relative_losses(each: Set) -> dict[str, float]:
    losses = {name: each.value(name, "loss") for name in each.programs}
    known = {name: loss for name, loss in losses.items() if loss is not None}
    return {name: loss / min(known.values()) for name, loss in known.items()}


def _tables(
    sets: Sequence[Set],
    losses: Mapping[str, float],
    times: Mapping[str, float],
) -> Iterator[str | Table]:
    """A row for every set, a column for every program; classifiers and regressors apart."""
    words: dict[str, tuple[str, Callable[[float], str]]] = {
        "loss": ("Test loss: the mean log loss, or the mean squared error", significant),
        "error": ("Error: the share of wrong predictions, or 1 - R2", significant),
        "seconds": ("Seconds", duration),
        "epochs": ("Epochs, or iterations", "{:,.0f}".format),
        "nonzeros": ("Nonzero weights", "{:,.0f}".format),
    }
    for what, (title, told) in words.items():
        yield f"## {title}"
        for numbers in (False, True):
            chosen = [each for each in sets if (each.kind == NUMBERS) == numbers]
            names = [
                name
                for name in dict.fromkeys(name for each in chosen for name in each.programs)
                if any(each.value(name, what) is not None for each in chosen)
            ]
            last = {"loss": ["lazynet / best other"], "seconds": ["lazynet / SGD"]}
            rows = []
            for each in chosen:
                values = [each.value(name, what) for name in names]
                cells = ["" if value is None else told(value) for value in values]
                if what == "loss":
                    cells.append(significant(losses[each.name]))
                elif what == "seconds":
                    cells.append(significant(times[each.name]))
                rows.append([each.name, *cells])
            if rows:
                yield Table(["", *names, *last.get(what, [])], rows)
