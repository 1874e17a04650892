"""A source gives the same rows in whatever chunks they are asked for, and however they are kept."""

import copy
import os
import pickle
import threading
from contextlib import nullcontext
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from lazynet.data import (
    Chunks,
    RowsFile,
    Shuffled,
    Source,
    SvmlightFile,
    VWFile,
    as_source,
    cached,
    write_rows,
)
from lazynet.data.chunks import Chunk, csr, rechunked, reordered


def problem(rng, n_rows=23, n_columns=9, several=False, weighted=False):
    """A chunk of random rows, some of them empty."""
    filled = rng.random((n_rows, n_columns)) < 0.3
    values = rng.standard_normal(int(filled.sum()))
    X = csr([0, *accumulate(filled.sum(axis=1))], np.nonzero(filled)[1], values, n_columns)
    y = rng.integers(0, 2, n_rows).astype(float)
    if several:
        y = sparse.csr_matrix(rng.random((n_rows, 4)) < 0.4, dtype=np.int8)
    return Chunk(X, y, rng.random(n_rows) if weighted else None)


def contents(chunks):
    """The rows of chunks one by one, with their bits, the order of their columns, and types."""
    found = []
    for X, y, weight in chunks:
        assert X.shape[0] == y.shape[0]
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            label = (
                y.indices[y.indptr[i] : y.indptr[i + 1]].tolist() if sparse.issparse(y) else y[i]
            )
            found.append(
                (X.shape[1], X.indices.dtype, X.indptr.dtype, X.data.dtype,
                 X.indices[part].tolist(), X.data[part].tobytes(), label,
                 None if weight is None else weight[i])
            )  # fmt: skip
    return found


def svmlight(chunk, path, zero_based=True):
    """The chunk as a file."""
    several = sparse.issparse(chunk.y)
    # scikit-learn writes a row without labels as one that begins with a space.
    dump_svmlight_file(chunk.X, chunk.y, str(path), zero_based=zero_based, multilabel=several)
    return path


@pytest.fixture
def folder(tmp_path):
    """A folder with files of every kind, around the same rows where the kind can hold them."""
    rng = np.random.default_rng(1)
    one, many = problem(rng), problem(rng, several=True, weighted=True)
    svmlight(one, tmp_path / "one.svm")
    svmlight(many, tmp_path / "many.svm")
    for i in range(0, 20, 5):
        svmlight(reordered(one, np.arange(i, i + 5)), tmp_path / f"part-{i:02}.svm")
    lines = (f"{i % 2} {i} |f a:{i} b | {i} c:0.5\n" for i in range(1, 19))
    (tmp_path / "one.vw").write_text("".join(lines))
    write_rows(as_source([tuple(part) for part in rechunked([many], 7)]), tmp_path / "many.rows")
    return tmp_path


def parts(folder):
    return sorted(folder.glob("part-*.svm"))


def labelled(folder):
    return SvmlightFile(folder / "many.svm", multilabel=True)


#: One source of every kind, of the files in a folder.
SOURCES = {
    "svmlight": lambda f: SvmlightFile(f / "one.svm", zero_based=True, n_features=9),
    "svmlight of unknown shape": lambda f: SvmlightFile(f / "one.svm"),
    "several files": lambda f: SvmlightFile(f / "part-*.svm", zero_based=True, n_features=9),
    "list of files": lambda f: SvmlightFile(parts(f), zero_based=True),
    "several labels": labelled,
    "vowpal": lambda f: VWFile(f / "one.vw"),
    "vowpal of many bits": lambda f: VWFile(f / "one.vw", bits=32),
    "rows": lambda f: RowsFile(f / "many.rows"),
    "callable": lambda f: Chunks(lambda: [*RowsFile(f / "many.rows").chunks()] * 2),
    "sequence": lambda f: as_source([next(SvmlightFile(f / "one.svm").chunks())[:2]]),
    "shuffled": lambda f: Shuffled(SvmlightFile(f / "one.svm"), window=6, seed=3),
    "cached": lambda f: cached(SvmlightFile(f / "one.svm", n_features=50), f / "a.rows"),
    "cached several labels": lambda f: cached(labelled(f), f / "b.rows"),
    "cached vowpal": lambda f: cached(VWFile(f / "one.vw"), f / "other.rows"),
    "shuffled cache": lambda f: Shuffled(cached(SvmlightFile(parts(f)), f / "c.rows"), window=9),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_do_not_depend_on_chunks(kind, folder):
    """Any number of rows in a chunk, twice over, gives the same rows; all chunks are full.

    A pass that ends early leaves no thread, no draft of a file, and later passes whole.
    """
    source, before = SOURCES[kind](folder), threading.active_count()
    left = source.chunks(rows=2)
    next(left)
    left.close()
    assert threading.active_count() == before
    assert not list(folder.glob(".*"))
    assert isinstance(source, Source)
    expected = contents(source.chunks())
    assert len(expected) >= 17
    for rows in (1, 2, 3, 7, 10, 1000, 3):
        chunks = list(source.chunks(rows=rows))
        assert [chunk.X.shape[0] for chunk in chunks[:-1]] == [rows] * (len(chunks) - 1)
        assert 1 <= chunks[-1].X.shape[0] <= rows
        assert contents(chunks) == expected
        for X, y, _ in chunks:
            assert X.shape[1] == source.n_features
            assert X.has_canonical_format or X.nnz == len(X.data)
            assert (y.shape[1] if sparse.issparse(y) else None) == source.n_labels
    facts = source.facts()
    assert facts.n_rows == len(expected)
    assert facts.n_values == sum(len(row[4]) for row in expected)
    assert (facts.n_features, facts.n_labels) == (source.n_features, source.n_labels)
    if kind != "callable":
        for other in (pickle.loads(pickle.dumps(source)), copy.deepcopy(source)):
            assert contents(other.chunks()) == expected
            assert other.facts() == facts


@pytest.mark.parametrize("text", ["0 1:1\n 2:1\n", " 1:1\n"])
def test_rows_with_at_most_one_label_have_one(text, tmp_path):
    (tmp_path / "a.svm").write_text(text)
    assert SvmlightFile(tmp_path / "a.svm", multilabel=True).n_labels == 1


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 40))
def test_kept_rows_are_the_rows(seed, rows, tmp_path_factory):
    """A file of rows gives back every bit, also of values that are all 1 or fit float32."""
    rng = np.random.default_rng(seed)
    chunk = problem(rng, several=bool(rng.integers(2)), weighted=bool(rng.integers(2)))
    kind = rng.integers(4)
    if kind == 0:
        chunk.X.data[:] = 1.0
    elif kind == 1:
        chunk.X.data[:] = chunk.X.data.astype(np.float32)
    elif kind == 2:
        chunk.X.data[:] = rng.choice([-0.0, 1e-310, 1e300, 1.0], len(chunk.X.data))
    path = tmp_path_factory.mktemp("rows") / "kept.rows"
    write_rows(as_source([tuple(part) for part in rechunked([chunk], rows)]), path)
    assert contents(RowsFile(path).chunks(rows=5)) == contents([chunk])


@pytest.mark.parametrize("zero_based", [True, False, "auto"])
def test_files_are_read_as_scikit_learn_reads_them(zero_based, tmp_path):
    """The whole file at once, and with the shape that the file has."""
    for start in (True, False):
        path = svmlight(problem(np.random.default_rng(4)), tmp_path / "one.svm", zero_based=start)
        if zero_based is False and start:
            continue  # refused, because of the column 0
        X, y = load_svmlight_file(str(path), zero_based=zero_based)
        source = SvmlightFile(path, zero_based=zero_based)
        (chunk,) = source.chunks()
        assert chunk.X.shape == X.shape
        assert (chunk.X != X).nnz == 0
        assert chunk.y.tolist() == y.tolist()
        assert source.facts().classes == tuple(sorted(set(y)))


def test_shuffles_stay_in_their_windows():
    """Every epoch has an order of its own, which the seed decides."""
    y = np.arange(20.0)
    chunks = [(np.zeros((20, 1)), y)]
    orders = [
        [np.concatenate([c.y for c in Shuffled(as_source(chunks), window=8, seed=seed)
                         .chunks(rows=3, epoch=epoch)]) for epoch in (0, 1, 0)]
        for seed in (0, 1)
    ]  # fmt: skip
    for first, second, again in orders:
        assert first.tolist() == again.tolist() != second.tolist()
        for start in (0, 8, 16):
            assert sorted(first[start : start + 8]) == y[start : start + 8].tolist()
    assert orders[0][0].tolist() != orders[1][0].tolist()


def test_a_file_of_rows_is_pickled_by_its_name(folder):
    """So that a pickle of a file that is gone has no rows."""
    pickled = pickle.dumps(RowsFile(folder / "many.rows"))
    (folder / "many.rows").unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(pickled)


@pytest.mark.parametrize("fails", [False, True])
def test_a_file_of_rows_is_whole_or_absent(fails, tmp_path):
    """What a killed process has left goes when it is old; an older file stays until the end."""
    path = tmp_path / "kept.rows"
    path.write_text("older")
    old, new, other = (tmp_path / f".kept.rows.{name}.tmp" for name in ("0" * 16, "1" * 16, "mine"))
    for left in (old, new, other):
        left.write_text("left")
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))

    def chunks():
        yield tuple(problem(np.random.default_rng(8)))
        assert path.read_text() == "older"
        assert len([*tmp_path.iterdir()]) == 4
        if fails:
            raise KeyboardInterrupt

    source = Chunks(chunks)
    assert source.n_features == 9
    with pytest.raises(KeyboardInterrupt) if fails else nullcontext():
        write_rows(source, path)
    assert sorted(tmp_path.iterdir()) == sorted([path, new, other])
    if fails:
        assert path.read_text() == "older"
    else:
        assert RowsFile(path).facts().n_rows == 23
