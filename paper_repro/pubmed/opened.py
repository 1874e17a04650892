"""A file of PubMed XML as bytes that are safe to parse: unpacked, and its head looked at first.

What an XML file can do to its reader, it does through the entities that it declares: grow without
bounds, or pull in other files.  PubMed declares none.  So a file that declares one is refused at
the declaration, before the parser that builds elements has seen a byte of it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

_GZIP_MAGIC = b"\x1f\x8b"
# An export, or one of its records alone, as tools that split exports leave them.
ROOTS = (
    "PubmedArticleSet",
    "PubmedBookArticleSet",
    "PubmedArticle",
    "PubmedBookArticle",
    "DeleteCitation",
)

#: Told how many more bytes of the file, packed as it may be, have been read.
OnRead = Callable[[int], None]


class DamagedFile(ValueError):
    """The file is not, or not to its end, PubMed XML that can be trusted."""

    def __init__(self, path: str | PathLike[str], problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = Path(path), problem


class _HeadEnds(Exception):
    """The outermost element begins; what follows, damage included, is for the other parser."""


class CheckedBytes:
    """What ``iterparse`` reads from: passes bytes on once the head of the file is known good."""

    def __init__(self, path: Path, stream: Any, packed: BinaryIO, on_read: OnRead | None) -> None:
        self.path, self.stream, self.packed = path, stream, packed
        # A pipe cannot tell how far it has been read.
        self.on_read = on_read if packed.seekable() else None
        self.head: Any = _head_parser(self._refuse_entity, self._check_root)
        self.empty = True
        self.reported = 0

    def read(self, size: int) -> bytes:
        try:
            # Not read(): where the file breaks off, that loses what came just before.
            block: bytes = self.stream.read1(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DamagedFile(self.path, f"damaged gzip data: {error}") from error
        if self.on_read is not None:
            position = self.packed.tell()
            self.on_read(position - self.reported)
            self.reported = position
        if self.head is not None:
            self._look_at(block)
        return block

    def _look_at(self, block: bytes) -> None:
        self.empty = self.empty and not block
        if self.empty:
            raise DamagedFile(self.path, "the file is empty")
        try:
            self.head.Parse(block, not block)
        except _HeadEnds:
            self.head = None
        except DamagedFile:
            raise
        # Encodings that Python does not know, or that expat cannot use, are the other two.
        except (expat.ExpatError, LookupError, ValueError) as error:
            raise DamagedFile(self.path, f"not XML: {error}") from error

    def _refuse_entity(self, name: str, is_parameter_entity: bool, *_: Any) -> None:
        kind = "parameter entity" if is_parameter_entity else "entity"
        raise DamagedFile(
            self.path,
            f"line {self.head.CurrentLineNumber} declares the {kind} {name!r}; PubMed's files "
            f"declare none, and what one stands for may be harmful",
        )

    def _check_root(self, name: str, attributes: dict[str, str]) -> None:
        if "xmlns" in attributes:
            raise DamagedFile(
                self.path,
                f"its elements are of the namespace {attributes['xmlns']!r}, not PubMed's",
            )
        if name not in ROOTS:
            raise DamagedFile(
                self.path, f"the outermost element is {name!r}, in a PubMed export {ROOTS[0]!r}"
            )
        raise _HeadEnds


def _head_parser(on_entity: Callable[..., None], on_element: Callable[..., None]) -> Any:
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = on_entity
    parser.StartElementHandler = on_element
    return parser


@contextmanager
def opened(path: str | PathLike[str], on_read: OnRead | None = None) -> Iterator[CheckedBytes]:
    """The file to read from; whether it is packed is seen from its first bytes, not its name."""
    with open(path, "rb") as packed:
        if packed.peek(2)[:2] != _GZIP_MAGIC:
            yield CheckedBytes(Path(path), packed, packed, on_read)
            return
        with gzip.GzipFile(fileobj=packed) as unpacked:
            yield CheckedBytes(Path(path), unpacked, packed, on_read)
