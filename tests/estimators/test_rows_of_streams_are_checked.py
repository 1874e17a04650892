"""The rows of a stream are checked before a model learns, wherever they come from."""

import numpy as np
import pytest

from lazynet import LazyNetClassifier, LazyNetRegressor
from lazynet.data import Chunks, RowsFile, Source, SvmlightFile, VWFile, cached, write_rows
from lazynet.data.chunks import Chunk, csr
from lazynet.data.source import Derived

TEXT = "".join(f"{i % 2 * 2 - 1} {i % 5 + 1}:{i / 8} {i % 3 + 7}:0.5\n" for i in range(40))
MODEL = dict(max_iter=3, tol=None, l1=1e-3)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "words.svm"
    found.write_text(TEXT)
    return found


class Unchecked(Source):
    """One chunk, as it is."""

    def __init__(self, X, y):
        self.chunk = Chunk(X, np.asarray(y, dtype=np.float64), None)

    @property
    def n_features(self):
        return self.chunk.X.shape[1]

    def _pass(self, rows, epoch):
        yield self.chunk


def written(path, X, y):
    """A file of rows that nobody has checked."""
    write_rows(Unchecked(X, y), path)
    return RowsFile(path)


@pytest.mark.parametrize("kind", [LazyNetClassifier, LazyNetRegressor])
def test_unsound_rows_of_a_file_are_refused_or_mended(tmp_path, kind):
    """As the same rows in memory: a repeated column gets the sum, NaN is refused; also in y."""
    y = [-1.0, 1.0]
    repeated = csr([0, 2, 3], [1, 1, 0], [0.5, 0.25, 2.0], 3)
    source = written(tmp_path / "repeated.rows", repeated, y)
    merged = Chunks(lambda: [(csr([0, 1, 2], [1, 0], [0.75, 2.0], 3), np.array(y))])
    model = kind(**MODEL, shuffle=False)
    np.testing.assert_array_equal(model.fit(source).coef_, model.fit(merged).coef_)
    broken = csr([0, 1, 2], [1, 0], [0.75, np.nan], 3)
    with pytest.raises(ValueError, match="NaN or infinity, first in row 1"):
        model.fit(written(tmp_path / "nan.rows", broken, y))
    sound = csr([0, 1, 2], [1, 0], [0.75, 2.0], 3)
    with pytest.raises(ValueError, match=r"y contains|NaN|infinity"):
        model.fit(written(tmp_path / "infinite.rows", sound, [1.0, np.inf]))


def test_classes_are_whole_numbers(tmp_path):
    """Other labels are refused, in whatever way the rows come."""
    path = tmp_path / "rows.vw"
    path.write_text("0.5 | 1:2\n1.5 | 2:1\n")
    for source in (VWFile(path), cached(VWFile(path), tmp_path / "kept.rows")):
        with pytest.raises(ValueError, match="continuous"):
            LazyNetClassifier(**MODEL).fit(source)


@pytest.mark.parametrize("n_classes", [2, 6])
def test_labels_that_are_no_class_are_refused(tmp_path, n_classes):
    """Of few classes and of many."""
    y = np.arange(40.0) % n_classes
    X = csr(np.arange(41), np.arange(40) % 3, np.ones(40), 3)
    source = written(tmp_path / "rows", X, y)
    model = LazyNetClassifier(**MODEL).fit(source)
    model.partial_fit(source)
    y[7] = 9.0
    with pytest.raises(ValueError, match="9"):
        model.partial_fit(written(tmp_path / "others", X, y))


def test_a_source_that_spoils_rows(path):
    """What a source of a user does with chunks is checked."""

    class Spoiled(Derived):
        def _pass(self, rows, epoch):
            for chunk in self.source.chunks(rows, epoch):
                chunk.X.data[0] = np.nan
                yield chunk

    text = SvmlightFile(path, zero_based=False, n_features=9)
    for source in (text, cached(text, path.with_name("kept.rows"))):
        with pytest.raises(ValueError, match="NaN or infinity"):
            LazyNetClassifier(**MODEL).fit(Spoiled(source))
