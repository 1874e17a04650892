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

from lazynet import Tables
from lazynet.engines.base import Engine
from lazynet.training import Learner
from paper_repro import figures, machine
from paper_repro.competitors import CLOCK, SPARSE_PREDICTIONS, TABLES, TIERS, Problem
from paper_repro.measure import Turn, in_turns
from paper_repro.pages import Template, table
from paper_repro.runs import learner, plan, seconds_per_step
from paper_repro.score import Spread, duration, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings, Study
from paper_repro.uniform import uniform_problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = Template.beside(__file__)
FEATURES = tuple(10**k for k in range(4, 9))
NONZEROS = tuple(4**k for k in range(7))
#: The third part goes from so many steps to so many times the examples.
FEWEST_STEPS, STEPS_PER_EXAMPLE = 1000, 10
ROWS = 20_000
#: Nonzeros of all rows together in the second part, so that all sizes meet the same cache.
NONZEROS_OF_ALL_ROWS = 400_000
#: The first weights, the two arrays of an engine, and as much again for everything else.
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
        return page(Times(document))

    def draw(self, document: Mapping[str, Any]) -> Figure:
        return draw(Times(document))


# --- measuring -------------------------------------------------------------------------------


def feature_sizes(settings: Settings) -> list[int]:
    """Powers of ten up to 100,000,000; two sizes for a small run."""
    if settings.features >= FEATURES[1]:
        return list(FEATURES)
    least = math.ceil(settings.nonzeros)
    return sorted({max(least, settings.features // 10), settings.features})


def nonzero_sizes(settings: Settings) -> list[int]:
    return [size for size in NONZEROS if size <= settings.features]


def step_sizes(settings: Settings) -> list[int]:
    """Powers of ten up to a multiple of the examples."""
    sizes = [FEWEST_STEPS]
    while sizes[-1] * 10 <= STEPS_PER_EXAMPLE * settings.examples:
        sizes.append(sizes[-1] * 10)
    return sizes


def measure_features(settings: Settings, features: int, _: Records) -> Record:
    """Seconds per example with this number of features; one engine in memory at a time."""
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
    """Seconds per example of a compiled competitor, which is dropped when this call returns."""
    turn = Turn(TIERS["compiled"][name](problem), settings.seconds / 10)
    return in_turns({name: turn}, settings.repeats)[name]


def measure_nonzeros(settings: Settings, nonzeros: int, _: Records) -> Record:
    """Seconds per example with this number of nonzeros."""
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
    """Bytes that the lazy engines hold after this number of steps, and seconds per step."""
    problem = uniform_problem(
        rows=max(4, min(ROWS, settings.examples)),
        features=settings.features,
        nonzeros=1,
        seed=settings.seed,
    )
    order = np.resize(np.arange(len(problem.y)), steps)
    chosen = partial(plan, problem.rule, problem.l1, problem.l2, problem.eta0)
    learners = {
        CLOCK: learner(problem.X, problem.y, chosen()),
        TABLES: learner(problem.X, problem.y, chosen(engine=Tables(steps))),
    }

    def go_over(visiting: Learner) -> float:
        visiting.engine.load(problem.weights, problem.intercept)
        return seconds_per_step(visiting, order, problem.t)

    turns = {name: partial(go_over, each) for name, each in learners.items()}
    return {
        "seconds": in_turns(turns, settings.repeats),
        "bytes": {name: state_bytes(each.engine) for name, each in learners.items()},
    }


def state_bytes(engine: Engine) -> dict[str, int]:
    """Bytes that the engine needs to continue: for the weights, and for the steps so far."""
    state = engine.state()
    return {
        "weights": sum(array.nbytes for array in state.per_weight.values()),
        "steps": sum(array.nbytes for array in state.tables.values()),
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


class Times(Measured):
    """Records by part (features, nonzeros, steps) and size, and the sizes that were left out."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.parts: dict[str, dict[int, Record]] = {}
        self.skipped: dict[int, str] = {}
        for part in ("features", "nonzeros", "steps"):
            records = {int(size): record for [size], record in self.group(part)}
            self.parts[part] = {size: r for size, r in records.items() if "skipped" not in r}
            self.skipped |= {size: r["skipped"] for size, r in records.items() if "skipped" in r}

    def sizes(self, part: str) -> list[int]:
        return sorted(self.parts[part])

    def spread(self, part: str, size: int, name: str) -> Spread:
        return Spread.of(self.parts[part][size]["seconds"][name])

    def medians(self, part: str, name: str) -> list[float]:
        return [median(self.parts[part][size]["seconds"][name]) for size in self.sizes(part)]

    def growth(self, part: str, name: str) -> float:
        """How many times longer the largest size takes than the smallest."""
        times = self.medians(part, name)
        return times[-1] / times[0]

    def line(self, name: str) -> Line | None:
        sizes = self.sizes("nonzeros")
        return fit_line(sizes, self.medians("nonzeros", name)) if len(sizes) > 1 else None

    def bytes(self, steps: int, name: str) -> dict[str, int]:
        found: dict[str, int] = self.parts["steps"][steps]["bytes"][name]
        return found

    def total_bytes(self, name: str) -> list[int]:
        return [sum(self.bytes(steps, name).values()) for steps in self.sizes("steps")]


# --- the page --------------------------------------------------------------------------------


def page(times: Times) -> str:
    last = times.sizes("steps")[-1]
    clock, tables = times.bytes(last, CLOCK), times.bytes(last, TABLES)
    return PAGE(
        "page",
        repeats=times.repeats,
        features=features_text(times),
        features_table=features_table(times),
        nonzeros=nonzeros_text(times),
        nonzeros_table=nonzeros_table(times),
        lines_table=lines_table(times),
        all_features=times.settings["features"],
        steps=last,
        tables_weights=in_bytes(tables["weights"]),
        tables_steps=in_bytes(tables["steps"]),
        bytes_per_step=tables["steps"] / last,
        clock_weights=in_bytes(clock["weights"]),
        clock_steps=in_bytes(clock["steps"]),
        steps_table=steps_table(times),
    )


def features_text(times: Times) -> str:
    sizes = times.sizes("features")
    if not sizes:
        return PAGE("no features")
    return PAGE(
        "features",
        nonzeros=times.settings["nonzeros"],
        fewest=sizes[0],
        most=sizes[-1],
        grown=sizes[-1] / sizes[0],
        clock=times.growth("features", CLOCK),
        tables=times.growth("features", TABLES),
        sparse_predictions=times.growth("features", SPARSE_PREDICTIONS),
    )


def features_table(times: Times) -> str:
    measured = [
        [f"{size:,}", *(in_time(times.spread("features", size, name)) for name in BY_FEATURES)]
        for size in times.sizes("features")
    ]
    skipped = [
        [f"{size:,}", f"skipped: {why}", "", ""] for size, why in sorted(times.skipped.items())
    ]
    return table(["features", *BY_FEATURES], measured + skipped)


def nonzeros_text(times: Times) -> str:
    clock, tables = times.line(CLOCK), times.line(TABLES)
    if clock is None or tables is None:
        return PAGE("no line")
    return PAGE(
        "nonzeros",
        all_features=times.settings["features"],
        clock=clock.overhead,
        clock_slope=clock.slope,
        tables=tables.overhead,
        tables_slope=tables.slope,
    )


def nonzeros_table(times: Times) -> str:
    return table(
        ["nonzeros", *BY_NONZEROS],
        [
            [f"{size:,}", *(in_time(times.spread("nonzeros", size, name)) for name in BY_NONZEROS)]
            for size in times.sizes("nonzeros")
        ],
    )


def lines_table(times: Times) -> str:
    lines = {name: line for name in BY_NONZEROS if (line := times.line(name))}
    return table(
        ["line through these", "per example", "per nonzero", "greatest misfit"],
        [
            [name, duration(line.overhead), duration(line.slope), f"{line.misfit:.0%}"]
            for name, line in lines.items()
        ],
    )


def steps_table(times: Times) -> str:
    return table(
        [
            "steps",
            "state of the clock",
            "state of the tables",
            "clock, time per step",
            "tables, time per step",
        ],
        [
            [
                f"{steps:,}",
                *(in_bytes(sum(times.bytes(steps, name).values())) for name in (CLOCK, TABLES)),
                *(in_time(times.spread("steps", steps, name)) for name in (CLOCK, TABLES)),
            ]
            for steps in times.sizes("steps")
        ],
    )


def in_time(found: Spread) -> str:
    return f"{duration(found.median)} ({duration(found.least)} - {duration(found.most)})"


def in_bytes(count: float) -> str:
    """Bytes in the unit in which they can be read.

    >>> in_bytes(0), in_bytes(2088), in_bytes(1.6e8)
    ('nothing', '2.09 kB', '160 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{significant(count / size)} {unit}"
    return f"{count:g} bytes" if count else "nothing"


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


def draw(times: Times) -> Figure:
    """Time against features and against nonzeros, memory against steps."""
    figure, (left, middle, right) = figures.new(columns=3, width=9.6, height=3.5)
    _draw_features(left, times)
    _draw_nonzeros(middle, times)
    _draw_steps(right, times)
    return figure  # type: ignore[no-any-return]


def _draw_features(ax: Axes, times: Times) -> None:
    sizes = times.sizes("features")
    for name, at, side in (
        (CLOCK, 0.25, _UNDER),
        (TABLES, 1.0, _OVER_LEFT),
        (SPARSE_PREDICTIONS, 0.75, _BEFORE),
    ):
        _line(ax, sizes, times.medians("features", name), name)
        _name(ax, sizes, times.medians("features", name), name, at, side)
    nonzeros = times.settings["nonzeros"]
    _panel(ax, f"Time, at {nonzeros:g} nonzeros", "features", "time per example")
    figures.times_in_words(ax)


def _draw_nonzeros(ax: Axes, times: Times) -> None:
    sizes = times.sizes("nonzeros")
    for name, at, side in ((CLOCK, 0.5, _UNDER), (TABLES, 0.5, _ABOVE), (NUMPY_CLOCK, 0.0, _OVER)):
        _line(ax, sizes, times.medians("nonzeros", name), name)
        _name(ax, sizes, times.medians("nonzeros", name), name, at, side)
    features = times.settings["features"]
    _panel(ax, f"Time, at {features:,} features", "nonzeros per example", "time per example")
    figures.times_in_words(ax)


def _draw_steps(ax: Axes, times: Times) -> None:
    sizes = times.sizes("steps")
    for name, at, side in ((CLOCK, 0.5, _UNDER), (TABLES, 1.0, _BEFORE)):
        _line(ax, sizes, times.total_bytes(name), name)
        _name(ax, sizes, times.total_bytes(name), name, at, side)
    _panel(ax, f"Memory, at {times.settings['features']:,} features", "steps", "state")
    held = [*times.total_bytes(CLOCK), *times.total_bytes(TABLES)]
    # Whole powers of ten, so that there is more than one to read from.
    ax.set_ylim(10.0 ** math.floor(math.log10(min(held))), 10.0 ** math.ceil(math.log10(max(held))))
    ax.yaxis.set_major_formatter(
        lambda count, _: in_bytes(count).replace(".00", "").replace(".0", "")
    )
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
