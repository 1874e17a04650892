"""Study averaging runs at a small size, and finds what is known beforehand."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from support import Evaluated

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from support.studies import tiny_run

from lazynet import LazyNetClassifier
from paper_repro.competitors import compiled
from paper_repro.score import UnequalWeights
from paper_repro.split import split
from paper_repro.studies import STUDIES, averaging
from paper_repro.studies.averaging import Averages, feature_sizes
from paper_repro.study import FULL, Settings

TINY = Settings(examples=300, features=400, nonzeros=10, repeats=1, seconds=0.01)


@pytest.fixture
def small(monkeypatch):
    """Fewer passes, rows and penalties."""
    monkeypatch.setattr(averaging, "PASSES", (1, 2))


def test_a_tiny_run_writes_page_figure_and_numbers(small, tmp_path):
    document, _ = tiny_run(STUDIES["averaging"], TINY, tmp_path)
    assert Averages(document).worst_equality <= 1e-12


def test_a_file_takes_the_place_of_the_corpus(small, tmp_path):
    """Learning curves and scikit-learn's averages are of the file's rows."""
    X = np.random.default_rng(0).random((50, 3))
    dump_svmlight_file(X, np.where(X[:, 0] > 0.5, 1, -1), str(tmp_path / "rows.svm"))
    settings = replace(TINY, data=str(tmp_path / "rows.svm"))
    _, page = tiny_run(STUDIES["averaging"], settings, tmp_path)
    assert "40 rows to learn from and 10 to test on (rows.svm, label 1 against the rest" in page


def test_curves_are_those_of_the_estimator(small):
    """``fit`` in the orders of the study takes the same steps."""
    rows = split(TINY)
    found = averaging.elastic_net(TINY, {})
    for name, average in (
        (averaging.LAST, False),
        (averaging.AVERAGE, True),
        (averaging.SUFFIX, "suffix"),
        (averaging.POLYNOMIAL, "polynomial"),
    ):
        model = LazyNetClassifier(
            l1=found["l1"], l2=found["l2"], schedule="constant", eta0=averaging.ETA0,
            max_iter=2, tol=None, average=average,
        )  # fmt: skip
        orders, seen = [rows.order(epoch, TINY.seed) for epoch in (0, 1)], Evaluated()
        model.fit(rows.X, rows.y, sample_order=orders, callback=seen)
        judged = found["curves"][name][-1]
        assert judged["objective"] == pytest.approx(seen.lines[-1]["objective"], rel=1e-12)
        assert judged["error"] == pytest.approx(1 - model.score(rows.X_test, rows.y_test))
    assert found["support"] < found["averaged support"]


def test_no_row_is_both_learned_from_and_tested_on():
    """Every row is one or the other."""
    rows = split(TINY)
    assert (rows.n, len(rows.y_test)) == (240, 60)
    norms = np.sqrt(np.asarray(rows.X.multiply(rows.X).sum(axis=1)))
    np.testing.assert_allclose(norms, 1.0)


def test_averages_that_differ_are_refused(monkeypatch):
    """The times of two learners that compute different averages mean nothing."""
    monkeypatch.setattr(compiled.AveragedDense, "averages", lambda self: self.weights())
    with pytest.raises(UnequalWeights, match="clock, averaged and dense, averaged"):
        averaging.measure_features(TINY, 100, {})


def test_sizes_by_tens_to_ten_millions():
    """A small run has two sizes."""
    assert feature_sizes(FULL)[-1] == 10_000_000
    assert feature_sizes(TINY) == [20, 400]


def test_sizes_beyond_the_memory_are_left_out(monkeypatch):
    """The record says why."""
    monkeypatch.setattr(averaging.machine, "physical_bytes", lambda: 1000)
    assert "of memory needed" in averaging.measure_features(TINY, 400, {})["skipped"]
