"""Study released compares mean figures with those of the authors' program, by standard errors."""

import copy

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from support.studies import tiny_run

from paper_repro import planted
from paper_repro.studies import STUDIES, released
from paper_repro.study import Settings


@pytest.fixture
def document(monkeypatch, tmp_path):
    """A run on few planted rows."""
    monkeypatch.setattr(planted, "ROWS", 300)
    monkeypatch.setattr(planted, "FEATURES", 600)
    monkeypatch.setattr(released, "SEEDS", 3)
    found, page = tiny_run(STUDIES["released"], Settings(nonzeros=10, repeats=1), tmp_path)
    assert "nothing to compare with" in page
    return found


def test_a_tiny_run_records_every_figure(document):
    """As many as there are seeds; the least error is not above the last one."""
    found = document["records"]["runs"]["found"]
    assert set(found) == set(released.WHAT)
    assert {len(values) for values in found.values()} == {3}
    for least, last in zip(found[released.LEAST], found[released.ERROR], strict=True):
        assert 0 <= least <= last <= 1


def made_up(document, shift):
    """A run on rows of the shape of Dexter, with the authors' means, shifted by so much."""
    other = copy.deepcopy(document)
    record = other["records"]["runs"]
    record["train"], record["features"] = released.DEXTER
    for name, there in released.RELEASED.items():
        record["found"][name] = [there.mean * (1 + shift + part) for part in (-0.01, 0, 0.01)]
    return other


def test_means_are_compared_by_standard_errors(document):
    """Equal means agree; means that are far apart are named."""
    study = STUDIES["released"]
    same, far = (study.page(made_up(document, shift)) for shift in (0.0, 0.5))
    assert "all of them agree" in same
    assert "further apart than the bound: test error, nonzeros, features left, least" in far
    assert study.draw(made_up(document, 0.0)) is not None
