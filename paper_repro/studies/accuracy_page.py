"""The page of the study ``accuracy``: errors, steps of overflow, and the size of the misprint."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from lazynet.checks.tolerance import UNIT_ROUNDOFF
from paper_repro.competitors import RULES
from paper_repro.pages import Template
from paper_repro.score import FOUR_FIGURES
from paper_repro.studies.accuracy import (
    ENGINES,
    FORMS,
    GAP_PENALTIES,
    LONGEST_GAP,
    MOST_STEPS,
    SAMPLES_PER_DECADE,
    SCHEDULES,
    UNWATCHED,
    UNWATCHED_L1,
    WRONG,
    gap_key,
    unwatched_key,
)
from paper_repro.study import Records

PAGE = Template.beside(__file__)


def page(document: Mapping[str, Any]) -> str:
    records = document["records"]
    setting = records["setting"]
    if "skipped" in setting:
        return PAGE("skipped", reason=setting["skipped"])
    return PAGE(
        "page",
        finding=PAGE(
            "finding",
            steps=setting["steps"],
            clock=worst_error(records, "clock"),
            dense=worst_error(records, "dense"),
        ),
        heading="A million steps" if setting["steps"] == MOST_STEPS else "A long run",
        steps=setting["steps"],
        penalties=len(setting["strengths"]) ** 2,
        schedules=len(SCHEDULES),
        roundoff=UNIT_ROUNDOFF,
        long_runs=long_run_table(records),
        wrong=WRONG,
        unwatched_l1=UNWATCHED_L1,
        samples=SAMPLES_PER_DECADE,
        unwatched=unwatched_table(records),
        first_seen=" and ".join(first_seen(records, *each) for each in GAP_PENALTIES),
        theorem=theorem_table(records),
        lives=" ".join(life(records, *each) for each in GAP_PENALTIES),
    )


def worst_error(records: Records, engine: str) -> float:
    """The greatest error of any weight at the end of the long runs."""
    return max(
        float(records[f"long run/{rule}/{rate}"][engine]["error"][-1])
        for rule, rate in product(RULES, SCHEDULES)
    )


def long_run_table(records: Records) -> str:
    def row(rule: str, engine: str) -> Mapping[str, Any]:
        error, schedule = max(
            (records[f"long run/{rule}/{rate}"][engine]["error"][-1], rate) for rate in SCHEDULES
        )
        where = records[f"long run/{rule}/{schedule}"][engine]
        return dict(
            rule=RULES[rule],
            engine=engine,
            error=error,
            schedule=schedule,
            l1=where["l1"][-1],
            l2=where["l2"][-1],
        )

    return PAGE.table("long runs", (row(*each) for each in product(RULES, ENGINES)))


def unwatched_table(records: Records) -> str:
    def row(rule: str, rate: float, l2: float) -> Mapping[str, Any]:
        found = records[unwatched_key(rule, rate, l2)]
        return dict(
            rule=RULES[rule],
            rate=rate,
            l2=l2,
            steps=found["steps"],
            infinite=_step(found["B infinite"]),
            subnormal=_step(found["P subnormal"]),
            wrong=_step(found["wrong"]),
            nan=_step(found["NaN"]),
            lazynet=_error(found["lazynet error"][-1]),
        )

    return PAGE.table("unwatched", (row(rule, *each) for rule, each in product(RULES, UNWATCHED)))


def _step(step: int | None) -> str:
    return "not yet" if step is None else f"{step:,}"


def _error(error: float | None) -> str:
    return "not a number" if error is None else f"{error:.1e}"


def first_seen(records: Records, l1: float, l2: float) -> str:
    """The gap from which on four significant figures show the error of the proof's last line."""
    found = records["theorem 1"][gap_key(l1, l2)]
    seen = [
        gap
        for gap, error in zip(found["gaps"], found["proof"], strict=True)
        if error > FOUR_FIGURES
    ]
    where = f"from a gap of {seen[0]:,} on" if seen else f"at no gap up to {found['gaps'][-1]:,}"
    return PAGE("seen", l1=l1, l2=l2, where=where)


def theorem_table(records: Records) -> str:
    rows = []
    for l1, l2 in GAP_PENALTIES:
        found = records["theorem 1"][gap_key(l1, l2)]
        for at, gap in shown_gaps(found["gaps"]):
            rows.append(dict(l1=l1, l2=l2, gap=gap, **{form: found[form][at] for form in FORMS}))
    return PAGE.table("theorem", rows)


def life(records: Records, l1: float, l2: float) -> str:
    """How long the weight lives if no gradient touches it."""
    longest = records["theorem 1"][gap_key(l1, l2)]["longest"]
    tried = longest < LONGEST_GAP
    return PAGE(
        "life",
        l1=l1,
        l2=l2,
        longest=longest,
        fate="is about to vanish" if tried else "is not zero yet",
        untried="" if tried else ", and longer gaps were not tried",
    )


def shown_gaps(gaps: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Positions and lengths of the gaps in the table: the powers of ten, and the last gap."""
    for at, gap in enumerate(gaps):
        if gap == gaps[-1] or gap == 10 ** round(math.log10(gap)):
            yield at, gap
