"""A file of rows that is read by mapping it into memory.

    magic | arrays of block 0 | arrays of block 1 | ... | contents, as JSON | end

An array begins at a multiple of 64 bytes, in little-endian order.  A block is some rows: ``indptr``
and ``indices`` as int32 or int64, ``values`` (left out if all are 1, float32 if this loses nothing,
else float64), ``labels`` as float64 or, for several labels, ``label_ends`` and ``label_codes``, and
``weights``.  The contents say where the arrays are, with a checksum of each block; the end says
where the contents are, with their checksum.  The file gets its name when it is complete.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import usable_rows
from lazynet.data.atomic_files import check_path, remove_leftovers, replaced
from lazynet.data.chunks import Chunk, Passing, SoundChunk, csr, labels_matrix, rechunked
from lazynet.data.source import ROWS, Facts, Source, Tally

_MAGIC = b"lazynet rows 1\n\0"
_END = struct.Struct("<QQI12s")
_ENDING = b"lazynet end\n"
_LINE = 64
# Bytes of a mapped file that a pass has read and that stay in memory: a smaller file stays there
# as a whole, from pass to pass.
_BEHIND = 256_000_000
# Values that are narrowed at a time: they stay in the processor's cache until they are compared.
_VALUES_AT_ONCE = 1 << 14
# Seconds after which a new file that nobody writes to is left over from a killed process.
_IDLE = 3600.0
_TYPES = {"<i4", "<i8", "<f4", "<f8"}


class _Unfinished(Exception):
    """The end of a file that nobody has committed."""


class RowsWriter:
    """Writes chunks to a file that gets its name when all of them are there.

    With ``n_features=None`` the greatest column of all chunks counts.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "words.rows")
    >>> with RowsWriter(path, n_features=2, n_labels=None) as writer:
    ...     writer.add(Chunk(csr([0, 1], [1], [0.5], 2), np.array([1.0]), None))
    ...     writer.commit()
    >>> RowsFile(path).facts().n_rows
    1
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        n_features: int | None,
        n_labels: int | None,
        identity: dict[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self.n_features, self.n_labels, self.identity = n_features, n_labels, identity
        self.tally, self.blocks = Tally(), list[dict[str, Any]]()
        self._replacing = replaced(self.path)
        self.committed = False
        #: the numbers of the blocks whose rows are known to be sound
        self.checked: set[int] = set()

    def __enter__(self) -> Self:
        remove_leftovers(self.path, _IDLE)
        self.file = self._replacing.__enter__()
        self.file.write(_MAGIC)
        return self

    def add(self, chunk: Chunk) -> None:
        """Write some rows."""
        self.tally.add(chunk)
        self._pad()
        block: dict[str, Any] = {"rows": chunk.X.shape[0], "start": self.file.tell(), "arrays": {}}
        check = 0
        for name, array in _arrays_of(chunk).items():
            check = zlib.crc32(self._pad(), check)
            code = array.dtype.newbyteorder("<").str
            block["arrays"][name] = [self.file.tell(), code, len(array)]
            written = np.ascontiguousarray(array, dtype=code).view(np.uint8).data
            self.file.write(written)
            check = zlib.crc32(written, check)
        if isinstance(chunk, SoundChunk):
            self.checked.add(len(self.blocks))
        self.blocks.append({**block, "stop": self.file.tell(), "check": check})

    def _pad(self) -> bytes:
        """Go on to the next place where an array may begin."""
        zeros = bytes(-self.file.tell() % _LINE)
        self.file.write(zeros)
        return zeros

    def commit(self) -> None:
        """The file is complete, and gets its name."""
        n_features = max(self.tally.n_features, 1) if self.n_features is None else self.n_features
        contents = {
            "facts": asdict(self.tally.facts(n_features, self.n_labels)),
            "identity": self.identity,
            "blocks": self.blocks,
        }
        text = json.dumps(contents).encode()
        at = self.file.tell()
        self.file.write(text)
        self.file.write(_END.pack(at, len(text), zlib.crc32(text), _ENDING))
        # Whatever fails from here on, the block of the new file has ended.
        self.committed = True
        self._replacing.__exit__(None, None, None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.committed:
            # An error within the block of a new file removes the file.
            self._replacing.__exit__(_Unfinished, _Unfinished(), None)


def written_rows(
    source: Source,
    path: str | os.PathLike[str],
    identity: dict[str, Any] | None = None,
    *,
    counting: bool,
) -> Generator[Chunk, None, RowsWriter]:
    """Write the rows of a source to a file as they pass; returns the writer.

    With ``counting``, columns that would have to be counted first are counted on the way, so that
    a text is parsed once; the chunks then have room for any column.  With an ``identity``, a source
    that has another one at the end, because its files have changed, makes no file, and neither
    does one without rows.
    """
    uncounted = source._before_counting() if counting else None
    n_features = None if uncounted is not None else source.n_features
    kept: dict[str, Any] = {"n_features": n_features, "n_labels": source.n_labels}
    with (
        RowsWriter(path, **kept, identity=identity) as writer,
        closing((uncounted or source)._to_learn(ROWS, 0)) as chunks,
    ):
        for chunk in chunks:
            writer.add(chunk)
            yield Chunk(*chunk)
        if identity is None or (writer.tally.n_rows and source.identity() == identity):
            writer.commit()
    return writer


def _arrays_of(chunk: Chunk) -> dict[str, NDArray[Any]]:
    """What is written of a chunk, by name."""
    X, y, weight = chunk
    found = {"indptr": X.indptr, "indices": X.indices}
    if not (X.data[:1] == 1.0).all() or not (X.data == 1.0).all():
        found["values"] = _narrowed(X.data)
    if sparse.issparse(y):
        found["label_ends"], found["label_codes"] = y.indptr[1:], y.indices
    else:
        found["labels"] = y
    if weight is not None:
        found["weights"] = weight
    return found


def _narrowed(values: NDArray[np.float64]) -> NDArray[Any]:
    """The values as float32 if this loses nothing, else as they are."""
    narrow = np.empty(len(values), dtype=np.float32)
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, len(values), _VALUES_AT_ONCE):
            part = slice(start, start + _VALUES_AT_ONCE)
            narrow[part] = values[part]
            if not (narrow[part] == values[part]).all():
                return values
    return narrow


def _is_sound(chunk: Chunk) -> bool:
    """Whether a kernel can use the rows as they are, and the labels are finite."""
    if not sparse.issparse(chunk.y) and not np.isfinite(chunk.y).all():
        return False
    try:
        return usable_rows(chunk.X) is chunk.X
    except ValueError:
        return False


def begins_as_rows(path: str) -> bool:
    """Whether a file of rows can be written at ``path``: there is no other file that would go.

    A file of rows may be damaged, or cut off anywhere: it is no other file.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory: name a file")
    if not os.path.exists(path):
        return True
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        first = file.read(len(_MAGIC))
    return first == _MAGIC[: len(first)]


class RowsFile(Source):
    """The rows of a file that ``RowsWriter`` or ``Cached`` has written, mapped into memory.

    The checksum of a block is compared when the block is read for the first time; not for
    ``written_by``, the writer that has computed the checksums of this file a moment ago.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".rows") as file:
    ...     RowsFile(file.name)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...rows: the file does not hold rows of lazynet, or its end is missing
    """

    def __init__(
        self, path: str | os.PathLike[str], *, written_by: RowsWriter | None = None
    ) -> None:
        check_path("path", path)
        self.path = os.fspath(path)
        self._open(written_by)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        self._open(None)

    def _open(self, written_by: RowsWriter | None) -> None:
        """Map the file into memory, and read its contents."""
        # The mapping stays: another file that gets the name later changes nothing here.
        mapped, self._mapping = np.zeros(0, dtype=np.uint8), None
        if os.path.getsize(self.path):
            with open(self.path, "rb") as file:
                self._mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            mapped = np.frombuffer(self._mapping, dtype=np.uint8)
        at, length, check, ending = 0, 0, 0, b""
        if mapped[: len(_MAGIC)].tobytes() == _MAGIC and len(mapped) >= len(_MAGIC) + _END.size:
            at, length, check, ending = _END.unpack(mapped[-_END.size :].tobytes())
        if ending != _ENDING or at + length + _END.size != len(mapped):
            raise self._damaged("the file does not hold rows of lazynet, or its end is missing")
        text = mapped[at : at + length].tobytes()
        if zlib.crc32(text) != check:
            raise self._damaged("the contents are damaged")
        self._mapped = mapped
        contents = json.loads(text)
        facts = contents["facts"]
        for name in ("classes", "counts"):
            facts[name] = None if facts[name] is None else tuple(facts[name])
        self._facts: Facts | None = Facts(**facts)
        self._identity: dict[str, Any] | None = contents["identity"]
        self._blocks: list[dict[str, Any]] = contents["blocks"]
        own = written_by is not None and written_by.blocks == self._blocks
        self._sound: set[int] = set(range(len(self._blocks))) if own else set()
        self._checked: set[int] = set(written_by.checked) if written_by and own else set()

    def _damaged(self, what: str) -> ValueError:
        return ValueError(f"{self.path}: {what}")

    def _find_facts(self) -> Facts:
        assert self._facts is not None
        return self._facts

    def _find_features(self) -> int:
        return self.facts().n_features

    def _find_labels(self) -> int | None:
        return self.facts().n_labels

    def _find_identity(self) -> dict[str, Any] | None:
        return self._identity

    def _is_at_hand(self) -> bool:
        # Views of mapped memory: a thread would take longer to hand them over than to make them.
        return len(self._sound) == len(self._checked) == len(self._blocks)

    def _read(self, number: int, *, narrow: bool = False) -> Chunk:
        """One block of the file; ``narrow`` leaves values of float32 as they are."""
        block, mapped = self._blocks[number], self._mapped
        if number not in self._sound:
            if zlib.crc32(mapped[block["start"] : block["stop"]].data) != block["check"]:
                raise self._damaged(
                    f"block {number} is damaged; delete the file, and it is made again"
                )
            self._sound.add(number)
        arrays: dict[str, NDArray[Any]] = {}
        for name, (start, code, length) in block["arrays"].items():
            if code not in _TYPES:
                raise self._damaged(f"block {number} holds numbers of an unknown type")
            kind = np.dtype(code)
            arrays[name] = mapped[start : start + length * kind.itemsize].view(kind)
        rows, indices = block["rows"], arrays["indices"]
        X = csr(
            arrays["indptr"],
            indices,
            arrays["values"] if "values" in arrays else np.ones(len(indices), np.float32),
            self.n_features,
            narrow=narrow,
        )
        y: Any = arrays.get("labels")
        if y is None:
            y = labels_matrix(arrays["label_ends"], arrays["label_codes"], self.n_labels or 1)
        weights = arrays.get("weights")
        if X.shape[0] != rows or len(X.data) != len(indices) or y.shape[0] != rows:
            raise self._damaged(f"block {number} is damaged; delete the file, and it is made again")
        return Chunk(X, y, weights)

    def _read_to_learn(self, number: int) -> Chunk:
        """One block of the file, whose rows are checked when it is read for the first time."""
        chunk = self._read(number, narrow=True)
        if number not in self._checked:
            if not _is_sound(chunk):
                return self._read(number)
            self._checked.add(number)
        return SoundChunk(*chunk)

    def _all(self, read: Callable[[int], Chunk]) -> Passing:
        behind = 0
        for number, block in enumerate(self._blocks):
            yield read(number)
            if block["stop"] - behind >= _BEHIND:
                behind = self._give_back(behind, block["start"])
        if behind:
            self._give_back(behind, len(self._mapped))

    def _give_back(self, start: int, stop: int) -> int:
        """Give memory of the mapping back; whoever still reads there gets the same bytes anew."""
        start -= start % mmap.ALLOCATIONGRANULARITY
        if self._mapping is not None and hasattr(mmap, "MADV_DONTNEED") and stop > start:
            self._mapping.madvise(mmap.MADV_DONTNEED, start, stop - start)
        return stop

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._all(self._read), rows)

    def _to_learn(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._all(self._read_to_learn), rows)
