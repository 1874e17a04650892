"""The corpus has the shape it claims from any seed, and a file can take its place."""

import gzip
import hashlib

import numpy as np
import pytest
from support import peak_of

documents = pytest.importorskip("paper_repro.documents", reason="only in a checkout")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("n_examples", [1000, 5000])
def test_the_corpus_has_medlines_shape(n_examples, seed):
    """Features are exact, nonzeros within half a percent; values are counts; both labels occur."""
    made = documents.medline(n_examples, seed=seed)
    found = made.statistics()
    assert made.X.shape == (n_examples, documents.FEATURES)
    assert found["nonzeros_per_example"] == pytest.approx(documents.NONZEROS, rel=0.005)
    made.X.check_format(full_check=True)
    assert made.X.has_canonical_format
    assert (made.X.data >= 1).all()
    assert np.array_equal(made.X.data, np.rint(made.X.data))
    assert 0.4 < found["positive_share"] < 0.6


@pytest.mark.parametrize(("features", "nonzeros"), [(2000, 3.0), (2000, 15.0), (50_000, 200.0)])
def test_other_shapes_are_met_as_well(features, nonzeros):
    """The corpus has the shape asked for, with few and many features, short and long rows."""
    made = documents.medline(4000, features, nonzeros, seed=2)
    assert made.X.nnz / 4000 == pytest.approx(nonzeros, rel=0.005)


@pytest.mark.thorough
def test_the_corpus_at_its_published_size():
    """A million examples take little more memory than the matrix."""
    made, peak = peak_of(lambda: documents.medline(1_000_000))
    found = made.statistics()
    assert found["nonzeros_per_example"] == pytest.approx(documents.NONZEROS, rel=0.005)
    assert peak < 1.1 * found["bytes"]


def test_the_corpus_is_streamed():
    """Four times the rows need four times the matrix and no other memory."""

    def beyond_the_matrix(n_examples):
        made, peak = peak_of(lambda: documents.medline(n_examples, 5000, 40.0))
        return peak - made.statistics()["bytes"]

    few, many = beyond_the_matrix(10_000), beyond_the_matrix(40_000)
    assert many < few + 0.15 * 30_000 * 40 * 12


def test_word_frequencies_follow_zipf_and_mandelbrot():
    """Over four powers of ten of the rank, words are as frequent as was asked."""
    features = 10_000
    made = documents.medline(20_000, features, 60.0, seed=3)
    words = np.asarray(made.X.sum(axis=0)).ravel()
    shares = np.sort(words)[::-1] / words.sum()
    asked = documents.word_probabilities(features)
    for first, last in ((0, 1), (1, 10), (10, 100), (100, 1000), (1000, 10_000)):
        assert shares[first:last].sum() == pytest.approx(asked[first:last].sum(), rel=0.02)
    ratio = asked[999] / asked[99]
    law = (
        (1000 + documents.ZIPF_OFFSET) / (100 + documents.ZIPF_OFFSET)
    ) ** -documents.ZIPF_EXPONENT
    assert ratio == pytest.approx(law, rel=1e-12)


def test_a_seed_makes_the_corpus():
    """A seed always makes the same corpus, and another seed another corpus."""
    first, again, other = (documents.medline(500, 2000, 15.0, seed=s) for s in (7, 7, 8))
    assert np.array_equal(first.X.indices, again.X.indices)
    assert np.array_equal(first.X.data, again.X.data)
    assert np.array_equal(first.y, again.y)
    assert not np.array_equal(first.X.indptr, other.X.indptr)


def test_a_seed_makes_the_same_corpus_on_any_machine():
    """The digest of the rows and labels is written in this test."""
    made = documents.medline(500, 3000, 20.0, seed=5)
    digest = hashlib.sha256()
    for array, kind in (
        (made.X.indptr, "<i4"),
        (made.X.indices, "<i4"),
        (made.X.data, "<i4"),
        (made.y, "<i1"),
    ):
        digest.update(array.astype(kind).tobytes())
    assert digest.hexdigest()[:16] == "36e074f6be33d5c9"


def test_labels_can_be_learned():
    """The labels come from a sparse linear model, so a linear model predicts them, noise apart."""
    from lazynet import LazyNetClassifier

    made = documents.medline(6000, 5000, 40.0, seed=1)
    model = LazyNetClassifier(l1=1e-4, max_iter=10, tol=None, random_state=0)
    accuracy = model.fit(made.X[:4000], made.y[:4000]).score(made.X[4000:], made.y[4000:])
    majority = max((made.y[4000:] > 0).mean(), (made.y[4000:] < 0).mean())
    assert accuracy > majority + 0.1


def test_more_words_than_there_are_is_refused():
    """A document cannot have more different words than the vocabulary."""
    with pytest.raises(ValueError, match="nonzeros must lie between"):
        documents.medline(10, 100, 80.0)


# --- files -----------------------------------------------------------------------------------


@pytest.fixture
def svmlight(tmp_path):
    """A file of these lines."""

    def written(text, name="some.svm"):
        path = tmp_path / name
        content = text.encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        return path

    return written


def test_two_labels_are_taken_as_they_are(svmlight):
    """The greater label is +1."""
    read = documents.from_svmlight(svmlight("0 1:2 3:1\n1 2:1\n0 3:4\n", "some.svm.gz"))
    assert read.X.toarray().tolist() == [[2, 0, 1], [0, 1, 0], [0, 0, 4]]
    assert read.y.tolist() == [-1, 1, -1]
    assert "some.svm.gz, label 1" in read.origin


def test_of_several_labels_the_one_nearest_to_half_is_told_from_the_rest(svmlight):
    """The argument ``label`` chooses another one."""
    path = svmlight("3 1:1\n2 1:1\n2 2:1\n1 2:1\n")
    assert documents.from_svmlight(path).y.tolist() == [-1, 1, 1, -1]
    assert documents.from_svmlight(path, "1").y.tolist() == [-1, -1, -1, 1]
    path = svmlight("0,1 1:1\n0,1 2:1\n0 1:2\n0 2:1\n0,2 1:1\n")
    assert documents.from_svmlight(path).y.tolist() == [1, 1, -1, -1, -1]


def test_a_row_may_have_several_labels(svmlight):
    """Multilabel files separate labels by commas."""
    path = svmlight("0,2 1:1\n2 1:1\n1 2:1\n")
    assert documents.from_svmlight(path).y.tolist() == [1, 1, -1]
    assert documents.from_svmlight(path, "0").y.tolist() == [1, -1, -1]


@pytest.mark.parametrize(
    ("text", "label", "complaint"),
    [
        ("1 1:1\n1 2:1\n", None, "two labels or more"),
        ("1 1:1\n2 2:1\n", "7", "label must be one of the 2 in some.svm"),
        ("1 1:1\n2 2:1\n", "x", "label must be a number"),
        ("1 1:0\n2 2:0\n", None, "features that are not zero"),
        ("1 1:nan\n2 2:1\n", None, "features must be finite"),
        ("hello world\n", None, "some.svm: is not an svmlight file"),
    ],
)
def test_files_that_are_no_corpus_are_refused(svmlight, text, label, complaint):
    """The error names the file."""
    with pytest.raises(ValueError, match=complaint):
        documents.from_svmlight(svmlight(text), label)
