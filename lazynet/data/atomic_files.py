"""Files that are written as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

# What the system says where there is no room for a file; it does not name the file.
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that replaces ``path`` once everything is on the disk.

    An error, Ctrl-C or a full disk leaves the earlier file.
    """
    target = _target(path)
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
    """A new file beside ``target``, open for writing; an error names the ``path`` of the user."""
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


def _target(path: str | os.PathLike[str]) -> Path:
    """The file that is written: a link goes on pointing to it."""
    check_path("path", path)
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a directory: name a file")
    if target.exists() and not target.is_file():
        # A file would replace the device itself.
        raise OSError(f"{os.fspath(path)} is a device or a pipe: name a file")
    return target


def _beginning_of(target: Path) -> str:
    """The beginning of the names of new files that will replace ``target``."""
    return f".{target.name[:100]}."


def same_file(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> bool:
    """Whether two names are of one file, also before there is one.

    >>> same_file("a.svm", "./a.svm"), same_file("a.svm", "b.svm")
    (True, False)
    """
    try:
        return os.path.samefile(first, second)
    except OSError:
        return os.path.realpath(first) == os.path.realpath(second)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path at which no file can be written; leaves nothing there."""
    target = _target(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{os.fspath(path)} cannot be written: there is no folder {target.parent}"
        )
    temporary, file = _new_file(path, target)
    file.close()
    with contextlib.suppress(OSError):
        temporary.unlink()


def remove_leftovers(path: str | os.PathLike[str], idle: float = 0.0) -> None:
    """Remove the new files that a killed process has left beside ``path``.

    Only files that were not written to for ``idle`` seconds: another process may be at work.
    """
    target = _target(path)
    with contextlib.suppress(OSError):
        pattern = re.escape(_beginning_of(target)) + r"[0-9a-f]{16}\.tmp"
        for file in target.parent.iterdir():
            is_leftover = re.fullmatch(pattern, file.name)
            if is_leftover and time.time() - file.stat().st_mtime >= idle:
                file.unlink(missing_ok=True)
