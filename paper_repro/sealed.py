"""JSON with digests: a reader sees whether a file was changed after it was written.

A document has one digest.  In a file of lines, the digest of a line also covers the digest of the
line before, so that a lost, doubled or exchanged line is seen.  A last line without a line break is
no damage: the writer was stopped while it wrote the line, and the reader leaves the line out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paper_repro.damaged import DamagedFile, told_of

Entry = Mapping[str, Any]

#: The name under which an entry carries its digest.
DIGEST = "digest"


def sealed_document(document: Entry) -> str:
    """The document's text, each entry and each of its records on a line.

    >>> print(sealed_document({"value": 1.5, "records": {"a": {"b": 1}, "c": {}}}), end="")
    {
     "value": 1.5,
     "records": {
      "a": {"b": 1},
      "c": {}
     },
     "digest": "1fe6b03059442686"
    }
    """
    entries = {name: json.dumps(value, allow_nan=False) for name, value in document.items()}
    if isinstance(records := document.get("records"), dict):
        lines = {key: json.dumps(record, allow_nan=False) for key, record in records.items()}
        entries["records"] = _object(lines, depth=1)
    entries[DIGEST] = json.dumps(_digest(document))
    return _object(entries) + "\n"


def _object(texts: Mapping[str, str], depth: int = 0) -> str:
    """An object in JSON, a line for each of the values, which are JSON already."""
    end = "\n" + depth * " "
    lines = (f"{end} {json.dumps(name)}: {text}" for name, text in texts.items())
    return f"{{{','.join(lines)}{end}}}"


def document_in(path: Path, remedy: str) -> dict[str, Any]:
    """Read a document of ``sealed_document``; raises ``DamagedFile`` if it was changed."""
    with told_of(path, remedy):
        text = path.read_bytes()
    document, _ = _opened(text, "", path, "", remedy)
    return document


class SealedLines:
    """Turns entries into the lines of a file, one after the other."""

    def __init__(self) -> None:
        self.last = ""

    def line(self, entry: Entry) -> str:
        """The line of the entry; its digest covers the lines before."""
        self.last = _digest(entry, self.last)
        return json.dumps({**entry, DIGEST: self.last}, allow_nan=False) + "\n"


def entries_in(path: Path, remedy: str) -> list[dict[str, Any]]:
    """Read the entries of ``SealedLines``; raises ``DamagedFile`` if a line was changed."""
    with told_of(path, "see that it can be read, or move it away"):
        *lines, _unfinished = path.read_bytes().split(b"\n")
    entries, last = [], ""
    for number, line in enumerate(lines, start=1):
        entry, last = _opened(line, last, path, f"line {number} ", remedy)
        entries.append(entry)
    return entries


def _opened(
    text: bytes, before: str, path: Path, where: str, remedy: str
) -> tuple[dict[str, Any], str]:
    """The entry in the text and its digest."""
    try:
        entry = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, f"{where}is not JSON ({error})", remedy) from error
    if not isinstance(entry, dict) or DIGEST not in entry:
        raise DamagedFile(path, f"{where}carries no digest", remedy)
    digest = entry.pop(DIGEST)
    try:
        fits = digest == _digest(entry, before)
    except (ValueError, RecursionError):  # NaN, for instance, which JSON does not have
        fits = False
    if not fits:
        raise DamagedFile(path, f"{where}does not fit its digest: it has been changed", remedy)
    return entry, digest


def _digest(entry: Entry, before: str = "") -> str:
    """A digest of all names and values in the entry, in their order."""
    text = json.dumps(entry, allow_nan=False, separators=(",", ":"))
    return hashlib.blake2b(f"{before}{text}".encode(), digest_size=8).hexdigest()
