"""A study keeps every finished measurement however it ends, and writes whole files."""

import errno
import json
from dataclasses import replace

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.results", reason="only in a checkout")
from support.studies import KEYS, Counting

from paper_repro import results
from paper_repro.results import Stopped, load, run, run_all
from paper_repro.study import QUICK, Cell


def raising(error):
    def fail(*_):
        raise error

    return fail


def test_a_study_writes_numbers_page_and_figure(tmp_path):
    """The three files name the settings, the machine and the commit."""
    document = run(Counting(), QUICK, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "counting.json",
        "counting.md",
        "counting.svg",
    ]
    assert load("counting", tmp_path) == document == json.loads(json.dumps(document))
    assert document["records"]["c"].items() >= {"before": 2, "value": [1.5, 2.5]}.items()
    assert {"machine", "versions", "commit", "settings", "finished"} <= set(document)
    page = (tmp_path / "counting.md").read_text()
    assert "| 5 |" in page
    assert document["machine"]["processor"] in page
    assert "<svg" in (tmp_path / "counting.svg").read_text()


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    """No cell is measured twice, and the document counts the interruption."""
    with pytest.raises(Stopped, match=r"2 of 5 pieces .* the same command goes on"):
        run(Counting(failing="c"), QUICK, tmp_path)
    assert not (tmp_path / "counting.json").exists()
    again = Counting()
    document = run(again, QUICK, tmp_path)
    assert again.ran == ["c", "d", "e"]
    assert document["resumed"] == 1
    assert list(document["records"]) == KEYS
    assert "resumed 1 time." in (tmp_path / "counting.md").read_text()
    assert not list(tmp_path.glob("*.partial.jsonl"))


def test_a_failing_cell_keeps_those_before_it(tmp_path):
    """They are not measured again."""
    with pytest.raises(MemoryError):
        run(Counting(failing="d", error=MemoryError), QUICK, tmp_path)
    again = Counting()
    run(again, QUICK, tmp_path)
    assert again.ran == ["d", "e"]


def test_a_row_of_studies_begins_with_the_one_that_was_interrupted(tmp_path):
    """Studies that were finished before it are not measured again."""
    other = type("Other", (Counting,), {"name": "other"})
    with pytest.raises(Stopped):
        list(run_all([Counting(), other(failing="b")], QUICK, tmp_path))
    first, second = Counting(), other()
    documents = [document for _, document in run_all([first, second], QUICK, tmp_path)]
    assert (first.ran, second.ran) == ([], ["b", "c", "d", "e"])
    assert [document["resumed"] for document in documents] == [0, 1]
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.parametrize("what", ["settings", "code", "data", "versions"])
def test_runs_that_differ_have_journals_of_their_own(tmp_path, monkeypatch, what):
    """Neither run uses or removes the other's records."""
    data = tmp_path / "some.svm"
    data.write_text("1 1:1")
    settings = replace(QUICK, data=str(data))
    with monkeypatch.context() as patch:
        with pytest.raises(Stopped):
            run(Counting(failing="c"), settings, tmp_path)
        if what == "code":
            patch.setattr("paper_repro.machine._fingerprint", lambda: "other")
        if what == "versions":
            patch.setattr("paper_repro.machine.version_of", lambda _: "other")
        if what == "data":
            data.write_text("1 1:2")
        other = Counting()
        changed = replace(settings, seed=1) if what == "settings" else settings
        document = run(other, changed, tmp_path)
    assert other.ran == KEYS
    assert document["resumed"] == 0
    data.write_text("1 1:1")
    again = Counting()
    run(again, settings, tmp_path)
    assert again.ran == ["c", "d", "e"]


@pytest.mark.parametrize(
    ("owner", "name", "error"),
    [
        (Counting, "draw", KeyboardInterrupt),
        (results.os, "fsync", OSError(errno.ENOSPC, "No space left on device")),
    ],
)
def test_an_end_while_results_are_written_leaves_what_was_there(
    tmp_path, monkeypatch, owner, name, error
):
    """Ctrl-C and a full disk: older results stay whole, and all records are kept."""
    older = run(Counting(), QUICK, tmp_path)
    with monkeypatch.context() as patch:

        def ends(*arguments):
            patch.setattr(owner, name, raising(error))
            return write(*arguments)

        write = results.write
        patch.setattr(results, "write", ends)
        with pytest.raises((Stopped, OSError), match=r"5 of 5 pieces|No space left"):
            run(Counting(), QUICK, tmp_path)
    assert load("counting", tmp_path) == older
    again = Counting()
    run(again, QUICK, tmp_path)
    assert again.ran == []
    assert not list(tmp_path.glob("*.tmp"))


def test_a_number_that_is_none_is_not_recorded(tmp_path):
    """JSON has no NaN, and a page should not show one."""
    study = Counting()
    cells = study.cells(QUICK)
    study.cells = lambda _: [Cell("a", lambda _: {"value": float("nan")}), *cells[1:]]
    with pytest.raises(ValueError, match="not JSON compliant"):
        run(study, QUICK, tmp_path)
