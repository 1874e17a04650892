"""Rows of a source to a file; the file gets its name when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise

from scipy import sparse

from lazynet.data.atomic_files import replaced
from lazynet.data.chunks import Chunk
from lazynet.data.rows_file import write_rows
from lazynet.data.source import Source


def write(source: Source, path: str, form: str) -> int:
    """Write all rows as svmlight, vw or rows; returns their number."""
    if form == "rows":
        return write_rows(source, path)
    if form not in ("svmlight", "vw"):
        raise ValueError(f"{path}: tables are read and not written: name a file .rows, .svm or .vw")
    line = _svmlight if form == "svmlight" else _vowpal
    n_rows = 0
    with replaced(path) as file, closing(source.chunks()) as chunks:
        for chunk in chunks:
            file.write("".join(_lines(chunk, line)).encode())
            n_rows += chunk.X.shape[0]
    return n_rows


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
        raise ValueError("svmlight's form has no place for the weights of rows: vw and rows have "
                         "one")  # fmt: skip
    # Rows of the form have rising columns, which other programs rely on.
    pairs = sorted(zip(columns, values, strict=True))
    if not label and not pairs:
        pairs = [(0, 0.0)]  # a row without labels and values would be an empty line
    return " ".join([label, *(f"{j + 1}:{_number(v)}" for j, v in pairs)]) + "\n"


def _vowpal(label: str, weight: float | None, columns: list[int], values: list[float]) -> str:
    importance = "" if weight is None or weight == 1.0 else f" {_number(weight)}"
    features = "".join(f" {j}:{_number(v)}" for j, v in zip(columns, values, strict=True))
    return f"{label}{importance} |{features}\n"
