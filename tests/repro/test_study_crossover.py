"""Study crossover runs at a small size, and finds crossings that are known beforehand."""

import math

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from support.studies import tiny_run

from paper_repro.competitors import CLOCK, DENSE, DESCRIPTIONS, SPARSE_PREDICTIONS, TABLES, TIERS
from paper_repro.studies import STUDIES
from paper_repro.studies.crossover import (
    DENSITIES,
    MOST_FEATURES,
    DensityCurves,
    key,
)
from paper_repro.study import Settings

TINY = Settings(examples=50, features=300, nonzeros=8, repeats=1, seconds=0.002)


def made_up(clock_crosses=0.05, tables_cross=math.inf):
    """Dense updates take a second at any density, lazy ones a time in proportion to the density."""

    def record(density):
        nonzeros = round(density * MOST_FEATURES)
        share = nonzeros / MOST_FEATURES
        seconds = {
            CLOCK: [share / clock_crosses] * 3,
            TABLES: [share / tables_cross if tables_cross < math.inf else share / 2] * 3,
            SPARSE_PREDICTIONS: [1.0] * 3,
            DENSE: [1.0] * 3,
        }
        return {"features": MOST_FEATURES, "nonzeros": nonzeros, "seconds": seconds}

    return {
        "settings": {"repeats": 3},
        "records": {
            key(tier, round(density * MOST_FEATURES)): record(density)
            for tier in TIERS
            for density in DENSITIES
        },
    }


def test_a_tiny_run_writes_page_figure_and_numbers(tmp_path):
    document, page = tiny_run(STUDIES["crossover"], TINY, tmp_path)
    assert all(name in page for name in DESCRIPTIONS.values())
    for record in document["records"].values():
        assert all(min(seconds) > 0 for seconds in record["seconds"].values())


@pytest.mark.parametrize("known", [0.0007, 0.05, 0.25, 0.8])
def test_a_known_crossing_is_found(known):
    measured = DensityCurves(made_up(clock_crosses=known))
    for tier in TIERS:
        assert measured.crossing(tier, CLOCK, DENSE).median == pytest.approx(known)


@pytest.mark.parametrize(
    ("tables_cross", "verdict"),
    [
        (0.5, "| holds |"),
        (0.02, "but at lower densities"),
        (0.005, "does not hold"),
    ],
)
def test_the_claim_is_judged_by_the_tables(tables_cross, verdict):
    assert verdict in STUDIES["crossover"].page(made_up(tables_cross=tables_cross))
