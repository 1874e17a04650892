"""The page of the study ``stability``: outcomes, the parts of the claim, the cost of a burst."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from paper_repro.pages import Template, paragraphs, table
from paper_repro.score import duration, significant
from paper_repro.studies.stability import (
    AGAIN,
    BURST,
    CLOCK,
    LOSSES,
    OCCURRING,
    RUNS,
    SPREAD,
    UPDATES,
    Selections,
    deviation,
    verdict,
)
from paper_repro.studies.tuning import (
    METHODS,
    ORDERS,
    PASSES,
    PATH_PASSES,
    PATHS,
    PERIOD,
    RELEASED,
    RIVALS,
    SETTINGS,
    VALIDATION_SHARE,
    shown,
)

PAGE = Template.beside(__file__)


def verdict_on(found: Selections, name: str) -> str:
    """How often the whole claim holds for a method, and against which rivals a part fails."""
    held, failing = 0, defaultdict(list)
    for loss, rival in product(LOSSES, RIVALS):
        parts = verdict(found.outcome(loss, name), found.outcome(loss, rival))
        held += all(parts.values())
        for part, holds in parts.items():
            if not holds:
                failing[part].append(f"{rival} ({LOSSES[loss]})")
    return PAGE(
        "claim",
        name=name,
        held=held,
        total=len(LOSSES) * len(RIVALS),
        failing="".join(
            " " + PAGE("failing", part=part, rivals=", ".join(rivals))
            for part, rivals in failing.items()
        ),
    )


def nothing_chosen(found: Selections) -> str:
    """The methods that choose no feature in any run, if there are any."""
    empty = [
        f"{name} ({LOSSES[loss]})"
        for loss, name in product(LOSSES, found.methods)
        if not found.outcome(loss, name).nonzeros.any()
    ]
    return PAGE("nothing chosen", methods=", ".join(empty)) if empty else ""


def page(document: Mapping[str, Any]) -> str:
    found = Selections(document)
    rows = found.rows
    verdicts = [*(verdict_on(found, name) for name in found.stabilised), nothing_chosen(found)]
    return PAGE(
        "page",
        train=rows["train"],
        test=rows["test"],
        origin=rows["origin"],
        occurring=rows["occurring"],
        nonzeros=rows["nonzeros"],
        smaller_class=rows["smaller class"],
        runs=RUNS,
        released=PAGE("released" if RELEASED in found.methods else "not released"),
        algorithms=len(found.stabilised),
        validation=VALIDATION_SHARE,
        settings=SETTINGS,
        orders=ORDERS,
        passes=PASSES,
        paths=PATHS,
        path_passes=PATH_PASSES,
        period=PERIOD,
        ranges="\n".join(f"- {name}: {METHODS[name].ranges}." for name in found.tuned),
        losses=paragraphs(
            PAGE(
                "loss",
                loss=title.capitalize(),
                outcomes=outcome_table(found, loss),
                claims=claim_table(found, loss),
            )
            for loss, title in LOSSES.items()
        ),
        verdicts="\n".join(line for line in verdicts if line),
        updates=UPDATES,
        updates_table=updates_table(found),
        tuning_table=tuning_table(found),
        bursts=bursts(found) if found.widths else "",
    )


def bursts(found: Selections) -> str:
    """The section on the cost of a burst, of runs that have measured it."""
    fewest, most = found.widths[0], found.widths[-1]
    return PAGE(
        "bursts",
        nonzeros=found.settings["nonzeros"],
        occurring=OCCURRING,
        fewest=fewest,
        most=most,
        burst=found.growth(BURST, most),
        spread=found.growth(SPREAD, most),
        clock=found.growth(CLOCK, most),
        costs=cost_table(found),
        left_out=paragraphs(
            PAGE("left out", size=int(size), why=why) for size, why in found.skipped.items()
        ),
    )


def outcome_table(found: Selections, loss: str) -> str:
    """Error, nonzeros and kappa of every method."""
    header = ["", "test error", "nonzeros", "kappa", f"chosen by {AGAIN:.0%} of the runs"]
    if found.planted:
        header.append("chosen by most runs: of those that matter, others")
    rows = []
    for name in found.methods:
        outcome = found.outcome(loss, name)
        record = outcome.record
        cells = [
            name,
            f"{outcome.error:.2%} ({deviation(outcome.errors):.2%})",
            f"{significant(outcome.sparsity)} ({significant(deviation(outcome.nonzeros))})",
            f"{outcome.kappa:.3f} ({record['kappa deviation']:.3f})",
            f"{outcome.again:,}",
        ]
        if found.planted:
            mattering, others = record["mattering chosen"], record["others chosen"]
            cells.append(f"{mattering} of {found.rows['mattering']}, {others:,}")
        rows.append(cells)
    return table(header, rows)


def claim_table(found: Selections, loss: str) -> str:
    """The three parts of the claim against every rival."""
    rows = []
    for name, rival in product(found.stabilised, RIVALS):
        parts = verdict(found.outcome(loss, name), found.outcome(loss, rival))
        rows.append([name, rival, *("yes" if holds else "**no**" for holds in parts.values())])
    return table(["", "against", *parts], rows)


def updates_table(found: Selections) -> str:
    """Least and most nonzeros over the last updates, and how often their number changes."""

    def cell(counts: list[int]) -> str:
        if len(counts) < 2:
            return "nothing left"
        changed = float(np.mean(np.diff(counts) != 0))
        return f"{min(counts):,} - {max(counts):,}, {changed:.0%}"

    return table(
        ["", *LOSSES.values()],
        [[name, *(cell(found.updates(loss, name)) for loss in LOSSES)] for name in found.tuned],
    )


def tuning_table(found: Selections) -> str:
    """The chosen setting of every method, its error and the least error of all settings."""
    rows = []
    for loss, name in product(LOSSES, found.methods):
        record = found.tuning(loss, name)
        trial = record["trials"][record["chosen"]]
        least = min(other["error"] for other in record["trials"])
        settings = shown(trial["parameters"]) or "not tuned"
        rows.append([LOSSES[loss], name, f"{trial['error']:.2%}, {least:.2%}", settings])
    return table(["loss", "", "validation error: chosen, least of all", "settings chosen"], rows)


def cost_table(found: Selections) -> str:
    """The time of a step with every number of features."""
    kinds = (BURST, SPREAD, CLOCK)
    rows = []
    for width in found.widths:
        cells = [f"{width:,}"]
        for what in kinds:
            seconds = found.seconds[f"{what}/{width}"]
            cells += [duration(median(seconds)), str(found.growth(what, width))]
        rows.append(cells)
    header = [title for what in kinds for title in (f"a step: {what}", "times the first")]
    return table(["features", *header], rows)
