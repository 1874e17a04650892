"""Files of text, sound and damaged, into the readers of streams, and beside the plain parser.

Whatever the chunks are, and whatever is put around the reader, there are the same rows or the same
refusal, which names the file.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy import sparse
from support.damage import damaged
from support.parser import BadLine, PlainParser

from lazynet.data import (
    RowsFile,
    Shuffled,
    Source,
    SvmlightFile,
    VWFile,
    as_source,
    cached,
    mapped,
)
from safe.fuzz import text
from safe.fuzz.alarm import stopped_after
from safe.fuzz.ledger import Ledger
from safe.fuzz.oracle import judged


def generate(random: np.random.Generator, ledger: Ledger) -> None:
    """One file in one reader, or one damaged cache."""
    form = {**text.form_of(random), "bits": int(random.choice([5, 18, 30]))}
    data, lot = text.text(random, form), Random(int(random.integers(2**63)))
    if random.random() < 0.5:
        data = damaged(data, lot)
    how = int(random.integers(6))
    with tempfile.TemporaryDirectory() as folder, stopped_after(5.0):
        path = Path(folder) / "file.txt"
        if how == 0:
            path = path.with_name("file.gz")
            data = gzip.compress(data, mtime=0)
            data = damaged(data, lot) if random.integers(2) else data
        path.write_bytes(data)
        words = [str(path), "kept.rows", "n_features", "n_labels"]

        def call() -> Any:
            rows = int(random.integers(1, 9))
            if how == 1:
                return damaged_cache(source_of(path, form), Path(folder) / "kept.rows", lot, rows)
            if how == 2:
                return Shuffled(source_of(path, form), window=5).facts()
            if how == 5:
                return as_one_matrix(source_of(path, form), rows)
            return compared(source_of(path, form), data if how > 2 else None, form, rows)

        # The check of a matrix with unsorted rows needs two bytes per column.
        judged(
            ledger,
            f"a file of text, way {how}",
            call,
            words=words,
            needs_memory=how == 5,
            finite=False,
        )


def as_one_matrix(source: Source, rows: int) -> None:
    """The rows of a matrix that is mapped into memory."""
    expected = rows_of(source, rows)
    if not expected:
        raise ValueError("X must have at least one row, and the source has none")
    with mapped(source) as found:
        if rows_of(as_source([tuple(found)]), rows) != expected:
            raise AssertionError("other rows in one matrix")


def source_of(path: Path, form: dict[str, Any]) -> Source:
    """The reader of a form."""
    labels = {"multilabel": form["several"], "n_labels": form["n_labels"]}
    labels = labels if form["several"] and form["n_labels"] < 2**31 else {
        "multilabel": form["several"]}  # fmt: skip
    if form["vowpal"]:
        return VWFile(path, bits=form["bits"], **labels)
    n_features = form["n_columns"] if form["n_columns"] < 2**31 else None
    if n_features is None:
        return SvmlightFile(path, zero_based=not form["base"], **labels)
    return SvmlightFile(path, zero_based=not form["base"], n_features=n_features, **labels)


def rows_of(source: Source, rows: int) -> list[Any]:
    """Every row of a source, with its labels in order."""
    found = []
    for X, y, weight in source.chunks(rows=rows):
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            entries = list(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))
            if sparse.issparse(y):
                label: Any = sorted(y.indices[y.indptr[i] : y.indptr[i + 1]].tolist())
            else:
                label = float(y[i])
            found.append((label, 1.0 if weight is None else float(weight[i]), entries))
    return found


def compared(source: Source, data: bytes | None, form: dict[str, Any], rows: int) -> None:
    """The rows of the source, beside those of the plain parser where the file is not packed."""
    expected: Any = None
    if data is not None and len(data) < 5000:
        options = {**form, "base": 0 if form["vowpal"] else form["base"]}
        try:
            plain = PlainParser(**options).rows(data)
            expected = [
                (
                    sorted(row.label) if isinstance(row.label, list) else row.label,
                    row.importance,
                    list(row.entries.items()),
                )
                for row in plain
            ]
        except BadLine as error:
            expected = f"line {error.line}, column {error.column}: "
    try:
        found = rows_of(source, rows)
    except ValueError as error:
        if expected is not None and not (isinstance(expected, str) and expected in str(error)):
            raise AssertionError(
                f"refused, but the plain parser says {expected}: {error}"
            ) from None
        raise
    if expected is not None and found != expected:
        raise AssertionError(f"other rows than the plain parser's: {found} and {expected}")


def damaged_cache(source: Source, path: Path, lot: Random, rows: int) -> None:
    """A cache that is damaged gives the same rows, or is refused."""
    expected = rows_of(cached(source, path), rows)
    path.write_bytes(damaged(path.read_bytes(), lot))
    if rows_of(cached(source, path), rows + 1) != expected:
        raise AssertionError("a damaged cache gives other rows")
    RowsFile(path).facts()
