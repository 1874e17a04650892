"""README.md of a folder of results: what was found, and links to the pages.

The papers' index begins with their table, and ``printed.md`` is written with it: everything that
the papers print, beside what is found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from paper_repro import printed
from paper_repro.machine import describe_machine
from paper_repro.pages import paragraphs, table
from paper_repro.pubmed.page import MEDLINE
from paper_repro.results import load, write_whole
from paper_repro.studies import STUDIES
from paper_repro.studies.table import TierTimes
from paper_repro.studies.table_page import headline, setting, summary, weights_equal
from paper_repro.study import Report

#: The folder of quick runs, which are not kept.
QUICK_FOLDER = "quick"
Documents = Mapping[str, Any]


#: The studies of the papers, and the report on real abstracts.
REPORTS: dict[str, Report] = {**STUDIES, MEDLINE.name: MEDLINE}


def write_index(out: Path) -> str:
    """Write README.md and printed.md of the papers in ``out``; returns the line to print."""
    documents, below = documents_in(out), documents_below(out)
    text = index_of(REPORTS, documents, below, papers_table(documents))
    printed.write(documents, below, out)
    write_whole(out / "README.md", text)
    return f"All pages, with figures and raw numbers: {out / 'README.md'}"


def check_index(
    out: Path, to_be_written: Collection[str], reports: Mapping[str, Report] = REPORTS
) -> None:
    """Refuse a damaged document that the index will need, before hours are spent on measuring."""
    if out.is_dir():
        documents_in(out, {name: reports[name] for name in reports if name not in to_be_written})
        documents_below(out, reports)


def documents_in(folder: Path, reports: Mapping[str, Report] = REPORTS) -> dict[str, Any]:
    """The documents of the finished studies in the folder, in the order of the reports."""
    found = {name: load(name, folder) for name in reports}
    return {name: document for name, document in found.items() if document is not None}


def documents_below(
    out: Path, reports: Mapping[str, Report] = REPORTS
) -> dict[str, dict[str, Any]]:
    """Documents of runs on other data, which are in subfolders: by folder and study."""
    return {
        folder.name: found
        for folder in sorted(path for path in out.iterdir() if path.is_dir())
        if folder.name != QUICK_FOLDER and (found := documents_in(folder, reports))
    }


def index_of(
    reports: Mapping[str, Report],
    documents: Documents,
    below: Mapping[str, Documents],
    between: str = "",
) -> str:
    """The index: what was found, ``between``, every study, and every machine."""
    runs = list(_runs(reports, documents, below))
    links = [
        (f"... [on {folder}]({folder}/{name}.md)", document["finished"][:10])
        if folder
        else (f"[{reports[name].title}]({name}.md)", document["finished"][:10])
        for name, folder, document in runs
    ]
    ran: dict[str, list[str]] = {}
    for name, folder, document in runs:
        where = f"{name} on {folder}" if folder else name
        ran.setdefault(describe_machine(document), []).append(where)
    parts = [
        "# What was found",
        *_findings(reports, documents),
        between,
        "## Every study",
        table(["study", "finished"], links),
        *(f"Measured on {machine}: {', '.join(names)}." for machine, names in ran.items()),
    ]
    return paragraphs(parts) + "\n"


def papers_table(documents: Documents) -> str:
    """The papers' table, where it was rerun, and the link to everything that they print."""
    parts = []
    if "table" in documents:
        times = TierTimes(documents["table"])
        parts = ["## The papers' table, rerun", headline(documents["table"])]
        parts += [setting(times), summary(times)]
        parts.append(weights_equal(times))
    parts.append(
        f"[{printed.TITLE}]({printed.NAME}.md): the numbers, figures and claims of five texts, "
        f"each with what is found here."
    )
    return paragraphs(parts)


def _findings(reports: Mapping[str, Report], documents: Documents) -> Iterator[str]:
    """What the studies that say it have found, each with its figure."""
    for name, document in documents.items():
        report = reports[name]
        if report.on_index:
            yield f"## {report.title}"
            yield f"**{report.content(document).finding}** [More]({name}.md)"
            yield f"![{report.title}]({name}.svg)"


def _runs(
    reports: Mapping[str, Report], documents: Documents, below: Mapping[str, Documents]
) -> Iterator[tuple[str, str | None, Any]]:
    """Every run: its study, its folder if it has one, and its document, study by study."""
    for name in reports:
        if name in documents:
            yield name, None, documents[name]
            for folder, others in below.items():
                if name in others:
                    yield name, folder, others[name]
