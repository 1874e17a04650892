"""Study averaging runs at a small size, and finds what is known beforehand."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from support.studies import tiny_run

from lazynet import ASGDClassifier
from paper_repro.competitors import compiled
from paper_repro.score import UnequalWeights
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
    """The average of centered rows, fitted in the orders of the study."""
    rows = averaging.split(TINY)
    found = averaging.curves(TINY, {})
    order_of = [np.random.default_rng([TINY.seed, epoch]).permutation for epoch in (0, 1)]
    orders = np.concatenate([order(len(rows.y)) for order in order_of])
    model = ASGDClassifier("log_loss", l2=found["l2"]).fit(rows.X, rows.y, sample_order=orders)
    judged = found["curves"][averaging.CASGD][-1]
    assert judged["error"] == pytest.approx(1 - model.score(rows.X_test, rows.y_test))


def test_averages_that_differ_are_refused(monkeypatch):
    """The times of two learners that compute different averages mean nothing."""
    monkeypatch.setattr(compiled.AveragedDense, "averages", lambda self: self.weights())
    with pytest.raises(UnequalWeights, match="clock, averaged and dense, averaged"):
        averaging.measure_features(TINY, 100, {})
