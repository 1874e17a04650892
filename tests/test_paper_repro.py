"""The corpus has the shape it claims, and the studies run on tiny sizes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

corpus = pytest.importorskip("paper_repro.corpus", reason="only in a checkout")
from paper_repro.measure import Spread, in_turns, ratio  # noqa: E402


def test_the_corpus_has_medlines_shape():
    """Features as asked, nonzeros within a percent on average, counts, labels of both kinds."""
    made = corpus.medline(3000, seed=1)
    rows, features = made.X.shape
    assert (rows, features) == (3000, corpus.MEDLINE_FEATURES)
    assert made.X.nnz / rows == pytest.approx(corpus.MEDLINE_NONZEROS, rel=0.02)
    assert made.X.has_canonical_format
    assert (made.X.data >= 1).all()
    assert np.array_equal(made.X.data, np.rint(made.X.data))
    assert 0.2 < (made.y > 0).mean() < 0.8


def test_word_frequencies_follow_zipf_and_mandelbrot():
    """Between the ranks, frequencies fall by the law that was asked for."""
    probabilities = corpus.word_probabilities(10_000)
    assert probabilities.sum() == pytest.approx(1)
    made = corpus.medline(4000, 10_000, 60.0, seed=3)
    tokens = np.asarray(made.X.sum(axis=0)).ravel()
    frequencies = np.sort(tokens)[::-1] / tokens.sum()
    for rank in (0, 10, 100, 1000):
        assert frequencies[rank] == pytest.approx(probabilities[rank], rel=0.25)


def test_a_seed_makes_the_corpus():
    """The same seed the same corpus, another seed another, and blocks do not show."""
    first, again, other = (corpus.medline(500, 2000, 15.0, seed=s) for s in (7, 7, 8))
    assert np.array_equal(first.X.indices, again.X.indices)
    assert np.array_equal(first.X.data, again.X.data)
    assert np.array_equal(first.y, again.y)
    assert not np.array_equal(first.X.indptr, other.X.indptr)


def test_more_words_than_there_are_is_refused():
    """A document cannot have more different words than the vocabulary."""
    with pytest.raises(ValueError, match="nonzeros must lie between"):
        corpus.medline(10, 100, 80.0)


def test_competitors_take_turns():
    """Every repeat has each competitor once, the first round does not count."""
    calls = []

    def competitor(name, seconds):
        def run():
            calls.append(name)
            return seconds

        return run

    seconds = in_turns({"a": competitor("a", 3.0), "b": competitor("b", 1.0)}, repeats=2)
    assert calls == ["a", "b", "b", "a", "a", "b"]
    assert seconds == {"a": [3.0, 3.0], "b": [1.0, 1.0]}
    assert ratio(seconds, "a", "b") == Spread(3.0, 3.0, 3.0)


@pytest.mark.parametrize(
    "command",
    [
        ["paper_repro", "--examples", "300", "--dense-examples", "20", "--nonzeros", "20"],
        ["paper_repro.bench", "--examples", "300"],
    ],
    ids=["repro", "bench"],
)
def test_the_studies_run(command):
    """From the command line, on a corpus of nothing, with the proof of equal weights."""
    run = subprocess.run(
        [sys.executable, "-m", *command, "--features", "3000", "--repeats", "1"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
    )
    assert run.returncode == 0, run.stderr
    assert "same weights" in run.stdout
    assert "nan" not in run.stdout
