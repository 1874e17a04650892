"""Study labels runs at a small size, in processes of its own, and judges whether bits differ."""

import copy

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from paper_repro.results import load, run
from paper_repro.studies import STUDIES, labels
from paper_repro.study import Settings

TINY = Settings(examples=50_000, features=500, nonzeros=15)


@pytest.fixture
def few(monkeypatch):
    """Few labels, in parts of one block and all at once."""
    monkeypatch.setattr(labels, "LABELS", 40)
    monkeypatch.setattr(labels, "AT_ONCE", (32, None))


def test_a_tiny_run_writes_page_figure_and_numbers(tmp_path, few, capfd):
    """The estimate is printed before the fit, and stands on the page."""
    document = run(STUDIES["labels"], TINY, tmp_path)
    page = (tmp_path / "labels.md").read_text()
    assert "nan" not in page.lower()
    assert "bit for bit" in page
    assert "<svg" in (tmp_path / "labels.svg").read_text()
    assert load("labels", tmp_path) == document
    printed = capfd.readouterr().out
    assert printed.count("40 outputs x 500 features, 2 parts of up to 32 outputs") == 2
    for record in document["records"].values():
        assert record["peak"] >= record["before"] > 0
        assert record["estimate"] in printed
        assert record["micro_f1"] > 0
        assert (record["documents"], record["held_out"]) == (800, 200)
    changed = copy.deepcopy(document)
    changed["records"]["float32/all"]["digest"] = "another"
    assert "DIFFER" in STUDIES["labels"].page(changed)


def test_labels_follow_from_words():
    """A seed makes the same labels; every label has documents, and some are missing."""
    X, Y = labels.documents(TINY, 30)
    again_X, again_Y = labels.documents(TINY, 30)
    np.testing.assert_array_equal(again_X.toarray(), X.toarray())
    np.testing.assert_array_equal(again_Y.toarray(), Y.toarray())
    assert X.shape == (1_000, 500)
    assert Y.shape == (1_000, 30)
    assert set(np.unique(Y.data)) == {1}
    assert (np.asarray(Y.sum(axis=0)) > 0).all()
