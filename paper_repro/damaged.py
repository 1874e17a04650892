"""The error for a file that cannot be used: it names the file, the problem and the remedy."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path


class DamagedFile(ValueError):
    """A file does not hold what its reader needs, or breaks off."""

    def __init__(self, path: str | PathLike[str], problem: str, remedy: str | None = None) -> None:
        super().__init__(f"{path}: {problem}" + ("" if remedy is None else f"; {remedy}"))
        self.path, self.problem = Path(path), problem


@contextmanager
def told_of(path: str | PathLike[str], remedy: str) -> Iterator[None]:
    """Within the block, an error of reading the file becomes a ``DamagedFile``.

    >>> with told_of("some.txt", "look at the name"):
    ...     open("some.txt")
    Traceback (most recent call last):
    paper_repro.damaged.DamagedFile: some.txt: No such file or directory; look at the name
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFile(path, f"cannot be unpacked: {error}", remedy) from error
    except UnicodeDecodeError as error:
        raise DamagedFile(path, f"not UTF-8 at byte {error.start}", remedy) from error
    except OSError as error:
        raise DamagedFile(path, error.strerror or str(error), remedy) from error
