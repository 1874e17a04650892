"""``python -m paper_repro.every_bit``: small files of several kinds lose each bit and each end.

One bit after the other is turned over, and then the file is cut off before each of its bytes.  Each
damaged file is refused, by an error that names the file or the argument, or it is read.  Files with
checksums are read only where nothing that counts was damaged, and then as before; files without
checksums may hold other rows.  Any other end is a fault, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse

import lazynet
from lazynet import ASGDRegressor
from lazynet.checks.bits import bits_of
from lazynet.models.checkpoints import FileKeeper
from lazynet.streams import Arrays, Cached, RowsFile, Source, SvmlightFile, VWFile

REFUSED, AS_BEFORE, OTHER = "refused", "read as before", "read as other rows"
FAULTS = {"another error", "not seen"}

_X, _Y = [[1.0], [2.0]] * 4, [1.0, 2.0] * 4
_SVMLIGHT = b"1 1:0.5 3:2\n-1 2:1\n1 1:0.25\n"
_VW = b"1 |a word:0.5 other\n-1 |b word\n1 2.0 |a other:0.25\n"


@dataclass(frozen=True)
class Kind:
    """A kind of file: how a small one is made, how it is read, and whether it has checksums."""

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    has_checksums: bool = True


def _model() -> ASGDRegressor:
    return ASGDRegressor(max_iter=3, random_state=0, replace=False, l2=1.0, center=False)


class _Ended(Exception):
    """The end of a fit that leaves its checkpoint."""


def _leave_checkpoint(path: Path) -> None:
    """Write a file of a fit that ends at once."""

    def stop(keeper: FileKeeper) -> None:
        keeper._write()
        raise _Ended

    with patch.object(FileKeeper, "point", stop), contextlib.suppress(_Ended):
        _model().fit(_X, _Y, checkpoint=path, every=0)


def _rows(source: Source) -> list[Any]:
    """Everything that a source holds."""
    facts = source.facts()
    chunks = [
        (X.shape, X.data.tolist(), X.indices.tolist(), X.indptr.tolist(), y.tolist())
        for X, y, _ in source.chunks()
    ]
    return [facts, chunks]


def _write_cache(path: Path) -> None:
    text = path.with_suffix(".text")
    text.write_bytes(_SVMLIGHT)
    _rows(Cached(SvmlightFile(text), path))


def kinds() -> dict[str, Kind]:
    """The kinds of files: those that lazynet writes, and texts and matrices that it reads."""
    few = sparse.csr_matrix(np.eye(3))
    return {
        "a model": Kind(
            lambda path: _model().fit(_X, _Y).save(path), lambda path: bits_of(lazynet.load(path))
        ),
        "a checkpoint": Kind(
            _leave_checkpoint, lambda path: bits_of(_model().fit(_X, _Y, checkpoint=path))
        ),
        "a cache of rows": Kind(_write_cache, lambda path: _rows(RowsFile(path))),
        "packed text": Kind(
            lambda path: path.write_bytes(gzip.compress(_SVMLIGHT, mtime=0)),
            lambda path: _rows(SvmlightFile(path)),
        ),
        "svmlight text": Kind(
            lambda path: path.write_bytes(_SVMLIGHT),
            lambda path: _rows(SvmlightFile(path)),
            has_checksums=False,
        ),
        "Vowpal Wabbit's text": Kind(
            lambda path: path.write_bytes(_VW),
            lambda path: _rows(VWFile(path)),
            has_checksums=False,
        ),
        "a mapped .npz": Kind(
            lambda path: sparse.save_npz(path, few, compressed=False),
            lambda path: _rows(Arrays(path, np.ones(3))),
            has_checksums=False,
        ),
    }


#: The name of a file of each kind, by which readers know what it is.
NAMES = {"packed text": "rows.svm.gz", "svmlight text": "rows.svm", "Vowpal Wabbit's text":
         "rows.vw", "a mapped .npz": "rows.npz"}  # fmt: skip


def flips(data: bytes) -> Iterator[bytes]:
    """The bytes with one bit turned over, for every bit.

    >>> list(flips(b"a"))[:3]
    [b'`', b'c', b'e']
    """
    for at, byte in enumerate(data):
        for bit in range(8):
            yield data[:at] + bytes([byte ^ 1 << bit]) + data[at + 1 :]


def ends(data: bytes) -> Iterator[bytes]:
    """The bytes up to every place before the end.

    >>> list(ends(b"ab"))
    [b'', b'a']
    """
    return (data[:length] for length in range(len(data)))


def outcome(kind: Kind, path: Path, data: bytes, whole: Any) -> str:
    """How the reading of these bytes ends."""
    path.write_bytes(data)
    try:
        found = kind.read(path)
    except ValueError as error:
        named = str(path) in str(error) or str(error).startswith(("X: ", "y must"))
        return REFUSED if named else "another error"
    except Exception:
        return "another error"
    if found == whole:
        return AS_BEFORE
    return "not seen" if kind.has_checksums else OTHER


def counts(name: str, folder: Path) -> tuple[int, dict[str, Counter[str]]]:
    """The length of a small file of this kind, and how often reading ends in which way."""
    kind, path = kinds()[name], folder / NAMES.get(name, "file")
    kind.write(path)
    data = path.read_bytes()
    whole = kind.read(path)
    return len(data), {
        what: Counter(outcome(kind, path, other, whole) for other in damages(data))
        for what, damages in (("flipped", flips), ("cut", ends))
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m paper_repro.every_bit", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(kinds()), help="kinds of files (all)")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        for kind in options.only or kinds():
            folder = Path(name, str(len(list(Path(name).iterdir()))))
            folder.mkdir()
            length, found = counts(kind, folder)
            print(f"{kind}, {length:,} bytes")
            for what, numbers in found.items():
                told = ", ".join(f"{count:,} {how}" for how, count in sorted(numbers.items()))
                print(f"  {what:8s} {sum(numbers.values()):7,d}: {told}")
                faults += sum(numbers[each] for each in FAULTS)
    print(f"faults: {faults}")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
