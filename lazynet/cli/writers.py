"""Rows of a source to a file of any form; the file gets its name when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.data.atomic_files import replaced
from lazynet.data.chunks import Chunk, joined
from lazynet.data.rows_file import write_rows
from lazynet.data.source import Source
from lazynet.data.tables import INDICES, VALUES, pyarrow


def write(source: Source, path: str, form: str) -> int:
    """Write all rows; returns their number."""
    if form == "rows":
        return write_rows(source, path)
    if form == "npz":
        return _write_matrix(source, path)
    if form == "parquet":
        return _write_table(source, path)
    if form == "csv":
        raise ValueError(f"{path}: rows of CSV are read and not written: name a file .parquet")
    line = _svmlight if form == "svmlight" else _vowpal
    n_rows = 0
    with replaced(path) as file, closing(source.chunks()) as chunks:
        for chunk in chunks:
            file.write("".join(_lines(chunk, line)).encode())
            n_rows += chunk.X.shape[0]
    return n_rows


# --- text --------------------------------------------------------------------------------------

#: A line from its label, its weight or None, its columns and its values.
Line = Callable[[str, float | None, list[int], list[float]], str]


def _number(value: float) -> str:
    """A number with all its digits, and no more.

    >>> _number(1.0), _number(0.1), _number(1e300)
    ('1', '0.1', '1e+300')
    """
    return repr(value).removesuffix(".0")


def _lines(chunk: Chunk, line: Line) -> Iterator[str]:
    X, y, weight = chunk
    ends, columns, values = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
    labels: list[str]
    if sparse.issparse(y):
        codes, stops = y.indices.tolist(), y.indptr.tolist()
        labels = [",".join(map(str, codes[a:b])) for a, b in pairwise(stops)]
    else:
        labels = [_number(value) for value in y.tolist()]
    weights = [None] * len(labels) if weight is None else weight.tolist()
    for label, importance, a, b in zip(labels, weights, ends[:-1], ends[1:], strict=True):
        yield line(label, importance, columns[a:b], values[a:b])


def _svmlight(label: str, weight: float | None, columns: list[int], values: list[float]) -> str:
    if weight is not None and weight != 1.0:
        raise ValueError("svmlight's form has no place for the weights of rows: vw, rows, npz and "
                         "parquet have one")  # fmt: skip
    # Rows of the form have rising columns, which other programs rely on.
    pairs = sorted(zip(columns, values, strict=True))
    if not label and not pairs:
        pairs = [(0, 0.0)]  # a row without labels and values would be an empty line
    return " ".join([label, *(f"{j + 1}:{_number(v)}" for j, v in pairs)]) + "\n"


def _vowpal(label: str, weight: float | None, columns: list[int], values: list[float]) -> str:
    importance = "" if weight is None or weight == 1.0 else f" {_number(weight)}"
    features = "".join(f" {j}:{_number(v)}" for j, v in zip(columns, values, strict=True))
    return f"{label}{importance} |{features}\n"


# --- arrays ------------------------------------------------------------------------------------


def _write_matrix(source: Source, path: str) -> int:
    """The arrays of ``scipy.sparse.save_npz``, and ``y`` and ``weight`` beside them."""
    if source.n_labels is not None:
        raise ValueError(f"{path}: a matrix has one target a row, and these rows have several "
                         "labels: vw, svmlight and rows take them")  # fmt: skip
    X, y, weight = joined(list(source.chunks()))
    arrays: dict[str, Any] = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "y": y}
    if weight is not None:
        arrays["weight"] = weight
    with replaced(path) as file:
        np.savez(file, shape=X.shape, format=b"csr", **arrays)
    return int(X.shape[0])


def _write_table(source: Source, path: str) -> int:
    """Columns indices and values, lists of each row; target; and weight where rows have one."""
    arrow, parquet = pyarrow("pyarrow"), pyarrow("pyarrow.parquet")
    if source.n_labels is not None:
        raise ValueError("tables hold one target a row, and these rows have several labels")
    with replaced(path) as file, closing(source.chunks()) as chunks:
        n_rows, writer = 0, None
        for X, y, weight in chunks:
            starts = arrow.array(X.indptr, type=arrow.int32())
            columns = {
                INDICES: arrow.ListArray.from_arrays(starts, arrow.array(X.indices)),
                VALUES: arrow.ListArray.from_arrays(starts, arrow.array(X.data)),
                "target": arrow.array(y),
            }
            if weight is not None:
                columns["weight"] = arrow.array(weight)
            table = arrow.table(columns)
            writer = parquet.ParquetWriter(file, table.schema) if writer is None else writer
            writer.write_table(table)
            n_rows += len(y)
        if writer is not None:
            writer.close()
    return n_rows
