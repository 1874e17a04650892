"""The page of the study ``stability``: outcomes, the parts of the claim, the cost of a burst."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from paper_repro import sources
from paper_repro.pages import Template, paragraphs, table
from paper_repro.render import Content, Curves
from paper_repro.score import significant
from paper_repro.studies.stability import AGAIN, LOSSES, RUNS, SHARES, SWEEP_RUNS, UPDATES
from paper_repro.studies.stability_outcomes import (
    STABLER,
    Selections,
    deviation,
    is_insensitive,
    signs_with_the_least_error,
    verdict,
)
from paper_repro.studies.tuning import (
    EDGE,
    INFORMATIVE,
    MOST_WIDENINGS,
    ORDERS,
    PASSES,
    PATH_PASSES,
    PATHS,
    PERIOD,
    RELEASED,
    RIVALS,
    SMALL,
    TRUNCATED,
    VALIDATION_SHARE,
    shown,
)
from paper_repro.study import Record

PAGE = Template.beside(__file__)


@dataclass
class Verdicts:
    """How often the paper's two claims hold for a method, and where a part of the first one fails.

    The abstract claims fewer nonzeros, a higher kappa and no worse error than truncated gradient.
    Section 1 claims a higher kappa than other sparse online learning algorithms.
    """

    #: comparisons with truncated gradient: the abstract's whole claim
    held: int = 0
    judged: int = 0
    #: comparisons with all rivals: a higher kappa
    stabler: int = 0
    compared: int = 0
    #: by part of the abstract's claim the losses with which it fails
    failing: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    #: the comparisons in which a run of the rival keeps no feature
    unjudged: list[str] = field(default_factory=list)
    #: the losses with which a run of the method itself keeps no feature
    not_a_model: list[str] = field(default_factory=list)

    @classmethod
    def on(cls, found: Selections, name: str) -> Verdicts:
        told = cls()
        for loss, title in LOSSES.items():
            if not found.outcome(loss, name).keeps_features:
                told.not_a_model.append(title)
                continue
            for rival in RIVALS:
                parts = verdict(found.outcome(loss, name), found.outcome(loss, rival))
                if parts is None:
                    told.unjudged.append(f"{rival} ({title})")
                    continue
                told.compared += 1
                told.stabler += parts[STABLER]
                if rival == TRUNCATED:
                    told.judged += 1
                    told.held += all(parts.values())
                    for part, holds in parts.items():
                        if not holds:
                            told.failing[part].append(title)
        return told


def verdict_on(found: Selections, name: str) -> str:
    """The verdicts on a method, in words."""
    told = Verdicts.on(found, name)
    lines = [
        PAGE(
            "claim",
            name=name,
            held=told.held,
            total=told.judged,
            failing="".join(
                " " + PAGE("failing", part=part, losses=" and the ".join(losses))
                for part, losses in told.failing.items()
            ),
            stabler=told.stabler,
            compared=told.compared,
            unjudged=" " + PAGE("unjudged", rivals=", ".join(told.unjudged))
            if told.unjudged
            else "",
        )
    ]
    if told.not_a_model:
        lines.append(PAGE("not a model", name=name, losses=" and the ".join(told.not_a_model)))
    return "\n".join(lines)


def finding(found: Selections) -> str:
    """Whether the reconstruction and the released program show the effect of the paper."""
    told = Verdicts.on(found, INFORMATIVE)
    released = PAGE("took no part")
    if RELEASED in found.methods:
        of_program = Verdicts.on(found, RELEASED)
        released = PAGE(
            "finding released",
            does=_how_far(of_program, "does", "does in part", "does not"),
            held=of_program.held,
            total=of_program.judged,
        )
    return PAGE(
        "finding",
        where=data_name(found.settings["data"]),
        shows=_how_far(told, "shows", "shows only in part", "does not show"),
        held=told.held,
        total=told.judged,
        released=released,
    )


def _how_far(told: Verdicts, all_of_it: str, part_of_it: str, nothing: str) -> str:
    if not told.held:
        return nothing
    return all_of_it if told.held == told.judged else part_of_it


def signs_in_words(points: Sequence[Record], n_test: int) -> str:
    """The signs with the least error, or that the test rows cannot tell which sign is better."""
    signs = signs_with_the_least_error(points, n_test)
    return " or ".join(signs) if len(signs) < 3 else "no sign is better"


#: The data sets of the committed pages, by the first part of the file name.
_DATA = {"dexter": "Dexter", "rcv1_vw": "a sample of RCV1", "dorothea": "Dorothea"}


def data_name(file: str | None) -> str:
    """The data of a run in words."""
    if file is None:
        return "a planted problem"
    return _DATA.get(file.split(".")[0], file)


def content(document: Mapping[str, Any]) -> Content:
    found = Selections(document)
    rows = found.rows
    page = PAGE(
        "page",
        train=rows["train"],
        test=rows["test"],
        origin=rows["origin"],
        occurring=rows["occurring"],
        nonzeros=rows["nonzeros"],
        smaller_class=rows["smaller class"],
        runs=RUNS,
        sources=sources.told(document),
        searched=searched(found),
        released=PAGE("released") if RELEASED in found.methods else PAGE("too large", most=SMALL),
        algorithms=len(found.stabilised),
        losses=paragraphs(
            PAGE(
                "loss",
                loss=title.capitalize(),
                outcomes=outcome_table(found, loss),
                claims=claim_table(found, loss),
            )
            for loss, title in LOSSES.items()
        ),
        verdicts="\n".join(verdict_on(found, name) for name in found.stabilised),
        updates=UPDATES,
        updates_table=updates_table(found),
        sweep_runs=SWEEP_RUNS,
        sweeps_table=sweeps_table(found),
        tuning_table=tuning_table(found),
    )
    return Content(finding(found), [page], panels(found))


def searched(found: Selections) -> str:
    """How the settings were searched, and which winners are still at a bound."""
    near = [
        f"{parameter} of {name} ({LOSSES[loss]})"
        for loss, name in product(LOSSES, found.tuned)
        for parameter in found.tuning(loss, name)["at a bound"]
    ]
    return PAGE(
        "searched",
        edge=EDGE,
        widenings=MOST_WIDENINGS,
        settings=found.settings_of_a_parameter,
        untruncated=PAGE("untruncated too", settings=found.settings_of_a_parameter)
        if found.tried_without_truncation
        else PAGE("always truncated"),
        at_bounds=PAGE("at a bound", which=", ".join(near)) if near else PAGE("none at a bound"),
        validation=VALIDATION_SHARE,
        orders=ORDERS,
        passes=PASSES,
        paths=PATHS,
        path_passes=PATH_PASSES,
        period=PERIOD,
    )


def sweeps_table(found: Selections) -> str:
    """What pi0 and gamma change, by loss and form of the algorithm."""
    rows = []
    for loss, name in product(LOSSES, found.stabilised):
        for parameter, points in found.sweep(loss, name).items():
            errors = [point["error"] for point in points]
            if parameter == "stability":
                insensitive = is_insensitive(errors, found.rows["test"])
                told = "insensitive" if insensitive else "sensitive"
            else:
                told = f"least error: {signs_in_words(points, found.rows['test'])}"
            values = ", ".join(f"{point['value']:g}: {point['error']:.2%}" for point in points)
            sizes = [point["nonzeros"] for point in points]
            between = f"{significant(min(sizes))} - {significant(max(sizes))}"
            rows.append([LOSSES[loss], name, parameter, values, between, told])
    return table(["loss", "", "varied", "value: test error", "nonzeros", ""], rows)


def outcome_table(found: Selections, loss: str) -> str:
    """Error, nonzeros and kappa of every method."""
    header = [
        "",
        "test error",
        "se over test rows",
        "nonzeros",
        "kappa",
        f"chosen by {AGAIN:.0%} of the runs",
    ]
    if found.planted:
        header.append("chosen by most runs: of those that matter, others")
    rows = []
    for name in found.methods:
        outcome = found.outcome(loss, name)
        record = outcome.record
        cells = [
            name,
            f"{outcome.error:.2%} ({deviation(outcome.errors):.2%})",
            f"{outcome.over_rows():.2%}",
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
        told = [_YES_OR_NO[holds] for holds in parts.values()] if parts else ["no verdict"] * 3
        rows.append([name, rival, *told])
    return table(["", "against", "fewer nonzeros", "higher kappa", "no worse error"], rows)


_YES_OR_NO = {True: "yes", False: "**no**"}


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
    """Settings tried, the chosen one, its error and the least error of all settings."""
    rows = []
    for loss, name in product(LOSSES, found.methods):
        record = found.tuning(loss, name)
        trial = record["trials"][record["chosen"]]
        least = min(other["error"] for other in record["trials"])
        settings = shown(trial["parameters"]) or "not tuned"
        tried = f"{len(record['trials']):,}" if name in found.tuned else ""
        rows.append([LOSSES[loss], name, tried, f"{trial['error']:.2%}, {least:.2%}", settings])
    header = ["loss", "", "settings", "validation error: chosen, least of all", "settings chosen"]
    return table(header, rows)


def panels(found: Selections) -> list[Curves]:
    """Error against nonzeros, how often features are chosen, nonzeros over the last updates."""
    errors, frequencies, last = [], [], []
    for loss, title in LOSSES.items():
        outcomes = {name: found.outcome(loss, name) for name in found.tuned}
        counts = {name: found.updates(loss, name) for name in found.tuned}
        errors.append(
            Curves(
                f"{title.capitalize()} loss: errors",
                "nonzeros (left and low is good)",
                "test error",
                {
                    name: ([max(each.sparsity, 0.5)], [each.error])
                    for name, each in outcomes.items()
                },
                log="x",
            )
        )
        frequencies.append(
            Curves(
                f"{title.capitalize()} loss: choices",
                f"chosen in at least this share of the {RUNS} runs",
                "features",
                {
                    name: (SHARES, [max(count, 0.5) for count in each.record["chosen in"]])
                    for name, each in outcomes.items()
                },
                log="y",
            )
        )
        last.append(
            Curves(
                f"{title.capitalize()} loss: the last updates",
                "updates before the last",
                "nonzeros",
                {
                    name: (range(-len(each), 0), [max(count, 0.5) for count in each])
                    for name, each in counts.items()
                },
                log="y",
            )
        )
    return [*errors, *frequencies, *last]
