"""Study averaging runs at a small size, and finds what is known beforehand."""

import pytest
from support import Evaluated

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from support.studies import tiny_run

from lazynet import FoBoS, LazyNetClassifier
from paper_repro.competitors import compiled
from paper_repro.score import UnequalWeights
from paper_repro.split import split
from paper_repro.studies import STUDIES, averaging
from paper_repro.studies.averaging import Averages
from paper_repro.study import Settings

TINY = Settings(examples=300, features=400, nonzeros=10, repeats=1, seconds=0.01)


@pytest.fixture
def small(monkeypatch):
    """Fewer passes, rows and penalties."""
    monkeypatch.setattr(averaging, "PASSES", (1, 2))


def test_a_tiny_run_writes_page_figure_and_numbers(small, tmp_path):
    document, _ = tiny_run(STUDIES["averaging"], TINY, tmp_path)
    assert Averages(document).worst_equality <= 1e-12


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
        rule = FoBoS("constant", eta0=averaging.ETA0, average=average)
        model = LazyNetClassifier(l1=found["l1"], l2=found["l2"], rule=rule, max_iter=2, tol=None)
        orders, seen = [rows.order(epoch, TINY.seed) for epoch in (0, 1)], Evaluated()
        model.fit(rows.X, rows.y, sample_order=orders, callback=seen)
        judged = found["curves"][name][-1]
        assert judged["objective"] == pytest.approx(seen.lines[-1]["objective"], rel=1e-12)
        assert judged["error"] == pytest.approx(1 - model.score(rows.X_test, rows.y_test))
    assert found["support"] < found["averaged support"]


def test_averages_that_differ_are_refused(monkeypatch):
    """The times of two learners that compute different averages mean nothing."""
    monkeypatch.setattr(compiled.AveragedDense, "averages", lambda self: self.weights())
    with pytest.raises(UnequalWeights, match="clock, averaged and dense, averaged"):
        averaging.measure_features(TINY, 100, {})
