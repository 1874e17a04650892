"""Reads the citations of a PubMed XML file one by one, in the memory that one citation needs.

It reads files that the NLM distributes (baseline and daily updates) and files that PubMed exports.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

from lxml import etree

from paper_repro.damaged import DamagedFile

BOOK_ARTICLE = "book article"
NO_ABSTRACT = "no abstract"
NO_PMID = "no PMID"

# Elements of formulas stand for words of their own; <i>, <sub> and the like are parts of words.
_MATHML = "{http://www.w3.org/1998/Math/MathML}*"
_GZIP_MAGIC = b"\x1f\x8b"
# An export, or one of its records alone, as tools that split exports leave them.
_ROOTS = {
    "PubmedArticleSet", "PubmedBookArticleSet", "PubmedArticle", "PubmedBookArticle",
    "DeleteCitation",
}  # fmt: skip
_NUMBER = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True)
class Citation:
    """A citation with an abstract; ``mesh`` are the descriptors it is indexed with, (ui, name)."""

    pmid: int
    version: int
    title: str
    abstract: str
    mesh: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Deleted:
    """Every version of this citation that came before has been withdrawn."""

    pmid: int


@dataclass(frozen=True)
class Skipped:
    """A record of which nothing can be counted.  It replaces earlier versions all the same."""

    pmid: int | None
    reason: str
    version: int = 1


def read_citations(path: str | PathLike[str]) -> Iterator[Citation | Deleted | Skipped]:
    """Read a file, packed with gzip or not, in its order.

    Raises ``DamagedFile`` where the file is broken or declares entities, and OSError where it
    cannot be read.  Records that were yielded before the error are whole.
    """
    with _opened(path) as stream:
        records = etree.iterparse(
            stream,
            events=("end",),
            tag=("PubmedArticle", "PubmedBookArticle", "DeleteCitation"),
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
        )
        try:
            for _, element in records:
                _refuse_entities(path, records, element)
                yield from _READERS[element.tag](element)
                _forget(element)
        except etree.XMLSyntaxError as error:
            raise DamagedFile(path, f"broken XML: {_first_problem(records, error)}") from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DamagedFile(path, f"damaged gzip data: {error}") from error
        _refuse_entities(path, records, records.root)
        if records.root.tag not in _ROOTS:
            raise DamagedFile(path, f"the outermost element is {records.root.tag!r}")


@contextmanager
def _opened(path: str | PathLike[str]) -> Iterator[Any]:
    """The text; the first bytes of the file, not its name, say whether it is packed."""
    with open(path, "rb") as packed:
        if packed.peek(2)[:2] != _GZIP_MAGIC:
            yield packed
            return
        with gzip.GzipFile(fileobj=packed) as unpacked:
            yield unpacked


def _article(element: Any) -> Iterator[Citation | Skipped]:
    pmid, version = _identity(element.find("MedlineCitation/PMID"))
    if pmid is None:
        yield Skipped(None, NO_PMID)
        return
    sections = element.iterfind("MedlineCitation/Article/Abstract/AbstractText")
    abstract = " ".join(filter(None, map(_text, sections)))
    if not abstract:
        yield Skipped(pmid, NO_ABSTRACT, version)
        return
    headings = element.iterfind("MedlineCitation/MeshHeadingList/MeshHeading/DescriptorName")
    yield Citation(
        pmid,
        version,
        _text(element.find("MedlineCitation/Article/ArticleTitle")),
        abstract,
        tuple((heading.get("UI", "").strip(), _text(heading)) for heading in headings),
    )


def _book_article(element: Any) -> Iterator[Skipped]:
    pmid, version = _identity(element.find("BookDocument/PMID"))
    yield Skipped(pmid, BOOK_ARTICLE, version)


def _deletion(element: Any) -> Iterator[Deleted]:
    for child in element.iterfind("PMID"):
        pmid, _ = _identity(child)
        if pmid is not None:
            yield Deleted(pmid)


_READERS: dict[str, Any] = {
    "PubmedArticle": _article,
    "PubmedBookArticle": _book_article,
    "DeleteCitation": _deletion,
}


def _identity(element: Any) -> tuple[int | None, int]:
    """PMID and version."""
    pmid = _text(element)
    if not _NUMBER.fullmatch(pmid):
        return None, 1
    version = element.get("Version", "").strip()
    return int(pmid), int(version) if _NUMBER.fullmatch(version) else 1


def _text(element: Any) -> str:
    """All the text inside, with single spaces."""
    if element is None:
        return ""
    for part in element.iter(_MATHML):
        part.text = f" {part.text or ''} "
    return " ".join("".join(element.itertext()).split())


def _forget(element: Any) -> None:
    """Free the element and everything before it, which the elements around it would keep."""
    element.clear()
    while (parent := element.getparent()) is not None:
        while element.getprevious() is not None:
            del parent[0]
        element = parent


def _refuse_entities(path: str | PathLike[str], records: Any, element: Any) -> None:
    """Refuse entities, whose text is missing: PubMed's files declare none."""
    declared = element.getroottree().docinfo.internalDTD
    for entity in declared.iterentities() if declared is not None else ():
        raise DamagedFile(path, f"it declares the entity {entity.name!r}")
    # With an external DTD, where it might be declared, the parser merely warns of these.
    for entry in records.error_log:
        if entry.type == etree.ErrorTypes.WAR_UNDECLARED_ENTITY:
            raise DamagedFile(path, f"{_where(entry)}{entry.message}")


def _first_problem(records: Any, error: etree.XMLSyntaxError) -> str:
    """The parser's first complaint; the exception may be about a later one."""
    for entry in records.error_log:
        if entry.level >= etree.ErrorLevels.ERROR:
            return f"{_where(entry)}{entry.message.strip()}"
    return str(error.msg)


def _where(entry: Any) -> str:
    return f"line {entry.line}, column {entry.column}: "
