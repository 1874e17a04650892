"""Everything that the five texts print, with the committed results for it.

``printed.md`` has a row for every entry of ``published.ENTRIES``.  What is found is read from the
documents of the studies by the finders of ``printed_lipton_elkan`` and ``printed_ma_zheng``.

    python -m paper_repro printed
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from paper_repro import printed_claims, printed_lipton_elkan, printed_ma_zheng
from paper_repro.found import FINDERS, Committed, Documents, Found, Missing
from paper_repro.pages import Template, paragraphs, table
from paper_repro.published import ENTRIES, REPOSITORY, TEXTS, Printed
from paper_repro.results import write_whole
from paper_repro.score import significant
from paper_repro.studies.table import TierTimes
from paper_repro.studies.table_readings import verdict_of_loops
from paper_repro.studies.table_verdicts import REPRODUCED, is_alike, is_reproduced, reproduction

PAGE = Template.beside(__file__)
NAME = "printed"
TITLE = "Everything that the papers print, and what is found here"
NOT_MEASURED = "not measured in these results"
FINDERS |= printed_lipton_elkan.PROVEN | printed_ma_zheng.PROVEN | printed_claims.PROVEN


def found_of(entry: Printed, results: Committed) -> Found:
    """What the results say of an entry."""
    try:
        return FINDERS[entry.key](results, entry)
    except Missing:
        return Found(NOT_MEASURED)


def page(documents: Documents, below: Mapping[str, Documents]) -> str:
    """The whole page."""
    results = Committed(documents, below)
    everything = {entry.key: found_of(entry, results) for entry in ENTRIES}
    parts = []
    for text, title in TEXTS.items():
        rows = []
        for entry in ENTRIES:
            if entry.text == text:
                found = everything[entry.key]
                factor = "" if found.factor is None else significant(found.factor)
                rows.append(
                    [entry.what, entry.where, entry.printed, found.reproduced, factor, found.page]
                )
        parts += [
            f"## {title[0].upper()}{title[1:]}",
            table(["", "where", "printed", "found here", "found / printed", "page"], rows),
        ]
    return (
        PAGE(
            "page",
            title=TITLE,
            finding=finding(everything),
            loops=loops(documents),
            entries=len(ENTRIES),
            from_repository=sum(entry.text == REPOSITORY for entry in ENTRIES),
            reproduced=REPRODUCED,
            tables=paragraphs(parts),
        )
        + "\n"
    )


def loops(documents: Documents) -> str:
    """The verdict on the two loops over SciPy rows; rows of another shape have none."""
    document = documents.get("table")
    if document is None or not is_alike(TierTimes(document)):
        return ""
    return verdict_of_loops(reproduction(document))


def finding(everything: Mapping[str, Found]) -> str:
    """How many measurements of the papers are found again, and how many entries are not measured.

    Counted are measurements that another machine can repeat, each once: no input, no identity, no
    rate and no time.
    """
    factors = [
        found.factor
        for entry in ENTRIES
        if entry.repeatable and (found := everything[entry.key]).factor is not None
    ]
    unmeasured = sum(found.reproduced == NOT_MEASURED for found in everything.values())
    counted = PAGE("nothing compared")
    if factors:
        counted = PAGE(
            "compared",
            numbers=len(factors),
            near=sum(is_reproduced(factor) for factor in factors),
            reproduced=REPRODUCED,
            most=max(max(factor, 1.0 / factor) for factor in factors),
        )
    all_measured = PAGE("all measured")
    if unmeasured:
        all_measured = PAGE("not all measured", count=unmeasured)
    return f"**{counted} {all_measured}**"


def write(documents: Documents, below: Mapping[str, Documents], out: Path) -> None:
    """Write ``printed.md`` in ``out``."""
    write_whole(out / f"{NAME}.md", page(documents, below))
