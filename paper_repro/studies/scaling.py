"""Study ``scaling``: what a step costs, against features, nonzeros and steps.

The study checks three promises of lazy updates: the time of a step does not depend on the number of
features; the time is proportional to the nonzeros; the tables keep two numbers for every step, and
the clock keeps none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from lazynet import Tables
from lazynet.engines.base import Engine
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.training.passes import Learner
from paper_repro import machine
from paper_repro.competitors import TIERS
from paper_repro.competitors.base import CLOCK, SPARSE_PREDICTIONS, TABLES, Problem
from paper_repro.measure import Turn, in_turns
from paper_repro.pages import Template
from paper_repro.render import Content, Curves, Table
from paper_repro.runs import learner, plan, seconds_per_step
from paper_repro.score import Spread, duration, in_bytes
from paper_repro.study import Cell, Measured, Record, Records, Settings
from paper_repro.uniform import uniform_problem

PAGE = Template.beside(__file__)
FEATURES = tuple(10**k for k in range(4, 9))
NONZEROS = tuple(4**k for k in range(7))
#: The third part goes from FEWEST_STEPS to STEPS_PER_EXAMPLE times the examples.
FEWEST_STEPS, STEPS_PER_EXAMPLE = 1000, 10
ROWS = 20_000
#: Nonzeros of all rows together in the second part: rows of all sizes occupy the same cache.
NONZEROS_OF_ALL_ROWS = 400_000
#: The first weights and the two arrays of an engine, times two for everything else.
BYTES_PER_FEATURE = 2 * 3 * 8
NUMPY_CLOCK = "NumPy, lazy, clock"
BY_FEATURES = (CLOCK, TABLES, SPARSE_PREDICTIONS)
BY_NONZEROS = (CLOCK, TABLES, NUMPY_CLOCK)


def cells(settings: Settings) -> Sequence[Cell]:
    turn = settings.seconds / 10 * (settings.repeats + 2)
    return [
        Cell(f"{part}/{size}", partial(measure, settings, size), cost)
        for part, sizes, measure, cost in (
            ("features", feature_sizes(settings), measure_features, 26 * turn),
            ("nonzeros", nonzero_sizes(settings), measure_nonzeros, 10 * turn),
            ("steps", step_sizes(settings), measure_steps, 10 * turn),
        )
        for size in sizes
    ]


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
    rule = ALGORITHMS[problem.rule].rule
    chosen = partial(plan, l1=problem.l1, l2=problem.l2, eta0=problem.eta0)
    learners = {
        CLOCK: learner(problem.X, problem.y, chosen(rule())),
        TABLES: learner(problem.X, problem.y, chosen(rule(storage=Tables(steps)))),
    }

    def go_over(visiting: Learner) -> float:
        visiting.engine.set_coefficients(problem.weights[None], np.array([problem.intercept]))
        return seconds_per_step(visiting, order, problem.t)

    turns = {name: partial(go_over, each) for name, each in learners.items()}
    return {
        "seconds": in_turns(turns, settings.repeats),
        "bytes": {name: state_bytes(each.engine) for name, each in learners.items()},
    }


def state_bytes(engine: Engine) -> dict[str, int]:
    """Bytes that the engine needs to continue: for the weights, and for the steps so far."""
    arrays = [array for array in engine.state().values() if len(array) == engine.n_features]
    return {
        "weights": sum(array.nbytes for array in arrays),
        "steps": getattr(engine, engine._table).nbytes if engine._table else 0,
    }


# --- the page --------------------------------------------------------------------------------


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

    def medians(self, part: str, name: str) -> list[float]:
        return [median(self.parts[part][size]["seconds"][name]) for size in self.sizes(part)]

    def growth(self, part: str, name: str) -> float:
        """How many times longer the largest size takes than the smallest."""
        times = self.medians(part, name)
        return times[-1] / times[0]

    def line(self, name: str) -> tuple[float, float, float]:
        """Seconds per example as overhead + nonzeros x slope, and the greatest misfit.

        Least squares of relative errors: a step of 50 ns counts as much as one of 50 µs.
        """
        sizes = np.array(self.sizes("nonzeros"), dtype=float)
        times = np.array(self.medians("nonzeros", name))
        slope, overhead = np.polyfit(sizes, times, 1, w=1.0 / times)
        misfit = np.abs((overhead + slope * sizes) / times - 1.0).max()
        return float(overhead), float(slope), float(misfit)

    def bytes(self, steps: int, name: str) -> dict[str, int]:
        found: dict[str, int] = self.parts["steps"][steps]["bytes"][name]
        return found

    def total_bytes(self, name: str) -> list[int]:
        return [sum(self.bytes(steps, name).values()) for steps in self.sizes("steps")]

    def table(self, part: str, names: Sequence[str]) -> Table:
        """The time of an example for every size, with the range over the rounds."""
        rows = []
        for size in self.sizes(part):
            spreads = (Spread.of(self.parts[part][size]["seconds"][name]) for name in names)
            told = (
                f"{duration(s.median)} ({duration(s.least)} - {duration(s.most)})" for s in spreads
            )
            rows.append([f"{size:,}", *told])
        return Table([part, *names], rows)


def content(document: Mapping[str, Any]) -> Content:
    times = Times(document)
    sizes, last = times.sizes("features"), times.sizes("steps")[-1]
    held = {
        f"{told}_{of}": in_bytes(times.bytes(last, name)[of])
        for told, name in (("clock", CLOCK), ("tables", TABLES))
        for of in ("weights", "steps")
    }
    each = times.bytes(last, TABLES)["steps"] / last
    several = len(times.sizes("nonzeros")) > 1
    lines = {name: times.line(name) for name in BY_NONZEROS} if several else {}
    nonzeros, features = times.settings["nonzeros"], times.settings["features"]
    return Content(
        by_features(times)[0],
        [
            PAGE("page", repeats=times.repeats),
            "## Features",
            by_features(times)[1],
            times.table("features", BY_FEATURES),
            " ".join(f"{size:,} features: skipped, {why}." for size, why in times.skipped.items()),
            "## Nonzeros",
            f"There are {features:,} features. The lines are fitted to the relative errors.",
            times.table("nonzeros", BY_NONZEROS),
            Table(
                ["line through these", "per example", "per nonzero", "greatest misfit"],
                [
                    [name, duration(overhead), duration(slope), f"{misfit:.0%}"]
                    for name, (overhead, slope, misfit) in lines.items()
                ],
            ),
            "## Steps",
            PAGE("steps", features=features, last=last, each=each, **held),
            times.table("steps", (CLOCK, TABLES)),
        ],
        [
            Curves(
                f"Time, at {nonzeros:g} nonzeros",
                "features",
                "time per example",
                {name: (sizes, times.medians("features", name)) for name in BY_FEATURES},
                ticks=duration,
            ),
            Curves(
                f"Time, at {features:,} features",
                "nonzeros per example",
                "time per example",
                {
                    name: (times.sizes("nonzeros"), times.medians("nonzeros", name))
                    for name in BY_NONZEROS
                },
                ticks=duration,
            ),
            Curves(
                f"Memory, at {features:,} features",
                "steps",
                "state",
                {name: (times.sizes("steps"), times.total_bytes(name)) for name in (CLOCK, TABLES)},
                ticks=in_bytes,
            ),
        ],
        columns=3,
        width=11.0,
    )


def by_features(times: Times) -> tuple[str, str]:
    """The finding, and what the table of features shows; sizes may not fit into memory."""
    sizes = times.sizes("features")
    if len(sizes) < 2:
        return PAGE("too few"), ""
    clock, tables, dense = (
        times.growth("features", name) for name in (CLOCK, TABLES, SPARSE_PREDICTIONS)
    )
    more = {"nonzeros": times.settings["nonzeros"], "least": sizes[0], "most": sizes[-1]}
    return (
        PAGE("finding", grown=sizes[-1] / sizes[0], clock=clock, dense=dense),
        PAGE("features", clock=clock, tables=tables, dense=dense, **more),
    )
