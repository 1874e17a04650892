"""Studies scaling, crossover and averaging at a small size: pages, figures, and known results."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.studies import tiny_run

from lazynet import ASGDClassifier
from paper_repro import machine
from paper_repro.competitors import DESCRIPTIONS, TIERS, compiled
from paper_repro.competitors.base import CLOCK, DENSE, SPARSE_PREDICTIONS, TABLES
from paper_repro.score import UnequalWeights
from paper_repro.studies import STUDIES, averaging
from paper_repro.studies.averaging import Averages
from paper_repro.studies.crossover import DENSITIES, MOST_FEATURES, DensityCurves, key
from paper_repro.study import Settings

TINY = Settings(examples=50, features=300, nonzeros=8, repeats=1, seconds=0.002)
SMALL = Settings(examples=300, features=400, nonzeros=10, repeats=1, seconds=0.01)


# --- scaling ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("available", "skipped"), [(5000, {300}), (10, {30, 300}), (None, set())])
def test_scaling_skips_sizes_that_do_not_fit_in_words(tmp_path, monkeypatch, available, skipped):
    """Bytes are counted from the engines."""
    monkeypatch.setattr(machine, "physical_bytes", lambda: available)
    document, page = tiny_run(STUDIES["scaling"], TINY, tmp_path)
    assert all(f"## {part}" in page for part in ("Features", "Nonzeros", "Steps"))
    held = document["records"]["steps/1000"]["bytes"]
    assert held[CLOCK] == {"weights": 8 * 300, "steps": 0}
    assert held[TABLES] == {"weights": 16 * 300, "steps": 16 * 1001}
    reasons = {size: document["records"][f"features/{size}"].get("skipped") for size in (30, 300)}
    assert {size for size, reason in reasons.items() if reason} == skipped
    assert all(f"{size} features: skipped, {reasons[size]}." in page for size in skipped)


# --- crossover -------------------------------------------------------------------------------


def made_up(clock_crosses=0.05, tables_cross=2.0):
    """Dense updates take a second at any density, lazy ones a time in proportion to the density."""
    records = {}
    for tier, density in product(TIERS, DENSITIES):
        nonzeros = round(density * MOST_FEATURES)
        share = nonzeros / MOST_FEATURES
        seconds = {CLOCK: [share / clock_crosses] * 3, TABLES: [share / tables_cross] * 3}
        seconds |= {SPARSE_PREDICTIONS: [1.0] * 3, DENSE: [1.0] * 3}
        record = {"features": MOST_FEATURES, "nonzeros": nonzeros, "seconds": seconds}
        records[key(tier, nonzeros)] = record
    return {"settings": {"repeats": 3}, "records": records}


def test_crossover_times_every_competitor(tmp_path):
    document, page = tiny_run(STUDIES["crossover"], replace(TINY, features=60), tmp_path)
    assert all(DESCRIPTIONS[tier] in page for tier in TIERS)
    for record in document["records"].values():
        assert all(min(seconds) > 0 for seconds in record["seconds"].values())


@pytest.mark.parametrize("density", [0.0007, 0.05, 0.25, 0.8])
def test_a_known_crossing_is_found(density):
    measured = DensityCurves(made_up(clock_crosses=density))
    for tier in TIERS:
        assert measured.crossing(tier, CLOCK, DENSE).median == pytest.approx(density)


@pytest.mark.parametrize(
    ("tables_cross", "verdict"),
    [(0.5, "| holds |"), (0.02, "but at lower densities"), (0.005, "does not hold")],
)
def test_the_claim_is_judged_by_the_tables(tables_cross, verdict):
    assert verdict in STUDIES["crossover"].page(made_up(tables_cross=tables_cross))


# --- averaging -------------------------------------------------------------------------------


def test_averages_of_all_learners_are_equal(tmp_path, monkeypatch):
    monkeypatch.setattr(averaging, "PASSES", (1, 2))
    document, _ = tiny_run(STUDIES["averaging"], SMALL, tmp_path)
    assert Averages(document).worst_equality <= 1e-12


def test_curves_are_those_of_the_estimator(monkeypatch):
    """The average of centered rows, fitted in the orders of the study."""
    monkeypatch.setattr(averaging, "PASSES", (1, 2))
    rows = averaging.split(SMALL)
    found = averaging.curves(SMALL, {})
    order_of = [np.random.default_rng([SMALL.seed, epoch]).permutation for epoch in (0, 1)]
    orders = np.concatenate([order(len(rows.y)) for order in order_of])
    model = ASGDClassifier("log_loss", l2=found["l2"]).fit(rows.X, rows.y, sample_order=orders)
    judged = found["curves"][averaging.CASGD][-1]
    assert judged["error"] == pytest.approx(1 - model.score(rows.X_test, rows.y_test))


def test_averages_that_differ_are_refused(monkeypatch):
    """The times of two learners that compute different averages mean nothing."""
    monkeypatch.setattr(compiled.AveragedDense, "averages", lambda self: self.weights())
    with pytest.raises(UnequalWeights, match="clock, averaged and dense, averaged"):
        averaging.measure_features(SMALL, 100, {})
