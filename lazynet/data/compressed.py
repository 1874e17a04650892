"""Files by their names: plain, packed, several, from a pattern, or from standard input."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Self

#: The name of standard input.
STDIN = "-"
#: Bytes that are read at a time: they stay in the processor's cache until they are parsed.
BLOCK = 1 << 17
# What some editors write before a text; it is no part of the text.
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Bytes of a file of Zstandard that are unpacked at a time.
_PACKED_AT_ONCE = 1 << 14

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def files_of(paths: Paths) -> list[str]:
    """The files of one name, of a pattern such as ``part-*.svm.gz``, or of several of them.

    A pattern gives its files in the order of their names.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for path in given:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"paths must hold names of files, got {path!r}")
        name = os.fspath(path)
        if name == STDIN or os.path.isfile(name):
            found.append(name)
        elif glob.has_magic(name):
            matches = sorted(match for match in glob.glob(name) if os.path.isfile(match))
            if not matches:
                raise FileNotFoundError(f"paths: no file matches {name!r}")
            found += matches
        elif os.path.isdir(name):
            raise IsADirectoryError(f"paths: {name!r} is a folder; give {name + '/*'!r}")
        elif os.path.exists(name):
            found.append(name)  # a pipe
        else:
            raise FileNotFoundError(f"paths: there is no file {name!r}")
    if not found:
        raise ValueError("paths must name at least one file")
    return found


def identity_of(path: str) -> list[Any] | None:
    """Name, size and time of change of a file; None for what is no file."""
    if path == STDIN or not os.path.isfile(path):
        return None
    status = os.stat(path)
    return [str(Path(path).resolve()), status.st_size, status.st_mtime_ns]


def _new_zstandard(path: str) -> Any:
    """What makes decompressors of Zstandard, of Python 3.14 or of the package zstandard."""
    try:
        return import_module("compression.zstd").ZstdDecompressor
    except ImportError:
        pass
    try:
        return import_module("zstandard").ZstdDecompressor().decompressobj
    except ImportError:
        raise ValueError(
            f"{path} is packed by Zstandard, which needs: pip install zstandard"
        ) from None


class _Zstandard:
    """The bytes in the frames of a file of Zstandard; EOFError where a frame is not finished.

    The reader of the package zstandard ends without an error in the middle of a frame.
    """

    def __init__(self, path: str) -> None:
        self._new = _new_zstandard(path)
        self._file = _plain(path)
        self._frame: Any = None
        self._packed = self._bytes = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes, none at the end."""
        while not self._bytes:
            self._packed = self._packed or self._file.read(_PACKED_AT_ONCE)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the last frame of Zstandard is not finished")
                break
            if self._frame is None:
                self._frame = self._new()
            self._bytes = self._frame.decompress(self._packed)
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        found, self._bytes = self._bytes[:size], self._bytes[size:]
        return found


def _plain(path: str) -> Any:
    return open(path, "rb", buffering=0)


#: How a file is opened, by the end of its name.
_OPENERS: dict[str, Any] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _Zstandard,
}


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """A file to read bytes from, unpacked if its name ends in .gz, .zst, .bz2 or .xz."""
    if path == STDIN:
        yield sys.stdin.buffer
        return
    opener = _OPENERS.get(os.path.splitext(path)[1])
    with (opener or _plain)(path) as file:
        if opener is not None and os.path.isfile(path) and not os.path.getsize(path):
            # gzip.open reads it as a file of nothing.
            raise _damaged(path, "it is empty")
        yield file


def _damaged(path: str, how: object) -> ValueError:
    return ValueError(f"{path}: the packed file is damaged or cut short: {how}")


def read(file: IO[bytes], path: str, size: int) -> bytes:
    """At most ``size`` bytes, at least one before the end; an error names a damaged file."""
    try:
        return file.read(size) or b""
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise _damaged(path, error) from error
    except OSError as error:
        if error.errno is not None:  # a failure of the disk, which says what it is
            raise
        raise _damaged(path, error) from error
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        raise _damaged(path, error) from error


def beginning(file: IO[bytes], path: str) -> bytes:
    """The first bytes of a file, without a byte order mark."""
    text = b""
    while len(text) <= len(_BYTE_ORDER_MARK):
        more = read(file, path, len(_BYTE_ORDER_MARK) + 1 - len(text))
        if not more:
            break
        text += more
    return text.removeprefix(_BYTE_ORDER_MARK)


def lines_of(path: str) -> Generator[tuple[int, bytes], None, None]:
    """The lines of a file that are not empty, with their numbers from 1 on."""
    number, last = 0, False
    with opened(path) as file:
        rest = beginning(file, path)
        while not last:
            more = read(file, path, max(BLOCK, len(rest)))
            last = not more
            *whole, rest = (rest + more).split(b"\n")
            if last:
                whole.append(rest)
            for line in whole:
                number += 1
                if line.strip():
                    yield number, line
