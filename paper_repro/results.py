"""The one writer: runs a study cell by cell, keeps what is measured, writes JSON, page and figure.

Every record goes to a journal on disk before the next cell begins.  Whatever ends a run - Ctrl-C,
a full disk, a power cut - the next run with the same settings, code and machine goes on behind
the last record.  Finished results replace older ones whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from paper_repro import figures
from paper_repro.machine import describe_machine, provenance
from paper_repro.study import Record, Report, Settings, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = Path(__file__).parent / "results"


class Stopped(Exception):
    """A run was interrupted; what was measured is kept."""


class Journal:
    """The records of a run that is under way, one line of JSON each."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.header = json.loads(json.dumps(header))
        self.records: dict[str, Record] = {}
        self.resumed = 0

    def recover(self) -> None:
        """Take over what an interrupted run of the same kind has left."""
        try:
            lines = self.path.read_text().splitlines()
        except FileNotFoundError:
            return
        found = [_parsed(line) for line in lines]
        if not found or found[0] is None or not self._same_run(found[0].get("header", {})):
            return
        for entry in found[1:]:
            if entry is None:  # the line that was being written when the run ended
                break
            if "resumed" in entry:
                self.resumed = entry["resumed"]
            else:
                self.records[entry["key"]] = entry["record"]

    def _same_run(self, header: Mapping[str, Any]) -> bool:
        """Whether records made under that header may stand beside those made under this one."""
        return all(
            header.get(name) == self.header[name]
            for name in ("study", "settings", "machine", "versions", "code")
        )

    def begin(self) -> None:
        """Write anew what is known; from here on every record is appended."""
        if self.records:
            self.resumed += 1
        entries: list[Any] = [{"header": self.header}]
        if self.resumed:
            entries.append({"resumed": self.resumed})
        entries += [{"key": key, "record": record} for key, record in self.records.items()]
        write_whole(self.path, "".join(json.dumps(entry) + "\n" for entry in entries))

    def add(self, key: str, record: Record) -> None:
        with self.path.open("a") as lines:
            lines.write(json.dumps({"key": key, "record": record}) + "\n")
            lines.flush()
            os.fsync(lines.fileno())
        # As a resumed run would read it: tuples are lists.
        self.records[key] = json.loads(json.dumps(record))


def run(study: Study, settings: Settings, out: Path = RESULTS, *, fresh: bool = False) -> Any:
    """Measure what is still missing, write the results, and return them as one document."""
    out.mkdir(parents=True, exist_ok=True)
    header = {"study": study.name, "settings": asdict(settings), **provenance()}
    journal = Journal(out / f"{study.name}.partial.jsonl", header)
    if not fresh:
        journal.recover()
    journal.begin()
    cells = study.cells(settings)
    left = [cell for cell in cells if cell.key not in journal.records]
    if len(left) < len(cells):
        print(f"{study.name}: {len(cells) - len(left)} of {len(cells)} pieces are measured already")
    # Everybody on one thread: NumPy's matrix products would take more.
    with (
        threadpool_limits(1),
        tqdm(
            total=sum(cell.cost for cell in left),
            desc=study.name,
            disable=None,
            leave=False,
            smoothing=0,  # costs are in proportion: what is left follows from the average
            bar_format="{desc:36.36} {percentage:3.0f}% |{bar}| {elapsed}, {remaining} left",
        ) as bar,
    ):
        for cell in left:
            bar.set_description_str(f"{study.name}: {cell.key}")
            try:
                journal.add(cell.key, cell.run(journal.records))
            except KeyboardInterrupt:
                raise Stopped(
                    f"interrupted: {len(journal.records)} of {len(cells)} pieces of the study "
                    f"{study.name!r} are measured and kept; the same command goes on from there"
                ) from None
            bar.update(cell.cost)
    document = finished(study, asdict(settings), journal.records, journal.resumed)
    write(study, document, out)
    journal.path.unlink()
    return document


def finished(
    report: Report, settings: Mapping[str, Any], records: Mapping[str, Record], resumed: int = 0
) -> dict[str, Any]:
    """All that is known of a run, as one document."""
    return {
        "study": report.name,
        "title": report.title,
        "settings": dict(settings),
        **provenance(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "resumed": resumed,
        "records": dict(records),
    }


def write(report: Report, document: Mapping[str, Any], out: Path) -> None:
    """NAME.svg, NAME.md and NAME.json in ``out``; the figure and the page follow from the JSON."""
    with figures.styled():
        write_figure(out / f"{report.name}.svg", report.draw(document))
    write_whole(out / f"{report.name}.md", whole_page(report, document))
    write_whole(out / f"{report.name}.json", json.dumps(document, indent=1) + "\n")


def load(name: str, out: Path = RESULTS) -> Any:
    """The document of a finished study, or None."""
    try:
        return json.loads((out / f"{name}.json").read_text())
    except FileNotFoundError:
        return None


def whole_page(report: Report, document: Mapping[str, Any]) -> str:
    """The report's page with its title, its figure, and what it was measured on."""
    resumed = document["resumed"]
    return "\n".join(
        [
            f"# {report.title}\n",
            report.page(document).strip() + "\n",
            f"![{report.title}]({report.name}.svg)\n",
            f"Measured on {describe_machine(document)}; finished {document['finished'][:10]}"
            + (f", resumed {resumed} times." if resumed else ".")
            + f" Raw repeats, seeds and settings: [{report.name}.json]({report.name}.json).\n",
        ]
    )


def write_figure(path: Path, figure: Figure) -> None:
    figures.save(figure, temporary := path.with_suffix(".tmp.svg"))
    os.replace(temporary, path)


def write_whole(path: Path, text: str) -> None:
    """Replace ``path`` by ``text`` whole, or leave it as it was."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None
