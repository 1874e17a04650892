"""The page of the study ``scaling``: times against each size, and the state in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paper_repro.competitors import CLOCK, SPARSE_PREDICTIONS, TABLES
from paper_repro.pages import Template, table
from paper_repro.score import Spread, duration, in_bytes
from paper_repro.studies.scaling import BY_FEATURES, BY_NONZEROS, Times

PAGE = Template.beside(__file__)


def page(document: Mapping[str, Any]) -> str:
    times = Times(document)
    last = times.sizes("steps")[-1]
    clock, tables = times.bytes(last, CLOCK), times.bytes(last, TABLES)
    return PAGE(
        "page",
        finding=finding(times),
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


def finding(times: Times) -> str:
    """How much longer an example takes among more features, lazily and densely."""
    sizes = times.sizes("features")
    if len(sizes) < 2:
        return PAGE("no finding")
    return PAGE(
        "finding",
        grown=sizes[-1] / sizes[0],
        clock=times.growth("features", CLOCK),
        dense=times.growth("features", SPARSE_PREDICTIONS),
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
