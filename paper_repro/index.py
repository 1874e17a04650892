"""README.md of the results: what was rerun, what was found, and links to the pages.

With it ``printed.md`` is written: everything that the papers print, beside what is found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from paper_repro import printed
from paper_repro.machine import describe_machine
from paper_repro.pages import paragraphs, table
from paper_repro.pubmed.page import MEDLINE
from paper_repro.results import load
from paper_repro.studies import STUDIES
from paper_repro.studies.table import TierTimes
from paper_repro.studies.table_page import setting, summary, weights_equal
from paper_repro.study import Report
from paper_repro.whole import write_whole

#: The folder of quick runs, which are not kept.
QUICK_FOLDER = "quick"
REPORTS: dict[str, Report] = {**STUDIES, MEDLINE.name: MEDLINE}


def write_index(out: Path) -> str:
    """Write README.md and printed.md in ``out`` from the finished studies there.

    Returns the text to print.
    """
    documents, below = documents_in(out), documents_below(out)
    text = index_of(documents, below)
    printed.write(documents, below, out)
    write_whole(out / "README.md", text)
    return f"{text}\nAll of it, with figures and raw numbers: {out}"


def check_index(out: Path, to_be_written: Collection[str]) -> None:
    """Refuse a damaged document that the index will need, before hours are spent on measuring."""
    if out.is_dir():
        documents_in(out, set(REPORTS).difference(to_be_written))
        documents_below(out)


def documents_in(folder: Path, names: Collection[str] = tuple(REPORTS)) -> dict[str, Any]:
    """The documents of the finished studies in the folder, in the order of the reports."""
    found = {name: load(name, folder) for name in REPORTS if name in names}
    return {name: document for name, document in found.items() if document is not None}


def documents_below(out: Path) -> dict[str, dict[str, Any]]:
    """Documents of runs on other data, which are in subfolders: by folder and study."""
    return {
        folder.name: found
        for folder in sorted(path for path in out.iterdir() if path.is_dir())
        if folder.name != QUICK_FOLDER and (found := documents_in(folder))
    }


def index_of(
    documents: dict[str, Any], below: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    below = below or {}
    parts = ["# What was found", *_findings(documents)]
    if "table" in documents:
        times = TierTimes(documents["table"])
        parts += [
            "## The papers' table, rerun",
            setting(times),
            summary(times),
            weights_equal(times),
        ]
    parts.append(
        f"[{printed.TITLE}]({printed.NAME}.md): the numbers, figures and claims of five texts, "
        f"each with what is found here."
    )
    parts.append("## Every study")
    parts.append(table(["study", "finished"], _finished(documents, below)))
    parts += _machines(documents, below)
    return paragraphs(parts) + "\n"


def _findings(documents: Mapping[str, Any]) -> Iterator[str]:
    """What the first studies that say it have found, each with its figure."""
    for name, document in documents.items():
        report = REPORTS[name]
        if report.finding is not None and (found := report.finding(document)):
            yield f"## {report.title}"
            yield f"{found} [More]({name}.md)"
            yield f"![{report.title}]({name}.svg)"


def _machines(
    documents: Mapping[str, Any], below: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Every machine, and which studies ran on it."""
    ran: dict[str, list[str]] = {}
    for name, folder, document in _runs(documents, below):
        where = f"{name} on {folder}" if folder else name
        ran.setdefault(describe_machine(document), []).append(where)
    for machine, names in ran.items():
        yield f"Measured on {machine}: {', '.join(names)}."


def _finished(
    documents: Mapping[str, Any], below: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Every study and the day it was finished; runs on other data follow the run on the corpus."""
    for name, folder, document in _runs(documents, below):
        link = f"... [on {folder}]({folder}/" if folder else f"[{REPORTS[name].title}]("
        yield f"{link}{name}.md)", document["finished"][:10]


def _runs(
    documents: Mapping[str, Any], below: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str | None, Any]]:
    """Every run: its study, its folder if it has one, and its document, study by study."""
    for name, document in documents.items():
        yield name, None, document
        for folder, others in below.items():
            if name in others:
                yield name, folder, others[name]
