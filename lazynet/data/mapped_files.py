"""Files of rows, which are mapped into memory:

    magic | arrays of block 0 | arrays of block 1 | ... | contents, as JSON | end

An array begins at a multiple of 64 bytes, in little-endian order.  A block is some rows: ``indptr``
and ``indices`` as int32 or int64, ``values`` (left out if all are 1, float32 if this is exact, else
float64), ``labels`` as float64 or, for several labels, ``label_ends`` and ``label_codes``, and
``weights``.  The contents list the places of the arrays, and a checksum of each block; the end has
the place of the contents and their checksum.  The file gets its name when it is complete.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import weakref
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import check_sample_weight, checked_csr
from lazynet.data.chunks import Chunk, Passing, csr, labels_matrix, rechunked
from lazynet.data.files import (
    NO_DOCUMENT,
    changed,
    regular_file,
    remove_leftovers,
    replaced,
    stamp_of,
)
from lazynet.data.source import Facts, Source, Tally
from lazynet.data.targets import checked_indicator
from lazynet.parameters import MOST_FEATURES, check_integer, check_number, shown

_MAGIC = b"lazynet rows 1\n\0"
_END = struct.Struct("<QQI12s")
_ENDING = b"lazynet end\n"
_ALIGNMENT = 64
# A temporary file without a write for this number of seconds belongs to a killed process.
_IDLE = 3600.0


def write_rows(source: Source, path: str | os.PathLike[str]) -> int:
    """Write all rows of a source to a file that ``RowsFile`` reads; returns their number.

    The file gets its name when it is complete.

    >>> import tempfile
    >>> from lazynet.data.source import as_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(as_source([([[0.5, 0.0]], [1])]), f"{folder}/words.rows")
    ...     RowsFile(f"{folder}/words.rows").facts().n_values
    1
    1
    """
    if not isinstance(source, Source):
        raise TypeError(f"source must be a source of chunks, got {shown(source)}")
    n_features, n_labels, identity = source.n_features, source.n_labels, source.identity()
    remove_leftovers(path, _IDLE)
    tally, blocks = Tally(), []
    with replaced(path) as file, closing(source.chunks()) as chunks:
        file.write(_MAGIC)
        for chunk in chunks:
            _check_chunk(chunk, chunk.X.shape[0], None)
            tally.add(chunk)
            blocks.append(_write_block(file, chunk))
        if source.identity() != identity:
            raise ValueError("source: its files have changed while they were read")
        contents = {
            "facts": asdict(tally.facts(n_features, n_labels)),
            "identity": identity,
            "blocks": blocks,
        }
        text, start = json.dumps(contents).encode(), file.tell()
        file.write(text)
        file.write(_END.pack(start, len(text), zlib.crc32(text), _ENDING))
    return tally.n_rows


def _write_block(file: BinaryIO, chunk: Chunk) -> dict[str, Any]:
    """Write the rows of a chunk; returns their entry in the contents."""
    file.write(bytes(-file.tell() % _ALIGNMENT))
    start, check, arrays = file.tell(), 0, {}
    for name, array in _arrays_of(chunk).items():
        padding = bytes(-file.tell() % _ALIGNMENT)
        code = array.dtype.newbyteorder("<").str
        written = np.ascontiguousarray(array, dtype=code).view(np.uint8).data
        arrays[name] = [file.tell() + len(padding), code, len(array)]
        for part in (padding, written):
            file.write(part)
            check = zlib.crc32(part, check)
    rows = chunk.X.shape[0]
    return {"rows": rows, "start": start, "stop": file.tell(), "arrays": arrays, "check": check}


def _arrays_of(chunk: Chunk) -> dict[str, NDArray[Any]]:
    """The arrays of a chunk by name, as in the file."""
    X, y, weight = chunk
    arrays = {"indptr": X.indptr, "indices": X.indices}
    if not (X.data == 1.0).all():
        with np.errstate(over="ignore", under="ignore"):
            narrow = X.data.astype(np.float32)
        arrays["values"] = narrow if (narrow == X.data).all() else X.data
    if sparse.issparse(y):
        arrays["label_ends"], arrays["label_codes"] = y.indptr[1:], y.indices
    else:
        arrays["labels"] = y
    if weight is not None:
        arrays["weights"] = weight
    return arrays


def cached(source: Source, path: str | os.PathLike[str]) -> RowsFile:
    """The rows of files, parsed once: from a file of rows at ``path``.

    The file of rows is written if it does not exist, if a file of the source has another size or
    time of change, or if the source has other parameters.  Any other file at ``path``, without the
    mark of a file of rows, is refused and does not change.

    >>> import tempfile, pathlib
    >>> from lazynet.data.text_files import SvmlightFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = pathlib.Path(folder, "words.svm")
    ...     _ = text.write_text("1 1:2 3:0.5\\n-1 2:1\\n")
    ...     rows = cached(SvmlightFile(text), text.with_suffix(".rows"))
    ...     [chunk.X.data.tolist() for chunk in rows.chunks()]
    [[2.0, 0.5, 1.0]]
    """
    identity = source.identity() if isinstance(source, Source) else None
    if identity is None:
        raise ValueError(
            "source must read files, so that a cache can be compared with them: pipes, iterators "
            "and shuffled rows cannot be cached (write Shuffled(cached(source, path)))"
        )
    if regular_file(path).exists():
        _check_replaceable(os.fspath(path))
        try:
            rows = RowsFile(path)
            # Compare with the identity after a round trip through JSON.
            if rows._origin == json.loads(json.dumps(identity)):
                return rows
        except ValueError:
            pass  # a damaged file is written again
    write_rows(source, path)
    return RowsFile(path)


def _check_replaceable(path: str) -> None:
    """Refuse a file that is not a file of rows."""
    with open(path, "rb") as file:
        beginning = file.read(len(_MAGIC))
    if beginning != _MAGIC:
        raise ValueError(
            f"{path}: the file does not begin as rows of lazynet do, and is not changed: name "
            "another file for the cache, or, if it is a damaged cache, delete the file, and it is "
            "made again"
        )


class RowsFile(Source):
    """The rows of a file that ``write_rows`` or ``cached`` wrote, mapped into memory.

    The first read of a block checks its checksum.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".rows") as file:
    ...     RowsFile(file.name)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...rows: the file does not hold rows of lazynet, or its end is missing
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        regular_file(path)
        self.path = os.fspath(path)
        # The file and its mapping remain valid if another file gets this name later.
        self._file = open(self.path, "rb")  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._stamp = stamp_of(self._file)
        is_empty = not os.fstat(self._file.fileno()).st_size
        mapping = b"" if is_empty else mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._mapped = mapped = np.frombuffer(mapping, dtype=np.uint8)
        start, length, check, ending = 0, 0, 0, b""
        if mapped[: len(_MAGIC)].tobytes() == _MAGIC and len(mapped) >= len(_MAGIC) + _END.size:
            start, length, check, ending = _END.unpack(mapped[-_END.size :].tobytes())
        if ending != _ENDING or start + length + _END.size != len(mapped):
            raise self._damaged("the file does not hold rows of lazynet, or its end is missing")
        text = mapped[start : start + length].tobytes()
        if zlib.crc32(text) != check:
            raise self._damaged("the contents are damaged")
        self._checksum = check
        try:
            contents = json.loads(text)
            self._blocks: list[dict[str, Any]] = contents["blocks"]
            self._origin: dict[str, Any] | None = contents["identity"]
            self._facts: Facts | None = _checked_facts(contents["facts"], self._blocks)
        except NO_DOCUMENT as error:
            raise self._damaged(f"the contents are not those of rows: {error!r}") from error
        #: the numbers of the blocks that have been checked
        self._checked: set[int] = set()

    def __reduce__(self) -> Any:
        return RowsFile, (self.path,)

    def __str__(self) -> str:
        return self.path

    def _damaged(self, damage: str) -> ValueError:
        return ValueError(f"{self.path}: {damage}")

    @property
    def n_features(self) -> int:
        return self.facts().n_features

    @property
    def n_labels(self) -> int | None:
        return self.facts().n_labels

    def identity(self) -> dict[str, Any]:
        """The checksum of the contents, and the identity of the source of the written rows."""
        return {"form": type(self).__name__, "checksum": self._checksum, "source": self._origin}

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._all(), rows)

    def _all(self) -> Iterator[Chunk]:
        for number, block in enumerate(self._blocks):
            self._compare()
            try:
                chunk = self._read(number, block)
            except NO_DOCUMENT as error:
                raise self._damaged(
                    f"block {number} is damaged ({error}); delete the file, and it is made again"
                ) from error
            yield chunk
        self._compare()

    def _compare(self) -> None:
        """Refuse the file if it has been written since it was mapped."""
        if stamp_of(self._file) != self._stamp:
            raise changed(self.path)

    def _read(self, number: int, block: dict[str, Any]) -> Chunk:
        """The rows of a block; any of Python's errors if it is damaged."""
        is_checked = number in self._checked
        if not is_checked:
            part = self._mapped[block["start"] : block["stop"]]
            if zlib.crc32(part.data) != block["check"]:
                raise ValueError("its checksum is another one")
        arrays, end = {}, block["start"]
        for name, (start, code, length) in block["arrays"].items():
            if start != end + -end % _ALIGNMENT:
                raise ValueError(f"{name} does not begin behind the array before it")
            arrays[name] = self._array(name, start, code, length)
            end = start + arrays[name].nbytes
        if end != block["stop"]:
            raise ValueError("its last array does not end where the block ends")
        indices, facts = arrays["indices"], self.facts()
        values = arrays.get("values", np.ones(len(indices)))
        X = csr(arrays["indptr"], indices, values, facts.n_features)
        if facts.n_labels is None:
            y: Any = arrays["labels"]
        else:
            y = labels_matrix(arrays["label_ends"], arrays["label_codes"], facts.n_labels)
        chunk = Chunk(X, y, arrays.get("weights"))
        if not is_checked:
            _check_chunk(chunk, block["rows"], facts)
            self._checked.add(number)
        return chunk

    def _array(self, name: str, start: int, code: str, length: int) -> NDArray[Any]:
        """An array of a block."""
        integers = name in ("indptr", "indices", "label_ends", "label_codes")
        if code not in (("<i4", "<i8") if integers else ("<f4", "<f8")):
            raise ValueError(f"{name} has the type {code}")
        check_integer(f"the length of {name}", length, 0)
        return np.frombuffer(self._mapped, dtype=code, count=length, offset=start)


def _checked_facts(facts: dict[str, Any], blocks: list[dict[str, Any]]) -> Facts:
    """The facts in the contents of a file; any of Python's errors if they are not those of rows."""
    for name in ("classes", "counts"):
        facts[name] = None if facts[name] is None else tuple(facts[name])
    checked = Facts(**facts)
    check_integer("n_features", checked.n_features, 1, MOST_FEATURES)
    if checked.n_labels is not None:
        check_integer("n_labels", checked.n_labels, 1)
    lengths = [block["arrays"]["indices"][2] for block in blocks]
    sums = [("n_rows", [block["rows"] for block in blocks]), ("n_values", lengths)]
    if checked.classes is not None:
        classes = [check_number("classes", each) for each in checked.classes]
        if sorted(set(classes)) != classes:
            raise ValueError("the classes are not in order")
        sums.append(("n_rows", [*(checked.counts or ())]))
    for name, counts in sums:
        total = sum(check_integer(f"a part of {name}", count, 0) for count in counts)
        if facts[name] != total:
            raise ValueError(f"{name} is {facts[name]}, and its parts have {total}")
    return checked


def _check_chunk(chunk: Chunk, n_rows: int, facts: Facts | None) -> None:
    """Refuse rows that no fit takes, or that are not ``n_rows`` rows of a source with ``facts``."""
    X, y, weight = chunk
    checked_csr(X)
    check_sample_weight(weight, X, some_rows=True)
    if not X.shape[0] == y.shape[0] == n_rows or not len(X.data) == len(X.indices) == X.indptr[-1]:
        raise ValueError("its arrays do not have the same number of rows or values")
    if sparse.issparse(y):
        checked_indicator(y)
    elif not np.isfinite(y).all():
        raise ValueError(
            "y must not contain NaN or infinity: write 0 for a label that is not known"
        )
    elif facts is not None and facts.classes is not None and not np.isin(y, facts.classes).all():
        raise ValueError("y has labels that are not among the classes of the file")
