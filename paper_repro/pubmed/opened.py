"""A file of PubMed XML as bytes that are safe to parse: unpacked, and its head looked at first.

An XML file can declare entities and default attributes, and through them grow without bounds or
pull in other files.  PubMed declares none.  So a file that declares one is refused at the
declaration, before the parser that builds elements has seen a byte of the file.

A small packed file can also unpack to something huge, and a parser keeps what it has seen until a
record ends.  So the bytes are counted as they pass, and a file far larger than its packed size or
its records allow is refused at that byte.
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

from paper_repro.damaged import DamagedFile

_GZIP_MAGIC = b"\x1f\x8b"
# An export, or one of its records alone, as tools that split exports leave them.
ROOTS = (
    "PubmedArticleSet",
    "PubmedBookArticleSet",
    "PubmedArticle",
    "PubmedBookArticle",
    "DeleteCitation",
)

# Bytes before the outermost element; in PubMed's files they are a few hundred.  The parser of the
# head looks at an unfinished comment again with every block that comes, so that a long comment
# there would cost the square of its length.
LARGEST_HEAD = 1 << 16
# Bytes, and tags and attributes, of one record.  15,000 authors, with 400 bytes and 15 tags each,
# make 6,000,000 and 225,000.  A tag of 4 bytes takes the parser more than 100, so that a bound of
# the bytes alone would not bound the memory.
LARGEST_RECORD = 1 << 24
MOST_TAGS = 1_000_000
# How many times its size a file may unpack to, beside one record.  Text unpacks to about 10 times
# its size; the most that gzip allows is about 1000 times.
MOST_UNPACKED = 100

#: Called with the number of bytes, packed or not, that were read from the file since the last call.
OnRead = Callable[[int], None]


class _HeadEnds(Exception):
    """The outermost element begins; the other parser reads on, and meets any damage."""


class CheckedBytes:
    """The stream that ``iterparse`` reads: passes bytes on once the head of the file is checked."""

    def __init__(self, path: Path, stream: Any, packed: BinaryIO, on_read: OnRead | None) -> None:
        self.path, self.stream, self.packed = path, stream, packed
        self.on_read = on_read
        self.head: Any = expat.ParserCreate()
        self.head.EntityDeclHandler = self._refuse_entity
        self.head.AttlistDeclHandler = self._refuse_attribute
        self.head.StartElementHandler = self._check_root
        self.head_bytes = 0
        self.reported = 0
        self.unpacked = 0
        self.record_bytes = self.record_tags = 0

    def read(self, size: int) -> bytes:
        try:
            # Not read(): where the file breaks off, that loses what came just before.
            block: bytes = self.stream.read1(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DamagedFile(self.path, f"damaged gzip data: {error}") from error
        self._count(block)
        if self.head is not None:
            self._look_at(block)
        return block

    def record_ended(self) -> None:
        """Count the bytes from here on for the next record."""
        self.record_bytes = self.record_tags = 0

    def _count(self, block: bytes) -> None:
        self.unpacked += len(block)
        self.record_bytes += len(block)
        # Every element, comment and instruction has a "<" and every attribute a "=", whatever the
        # encoding, since the head's parser knows only encodings that extend ASCII, and UTF-16.
        self.record_tags += block.count(b"<") + block.count(b"=")
        if self.record_bytes > LARGEST_RECORD or self.record_tags > MOST_TAGS:
            raise DamagedFile(
                self.path,
                f"no record ends within {self.record_bytes:,} bytes and {self.record_tags:,} tags "
                f"and attributes; one may have {LARGEST_RECORD:,} and {MOST_TAGS:,}",
            )
        if not self.packed.seekable():
            return  # a pipe cannot tell how far it has been read
        position = self.packed.tell()
        if self.on_read is not None:
            self.on_read(position - self.reported)
            self.reported = position
        if self.unpacked > LARGEST_RECORD + MOST_UNPACKED * position:
            raise DamagedFile(
                self.path,
                f"it unpacks to more than {MOST_UNPACKED} times its size; text unpacks to about 10 "
                f"times its size",
            )

    def _look_at(self, block: bytes) -> None:
        if not self.unpacked:
            raise DamagedFile(self.path, "the file is empty")
        try:
            self.head.Parse(block, not block)
        except _HeadEnds:
            self.head = None
        except DamagedFile:
            raise
        # LookupError: an encoding unknown to Python; ValueError: one that expat cannot use.
        except (expat.ExpatError, LookupError, ValueError) as error:
            raise DamagedFile(self.path, f"not XML: {error}") from error
        else:
            self.head_bytes += len(block)
            if self.head_bytes > LARGEST_HEAD:
                raise DamagedFile(
                    self.path,
                    f"the outermost element does not begin within the first {LARGEST_HEAD:,} "
                    f"bytes; in PubMed's files it begins after a few hundred",
                )

    def _refuse_entity(self, name: str, is_parameter_entity: bool, *_: Any) -> None:
        self._refuse(f"the {'parameter entity' if is_parameter_entity else 'entity'} {name!r}")

    def _refuse_attribute(self, element: str, name: str, *_: Any) -> None:
        self._refuse(f"the attribute {name!r} of {element!r}")

    def _refuse(self, declared: str) -> None:
        raise DamagedFile(
            self.path,
            f"line {self.head.CurrentLineNumber} declares {declared}; PubMed's files "
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


@contextmanager
def opened(path: str | PathLike[str], on_read: OnRead | None = None) -> Iterator[CheckedBytes]:
    """The file to read from; its first bytes, not its name, say whether it is packed."""
    with open(path, "rb") as packed:
        if packed.peek(2)[:2] != _GZIP_MAGIC:
            yield CheckedBytes(Path(path), packed, packed, on_read)
            return
        with gzip.GzipFile(fileobj=packed) as unpacked:
            yield CheckedBytes(Path(path), unpacked, packed, on_read)
