"""The study ``machines`` on a small corpus, with clusters in this process."""

import copy

import pytest

pytest.importorskip("distributed")
pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")

from support.clusters import cluster_of

from benchmarks import machines
from benchmarks.studies import STUDIES
from paper_repro.results import run
from paper_repro.score import Spread
from paper_repro.study import Settings

TINY = Settings(examples=400, features=1000, nonzeros=10)


def test_a_small_run(tmp_path, monkeypatch):
    """Any number of workers gives the same bits, and the page says what was found."""
    monkeypatch.setattr(machines, "_cluster", lambda n, memory_limit=None: cluster_of(n))
    few = {"APART": 1, "POINTS": 3, "TOPICS": 40, "EPOCHS": 2, "ROUNDS": 1}
    for name, number in few.items():
        monkeypatch.setattr(machines, name, number)
    study = STUDIES["machines"]
    document = run(study, TINY, tmp_path)
    found = machines.Machines(document)
    assert found.equal
    assert document["records"]["room"]["same"]
    for task in machines.TASKS:
        busy = found.of(task, 2)["busy"]
        n_models = found.of(task, 2)["models"]
        assert len(busy) >= 2 * machines.EPOCHS * n_models
        assert {worker for worker, *_ in busy} == {0, 1}
    page = (tmp_path / "machines.md").read_text(encoding="utf-8")
    assert "DIFFERENT" not in page
    assert "is **no measurement**" in page
    changed = copy.deepcopy(document)
    changed["records"]["path/2/1"]["digest"] = "other"
    assert "DIFFERENT" in study.page(changed)


def test_the_model_of_costs():
    """By hand: a visit of 1 s, a move of 1 s, no other cost."""
    costs = {"nonzeros": 1.0, "per_nonzero": 1e-6, "task": 0.0, "state": machines.BANDWIDTH}
    seconds, alone, sent = machines.modelled(costs, machines=8, models=8)
    # An epoch of a model: 8 blocks, 2 s each.  The client sends and receives 8 states: 16 s, too.
    assert seconds == machines.EPOCHS * 16.0 + 7 * 2.0
    assert alone == machines.EPOCHS * 64.0
    assert sent == 80 * machines.BANDWIDTH


def test_a_ratio_is_the_median_of_the_rounds(monkeypatch):
    """Each round divides its own seconds, and the record of a task is the one in the middle."""
    monkeypatch.setattr(machines, "ROUNDS", 3)
    seconds = {1: (8.0, 6.0, 9.0), 2: (4.0, 5.0, 6.0)}
    records = {
        f"path/{n}/{k}": {"seconds": each}
        for n, rounds in seconds.items()
        for k, each in enumerate(rounds, start=1)
    }
    found = machines.Machines({"records": records, "settings": {}})
    assert found.ratio("path") == Spread(median=1.5, least=1.2, most=2.0)
    assert found.of("path", 1)["seconds"] == 8.0
