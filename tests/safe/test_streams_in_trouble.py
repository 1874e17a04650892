"""Files that are missing, damaged or changed, errors and interrupts in threads: a clear error."""

import json
import lzma
import os
import random
import re
import signal
import sys
import threading
import time
import warnings
import zlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from support import peak_of
from support.damage import NUMBERS, VALUES, change, damages, nodes_of

from lazynet import DualNetClassifier, LazyNetClassifier
from lazynet.data import (
    Chunks,
    RowsFile,
    Shuffled,
    SvmlightFile,
    VWFile,
    as_source,
    cached,
    mapped_files,
    write_rows,
)
from lazynet.data.chunks import labels_matrix
from lazynet.data.files import ahead

TEXT = b"1 1:2 3:0.5\n-1 2:1\n" * 50


@pytest.fixture
def path(tmp_path):
    """A file of svmlight's form."""
    path = tmp_path / "words.svm"
    path.write_bytes(TEXT)
    return path


def values(source, rows=10):
    """The values of all rows."""
    return [value for chunk in source.chunks(rows=rows) for value in chunk.X.data]


def cached_lines(path, **options):
    """The rows of a file of svmlight's form, cached beside it."""
    return cached(SvmlightFile(path, **options), f"{path}.rows")


def outcome(source):
    """The values of all rows, or the message of the error; a callable makes the source."""
    try:
        return values(source() if callable(source) else source), None
    except (ValueError, TypeError) as error:
        return None, str(error)


# --- files --------------------------------------------------------------------------------------


#: Calls, the kinds of their errors and how the messages begin.
BAD_ARGUMENTS = [
    (lambda p: SvmlightFile("missing.svm"), FileNotFoundError,
     "paths: there is no file 'missing.svm'"),
    (lambda p: SvmlightFile("missing-*.svm"), FileNotFoundError,
     "paths: no file matches 'missing-*.svm'"),
    (lambda p: SvmlightFile([]), ValueError, "paths must name at least one file"),
    (lambda p: SvmlightFile([3]), TypeError, "paths must hold names of files, got 3"),
    (lambda p: SvmlightFile("."), IsADirectoryError, "paths: '.' is a folder; give './*'"),
    (lambda p: RowsFile("a\0b"), ValueError, "path must not contain null characters"),
    (lambda p: cached(SvmlightFile(p), "a\0b"), ValueError, "path must not contain null"),
    (lambda p: SvmlightFile(p, zero_based="yes"), ValueError,
     'zero_based must be True, False or "auto", got'),
    (lambda p: SvmlightFile(p, n_features=0), ValueError, "n_features must be at least 1, got"),
    (lambda p: SvmlightFile(p, n_labels=3), ValueError, "n_labels is for multilabel=True"),
    (lambda p: SvmlightFile(p, multilabel=1), ValueError, "multilabel must be True or False"),
]  # fmt: skip


def test_arguments_are_checked_before_anything_is_read(path):
    """The error names the argument and the file; every source checks ``rows`` in a pass."""
    for make, kind, message in BAD_ARGUMENTS:
        with pytest.raises(kind, match=f"^{re.escape(message)}"):
            make(path)
    for source in (SvmlightFile(path), VWFile(path), Shuffled(SvmlightFile(path)),
                   cached_lines(path)):  # fmt: skip
        for rows in (0, -1, 1.5, "x", None):
            with pytest.raises((TypeError, ValueError), match="rows must be"):
                list(source.chunks(rows=rows))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_refused_by_name(path, monkeypatch):
    """Also among other files, behind a link, and where a pattern matches it: nothing waits."""
    monkeypatch.chdir(path.parent)
    os.mkfifo("words-pipe.svm")
    os.symlink("words-pipe.svm", "link.rows")
    for make in (SvmlightFile, VWFile):
        for given in ("words-pipe.svm", "*.svm", ["words.svm", "link.rows"], "/dev/stdin"):
            with pytest.raises(OSError, match=r"^paths: '.*' is a device or a pipe, which can be"):
                make(given)
    for name in ("words-pipe.svm", "link.rows", "/dev/null"):
        with pytest.raises(OSError, match=f"^{name} is a device or a pipe: name a file"):
            RowsFile(name)


@pytest.mark.parametrize(
    "around",
    [
        lambda source: source,
        lambda source: cached(source, f"{source.paths[0]}.rows"),
        lambda source: Shuffled(source, window=2000),
    ],
)
@pytest.mark.slow
def test_memory_is_constant(around, tmp_path):
    """A file that is four times as long needs no more memory."""
    peaks = []
    for times in (2_400, 9_600):
        path = tmp_path / f"{times}.svm"
        path.write_bytes(TEXT * times)
        source = around(SvmlightFile(path))
        peaks.append(peak_of(lambda source=source: deque(source.chunks(rows=2000), 0))[1])
    assert peaks[1] < 1.2 * peaks[0] + 500_000
    assert peaks[1] < len(TEXT) * 9_600


# --- chunks of a program ------------------------------------------------------------------------


BAD_CHUNKS = [
    (3, "chunks must be a callable or an iterable"),
    ([], "chunks must give at least one chunk"),
    ([[1, 2]], r"chunk 0 must be \(X, y\) or \(X, y, weights\), got"),
    ([([[1.0]], [1, 2])], "y of chunk 0 must have 1 rows, as X has, got 2"),
    ([([[1.0]], [1], [1, 2])], "weights of chunk 0 must have 1 rows"),
    ([([[1.0]], [1]), ([[1.0, 2.0]], [1])], "chunk 1 must have as many columns"),
    ([([["x"]], [1])], "X of chunk 0 must hold numbers"),
]


def test_chunks_that_do_not_fit():
    """The number of the chunk is named; no label leaves its matrix."""
    for chunks, message in BAD_CHUNKS:
        with pytest.raises((TypeError, ValueError), match=message):
            list(as_source(chunks).chunks())
    for ends, codes in ([1, 2], [0, 3]), ([1, 2], [0, -1]), ([2, 1], [0, 1]), ([1, 9], [0, 1]):
        with pytest.raises(ValueError, match=r"y must hold labels from 0 to 2|the ends of its row"):
            labels_matrix(ends, codes, 3)


@pytest.mark.parametrize("n_chunks", [[1, 1, 0], [1, 1, 2], [1, 1, 1, 1, 0], [1] * 6 + [2]])
def test_passes_of_other_rows(n_chunks):
    """A pass that has other rows than the first one is refused, whatever it is for."""
    counts = iter(n_chunks)
    source = Chunks(lambda: iter([([[1.0], [2.0]], [0, 1])] * next(counts, n_chunks[-1])))
    model = LazyNetClassifier(max_iter=5, tol=None)
    message = f"X: the source had 2 rows when they were counted, and {2 * n_chunks[-1]} in a later"
    with pytest.raises(ValueError, match=message):
        model.fit(source)
    assert not hasattr(model, "coef_")


def test_an_iterator_serves_for_one_pass():
    """Its first chunk is not lost where its shape is asked for."""
    source = Chunks(iter([([[1.0]], [1]), ([[2.0]], [0])]))
    assert source.n_features == 1
    assert values(source) == [1.0, 2.0]
    with pytest.raises(ValueError, match="for several passes give a callable"):
        values(source)


# --- caches -------------------------------------------------------------------------------------


def test_a_cache_follows_its_files(path):
    """Another size, time of change or parameter: the rows are parsed again."""

    def written(make):
        """Whether the cache is written, and the values of its rows."""
        before = os.stat(cache).st_mtime_ns if cache.exists() else None
        rows = values(make())
        return os.stat(cache).st_mtime_ns != before, rows

    cache = path.with_name("words.svm.rows")
    _, expected = written(lambda: cached_lines(path))
    assert written(lambda: cached_lines(path)) == (False, expected)
    path.write_bytes(TEXT + b"1 1:7\n")
    changed = [*expected, 7.0]
    for _ in range(2):
        os.utime(path)
        assert written(lambda: cached_lines(path)) == (True, changed)
        assert written(lambda: cached_lines(path)) == (False, changed)
    assert written(lambda: cached_lines(path, n_features=10)) == (True, changed)
    assert written(lambda: cached_lines(path, zero_based=True)) == (True, changed)
    path.write_bytes(b"1 | 3:2\n")
    assert written(lambda: cached(VWFile(path), cache)) == (True, [2.0])
    for source in (Chunks([([[1.0]], [1])]), Shuffled(SvmlightFile(path))):
        with pytest.raises(ValueError, match="source must read files"):
            cached(source, cache)


def test_a_cache_that_another_program_replaces(path):
    """Whoever has read it already goes on with the rows that were there; threads write one too."""
    source, other = cached_lines(path), path.with_name("other.svm")
    expected, chunks = values(source), source.chunks(rows=10)
    first = next(chunks).X.data.tolist()
    other.write_bytes(TEXT * 200 + b"1 1:7\n")
    assert len(values(cached(SvmlightFile(other), source.path))) == 200 * len(expected) + 1
    assert first + [value for chunk in chunks for value in chunk.X.data] == expected
    assert values(source) == expected
    with ThreadPoolExecutor(6) as pool:
        found = [*pool.map(lambda rows: values(cached_lines(path), rows), range(1, 7))]
    assert found == [expected] * 6


def test_a_file_that_changes_while_it_is_read_makes_no_cache(path, monkeypatch):
    """Neither does one with a line that is refused."""
    plain = SvmlightFile.chunks

    def changing(self, *arguments):
        yield from plain(self, *arguments)
        path.write_bytes(TEXT + b"1 1:2\n")

    with monkeypatch.context() as patch:
        patch.setattr(SvmlightFile, "chunks", changing)
        with pytest.raises(ValueError, match="have changed while they were read"):
            cached_lines(path)
    path.write_bytes(TEXT + b"x\n")
    with pytest.raises(ValueError, match="line 101"):
        cached_lines(path, zero_based=False, n_features=3)
    assert [entry.name for entry in path.parent.iterdir()] == ["words.svm"]


def test_damaged_caches_are_seen(path):
    """Made again where the end or the contents are damaged, else refused with their name."""
    source = cached_lines(path)
    expected = values(source)
    whole = Path(source.path).read_bytes()
    refused = {True: 0, False: 0}
    cut = [whole[:-1], whole[:100], whole[:16]]
    for data in [*cut, whole[:5], b"", b"x" + whole[1:], *damages(whole, 150, seed=1)]:
        Path(source.path).write_bytes(data)
        begins_well = data[:16] == whole[:16]
        found, message = outcome(lambda: cached_lines(path))
        if message is None:
            assert found == expected
            assert begins_well
        else:
            assert message.startswith(source.path)
            assert "delete the file" in message
            assert ("is not changed" in message) == (not begins_well)
            assert Path(source.path).read_bytes() == data
            refused[begins_well] += 1
            os.unlink(source.path)
        assert data not in cut or message is None
    assert min(refused.values()) > 10
    with pytest.raises(ValueError, match="does not hold rows of lazynet"):
        RowsFile(path)


#: What the contents of a file of rows may be, and the beginning of the message.
CONTENTS = [
    (b"x", "JSONDecodeError"), (b"[]", "TypeError"), (b"{}", "KeyError"), (b"\xff", "Unicode"),
    (b"[" * 10**6, "RecursionError"), (b'{"a":' * 10**6, "RecursionError"), (b"null", "TypeError"),
    (b'{"blocks": [], "identity": null, "facts": {}}', "KeyError"), (b"9" * 5000, "ValueError"),
]  # fmt: skip


@pytest.mark.parametrize("multilabel", [False, True])
def test_contents_that_lie(multilabel, tmp_path):
    """With right checksums: every error names the file, and no other rows come out."""
    path, text, lot, refused = tmp_path / "a.rows", tmp_path / "a.vw", random.Random(0), 0
    labels = ("", "0", "2,1") if multilabel else ("1 2", "-1 0.5", "1 1")
    lines = [f"{labels[k % 3]} | {k % 5}:2 {9 + k % 2} {20 + k}:{k + 1}\n" for k in range(12)]
    text.write_text("".join(lines))
    write_rows(VWFile(text, bits=6, multilabel=multilabel), path)
    expected, data = values(RowsFile(path)), path.read_bytes()
    start, length, *_ = mapped_files._END.unpack(data[-mapped_files._END.size :])
    whole, contents = data[:start], json.loads(data[start : start + length])

    def read(contents, arrays=whole):
        """The rows of a file whose checksums are right, or the message; a model learns from it."""
        text = contents if isinstance(contents, bytes) else json.dumps(contents).encode()
        end = len(arrays), len(text), zlib.crc32(text), mapped_files._ENDING
        path.write_bytes(arrays + text + mapped_files._END.pack(*end))
        fit = LazyNetClassifier(l1=1e-4, max_iter=1, tol=None).fit
        found, message = outcome(lambda: fit(RowsFile(path)) and RowsFile(path))
        assert message is None or str(path) in message
        return found, message

    for broken, words in CONTENTS:
        assert re.search(f"the contents are not those of .*{words}", read(broken)[1])
    for place in nodes_of(contents):
        for value in [*lot.sample(VALUES, 6), ..., 2**31] if "identity" not in place[:-1] else ():
            found, message = read(change(contents, place, value))
            assert message or found == expected
            refused += found is None
    block = contents["blocks"][0]
    for start, code, length in block["arrays"].values():
        for _ in range(20):
            array = np.frombuffer(whole, code, length, start).copy()
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array[lot.randrange(length)] = np.array(lot.choice(NUMBERS)).astype(code)
            arrays = whole[:start] + array.tobytes() + whole[start + array.nbytes :]
            crc = zlib.crc32(arrays[block["start"] : block["stop"]])
            refused += read(change(contents, ("blocks", 0, "check"), crc), arrays)[1] is not None
    assert refused > 150


def test_more_features_than_memory_are_refused(tmp_path, monkeypatch):
    """Before a fit, with the names of the files; the rows themselves can be read."""
    monkeypatch.setattr("lazynet.data.source.physical_bytes", lambda: 2**20)
    path, rows = tmp_path / "a.svm", tmp_path / "a.rows"
    path.write_bytes(b"0 1:1\n1 2:1\n" * 9)
    write_rows(SvmlightFile(path, zero_based=False, n_features=2**31), rows)
    for source in (SvmlightFile(path, n_features=2**31), RowsFile(rows), Shuffled(RowsFile(rows))):
        assert len(values(source)) == 18
        name = path if isinstance(source, SvmlightFile) else rows
        message = f"^X: {name} has 2,147,483,648 features, and a model needs at least 34.4 GB"
        for model in (LazyNetClassifier(), DualNetClassifier(l1=1.0)):
            with pytest.raises(ValueError, match=message):
                model.fit(source)
        with pytest.raises(ValueError, match=message):
            LazyNetClassifier().partial_fit(source, classes=[0, 1])


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("form", ["svm", "svm.xz", "vw", "rows"])
def test_a_file_that_is_rewritten_during_a_fit(form, replaces, tmp_path):
    """The error names the file and the model is unchanged, or the pass reads the earlier file."""
    path, other, n = tmp_path / f"a.{form}", tmp_path / f"b.{form}", 20_000
    kind = {"vw": VWFile, "rows": RowsFile}.get(form, SvmlightFile)
    line = b"%d | 3:2 %d:1\n" if form == "vw" else b"%d 3:2 %d:1\n"
    for name, shift in ((path, 4), (other, 5)):
        text = b"".join(line % (k % 2, shift + k % 5) for k in range(n))
        name.write_bytes(lzma.compress(text) if form == "svm.xz" else text)
        if form == "rows":
            source = SvmlightFile(
                name.rename(tmp_path / "text.svm"), zero_based=True, n_features=10
            )
            write_rows(source, name)
    whole, rewritten = path.read_bytes(), other.read_bytes()

    def rewrite(*_):
        if replaces:
            other.write_bytes(rewritten)
            os.replace(other, path)
        else:
            path.write_bytes(rewritten)

    model = LazyNetClassifier(l1=1e-4, max_iter=3, tol=None)
    has_changed = f"{path}: the file has changed since it was first read"
    if form == "rows" and replaces:
        # The mapping of a file of rows does not change when another file gets the name.
        expected = clone(model).fit(kind(path)).coef_
        np.testing.assert_array_equal(model.fit(kind(path), callback=rewrite).coef_, expected)
    else:
        with pytest.raises(ValueError, match=f"{has_changed}: read it again by a new source"):
            model.fit(kind(path), callback=rewrite)
        assert not hasattr(model, "coef_")
    path.write_bytes(whole)
    chunks = kind(path).chunks(rows=1)
    next(chunks)
    rewrite()
    if replaces:
        assert sum(1 for _ in chunks) == n - 1
    else:
        with pytest.raises(ValueError, match=rf"{has_changed}|{path}: (line|the packed file)"):
            list(chunks)


@pytest.mark.parametrize("name", ["words.svm", "linked.svm", "notes.txt", "folder", "pipe"])
def test_a_cache_takes_the_place_of_no_other_file(path, name):
    """A text, the file of the rows itself under any name, a folder, a pipe: they stay."""
    other = path.with_name(name)
    makes = {
        "linked.svm": lambda: other.hardlink_to(path),
        "folder": other.mkdir,
        "notes.txt": lambda: other.write_text("mine"),
        "pipe": lambda: os.mkfifo(other),
    }
    makes.get(name, lambda: None)()
    before = os.lstat(other)
    kinds = {"folder": "is a directory: name a file", "pipe": "is a device or a pipe: name a file"}
    message = kinds.get(name, "is not changed")
    with pytest.raises((ValueError, OSError), match=message) as caught:
        cached(SvmlightFile(path), other)
    assert str(other) in str(caught.value)
    for what in ("st_ino", "st_mode", "st_size", "st_mtime_ns"):
        assert getattr(os.lstat(other), what) == getattr(before, what)
    assert path.read_bytes() == TEXT


# --- threads ------------------------------------------------------------------------------------


def threads():
    """The threads that make chunks."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("lazynet chunks")]


@pytest.mark.parametrize("stops", [False, True])
def test_the_thread_is_ahead_and_no_more(stops):
    """At most one item waits; an error comes where its item would, and then the thread has ended.

    A caller that stops ends the thread, too; the source is closed.
    """
    made, closed = [], threading.Event()

    def items():
        try:
            for number in range(20):
                made.append(number)
                yield number
            raise OverflowError("too much")
        finally:
            closed.set()

    found = ahead(items())
    for number in range(10 if stops else 20):
        assert next(found) == number
        time.sleep(0.005)
        assert len(made) <= number + 2
        assert len(threads()) <= 1
    if stops:
        found.close()
    else:
        with pytest.raises(OverflowError, match="too much"):
            next(found)
    assert threads() == []
    assert closed.is_set()


def main_thread_is_in(function):
    """Whether the main thread runs this function, or what it calls."""
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame is not None


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_while_waiting_for_a_chunk(python_hears_ctrl_c):
    """KeyboardInterrupt comes out, and the thread ends."""
    released = threading.Event()

    def slow():
        yield 1
        released.wait(60.0)
        yield 2

    def press():
        while not main_thread_is_in(ahead):
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        released.set()

    chunks = ahead(slow())
    next(chunks)
    presses = threading.Thread(target=press)
    presses.start()
    with pytest.raises(KeyboardInterrupt):
        next(chunks)
    presses.join()
    assert threads() == []
