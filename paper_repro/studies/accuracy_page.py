"""The page of the study ``accuracy``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from lazynet.verify.tolerance import UNIT_ROUNDOFF
from paper_repro.competitors import RULES
from paper_repro.pages import Template
from paper_repro.render import Content, Curves, Table
from paper_repro.score import FOUR_FIGURES
from paper_repro.studies.accuracy import (
    ENGINES,
    FORMS,
    GAP_PENALTIES,
    SAMPLES_PER_DECADE,
    SCHEDULES,
    UNWATCHED,
    UNWATCHED_L1,
    WRONG,
    gap_key,
    unwatched_key,
)
from paper_repro.study import Record, Records

PAGE = Template.beside(__file__)


def worst_error(records: Records, engine: str) -> float:
    """The greatest error of any weight at the end of the long runs."""
    return max(
        float(records[f"long run/{rule}/{rate}"][engine]["error"][-1])
        for rule, rate in product(RULES, SCHEDULES)
    )


def content(document: Mapping[str, Any]) -> Content:
    records = document["records"]
    setting = records["setting"]
    if "skipped" in setting:
        return Content(PAGE("skipped", why=setting["skipped"]), [], [])
    steps, pairs = setting["steps"], len(setting["strengths"]) ** 2
    clock, dense = (worst_error(records, name) for name in ("clock", "dense"))
    seen = " and ".join(first_seen(records, *each) for each in GAP_PENALTIES)
    return Content(
        PAGE("finding", steps=steps, clock=clock, dense=dense),
        [
            "## Long runs",
            PAGE("long runs", steps=steps, pairs=pairs, rates=len(SCHEDULES), unit=UNIT_ROUNDOFF),
            long_run_table(records),
            "## Tables that nothing watches",
            PAGE("unwatched", wrong=WRONG, l1=UNWATCHED_L1, samples=SAMPLES_PER_DECADE),
            unwatched_table(records),
            "## Theorem 1 as printed",
            PAGE("theorem", four=FOUR_FIGURES, seen=seen),
            theorem_table(records),
        ],
        [
            Curves(
                "Greatest error over all settings",
                "steps",
                "relative error",
                greatest_errors(records),
                across=UNIT_ROUNDOFF,
            ),
            Curves(
                "The theorem as printed",
                "missed steps",
                "relative error",
                {
                    f"{form}, l1 = {l1:g}": nonzero(records["theorem 1"][gap_key(l1, l2)], form)
                    for form in FORMS
                    for l1, l2 in GAP_PENALTIES
                },
                across=FOUR_FIGURES,
            ),
        ],
    )


def greatest_errors(records: Records) -> dict[str, tuple[list[int], list[float]]]:
    """The steps, and the greatest error of every engine over all rules and rates."""
    runs = [records[f"long run/{rule}/{rate}"] for rule, rate in product(RULES, SCHEDULES)]
    return {
        engine: (
            runs[0]["checkpoints"],
            np.max([run[engine]["error"] for run in runs], axis=0).tolist(),
        )
        for engine in ENGINES
    }


def nonzero(found: Record, form: str) -> tuple[list[float], list[float]]:
    """The gaps with an error; an error of exactly zero has no place on a logarithmic axis."""
    pairs = [(n, e) for n, e in zip(found["gaps"], found[form], strict=True) if e > 0]
    return [n for n, _ in pairs], [e for _, e in pairs]


def long_run_table(records: Records) -> Table:
    rows = []
    for rule, engine in product(RULES, ENGINES):
        error, schedule = max(
            (records[f"long run/{rule}/{rate}"][engine]["error"][-1], rate) for rate in SCHEDULES
        )
        at = records[f"long run/{rule}/{schedule}"][engine]
        rows.append(
            [
                RULES[rule],
                engine,
                f"{error:.1e}",
                schedule,
                f"{at['l1'][-1]:g}",
                f"{at['l2'][-1]:g}",
            ]
        )
    return Table(["rule", "engine", "greatest error", "schedule of the rate", "l1", "l2"], rows)


def unwatched_table(records: Records) -> Table:
    names = ("B infinite", "P subnormal", "wrong", "NaN")
    rows = []
    for rule, (rate, l2) in product(RULES, UNWATCHED):
        found = records[unwatched_key(rule, rate, l2)]
        steps = ("not yet" if found[name] is None else f"{found[name]:,}" for name in names)
        error = found["lazynet error"][-1]
        told = "not a number" if error is None else f"{error:.1e}"
        rows.append([RULES[rule], f"{rate:g}", f"{l2:g}", f"{found['steps']:,}", *steps, told])
    header = ["rule", "rate", "l2", "steps", "B infinite", "P subnormal", "weight wrong"]
    return Table([*header, "weight NaN", "lazynet's tables, greatest error seen"], rows)


def first_seen(records: Records, l1: float, l2: float) -> str:
    """The gap from which on four significant figures show the error of the proof's last line."""
    found = records["theorem 1"][gap_key(l1, l2)]
    pairs = zip(found["gaps"], found["proof"], strict=True)
    seen = [gap for gap, error in pairs if error > FOUR_FIGURES]
    where = f"from a gap of {seen[0]:,} on" if seen else f"at no gap up to {found['gaps'][-1]:,}"
    return f"{where} with l1 = {l1:g}, l2 = {l2:g}"


def theorem_table(records: Records) -> Table:
    """The errors at the powers of ten, and at the last gap."""
    rows = []
    for l1, l2 in GAP_PENALTIES:
        found = records["theorem 1"][gap_key(l1, l2)]
        for at, gap in enumerate(found["gaps"]):
            if gap == found["gaps"][-1] or gap == 10 ** round(math.log10(gap)):
                errors = (f"{found[form][at]:.1e}" for form in FORMS)
                rows.append([f"{l1:g}", f"{l2:g}", f"{gap:,}", *errors])
    forms = ("statement (Eq. 10)", "end of proof (Eq. 14)", "corrected")
    return Table(["l1", "l2", "missed steps", *forms], rows)
