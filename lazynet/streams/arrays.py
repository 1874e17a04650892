"""Rows of a CSR matrix on disk, mapped into memory."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from lazynet.params import check_array, check_integer, shown
from lazynet.streams.chunks import Chunk, Passing, csr, labels_matrix, part
from lazynet.streams.opening import identity_of
from lazynet.streams.source import Source

Path = str | os.PathLike[str]


def mapped_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file that is not packed, by name, mapped into memory.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".npz") as file:
    ...     np.savez(file.name, a=np.arange(3))
    ...     mapped_npz(file.name)["a"]
    memmap([0, 1, 2])
    """
    found: dict[str, NDArray[Any]] = {}
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(name) as packed, open(name, "rb") as file:
            for member in packed.infolist():
                if member.compress_type != zipfile.ZIP_STORED:
                    raise ValueError(
                        f"{name}: {member.filename} is packed, so that it cannot be mapped into "
                        "memory; write the file with compressed=False"
                    )
                # The local header is 30 bytes and two texts, whose lengths are its last numbers.
                file.seek(member.header_offset + 26)
                lengths = np.frombuffer(file.read(4), dtype="<u2")
                file.seek(member.header_offset + 30 + int(lengths.sum()))
                found[member.filename.removesuffix(".npy")] = _mapped(name, file)
    except Exception as error:
        # zipfile fails in as many ways on a damaged file; other errors name the file already.
        if str(error).startswith(name) or getattr(error, "filename", None) is not None:
            raise
        raise ValueError(f"{name}: the file is damaged: {error}") from error
    return found


def mapped_npy(path: Path) -> NDArray[Any]:
    """The array of an ``.npy`` file, mapped into memory."""
    with open(path, "rb") as file:
        return _mapped(os.fspath(path), file)


def _mapped(name: str, file: Any) -> NDArray[Any]:
    """The array whose header begins here."""
    try:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(file)
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        if not np.prod(shape, dtype=np.int64):
            return np.zeros(shape, dtype)
        order = "F" if fortran else "C"
        return np.memmap(name, dtype, "r", file.tell(), shape, order)  # type: ignore[call-overload]
    except OSError:
        raise
    except Exception as error:
        # NumPy reads the header as text of Python, which fails in many ways.
        raise ValueError(f"{name}: the array cannot be mapped into memory: {error}") from error


class Arrays(Source):
    """Rows of a CSR matrix that need not fit into memory.

    ``X`` is an ``.npz`` file of ``scipy.sparse.save_npz(..., compressed=False)``, three ``.npy``
    files (values, indices, indptr), or a CSR matrix.  ``y`` and ``weight`` are ``.npy`` files or
    arrays; for several labels a row ``y`` is an ``.npz`` file or a CSR matrix with a 1 for each
    label.  ``n_features`` belongs to three files, which do not say it.

    >>> import tempfile
    >>> X = sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0], [0.0, 3.0]])
    >>> with tempfile.NamedTemporaryFile(suffix=".npz") as file:
    ...     sparse.save_npz(file.name, X, compressed=False)
    ...     source = Arrays(file.name, np.array([1.0, 0.0, 1.0]))
    ...     [chunk.X.toarray().tolist() for chunk in source.chunks(rows=2)]
    [[[0.0, 2.0], [1.0, 0.0]], [[0.0, 3.0]]]
    """

    def __init__(
        self,
        X: Path | Sequence[Path] | sparse.csr_matrix,
        y: Any,
        weight: Any = None,
        *,
        n_features: int | None = None,
    ) -> None:
        # None of these arrays is looked through before its rows are read.
        self._values, self._indices, self._indptr, n_columns = _csr_of("X", X, n_features)
        self._n_features = n_columns
        n_rows = len(self._indptr) - 1
        self._y: Any
        self._labels: sparse.csr_matrix | None = None
        if sparse.issparse(y) or (isinstance(y, (str, os.PathLike)) and str(y).endswith(".npz")):
            _, codes, starts, n_labels = _csr_of("y", y, None)
            self._labels = labels_matrix(starts[1:], codes, n_labels)
            self._y = self._labels
        else:
            self._y = _vector("y", y)
        self._weight = None if weight is None else _vector("weight", weight)
        for name, given in (("y", self._y), ("weight", self._weight)):
            if given is not None and given.shape[0] != n_rows:
                raise ValueError(f"{name} must have {n_rows} rows, as X has, got {given.shape[0]}")
        self._files = [
            identity_of(os.fspath(path))
            for given in (X, y, weight)
            for path in (given if isinstance(given, (list, tuple)) else [given])
            if isinstance(path, (str, os.PathLike))
        ]
        self._given = all(
            given is None or isinstance(given, (str, os.PathLike, list, tuple))
            for given in (X, y, weight)
        )

    def _find_features(self) -> int:
        return self._n_features

    def _find_labels(self) -> int | None:
        return None if self._labels is None else int(self._labels.shape[1])

    def _find_identity(self) -> dict[str, Any] | None:
        if not self._given or None in self._files:
            return None
        return {"form": "Arrays", "n_features": self.n_features, "files": self._files}

    def _pass(self, rows: int, epoch: int) -> Passing:
        n_rows = len(self._indptr) - 1
        for start in range(0, n_rows, rows):
            stop = min(start + rows, n_rows)
            starts = np.array(self._indptr[start : stop + 1], dtype=np.int64)
            first, last = int(starts[0]), int(starts[-1])
            if not (0 <= first <= last <= len(self._indices) and (np.diff(starts) >= 0).all()):
                raise ValueError(
                    f"X: the row starts in indptr must rise from 0 to {len(self._indices)}; those "
                    f"of rows {start} to {stop} do not"
                )
            X = csr(
                starts - first, self._indices[first:last], self._values[first:last], self.n_features
            )
            labels, weight = self._labels, self._weight
            y = self._y[start:stop]
            if labels is not None:
                y = part(Chunk(labels, labels, None), start, stop).y
            else:
                y = np.array(y, dtype=np.float64)
            found = None if weight is None else np.array(weight[start:stop], dtype=np.float64)
            yield Chunk(X, y, found)


def _csr_of(
    name: str, given: Any, n_features: int | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    """Values, indices, indptr and the number of columns of what stands for a CSR matrix."""
    if sparse.issparse(given):
        given = given.tocsr()
        arrays = {"data": given.data, "indices": given.indices, "indptr": given.indptr}
        n_columns = int(given.shape[1])
    elif isinstance(given, (str, os.PathLike)):
        arrays = mapped_npz(given)
        shape, form = arrays.get("shape"), arrays.get("format", np.array(b"csr"))
        missing = {"data", "indices", "indptr"} - set(arrays)
        if (
            missing or shape is None or shape.shape != (2,) or shape.dtype.kind not in "iu"
            or form.shape != () or form.item() not in (b"csr", "csr")
        ):  # fmt: skip
            raise ValueError(
                f"{name}: {os.fspath(given)} must hold a CSR matrix, as scipy.sparse.save_npz "
                "writes it"
            )
        n_columns = check_integer(f"{name}: the columns of {os.fspath(given)}", shape[1], 0)
    elif isinstance(given, (list, tuple)) and len(given) == 3:
        arrays = dict(zip(("data", "indices", "indptr"), map(mapped_npy, given), strict=True))
        if n_features is None:
            raise ValueError("n_features must be given with three files, which do not say it")
        n_columns = check_integer("n_features", n_features, 1)
    else:
        raise TypeError(
            f"{name} must be an .npz file, three .npy files or a CSR matrix, "
            f"got {shown(given):.200}"
        )
    for part_name, kinds in (("data", "fiub"), ("indices", "iu"), ("indptr", "iu")):
        array = arrays[part_name]
        if array.ndim != 1 or array.dtype.kind not in kinds:
            raise ValueError(
                f"{name}: {part_name} must hold numbers in one dimension, got {array.dtype} in "
                f"{array.ndim}"
            )
    if not len(arrays["indptr"]) or len(arrays["data"]) != len(arrays["indices"]):
        raise ValueError(
            f"{name}: indptr must not be empty, and data and indices must be equally long, got "
            f"{len(arrays['data'])} and {len(arrays['indices'])}"
        )
    return arrays["data"], arrays["indices"], arrays["indptr"], n_columns


def _vector(name: str, given: Any) -> NDArray[Any]:
    """A vector of numbers, mapped into memory if it is a file."""
    if isinstance(given, (str, os.PathLike)):
        array = mapped_npy(given)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold numbers, got {array.dtype}")
    else:
        array = check_array(name, "must hold numbers", given, masks=True)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {array.ndim}")
    return array
