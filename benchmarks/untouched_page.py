"""The page of the study ``untouched``: the finding, the verdicts, then set by set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from benchmarks.defaults_programs import SGD, SGD_LOG, of_ours
from benchmarks.problems import NUMBERS, TWO
from benchmarks.untouched import (
    NEAR_BEST,
    PASSES,
    QUICK_CLASSES,
    Set,
    Untouched,
    in_words,
    middle,
)
from benchmarks.untouched_verdicts import BEST, LINES, MEAN, NEAR, SLOWEST
from lazynet.defaults import EPOCHS_OF_CLASSIFIERS, EPOCHS_OF_TABLES
from paper_repro.pages import Template, paragraphs, table
from paper_repro.score import duration, significant
from paper_repro.study import Record

PAGE = Template.beside(__file__)


def page(document: Mapping[str, Any]) -> str:
    found = Untouched(document)
    return PAGE(
        "page",
        finding=finding(document),
        setting=setting(found),
        failures=failures(found),
        verdicts=verdicts(found),
        misses=misses(found),
        causes=causes(found),
        measure=SGD,
        sets=sets(found),
        losses=by_kind(found, "loss"),
        errors=by_kind(found, "error"),
        seconds=by_kind(found, "seconds"),
        epochs=by_kind(found, "epochs"),
        nonzeros=by_kind(found, "nonzeros"),
        tuned=tuned(found),
        own=paragraphs(own(found)),
        passes=paragraphs(after_passes(found)),
    )


def finding(document: Mapping[str, Any]) -> str:
    found = Untouched(document)
    losses = [found.loss_ratio(each) for each in found.sets]
    return PAGE(
        "finding",
        near=sum(ratio <= NEAR_BEST for ratio in losses),
        percent=NEAR_BEST - 1,
        sets=len(found.sets),
        best=sum(ratio <= 1 for ratio in losses),
        worst=max(losses),
        times=" and ".join(_times(found)),
        slowest=max(found.time_ratio(each) for each in found.sets),
    )


def _times(found: Untouched) -> Iterator[str]:
    """How many times as long as theirs our fits take, for classes and for numbers."""

    def mean(sets: Sequence[Set], program: str | None = None) -> float:
        return geometric_mean([found.time_ratio(each, program) for each in sets])

    classes = [each for each in found.sets if found.kind(each) != NUMBERS]
    numbers = [each for each in found.sets if found.kind(each) == NUMBERS]
    if classes:
        yield PAGE("times of classes", hinge=mean(classes), log=mean(classes, SGD_LOG))
    if numbers:
        yield PAGE("times of numbers", numbers=mean(numbers))


def setting(found: Untouched) -> str:
    missing = found.setting["missing"]
    return PAGE(
        "setting",
        versions=", ".join(f"{name} {told}" for name, told in found.setting["versions"].items()),
        seeds=found.setting["seeds"],
        rounds=found.repeats,
        quick="" if found.settings["full"] else PAGE("quick", classes=QUICK_CLASSES),
        missing=PAGE("missing", programs=" and ".join(missing)) if missing else "",
        sgd=SGD,
        sgd_log=SGD_LOG,
    )


def verdicts(found: Untouched) -> str:
    rows = [[line.label, line.told(found), line.expected, line.verdict(found)] for line in LINES]
    return table(["", "measured", "expected", ""], rows)


def misses(found: Untouched) -> str:
    """Who misses a bound, by name."""
    told = []
    for line in LINES:
        above = line.misses(found)
        # The mean has the sets of the line before it.
        if above and (line is SLOWEST or line.values is not SLOWEST.values):
            names = "; ".join(f"{name} {significant(value)}" for name, value in above.items())
            told.append(f"- {line.label}, above {significant(line.each)}: {names}")
    return PAGE("misses", lines="\n".join(told)) if told else PAGE("no misses")


def causes(found: Untouched) -> str:
    """Why sets and cells are beyond the numbers that are asked of each, if some are."""
    epochs = dict(epochs=EPOCHS_OF_CLASSIFIERS, tables=EPOCHS_OF_TABLES)
    told = []
    if BEST.misses(found):
        told.append(PAGE("why losses", **epochs))
    if NEAR.misses(found):
        told.append(PAGE("why cells"))
    if SLOWEST.misses(found) or MEAN.verdict(found) != "holds":
        told.append(PAGE("why times", measure=SGD))
    return "\n\n".join(told)


def failures(found: Untouched) -> str:
    """Which untouched programs raised an error, and what it said."""
    told = found.failures()
    lines = "\n".join(f"- {where}: {said}" for where, said in told.items())
    return PAGE("failures", lines=lines) if told else ""


def sets(found: Untouched) -> str:
    rows = [
        [
            name,
            about["kind"],
            f"{about['rows']:,} x {about['features']:,}",
            f"{about['test rows']:,}",
            significant(about["nonzeros per row"]),
            about["origin"],
        ]
        for name, about in found.setting["sets"].items()
    ]
    return table(
        ["", "targets", "rows x features", "test rows", "nonzeros per row", "origin"], rows
    )


_IN_WORDS: dict[str, Callable[[float], str]] = {
    "loss": significant,
    "error": lambda value: significant(value, 3),
    "seconds": duration,
    "epochs": lambda value: f"{value:,.0f}",
    "nonzeros": lambda value: f"{value:,.0f}",
}


def by_kind(found: Untouched, what: str, passes: int | None = None) -> str:
    """A table for the classifiers and one for the regressors: a row a set, a column a program."""
    tables = []
    for numbers in (False, True):
        chosen = [each for each in found.sets if (found.kind(each) == NUMBERS) == numbers]
        if chosen:
            tables.append(_of(found, chosen, what, passes))
    return paragraphs(tables)


def _of(found: Untouched, sets: Sequence[Set], what: str, passes: int | None) -> str:
    names = list(dict.fromkeys(name for each in sets for name in found.race(each, passes)))
    names = [
        name for name in names if any(found.found(s, name, what, passes) is not None for s in sets)
    ]
    ratio = what in ("loss", "seconds") and passes is None
    rows = []
    for each in sets:
        values = {name: found.found(each, name, what, passes) for name in names}
        told = [_marked(values, name, what) for name in names]
        if ratio:
            of = found.loss_ratio if what == "loss" else found.time_ratio
            told.append(significant(of(each)))
        rows.append([str(each), *told])
    last = {"loss": ["lazynet / best other"], "seconds": ["lazynet / SGD"]}
    return table(["", *names, *(last[what] if ratio else [])], rows)


def _marked(values: Mapping[str, float | None], name: str, what: str) -> str:
    """A number in words; the least loss or error of a row is bold."""
    value = values[name]
    if value is None:
        return ""
    told = _IN_WORDS[what](value)
    least = min(each for each in values.values() if each is not None)
    return f"**{told}**" if what in ("loss", "error") and value == least else told


def tuned(found: Untouched) -> str:
    """Our test loss against the grid's for every number of passes, and the rate that won."""
    header = ["", *(in_words(passes) for passes in PASSES), "best rate at the default"]
    cells = found.grid_cells()
    rows = [
        [str(each), *(significant(cells[each, passes]) for passes in PASSES), best[0]]
        for each in found.sets
        if (best := found.tuned(each, None)) is not None
    ]
    return table(header, rows)


def own(found: Untouched) -> Iterator[str]:
    """lazynet's other rules and estimators: test loss, and seconds."""
    for numbers in (False, True):
        rows = [
            [str(each), *(_beside(record) for record in records.values())]
            for each in found.sets
            if (found.kind(each) == NUMBERS) == numbers and (records := found.own(each)) is not None
        ]
        if rows:
            names = of_ours(NUMBERS if numbers else TWO)
            yield table(["test loss; seconds", *names], rows)


def _beside(record: Record) -> str:
    loss, seconds = (middle(record, what) for what in ("loss", "seconds"))
    return f"{significant(loss or 0.0)}; {duration(seconds or 0.0)}"


def after_passes(found: Untouched) -> Iterator[str]:
    for passes in PASSES:
        if passes is not None:
            yield f"### {in_words(passes).capitalize()}"
            for what, title in (("loss", "Test loss."), ("error", "Error."), ("seconds", "Time.")):
                yield title
                yield by_kind(found, what, passes)
