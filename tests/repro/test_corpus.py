"""The corpus has the shape it claims from any seed, and a file can take its place."""

import hashlib

import numpy as np
import pytest
from support import peak_of

from paper_repro import documents


def test_the_corpus_has_medlines_shape():
    """In two blocks of rows: nonzeros within half a percent, values are counts, both labels."""
    made = documents.medline(3000, seed=1)
    found = made.statistics()
    assert made.X.shape == (3000, documents.FEATURES)
    assert found["nonzeros_per_example"] == pytest.approx(documents.NONZEROS, rel=0.005)
    made.X.check_format(full_check=True)
    assert made.X.has_canonical_format
    assert (made.X.data >= 1).all()
    assert np.array_equal(made.X.data, np.rint(made.X.data))
    assert 0.4 < found["positive_share"] < 0.6


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
    law = (np.array([1000, 100]) + documents.ZIPF_OFFSET) ** -documents.ZIPF_EXPONENT
    assert asked[999] / asked[99] == pytest.approx(law[0] / law[1], rel=1e-12)


def test_a_seed_makes_the_same_corpus_on_any_machine():
    """The digest of the rows and labels is written in this test."""
    made = documents.medline(500, 3000, 20.0, seed=5)
    arrays = (made.X.indptr, made.X.indices, made.X.data)
    numbers = b"".join(array.astype("<i4").tobytes() for array in arrays)
    digest = hashlib.sha256(numbers + made.y.astype("<i1").tobytes())
    assert digest.hexdigest()[:16] == "36e074f6be33d5c9"


# --- files -----------------------------------------------------------------------------------


def test_of_several_labels_the_one_nearest_to_half_is_told_from_the_rest(tmp_path):
    """The argument ``label`` chooses another one."""
    path = tmp_path / "some.svm"
    path.write_text("3 1:1\n2 1:1\n2 2:1\n1 2:1\n")
    assert documents.from_svmlight(path).y.tolist() == [-1, 1, 1, -1]
    assert documents.from_svmlight(path, "1").y.tolist() == [-1, -1, -1, 1]
    path.write_text("0,1 1:1\n0,1 2:1\n0 1:2\n0 2:1\n0,2 1:1\n")
    assert documents.from_svmlight(path).y.tolist() == [1, 1, -1, -1, -1]


@pytest.mark.parametrize(
    ("text", "label", "complaint"),
    [
        ("1 1:1\n1 2:1\n", None, "two labels or more"),
        ("1 1:1\n2 2:1\n", "7", "label must be one of the 2 in some.svm"),
        ("1 1:1\n2 2:1\n", "x", "label must be a number"),
        ("1 1:0\n2 2:0\n", None, "features that are not zero"),
        ("1 1:nan\n2 2:1\n", None, "features must be finite"),
    ],
)
def test_files_that_are_no_corpus_are_refused(tmp_path, text, label, complaint):
    """The error names the file."""
    (tmp_path / "some.svm").write_text(text)
    with pytest.raises(ValueError, match=complaint):
        documents.from_svmlight(tmp_path / "some.svm", label)
