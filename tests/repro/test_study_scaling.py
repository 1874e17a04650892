"""Study scaling runs at a small size, fits known lines, counts bytes and names what it skips."""

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from support.studies import tiny_run

from paper_repro import machine
from paper_repro.competitors import CLOCK, TABLES
from paper_repro.studies import STUDIES
from paper_repro.study import Settings

TINY = Settings(examples=50, features=300, nonzeros=8, repeats=1, seconds=0.002)


def test_a_tiny_run_writes_page_figure_and_numbers(tmp_path):
    """Bytes are counted from the engines."""
    document, page = tiny_run(STUDIES["scaling"], TINY, tmp_path)
    assert all(f"## {part}" in page for part in ("Features", "Nonzeros", "Steps"))
    held = document["records"]["steps/1000"]["bytes"]
    assert held[CLOCK] == {"weights": 8 * 300, "steps": 0}
    assert held[TABLES] == {"weights": 16 * 300, "steps": 16 * 1001}


@pytest.mark.parametrize(("available", "skipped"), [(5000, {300}), (10, {30, 300}), (None, set())])
def test_sizes_that_do_not_fit_are_skipped_in_words(tmp_path, monkeypatch, available, skipped):
    monkeypatch.setattr(machine, "physical_bytes", lambda: available)
    document, page = tiny_run(STUDIES["scaling"], TINY, tmp_path)
    reasons = {size: document["records"][f"features/{size}"].get("skipped") for size in (30, 300)}
    assert {size for size, reason in reasons.items() if reason} == skipped
    assert all(f"{size} features: skipped, {reasons[size]}." in page for size in skipped)
