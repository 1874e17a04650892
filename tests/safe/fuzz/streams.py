"""Files of text, sound and damaged, into the readers of streams, and beside the plain parser.

Whatever the chunks are, and whatever is put around the reader, there are the same rows or the same
refusal, which names the file.
"""

import gzip
import tempfile
from pathlib import Path
from random import Random

from scipy import sparse
from support.damage import damaged
from support.parser import BadLine, PlainParser

from lazynet.data import RowsFile, Shuffled, SvmlightFile, VWFile, as_source, cached, mapped
from safe.fuzz import text
from safe.fuzz.oracle import judged
from safe.fuzz.worker import stopped_after


def generate(random, ledger):
    """One file in one reader, or one damaged cache."""
    form = {**text.form_of(random), "bits": int(random.choice([5, 18, 30]))}
    data, lot = text.text(random, form), Random(int(random.integers(2**63)))
    if random.random() < 0.5:
        data = damaged(data, lot)
    how, rows = int(random.integers(6)), int(random.integers(1, 9))
    with tempfile.TemporaryDirectory() as folder, stopped_after(5.0):
        path = Path(folder) / ("file.gz" if how == 0 else "file.txt")
        packed = gzip.compress(data, mtime=0) if how == 0 else data
        path.write_bytes(damaged(packed, lot) if how == 0 and random.integers(2) else packed)

        def call():
            source = source_of(path, form)
            if how == 1:
                return damaged_cache(source, Path(folder) / "kept.rows", lot, rows)
            if how == 2:
                return Shuffled(source, window=5).facts()
            if how == 5:
                return as_one_matrix(source, rows)
            return compared(source, data if how > 2 else None, form, rows)

        # The check of a matrix with unsorted rows needs two bytes per column.
        words = [str(path), "kept.rows", "n_features", "n_labels"]
        judged(ledger, f"a file of text, way {how}", call, words=words, needs_memory=how == 5,
               finite=False)  # fmt: skip


def source_of(path, form):
    """The reader of a form."""
    options = {"multilabel": form["several"]}
    if form["several"] and form["n_labels"] < 2**31:
        options["n_labels"] = form["n_labels"]
    if form["vowpal"]:
        return VWFile(path, bits=form["bits"], **options)
    if form["n_columns"] < 2**31:
        options["n_features"] = form["n_columns"]
    return SvmlightFile(path, zero_based=not form["base"], **options)


def rows_of(source, rows):
    """Every row of a source, with its labels in order."""
    found = []
    for X, y, weight in source.chunks(rows=rows):
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            entries = list(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))
            if sparse.issparse(y):
                label = sorted(y.indices[y.indptr[i] : y.indptr[i + 1]].tolist())
            else:
                label = float(y[i])
            found.append((label, 1.0 if weight is None else float(weight[i]), entries))
    return found


def same(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: {found} and {expected}")


def as_one_matrix(source, rows):
    """The rows of a matrix that is mapped into memory."""
    expected = rows_of(source, rows)
    if not expected:
        raise ValueError("X must have at least one row, and the source has none")
    with mapped(source) as found:
        same(rows_of(as_source([tuple(found)]), rows), expected, "other rows in one matrix")


def compared(source, data, form, rows):
    """The rows of the source, beside those of the plain parser where the file is not packed."""
    expected = None
    if data is not None and len(data) < 5000:
        options = {**form, "base": 0 if form["vowpal"] else form["base"]}
        try:
            expected = [
                (
                    sorted(row.label) if isinstance(row.label, list) else row.label,
                    row.importance,
                    list(row.entries.items()),
                )
                for row in PlainParser(**options).rows(data)
            ]
        except BadLine as error:
            expected = f"line {error.line}, column "
    try:
        found = rows_of(source, rows)
    except ValueError as error:
        if expected is not None and not (isinstance(expected, str) and expected in str(error)):
            told = f"refused, but the plain parser says {expected}: {error}"
            raise AssertionError(told) from None
        raise
    same(found, found if expected is None else expected, "other rows than the plain parser's")


def damaged_cache(source, path, lot, rows):
    """A cache that is damaged gives the same rows, or is refused."""
    expected = rows_of(cached(source, path), rows)
    path.write_bytes(damaged(path.read_bytes(), lot))
    same(rows_of(cached(source, path), rows + 1), expected, "a damaged cache gives other rows")
    RowsFile(path).facts()
