"""Files: found by name or pattern, unpacked, read ahead; and written as a whole or not at all."""

from __future__ import annotations

import bz2
import contextlib
import errno
import glob
import lzma
import math
import os
import re
import secrets
import stat
import time
import zlib
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, BinaryIO, TypeVar

from lazynet.data.source import Source

Item = TypeVar("Item")
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

#: Bytes that are read at a time: they stay in the processor's cache until they are parsed.
BLOCK = 1 << 17
# The mark that some editors write before a text; it does not belong to the text.
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Packed bytes that are read at a time: what follows a short stream is copied at its end.
_PACKED_BLOCK = 1 << 14
#: By the end of a file's name: what unpacks a stream of the file, and the unit in which zeros may
#: follow a stream.
PACKINGS: dict[str, tuple[Any, float]] = {
    ".gz": (partial(zlib.decompressobj, 16 + zlib.MAX_WBITS), 1),
    ".bz2": (bz2.BZ2Decompressor, math.inf),
    ".xz": (lzma.LZMADecompressor, 4),
}
#: Python's errors if a JSON document in a file does not have the expected form.
NO_DOCUMENT = ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
# The system's errors about a full disk; they do not name the file.
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def files_of(paths: Paths) -> list[str]:
    """The files of one name, of a pattern such as ``part-*.svm.gz``, or of several of them.

    A pattern gives its files in the order of their names.
    """
    files: list[str] = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"paths must hold names of files, got {path!r}")
        name = os.fspath(path)
        if os.path.isdir(name):
            raise IsADirectoryError(f"paths: {name!r} is a folder; give {name + '/*'!r}")
        found = [name] if os.path.exists(name) else sorted(glob.glob(name))
        matches = [match for match in found if not os.path.isdir(match)]
        if not matches:
            is_pattern = glob.has_magic(name)
            absence = "no file matches" if is_pattern else "there is no file"
            raise FileNotFoundError(f"paths: {absence} {name!r}")
        files += matches
    for name in filter(is_pipe, files):
        raise OSError(
            f"paths: {name!r} is a device or a pipe, which can be read only once: copy it to a file"
        )
    if not files:
        raise ValueError("paths must name at least one file")
    return files


def is_pipe(path: str) -> bool:
    """Whether a name is that of a pipe or a device, whose bytes can be read only once."""
    # On some systems a file that is opened by such a name continues where it was left.
    return path.startswith(("/dev/fd/", "/dev/std")) or (
        os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    )


class FilesSource(Source):
    """The base of the sources whose rows are in files."""

    def __init__(self, paths: Paths) -> None:
        self.paths = files_of(paths)
        self._stamps: dict[str, Stamp] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Another machine has other numbers for the same file.
        return {**vars(self), "_stamps": {}}

    def __str__(self) -> str:
        return ", ".join(self.paths)

    def _options(self) -> dict[str, Any]:
        """The parameters on which the rows depend, besides the files."""
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        """The parameters, and name, size and time of change of every file."""
        statuses = [(str(Path(path).resolve()), os.stat(path)) for path in self.paths]
        files = [[name, status.st_size, status.st_mtime_ns] for name, status in statuses]
        return {"form": type(self).__name__, **self._options(), "files": files}

    def _texts(self, path: str) -> Generator[bytes, None, None]:
        """The text of a file; refuses a file that has changed since the first pass."""
        with open(path, "rb") as file:
            self._compare(path, file)
            yield from texts_of(file, path)
            self._compare(path, file)

    def _compare(self, path: str, file: BinaryIO) -> None:
        stamp = stamp_of(file)
        if self._stamps.setdefault(path, stamp) != stamp:
            raise changed(path)


#: Device, inode, size and time of change of an open file.
Stamp = tuple[int, int, int, int]


def stamp_of(file: BinaryIO) -> Stamp:
    """The numbers that change if the file is written, or if another file gets its name."""
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def changed(path: str) -> ValueError:
    """The error about a file that is not what it was at the first read."""
    return ValueError(
        f"{path}: the file has changed since it was first read: read it again by a new source"
    )


def texts_of(file: BinaryIO, path: str) -> Generator[bytes, None, None]:
    """The text of a file in blocks of whole lines, unpacked if the name ``path`` says so."""
    packing = PACKINGS.get(os.path.splitext(path)[1])
    blocks = iter(partial(file.read, BLOCK), b"")
    if packing is not None:
        blocks = _unpacked(file, path, *packing)
    pieces: list[bytes] = []
    for number, block in enumerate(blocks):
        text = block if number else block.removeprefix(_BYTE_ORDER_MARK)
        lines, newline, beginning = text.rpartition(b"\n")
        if newline:
            yield b"".join([*pieces, lines, newline])
            pieces = []
        pieces.append(beginning)
    if text := b"".join(pieces):
        yield text


def _unpacked(
    file: BinaryIO, path: str, new_stream: Any, unit: float
) -> Generator[bytes, None, None]:
    """The blocks of all streams of a packed file, which is read to its last byte.

    Zeros may follow a stream, a multiple of ``unit`` of them; anything else must be a stream.
    """
    read = partial(file.read, _PACKED_BLOCK)
    packed = read()
    try:
        while True:
            stream = new_stream()
            while not stream.eof:
                if not packed and getattr(stream, "needs_input", True):
                    packed = read()
                    if not packed:
                        raise EOFError("it ends within a stream")
                if block := stream.decompress(packed, BLOCK):
                    yield block
                packed = getattr(stream, "unconsumed_tail", b"")
            packed, n_zeros = stream.unused_data or read(), 0
            while packed.startswith(b"\0"):
                rest = packed.lstrip(b"\0")
                n_zeros += len(packed) - len(rest)
                packed = rest or read()
            if n_zeros % unit:
                raise EOFError(f"{n_zeros} zeros follow a stream")
            if not packed:
                return
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if getattr(error, "errno", None) is not None:  # a failure of the disk, which names it
            raise
        message = f"{path}: the packed file is damaged or cut short: {error}"
        raise ValueError(message) from error


def ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The items; a thread makes each item while the caller works on the item before it.

    An error of the generator is raised in place of its item.  The thread ends with the iteration,
    also if the caller stops early, by an error or by Ctrl-C.

    >>> list(ahead(number * number for number in range(4)))
    [0, 1, 4, 9]
    """
    end = object()
    made: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    wanted, left = Semaphore(), Event()

    def make() -> None:
        item: Any = None
        while item is not end:
            wanted.acquire()
            if left.is_set():
                return
            try:
                item = next(items, end)
            except BaseException as error:  # the caller gets it
                made.put((end, error))
                return
            made.put((item, None))

    thread = Thread(target=make, name="lazynet chunks", daemon=True)
    try:
        try:
            thread.start()
        except RuntimeError as failure:
            # Ctrl-C within ``start`` can leave a lock of Python's own in disorder.
            if isinstance(failure.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from failure
            raise
        while True:
            item, error = made.get()
            if error is not None:
                raise error
            if item is end:
                return
            wanted.release()
            yield item
    finally:
        left.set()
        wanted.release()
        # If Ctrl-C came before the thread began, ``left`` ends the thread when it begins.
        if thread.ident is not None:
            thread.join()
        items.close()


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that replaces ``path`` once everything is on the disk.

    An error, Ctrl-C or a full disk leaves the earlier file.
    """
    target = regular_file(path)
    temporary, file = _new_file(path, target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise
    with contextlib.suppress(OSError):  # a system whose folders cannot be opened
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _new_file(path: str | os.PathLike[str], target: Path) -> tuple[Path, BinaryIO]:
    """A new file in the folder of ``target``, open for writing; errors name the user's ``path``."""
    temporary = target.with_name(f"{_beginning_of(target)}{secrets.token_hex(8)}.tmp")
    try:
        return temporary, open(temporary, "xb")
    except OSError as error:
        message = f"{os.fspath(path)} cannot be written: {error.strerror or error}"
        raise OSError(error.errno, message) from None


def check_path(name: str, path: str | os.PathLike[str]) -> None:
    """Refuse a path that no file can have."""
    if "\0" in os.fsdecode(path):
        raise ValueError(f"{name} must not contain null characters, got {os.fspath(path)!r}")


def regular_file(path: str | os.PathLike[str]) -> Path:
    """The file that is read or written, behind links; refuses directories and devices."""
    check_path("path", path)
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a directory: name a file")
    if target.exists() and not target.is_file():
        # A file would replace the device itself, and a pipe could keep a reader waiting.
        raise OSError(f"{os.fspath(path)} is a device or a pipe: name a file")
    return target


def _beginning_of(target: Path) -> str:
    """The beginning of the names of new files that will replace ``target``."""
    return f".{target.name[:100]}."


def same_file(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> bool:
    """Whether two names are the names of one file, even if the file does not exist yet."""
    try:
        return os.path.samefile(first, second)
    except OSError:
        return os.path.realpath(first) == os.path.realpath(second)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path at which no file can be written; no file remains there."""
    target = regular_file(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{os.fspath(path)} cannot be written: there is no folder {target.parent}"
        )
    temporary, file = _new_file(path, target)
    file.close()
    with contextlib.suppress(OSError):
        temporary.unlink()


def remove_leftovers(path: str | os.PathLike[str], idle: float = 0.0) -> None:
    """Remove the temporary files of killed processes in the folder of ``path``.

    Only files without a write for ``idle`` seconds: another process may be writing the others.
    """
    target = regular_file(path)
    with contextlib.suppress(OSError):
        pattern = re.escape(_beginning_of(target)) + r"[0-9a-f]{16}\.tmp"
        for file in target.parent.iterdir():
            is_leftover = re.fullmatch(pattern, file.name)
            if is_leftover and time.time() - file.stat().st_mtime >= idle:
                file.unlink(missing_ok=True)
