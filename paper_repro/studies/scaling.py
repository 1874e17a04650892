"""Study ``scaling``: what a step costs, against features, nonzeros and steps.

Three promises of lazy updates: the time of a step does not depend on how many features there are,
it is proportional to the nonzeros, and the tables keep two numbers for every step, the clock none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from lazynet.engines import Engine
from lazynet.trainer import Learner
from paper_repro import figures, machine
from paper_repro.competitors import CLOCK, SPARSE_PREDICTIONS, TABLES, TIERS, Problem
from paper_repro.measure import Turn, in_turns
from paper_repro.runs import learner_on, recipe, seconds_per_step
from paper_repro.score import Spread, duration, significant
from paper_repro.study import Cell, Record, Records, Settings, Study
from paper_repro.uniform import uniform_problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEATURES = tuple(10**k for k in range(4, 9))
NONZEROS = tuple(4**k for k in range(7))
FEWEST_STEPS, STEPS_PER_EXAMPLE = 1000, 10
ROWS = 20_000
#: Rows of the second part have so many nonzeros together, so that all sizes meet the same cache.
NONZEROS_OF_ALL_ROWS = 400_000
#: The start, the engine's two arrays and as much again for everybody else.
BYTES_PER_FEATURE = 2 * 3 * 8
NUMPY_CLOCK = "NumPy, lazy, clock"
BY_FEATURES = (CLOCK, TABLES, SPARSE_PREDICTIONS)
BY_NONZEROS = (CLOCK, TABLES, NUMPY_CLOCK)


class Scaling(Study):
    """Time and memory of a step against each of the three sizes by itself."""

    name = "scaling"
    title = "What a step costs: features, nonzeros, steps"
    on_corpus = False

    def cells(self, settings: Settings) -> Sequence[Cell]:
        turn = settings.seconds / 10 * (settings.repeats + 2)
        return [
            *(
                Cell(
                    f"features/{size}",
                    partial(measure_features, settings, size),
                    3 * turn + 1e-7 * size * settings.repeats,
                )
                for size in feature_sizes(settings)
            ),
            *(
                Cell(f"nonzeros/{size}", partial(measure_nonzeros, settings, size), 3 * turn)
                for size in nonzero_sizes(settings)
            ),
            *(
                Cell(
                    f"steps/{size}",
                    partial(measure_steps, settings, size),
                    0.1 + 1e-7 * size * settings.repeats,
                )
                for size in step_sizes(settings)
            ),
        ]

    def page(self, document: Mapping[str, Any]) -> str:
        return page(Measured(document))

    def draw(self, document: Mapping[str, Any]) -> Figure:
        return draw(Measured(document))


# --- measuring -------------------------------------------------------------------------------


def feature_sizes(settings: Settings) -> list[int]:
    """By tens to a hundred million, unless a small run is asked for."""
    if settings.features >= FEATURES[1]:
        return list(FEATURES)
    least = math.ceil(settings.nonzeros)
    return sorted({max(least, settings.features // 10), settings.features})


def nonzero_sizes(settings: Settings) -> list[int]:
    return [size for size in NONZEROS if size <= settings.features]


def step_sizes(settings: Settings) -> list[int]:
    """By tens to a multiple of the examples: the table budget of long runs."""
    sizes = [FEWEST_STEPS]
    while sizes[-1] * 10 <= STEPS_PER_EXAMPLE * settings.examples:
        sizes.append(sizes[-1] * 10)
    return sizes


def measure_features(settings: Settings, features: int, _: Records) -> Record:
    """Seconds per example at so many features; one engine at a time, because they are large."""
    shortage = machine.memory_shortage(BYTES_PER_FEATURE * features)
    if shortage is not None:
        return {"skipped": shortage}
    problem = uniform_problem(
        rows=min(5 * ROWS if settings.full else ROWS, settings.examples),
        features=features,
        nonzeros=settings.nonzeros,
        seed=settings.seed,
    )
    return {"seconds": {name: alone(problem, name, settings) for name in BY_FEATURES}}


def alone(problem: Problem, name: str, settings: Settings) -> list[float]:
    """Seconds per example of a compiled competitor that lives no longer than this call."""
    turn = Turn(TIERS["compiled"][name](problem), settings.seconds / 10)
    return in_turns({name: turn}, settings.repeats)[name]


def measure_nonzeros(settings: Settings, nonzeros: int, _: Records) -> Record:
    """Seconds per example with so many nonzeros."""
    problem = uniform_problem(
        rows=max(4, min(5 * ROWS, settings.examples, NONZEROS_OF_ALL_ROWS // nonzeros)),
        features=settings.features,
        nonzeros=nonzeros,
        seed=settings.seed,
    )
    kinds = {**TIERS["compiled"], NUMPY_CLOCK: TIERS["numpy"][CLOCK]}
    turns = {name: Turn(kinds[name](problem), settings.seconds / 10) for name in BY_NONZEROS}
    return {"seconds": in_turns(turns, settings.repeats)}


def measure_steps(settings: Settings, steps: int, _: Records) -> Record:
    """Bytes that the lazy engines hold after so many steps, and seconds per step."""
    problem = uniform_problem(
        rows=max(4, min(ROWS, settings.examples)),
        features=settings.features,
        nonzeros=1,
        seed=settings.seed,
    )
    order = np.resize(np.arange(len(problem.y)), steps)
    chosen = recipe(problem.rule, problem.l1, problem.l2, problem.eta0)
    learners = {
        CLOCK: learner_on(problem.X, problem.y, chosen, "clock"),
        TABLES: learner_on(problem.X, problem.y, chosen, "tables", table_budget=steps),
    }

    def go_over(learner: Learner) -> float:
        learner.engine.load(problem.weights, problem.intercept)
        return seconds_per_step(learner, order, problem.t)

    turns = {name: partial(go_over, learner) for name, learner in learners.items()}
    return {
        "seconds": in_turns(turns, settings.repeats),
        "bytes": {name: state_bytes(learner.engine) for name, learner in learners.items()},
    }


def state_bytes(engine: Engine) -> dict[str, int]:
    """What the engine needs to go on: for every weight, and for every step so far."""
    return {
        "weights": sum(array.nbytes for array in engine.per_weight()),
        "steps": sum(array.nbytes for array in engine.discarded_by_sweep()),
    }


# --- reading what was measured ---------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """Seconds per example as overhead + nonzeros x slope."""

    overhead: float
    slope: float
    #: Greatest difference between the line and a measurement, by the measurement.
    misfit: float

    def at(self, nonzeros: float) -> float:
        return self.overhead + nonzeros * self.slope


def fit_line(nonzeros: Sequence[float], seconds: Sequence[float]) -> Line:
    """Least squares of relative errors: a step of 50 ns counts as much as one of 50 µs."""
    sizes, times = np.array(nonzeros, dtype=float), np.array(seconds)
    slope, overhead = np.polyfit(sizes, times, 1, w=1.0 / times)
    misfit = np.abs((overhead + slope * sizes) / times - 1.0).max()
    return Line(float(overhead), float(slope), float(misfit))


class Measured:
    """A document of the study, asked in its own words."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.settings = document["settings"]
        self.rounds: int = self.settings["repeats"]
        self.parts: dict[str, dict[int, Record]] = {"features": {}, "nonzeros": {}, "steps": {}}
        self.skipped: dict[int, str] = {}
        for name, record in document["records"].items():
            part, size = name.split("/")
            if "skipped" in record:
                self.skipped[int(size)] = record["skipped"]
            else:
                self.parts[part][int(size)] = record

    def sizes(self, part: str) -> list[int]:
        return sorted(self.parts[part])

    def spread(self, part: str, size: int, name: str) -> Spread:
        return Spread.of(self.parts[part][size]["seconds"][name])

    def medians(self, part: str, name: str) -> list[float]:
        return [median(self.parts[part][size]["seconds"][name]) for size in self.sizes(part)]

    def line(self, name: str) -> Line | None:
        sizes = self.sizes("nonzeros")
        return fit_line(sizes, self.medians("nonzeros", name)) if len(sizes) > 1 else None

    def bytes(self, steps: int, name: str) -> dict[str, int]:
        found: dict[str, int] = self.parts["steps"][steps]["bytes"][name]
        return found

    def total_bytes(self, name: str) -> list[int]:
        return [sum(self.bytes(steps, name).values()) for steps in self.sizes("steps")]


# --- the page --------------------------------------------------------------------------------


def page(measured: Measured) -> str:
    return "\n\n".join(
        [
            "lazynet's engines and, for comparison, NumPy's clock: FoBoS with an elastic net, "
            "columns drawn uniformly. No word comes back more often than another, which is the "
            "worst case for caches. Given are the "
            f"median over {measured.rounds} rounds and in brackets their range.",
            "## Features",
            features_text(measured),
            features_table(measured),
            "## Nonzeros",
            nonzeros_text(measured),
            nonzeros_table(measured),
            lines_table(measured),
            "## Steps",
            steps_text(measured),
            steps_table(measured),
        ]
    )


def features_text(measured: Measured) -> str:
    sizes = measured.sizes("features")
    if not sizes:
        return "No size fitted into memory."
    growth = {
        name: times[-1] / times[0]
        for name in BY_FEATURES
        if (times := measured.medians("features", name))
    }
    return (
        f"{measured.settings['nonzeros']:g} nonzeros per example. From {sizes[0]:,} to "
        f"{sizes[-1]:,} features, {significant(sizes[-1] / sizes[0])} times as many, an example "
        f"takes the clock {significant(growth[CLOCK])} times as long, the tables "
        f"{significant(growth[TABLES])} times, and dense updates with sparse predictions "
        f"{significant(growth[SPARSE_PREDICTIONS])} times. All of them wait for the "
        "memory once the weights outgrow the caches; the lazy ones do no more work than before."
    )


def features_table(measured: Measured) -> str:
    lines = ["| features | " + " | ".join(BY_FEATURES) + " |", "|---" * 4 + "|"]
    for size in measured.sizes("features"):
        found = [_times(measured.spread("features", size, name)) for name in BY_FEATURES]
        lines.append(f"| {size:,} | {' | '.join(found)} |")
    for size, reason in sorted(measured.skipped.items()):
        lines.append(f"| {size:,} | skipped: {reason} | | |")
    return "\n".join(lines)


def nonzeros_text(measured: Measured) -> str:
    clock, tables = measured.line(CLOCK), measured.line(TABLES)
    if clock is None or tables is None:
        return "Too few sizes for a line."
    return (
        f"{measured.settings['features']:,} features. The clock takes "
        f"{duration(clock.overhead)} for an example and {duration(clock.slope)} more for each of "
        f"its nonzeros, the tables {duration(tables.overhead)} and {duration(tables.slope)}. "
        "The lines are fitted to the relative errors."
    )


def nonzeros_table(measured: Measured) -> str:
    lines = ["| nonzeros | " + " | ".join(BY_NONZEROS) + " |", "|---" * 4 + "|"]
    for size in measured.sizes("nonzeros"):
        found = [_times(measured.spread("nonzeros", size, name)) for name in BY_NONZEROS]
        lines.append(f"| {size:,} | {' | '.join(found)} |")
    return "\n".join(lines)


def lines_table(measured: Measured) -> str:
    lines = [
        "| line through these | per example | per nonzero | greatest misfit |",
        "|---|---|---|---|",
    ]
    for name in BY_NONZEROS:
        if line := measured.line(name):
            lines.append(
                f"| {name} | {duration(line.overhead)} | {duration(line.slope)} "
                f"| {line.misfit:.0%} |"
            )
    return "\n".join(lines)


def steps_text(measured: Measured) -> str:
    last = measured.sizes("steps")[-1]
    tables, clock = measured.bytes(last, TABLES), measured.bytes(last, CLOCK)
    return (
        f"One nonzero per example, {measured.settings['features']:,} features, a space budget "
        f"that is never reached. After {last:,} steps the tables hold {_size(tables['weights'])} "
        f"for the weights and {_size(tables['steps'])} for the steps, "
        f"{significant(tables['steps'] / last)} bytes each (the paper counts two floating-point "
        f"numbers, 16 bytes). The clock holds {_size(clock['weights'])} for the weights and "
        f"{'nothing' if not clock['steps'] else _size(clock['steps'])} for the steps."
    )


def steps_table(measured: Measured) -> str:
    lines = [
        "| steps | state of the clock | state of the tables | clock, time per step "
        "| tables, time per step |",
        "|---|---|---|---|---|",
    ]
    for steps in measured.sizes("steps"):
        held = [_size(sum(measured.bytes(steps, name).values())) for name in (CLOCK, TABLES)]
        took = [_times(measured.spread("steps", steps, name)) for name in (CLOCK, TABLES)]
        lines.append(f"| {steps:,} | {' | '.join(held + took)} |")
    return "\n".join(lines)


def _times(found: Spread) -> str:
    return f"{duration(found.median)} ({duration(found.least)} - {duration(found.most)})"


def _size(count: float) -> str:
    """Bytes in the unit in which they can be read."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{significant(count / size)} {unit}"
    return f"{count:g} bytes"


# --- the figure ------------------------------------------------------------------------------

_LOOKS = {
    CLOCK: figures.LOOKS["clock"],
    TABLES: figures.LOOKS["tables"],
    SPARSE_PREDICTIONS: figures.LOOKS["sparse predictions"],
    NUMPY_CLOCK: dict(color="0.35", marker="D", linestyle="-."),
}
#: Where a name stands by its point of a line: distance in points, and which side of it is there.
_ABOVE = dict(xytext=(-3, 6), ha="right", va="bottom")
_OVER_LEFT = dict(xytext=(0, 6), ha="right", va="bottom")
_OVER = dict(xytext=(0, 9), ha="left", va="bottom")
_UNDER = dict(xytext=(3, -6), ha="left", va="top")
_BEFORE = dict(xytext=(-12, 2), ha="right", va="center")


def draw(measured: Measured) -> Figure:
    """Time against features and against nonzeros, memory against steps."""
    figure, (left, middle, right) = figures.new(columns=3, width=9.6, height=3.5)
    _draw_features(left, measured)
    _draw_nonzeros(middle, measured)
    _draw_steps(right, measured)
    return figure  # type: ignore[no-any-return]


def _draw_features(ax: Axes, measured: Measured) -> None:
    sizes = measured.sizes("features")
    for name, at, side in (
        (CLOCK, 0.25, _UNDER),
        (TABLES, 1.0, _OVER_LEFT),
        (SPARSE_PREDICTIONS, 0.75, _BEFORE),
    ):
        _line(ax, sizes, measured.medians("features", name), name)
        _name(ax, sizes, measured.medians("features", name), name, at, side)
    nonzeros = measured.settings["nonzeros"]
    _panel(ax, f"Time, at {nonzeros:g} nonzeros", "features", "time per example")
    figures.times_in_words(ax)


def _draw_nonzeros(ax: Axes, measured: Measured) -> None:
    sizes = measured.sizes("nonzeros")
    for name, at, side in ((CLOCK, 0.5, _UNDER), (TABLES, 0.5, _ABOVE), (NUMPY_CLOCK, 0.0, _OVER)):
        _line(ax, sizes, measured.medians("nonzeros", name), name)
        _name(ax, sizes, measured.medians("nonzeros", name), name, at, side)
    features = measured.settings["features"]
    _panel(ax, f"Time, at {features:,} features", "nonzeros per example", "time per example")
    figures.times_in_words(ax)


def _draw_steps(ax: Axes, measured: Measured) -> None:
    sizes = measured.sizes("steps")
    for name, at, side in ((CLOCK, 0.5, _UNDER), (TABLES, 1.0, _BEFORE)):
        _line(ax, sizes, measured.total_bytes(name), name)
        _name(ax, sizes, measured.total_bytes(name), name, at, side)
    _panel(ax, f"Memory, at {measured.settings['features']:,} features", "steps", "state")
    held = [*measured.total_bytes(CLOCK), *measured.total_bytes(TABLES)]
    # Whole powers of ten, so that there is more than one to read from.
    ax.set_ylim(10.0 ** math.floor(math.log10(min(held))), 10.0 ** math.ceil(math.log10(max(held))))
    ax.yaxis.set_major_formatter(lambda count, _: _size(count).replace(".00", "").replace(".0", ""))
    ax.yaxis.set_minor_formatter(lambda *_: "")


def _line(ax: Axes, sizes: Sequence[float], values: Sequence[float], name: str) -> None:
    ax.loglog(sizes, values, **{**_LOOKS[name], "markersize": 3.5})


def _name(
    ax: Axes,
    sizes: Sequence[float],
    values: Sequence[float],
    name: str,
    at: float,
    side: Mapping[str, Any],
) -> None:
    """Name a line by the point that is so far along it."""
    if not sizes:
        return
    point = round(at * (len(sizes) - 1))
    ax.annotate(
        name.replace("dense, ", "dense,\n"),
        (sizes[point], values[point]),
        textcoords="offset points",
        color=_LOOKS[name]["color"],
        **side,
    )


def _panel(ax: Axes, title: str, x: str, y: str) -> None:
    ax.set_title(title)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.margins(y=0.12)
