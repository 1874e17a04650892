"""The one writer: runs a study cell by cell, keeps every record, writes JSON, page and figure.

Every record goes to a journal on disk before the next cell begins.  After Ctrl-C, a full disk or a
power cut, the next run with the same settings, data, code and machine continues after the last
record; runs that differ in any of these have separate journals.  A finished result replaces an
older one file by file, each whole or not at all, the numbers first.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from lazynet.data.files import replaced
from lazynet.plots import as_svg, styled
from paper_repro.damaged import DamagedFile, told_of
from paper_repro.folder import svmlight_files
from paper_repro.machine import describe_machine, provenance
from paper_repro.render import figure
from paper_repro.study import Cell, Record, Report, Settings, Study

RESULTS = Path(__file__).parent / "results"
#: The entries of a journal's header that must be equal for a run to continue another one.
IDENTITY = ("study", "settings", "data", "test", "folder", "machine", "versions", "code")
#: The remedy for a damaged journal, in words.
REMEDY = "give --fresh to forget it and measure everything again"


class Stopped(KeyboardInterrupt):
    """A run was interrupted; its records are kept in the journal."""


class Journal:
    """The records of a run that is under way, one line of JSON each."""

    def __init__(self, out: Path, header: Mapping[str, Any]) -> None:
        self.header = json.loads(json.dumps(header))
        identity = json.dumps({name: self.header[name] for name in IDENTITY}, sort_keys=True)
        digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
        self.path = out / f"{header['study']}.{digest}.partial.jsonl"
        self.records: dict[str, Record] = {}
        self.resumed = 0

    def recover(self) -> None:
        """Take over the records of an interrupted run, or refuse a damaged journal."""
        if not self.path.exists():
            return
        with told_of(self.path, "see that it can be read, or move it away"):
            # What a killed process was writing has no end.
            *lines, _unfinished = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            match _in_json(line, self.path, REMEDY):
                case {"header": dict() as header} if number == 1 and self._is_same_run(header):
                    # The code that measured the first record is what the document tells of.
                    self.header = header
                case {"resumed": int() as resumed} if number == 2:
                    self.resumed = resumed
                case {"key": str() as key, "record": dict() as record} if number > 1:
                    self.records[key] = record
                case _:
                    problem = f"line {number} is not what stands there in a journal of this run"
                    raise DamagedFile(self.path, problem, REMEDY)

    def _is_same_run(self, header: Record) -> bool:
        return all(header.get(name) == self.header[name] for name in IDENTITY)

    def begin(self, cells: Sequence[Cell]) -> list[Cell]:
        """Write the journal again with the known records; return the cells without a record."""
        left = [cell for cell in cells if cell.key not in self.records]
        if self.records and left:
            self.resumed += 1
        entries: list[Any] = [{"header": self.header}]
        if self.resumed:
            entries.append({"resumed": self.resumed})
        entries += [{"key": key, "record": record} for key, record in self.records.items()]
        write_whole(self.path, "".join(_line(entry) for entry in entries))
        return left

    def add(self, key: str, record: Record) -> None:
        line = _line({"key": key, "record": record})
        with self.path.open("a") as lines:
            lines.write(line)
            lines.flush()
            os.fsync(lines.fileno())
        # Keep the record as a resumed run would read it: JSON turns tuples into lists.
        self.records[key] = json.loads(json.dumps(record))


def run_all(
    studies: Sequence[Study], settings: Settings, out: Path = RESULTS, *, fresh: bool = False
) -> Iterator[tuple[Study, Any]]:
    """Run each study and yield it with its document.

    All journals stay until the last study is finished, so that the same command continues an
    interrupted series of studies with the study that was interrupted.
    """
    journals = []
    for study in studies:
        chosen = settings
        for taken, names, why in (
            (study.on_corpus, ("data", "label", "test"), "makes its own rows"),
            (study.takes_test, ("test",), "tests on no file"),
            (study.takes_folder, ("folder",), "looks at no folder"),
        ):
            if not taken and (file := getattr(chosen, names[0])) is not None:
                print(f"{study.name}: {why} and does not use {file}")
                none: dict[str, Any] = dict.fromkeys(names)
                chosen = replace(chosen, **none)
        document, journal = _run(study, chosen, out, fresh)
        journals.append(journal)
        yield study, document
    for journal in journals:
        journal.path.unlink(missing_ok=True)


def run(study: Study, settings: Settings, out: Path = RESULTS, *, fresh: bool = False) -> Any:
    """Run the cells that have no record yet, write the results, and return the document."""
    [(_, document)] = run_all([study], settings, out, fresh=fresh)
    return document


def _run(study: Study, settings: Settings, out: Path, fresh: bool) -> tuple[Any, Journal]:
    out.mkdir(parents=True, exist_ok=True)
    header = {
        "study": study.name,
        "settings": told(settings),
        "data": _digest(settings.data),
        "test": _digest(settings.test),
        "folder": _digest_of_folder(settings.folder),
        **provenance(),
    }
    journal = Journal(out, header)
    try:
        if not fresh:
            journal.recover()
        cells = study.cells(settings)
        _measure(study, journal, cells, journal.begin(cells))
        document = finished(study, settings, journal.header, journal.records, journal.resumed)
        write(study, document, out)
    except KeyboardInterrupt:
        raise Stopped(
            f"interrupted: {len(journal.records)} of {len(study.cells(settings))} pieces of the "
            f"study {study.name!r} are measured and kept; the same command continues from there"
        ) from None
    return document, journal


def _measure(study: Study, journal: Journal, cells: Sequence[Cell], left: Sequence[Cell]) -> None:
    """Run the cells in ``left`` on one thread, and add their records to the journal."""
    if len(left) < len(cells):
        print(f"{study.name}: {len(cells) - len(left)} of {len(cells)} pieces are measured already")
    with (
        # NumPy's matrix products would use all cores.
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
            journal.add(cell.key, cell.run(journal.records))
            bar.update(cell.cost)


def finished(
    report: Report,
    settings: Settings | Mapping[str, Any],
    header: Mapping[str, Any],
    records: Mapping[str, Record],
    resumed: int = 0,
) -> dict[str, Any]:
    """The document of a finished run."""
    chosen = told(settings) if isinstance(settings, Settings) else dict(settings)
    return {
        **header,
        "study": report.name,
        "title": report.title,
        "settings": chosen,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "resumed": resumed,
        "records": dict(records),
    }


def write(report: Report, document: Mapping[str, Any], out: Path, *, numbers: bool = True) -> None:
    """Write NAME.json, if ``numbers``, and NAME.md and NAME.svg, which use the document alone."""
    out.mkdir(parents=True, exist_ok=True)
    # All texts are made before any file is replaced; the numbers are first.
    texts = {"json": text_of(document)} if numbers else {}
    texts |= {"md": whole_page(report, document), "svg": drawing(report, document)}
    for ending, text in texts.items():
        write_whole(out / f"{report.name}.{ending}", text)


def write_whole(path: Path, text: str) -> None:
    """Write the text to ``path``; if this fails, an older file stays as it was."""
    with replaced(path) as file:
        file.write(text.encode())


def load(name: str, out: Path = RESULTS) -> Any:
    """The document of a finished study, or None."""
    path = out / f"{name}.json"
    if not path.exists():
        return None
    remedy = f"restore the file, or delete it and run the study {name!r} again"
    with told_of(path, remedy):
        document = _in_json(path.read_bytes(), path, remedy)
    if not isinstance(document, dict) or document.get("study") != name:
        raise DamagedFile(path, f"is no result of the study {name!r}", remedy)
    return document


def text_of(document: Mapping[str, Any]) -> str:
    """The document in JSON, each entry and each of its records on a line.

    >>> print(text_of({"value": 1.5, "records": {"a": {"b": 1}, "c": {}}}), end="")
    {
     "value": 1.5,
     "records": {
      "a": {"b": 1},
      "c": {}
     }
    }
    """
    entries = {name: json.dumps(value, allow_nan=False) for name, value in document.items()}
    if isinstance(records := document.get("records"), dict):
        lines = {key: json.dumps(record, allow_nan=False) for key, record in records.items()}
        entries["records"] = _object(lines, depth=1)
    return _object(entries) + "\n"


def _object(texts: Mapping[str, str], depth: int = 0) -> str:
    """An object in JSON, a line for each of the values, which are JSON already."""
    end = "\n" + depth * " "
    lines = (f"{end} {json.dumps(name)}: {text}" for name, text in texts.items())
    return f"{{{','.join(lines)}{end}}}"


def _line(entry: Mapping[str, Any]) -> str:
    """A line of a journal."""
    return json.dumps(entry, allow_nan=False) + "\n"


def _in_json(text: bytes, path: Path, remedy: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, f"is not JSON ({error})", remedy) from error


def whole_page(report: Report, document: Mapping[str, Any]) -> str:
    """The report's page with title, figure, machine and versions."""
    times = document["resumed"]
    return "\n".join(
        [
            f"# {report.title}\n",
            report.page(document) + "\n",
            f"![{report.title}]({report.name}.svg)\n",
            f"Measured on {describe_machine(document)}; finished {document['finished'][:10]}"
            + (f", resumed {times} time{'s' * (times > 1)}." if times else ".")
            + f" All numbers, seeds and settings: [{report.name}.json]({report.name}.json).\n",
        ]
    )


def drawing(report: Report, document: Mapping[str, Any]) -> str:
    """The report's figure as SVG."""
    with styled():
        return as_svg(figure(report.content(document)))


def told(settings: Settings) -> dict[str, Any]:
    """Settings as they are recorded.  Files are recorded by name; digests identify the content."""
    chosen = asdict(settings)
    for name in ("data", "test", "folder"):
        if chosen[name] is not None:
            chosen[name] = Path(chosen[name]).name
    return chosen


def _digest(path: str | None) -> str | None:
    """A digest of the file's content, or None without a file."""
    if path is None:
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of_folder(path: str | None) -> str | None:
    """A digest of the names and the contents of the folder's svmlight files, or None."""
    if path is None:
        return None
    files = {str(part.name): _digest(str(part)) for part in svmlight_files(path)}
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
