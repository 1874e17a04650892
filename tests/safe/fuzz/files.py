"""Damaged files into the readers of paper_repro: a clean error that names the file, or a result."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from support.damage import damaged

from safe.fuzz.alarm import stopped_after
from safe.fuzz.ledger import Ledger
from safe.fuzz.oracle import judged

try:
    from paper_repro import documents, results
    from paper_repro.pubmed.bag import collect
    from paper_repro.pubmed.citations import read_citations
    from paper_repro.sealed import SealedLines

    _MISSING = None
except ImportError as error:
    _MISSING = f"paper_repro cannot be imported: {error}"


def missing() -> str | None:
    """Why there are no such inputs here, or None."""
    return _MISSING


def generate(random: np.random.Generator, ledger: Ledger) -> None:
    """One file of a kind that is read, damaged."""
    make, read = KINDS[random.integers(len(KINDS))]
    data = make(random)
    lot = Random(int(random.integers(2**63)))
    packed = random.random() < 0.4 and make is not a_journal
    if packed and random.random() < 0.5:
        data = gzip.compress(damaged(data, lot), mtime=0)
    else:
        data = damaged(gzip.compress(data, mtime=0) if packed else data, lot)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("file.svm" if make is a_svmlight else "file.xml")
        if packed:
            path = path.with_name(path.name + ".gz")
        with stopped_after(5.0):
            judged(
                ledger,
                f"{read.__name__} of {'packed ' if packed else ''}bytes",
                lambda: read(path, data),
                words=[path.name, str(path), "partial.jsonl", "word", "abstract"],
                finite=False,
            )


def a_svmlight(random: np.random.Generator) -> bytes:
    """A file in svmlight form."""
    lines = []
    for row in range(int(random.integers(1, 12))):
        columns = np.flatnonzero(random.random(9) < 0.4) + 1
        values = " ".join(f"{column}:{random.standard_normal():.4f}" for column in columns)
        label = f"{row % 2},{row % 3 + 2}" if random.random() < 0.02 else str(row % 2)
        lines.append(f"{label} {values}" + (" # words" if random.random() < 0.1 else ""))
    return "\n".join(lines).encode() + b"\n"


def an_export(random: np.random.Generator) -> bytes:
    """A file of PubMed's XML."""
    records = []
    for number in range(int(random.integers(1, 8))):
        words = " ".join(random.choice(["mice", "men", "liver", "p53", "é"], size=6))
        records.append(
            f'<PubmedArticle><MedlineCitation><PMID Version="1">{number + 1}</PMID><Article>'
            f"<ArticleTitle>On {words}</ArticleTitle><Abstract><AbstractText>{words}."
            f"</AbstractText></Abstract></Article><MeshHeadingList><MeshHeading><DescriptorName "
            f'UI="D{number % 2}">Humans {number % 2}</DescriptorName></MeshHeading>'
            f"</MeshHeadingList></MedlineCitation></PubmedArticle>"
        )
    if random.random() < 0.3:
        records.append('<DeleteCitation><PMID Version="1">1</PMID></DeleteCitation>')
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return f"{head}<PubmedArticleSet>{''.join(records)}</PubmedArticleSet>".encode()


_RECORD = {"seconds": 1.5, "runs": [1, 2, 3]}


def _header() -> dict[str, Any]:
    return dict.fromkeys(results.IDENTITY, "test")


def a_journal(random: np.random.Generator) -> bytes:
    """The records of a run that is under way."""
    entries: list[Any] = [{"header": {**_header(), "code": "abc"}}]
    if random.random() < 0.5:
        entries.append({"resumed": 2})
    for key in range(int(random.integers(1, 6))):
        entries.append({"key": f"cell {key}", "record": _RECORD})
    lines = SealedLines()
    return "".join(lines.line(entry) for entry in entries).encode()


def read_svmlight(path: Path, data: bytes) -> Any:
    """Read rows as studies read them."""
    path.write_bytes(data)
    return documents.from_svmlight(path)


def read_export(path: Path, data: bytes) -> Any:
    """Every citation."""
    path.write_bytes(data)
    return list(read_citations(path))


def read_bag(path: Path, data: bytes) -> Any:
    """The bag of words."""
    path.write_bytes(data)
    return collect([path], min_document_frequency=1)


def read_journal(path: Path, data: bytes) -> Any:
    """Read a journal as a run that goes on reads it."""
    journal = results.Journal(path.parent, _header())
    journal.path.write_bytes(data)
    journal.recover()
    if any(record != _RECORD for record in journal.records.values()):
        raise AssertionError(f"records must be what was written, got {journal.records}")
    journal.begin([])
    return journal


KINDS: list[tuple[Callable[[np.random.Generator], bytes], Callable[[Path, bytes], Any]]] = [
    (a_svmlight, read_svmlight),
    (an_export, read_export),
    (an_export, read_bag),
    (a_journal, read_journal),
]
