"""Rows in files that are mapped into memory: files of rows, and one matrix of all rows.

A file of rows:

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
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.chunks import Chunk, Passing, csr, index_type, labels_matrix, rechunked
from lazynet.data.files import check_path, remove_leftovers, replaced
from lazynet.data.source import Facts, Source, Tally, as_source, check_no_y_with_source
from lazynet.parameters import shown

_MAGIC = b"lazynet rows 1\n\0"
_END = struct.Struct("<QQI12s")
_ENDING = b"lazynet end\n"
_ALIGNMENT = 64
# A temporary file without a write for this number of seconds belongs to a killed process.
_IDLE = 3600.0
_TYPES = {"<i4", "<i8", "<f4", "<f8"}


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
    >>> folder = tempfile.TemporaryDirectory()
    >>> text = pathlib.Path(folder.name, "words.svm")
    >>> _ = text.write_text("1 1:2 3:0.5\\n-1 2:1\\n")
    >>> source = cached(SvmlightFile(text), text.with_name("words.rows"))
    >>> [chunk.X.data.tolist() for chunk in source.chunks()]
    [[2.0, 0.5, 1.0]]
    >>> sorted(path.name for path in pathlib.Path(folder.name).iterdir())
    ['words.rows', 'words.svm']
    >>> folder.cleanup()
    """
    identity = source.identity() if isinstance(source, Source) else None
    if identity is None:
        raise ValueError(
            "source must read files, so that a cache can be compared with them: pipes, iterators "
            "and shuffled rows cannot be cached (write Shuffled(cached(source, path)))"
        )
    check_path("path", path)
    if os.path.exists(path):
        _check_replaceable(os.fspath(path))
        try:
            rows = RowsFile(path)
            # Compare with the identity after a round trip through JSON.
            if rows.identity() == json.loads(json.dumps(identity)):
                return rows
        except ValueError:
            pass  # a damaged file is written again
    write_rows(source, path)
    return RowsFile(path)


def _check_replaceable(path: str) -> None:
    """Refuse a path that exists and is not a file of rows."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory: name a file")
    beginning = b""
    if os.path.isfile(path):
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
        check_path("path", path)
        self.path = os.fspath(path)
        # The mapping remains valid if another file gets this name later.
        with open(self.path, "rb") as file:
            empty = not os.fstat(file.fileno()).st_size
            mapping = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._mapped = mapped = np.frombuffer(mapping, dtype=np.uint8)
        start, length, check, ending = 0, 0, 0, b""
        if mapped[: len(_MAGIC)].tobytes() == _MAGIC and len(mapped) >= len(_MAGIC) + _END.size:
            start, length, check, ending = _END.unpack(mapped[-_END.size :].tobytes())
        if ending != _ENDING or start + length + _END.size != len(mapped):
            raise self._damaged("the file does not hold rows of lazynet, or its end is missing")
        text = mapped[start : start + length].tobytes()
        if zlib.crc32(text) != check:
            raise self._damaged("the contents are damaged")
        contents = json.loads(text)
        facts = contents["facts"]
        for name in ("classes", "counts"):
            facts[name] = None if facts[name] is None else tuple(facts[name])
        self._facts: Facts | None = Facts(**facts)
        self._identity: dict[str, Any] | None = contents["identity"]
        self._blocks: list[dict[str, Any]] = contents["blocks"]
        #: the numbers of the blocks whose checksums have been compared
        self._compared: set[int] = set()

    def __reduce__(self) -> Any:
        return RowsFile, (self.path,)

    def _damaged(self, damage: str) -> ValueError:
        return ValueError(f"{self.path}: {damage}")

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return self.facts().n_features

    @property
    def n_labels(self) -> int | None:
        """The number of columns of y for several labels a row."""
        return self.facts().n_labels

    def identity(self) -> dict[str, Any] | None:
        """The identity of the source of the written rows."""
        return self._identity

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._all(), rows)

    def _all(self) -> Iterator[Chunk]:
        for number, block in enumerate(self._blocks):
            chunk = self._read(number, block)
            if chunk is None:
                raise self._damaged(
                    f"block {number} is damaged; delete the file, and it is made again"
                )
            yield chunk

    def _read(self, number: int, block: dict[str, Any]) -> Chunk | None:
        """The rows of a block; None if it is damaged."""
        mapped = self._mapped
        if number not in self._compared:
            if zlib.crc32(mapped[block["start"] : block["stop"]].data) != block["check"]:
                return None
            self._compared.add(number)
        arrays: dict[str, NDArray[Any]] = {}
        for name, (start, code, length) in block["arrays"].items():
            if code not in _TYPES:
                return None
            kind = np.dtype(code)
            arrays[name] = mapped[start : start + length * kind.itemsize].view(kind)
        indices = arrays["indices"]
        values = arrays.get("values", np.ones(len(indices)))
        X = csr(arrays["indptr"], indices, values, self.n_features)
        y: Any = arrays.get("labels")
        if y is None:
            y = labels_matrix(arrays["label_ends"], arrays["label_codes"], self.n_labels or 1)
        sizes = X.shape[0] == y.shape[0] == block["rows"] and len(values) == len(indices)
        return Chunk(X, y, arrays.get("weights")) if sizes else None


@contextmanager
def mapped(source: Any) -> Iterator[Chunk]:
    """The rows of a source as one chunk, whose arrays are temporary files mapped into memory.

    One pass over the source makes the files, in Python's folder for temporary files: the
    environment variable ``TMPDIR`` names it.  The files disappear at the end of the ``with`` block,
    also if the process is killed.  They have 12 bytes per value, or 16 bytes with more than 2^31
    columns or values.  The system holds as much of them in memory as there is room for, and reads
    other parts from the disk.  ``y``, ``weight`` and ``indptr`` are in memory.

    The rows of a source that shuffles have the order of its first epoch.

    >>> with mapped([([[0.0, 2.0]], [1]), ([[3.0, 0.0]], [0])]) as rows:
    ...     rows.X.toarray().tolist(), rows.y, rows.weight
    ([[0.0, 2.0], [3.0, 0.0]], array([1., 0.]), None)
    """
    source = as_source(source)
    kind: np.dtype[Any] = np.dtype(np.int32)
    ends, ys, weights = [np.zeros(1, dtype=np.int64)], [], []
    n_values, weighted = 0, False
    with ExitStack() as files:
        values, indices = (files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        with closing(source.chunks()) as chunks:
            for X, y, weight in chunks:
                kind = X.indices.dtype
                values.write(np.ascontiguousarray(X.data).data)
                indices.write(np.ascontiguousarray(X.indices).data)
                ends.append(X.indptr[1:].astype(np.int64) + n_values)
                n_values += len(X.data)
                ys.append(y if sparse.issparse(y) else np.array(y))
                weights.append(np.ones(X.shape[0]) if weight is None else np.array(weight))
                weighted = weighted or weight is not None
        if not ys:
            raise ValueError("X must have at least one row, and the source has none")
        columns = _array(indices, kind, n_values)
        if index_type(source.n_features, n_values) != kind:
            file = files.enter_context(tempfile.TemporaryFile())
            wide = np.memmap(file, np.int64, "w+", shape=(n_values,))
            wide[:] = columns
            columns = wide
        numbers = _array(values, np.dtype(np.float64), n_values)
        X = csr(np.concatenate(ends), columns, numbers, source.n_features)
        y = sparse.vstack(ys, format="csr") if sparse.issparse(ys[0]) else np.concatenate(ys)
        yield Chunk(X, y, np.concatenate(weights) if weighted else None)


@contextmanager
def in_memory(X: Any, y: Any, sample_weight: Any) -> Iterator[Chunk]:
    """The given X, y and sample weights, or those of a source, mapped into memory."""
    if not isinstance(X, Source):
        yield Chunk(X, y, sample_weight)
        return
    check_no_y_with_source(y, sample_weight)
    if X.n_labels is not None:
        raise ValueError(
            "y must have one class or one number for every row, and the rows of the source have "
            "several labels: LazyNetClassifier learns all labels in one pass"
        )
    with mapped(X) as rows:
        yield rows


def _array(file: Any, dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """The numbers in a file, mapped into memory."""
    file.flush()
    if not length:
        return np.zeros(0, dtype=dtype)
    return np.memmap(file, dtype, "r", shape=(length,))
