"""Rows that nobody checks again before a model learns: what they are, and that all others are."""

import numpy as np
import pytest

from lazynet import LazyNetClassifier, LazyNetRegressor
from lazynet.data import Cached, Chunks, RowsFile, Shuffled, SvmlightFile, VWFile, prefetched
from lazynet.data.chunks import Chunk, SoundChunk, csr
from lazynet.data.prefetched import ahead_of
from lazynet.data.rows_file import RowsWriter
from lazynet.data.source import Derived

TEXT = "".join(f"{i % 2 * 2 - 1} {i % 5 + 1}:{i / 8} {i % 3 + 7}:0.5\n" for i in range(40))
MODEL = dict(max_iter=3, tol=None, l1=1e-3)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "words.svm"
    found.write_text(TEXT)
    return found


def kinds(source, rows=16):
    """The kinds of the chunks that a model gets, and the types of their values."""
    return {(type(chunk), chunk.X.dtype.name) for chunk in source._to_learn(rows, 0)}


def written(path, X, y):
    """A file of rows that nobody has checked."""
    with RowsWriter(path, n_features=X.shape[1], n_labels=None) as writer:
        writer.add(Chunk(X, np.asarray(y, dtype=np.float64), None))
        writer.commit()
    return RowsFile(path)


def test_models_alone_get_sound_chunks(path):
    """As float32 where that loses nothing; everybody else gets plain chunks of float64."""
    text = SvmlightFile(path, zero_based=False, n_features=9)
    cached = Cached(text, path.with_name("kept.rows"))
    assert kinds(text) == {(SoundChunk, "float64")}
    for _ in range(2):
        for source in (text, cached):
            chunks = list(source.chunks(16))
            assert {type(chunk) for chunk in chunks} == {Chunk}
            assert {chunk.X.dtype.name for chunk in chunks} == {"float64"}
    assert kinds(cached) == {(SoundChunk, "float32")}
    assert kinds(RowsFile(cached.path), rows=7) == {(SoundChunk, "float32")}
    path.write_text(TEXT.replace(":0.5", ":0.1"))
    changed = Cached(text, path.with_name("kept.rows"))
    changed.facts()
    assert kinds(changed) == {(SoundChunk, "float64")}


def test_chunks_that_are_at_hand_come_without_a_thread(path, monkeypatch):
    """Those of a file of rows that has been checked; text and a file that is new have one."""
    begun = []
    plain = prefetched.ahead
    monkeypatch.setattr(prefetched, "ahead", lambda chunks: begun.append(chunks) or plain(chunks))

    def threads(source):
        begun.clear()
        for _ in ahead_of(source, 16, 0):
            pass
        return len(begun)

    text = SvmlightFile(path, zero_based=False, n_features=9)
    cached = Cached(text, path.with_name("kept.rows"))
    assert [threads(text), threads(text)] == [1, 1]
    # The rows that the first pass writes need no check in the second one.
    assert [threads(cached), threads(cached), threads(Shuffled(cached, window=5))] == [1, 0, 1]
    file = RowsFile(cached.path)
    assert [threads(file), threads(file)] == [1, 0]


@pytest.mark.parametrize("kind", [LazyNetClassifier, LazyNetRegressor])
@pytest.mark.parametrize("rule", ["adagrad", "fobos"])
def test_the_cache_gives_the_bits_of_the_text(path, kind, rule):
    """And of the same rows in memory, which are checked."""
    text = SvmlightFile(path, zero_based=False, n_features=9)
    (chunk,) = text.chunks()
    model = kind(**MODEL, rule=rule, shuffle=False, l2=1e-6)
    whole = model.fit(Chunks(lambda: [(chunk.X, chunk.y)])).coef_.tobytes()
    cached = Cached(text, path.with_name("kept.rows"))
    for source in (text, cached, cached):
        assert model.fit(source).coef_.tobytes() == whole
    assert model.fit(RowsFile(cached.path)).coef_.tobytes() == whole


@pytest.mark.parametrize("kind", [LazyNetClassifier, LazyNetRegressor])
def test_unsound_rows_of_a_file_are_refused_or_mended(tmp_path, kind):
    """As the same rows in memory: a repeated column gets the sum, NaN is refused."""
    y = [-1.0, 1.0]
    repeated = csr([0, 2, 3], [1, 1, 0], [0.5, 0.25, 2.0], 3)
    source = written(tmp_path / "repeated.rows", repeated, y)
    assert kinds(source) == {(Chunk, "float64")}
    merged = Chunks(lambda: [(csr([0, 1, 2], [1, 0], [0.75, 2.0], 3), np.array(y))])
    model = kind(**MODEL, shuffle=False)
    np.testing.assert_array_equal(model.fit(source).coef_, model.fit(merged).coef_)
    broken = csr([0, 1, 2], [1, 0], [0.75, np.nan], 3)
    with pytest.raises(ValueError, match="NaN or infinity, first in row 1"):
        model.fit(written(tmp_path / "nan.rows", broken, y))


@pytest.mark.parametrize("kind", [LazyNetClassifier, LazyNetRegressor])
def test_labels_that_are_not_finite_are_refused(tmp_path, kind):
    """Also where X is sound."""
    X = csr([0, 1, 2], [1, 0], [0.75, 2.0], 3)
    with pytest.raises(ValueError, match=r"y contains|NaN|infinity"):
        kind(**MODEL).fit(written(tmp_path / "nan.rows", X, [1.0, np.inf]))


def test_classes_are_whole_numbers(tmp_path):
    """Other labels are refused, in whatever way the rows come."""
    path = tmp_path / "rows.vw"
    path.write_text("0.5 | 1:2\n1.5 | 2:1\n")
    for source in (VWFile(path), Cached(VWFile(path), tmp_path / "kept.rows")):
        with pytest.raises(ValueError, match="continuous"):
            LazyNetClassifier(**MODEL).fit(source)


@pytest.mark.parametrize("n_classes", [2, 6])
def test_labels_that_are_no_class_are_refused(tmp_path, n_classes):
    """Of few classes and of many, although the rows need no check."""
    y = np.arange(40.0) % n_classes
    X = csr(np.arange(41), np.arange(40) % 3, np.ones(40), 3)
    source = written(tmp_path / "rows", X, y)
    model = LazyNetClassifier(**MODEL).fit(source)
    model.partial_fit(source)
    assert kinds(source) == {(SoundChunk, "float32")}
    y[7] = 9.0
    with pytest.raises(ValueError, match="9"):
        model.partial_fit(written(tmp_path / "others", X, y))


def test_a_class_for_every_row_gets_the_warning_of_scikit_learn():
    """Which takes such a y for numbers."""
    X = csr(np.arange(41), np.arange(40) % 3, np.ones(40), 3)
    with pytest.warns(UserWarning, match="unique classes"):
        LazyNetClassifier(max_iter=1, tol=None).fit(X, np.arange(40))


def test_a_source_that_changes_rows_gives_no_sound_ones(path):
    """What a source of a user does with chunks is checked."""

    class Spoiled(Derived):
        def _pass(self, rows, epoch):
            for chunk in self.source.chunks(rows, epoch):
                chunk.X.data[0] = np.nan
                yield chunk

    text = SvmlightFile(path, zero_based=False, n_features=9)
    assert kinds(Spoiled(text)) == {(Chunk, "float64")}
    for source in (text, Cached(text, path.with_name("kept.rows"))):
        with pytest.raises(ValueError, match="NaN or infinity"):
            LazyNetClassifier(**MODEL).fit(Spoiled(source))
