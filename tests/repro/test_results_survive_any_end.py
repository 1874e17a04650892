"""A study keeps every finished measurement however it ends; damaged files are refused in a line."""

import errno
import re
import shutil
from dataclasses import replace
from itertools import accumulate, product
from unittest.mock import Mock

import pytest
from support import one_line_about
from support.studies import KEYS, Counting, svmlight_rows, tiny_run

from benchmarks import readme
from benchmarks.__main__ import main as benchmarks_main
from paper_repro import results
from paper_repro.__main__ import main
from paper_repro.damaged import DamagedFile
from paper_repro.index import REPORTS
from paper_repro.results import RESULTS, Stopped, load, run, run_all
from paper_repro.studies import STUDIES
from paper_repro.studies.table_page import headline
from paper_repro.study import QUICK, Cell


@pytest.fixture
def quick(monkeypatch):
    """Studies without figures, on a machine that is looked at once."""
    monkeypatch.setattr("paper_repro.machine._git", lambda *_: "")
    monkeypatch.setattr("paper_repro.machine._fingerprint", lambda: "code")
    monkeypatch.setattr(results, "drawing", lambda *_: "<svg/>")
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setitem(STUDIES, "counting", Counting())
    monkeypatch.setitem(REPORTS, "counting", STUDIES["counting"])


def test_a_study_writes_numbers_page_and_figure(tmp_path):
    """The three files name the settings, the machine and the commit."""
    document, page = tiny_run(Counting(), QUICK, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"counting.json", "counting.md", "counting.svg"}
    assert document["records"]["c"].items() >= {"before": 2, "value": [1.5, 2.5]}.items()
    assert {"machine", "versions", "commit", "settings", "finished"} <= set(document)
    assert "| 5 |" in page
    assert document["machine"]["processor"] in page


def test_an_interrupted_run_goes_on_where_it_was(quick, tmp_path, capsys):
    """No cell is measured twice, and the document counts the interruption."""
    with pytest.raises(Stopped, match=r"2 of 5 pieces .* the same command continues"):
        run(Counting(failing="c"), QUICK, tmp_path)
    assert not (tmp_path / "counting.json").exists()
    again = Counting()
    document = run(again, QUICK, tmp_path)
    assert again.ran == ["c", "d", "e"]
    assert capsys.readouterr().out == "counting: 2 of 5 pieces are measured already\n"
    assert document["resumed"] == 1
    assert list(document["records"]) == KEYS
    assert "resumed 1 time." in (tmp_path / "counting.md").read_text()
    assert not list(tmp_path.glob("*.partial.jsonl"))


def test_a_row_of_studies_begins_with_the_one_that_was_interrupted(quick, tmp_path):
    """Studies that were finished before it are not measured again."""
    other = type("Other", (Counting,), {"name": "other"})
    with pytest.raises(Stopped):
        list(run_all([Counting(), other(failing="b")], QUICK, tmp_path))
    first, second = Counting(), other()
    documents = [document for _, document in run_all([first, second], QUICK, tmp_path)]
    assert (first.ran, second.ran) == ([], ["b", "c", "d", "e"])
    assert [document["resumed"] for document in documents] == [0, 1]
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.parametrize("difference", ["settings", "code", "data", "versions"])
def test_runs_that_differ_have_journals_of_their_own(quick, tmp_path, monkeypatch, difference):
    """Neither run uses or removes the other's records."""
    data = tmp_path / "some.svm"
    data.write_text("1 1:1")
    settings = replace(QUICK, data=str(data))
    with monkeypatch.context() as patch:
        with pytest.raises(Stopped):
            run(Counting(failing="c"), settings, tmp_path)
        if difference == "code":
            patch.setattr("paper_repro.machine._fingerprint", lambda: "other")
        if difference == "versions":
            patch.setattr("paper_repro.machine.version_of", lambda _: "other")
        if difference == "data":
            data.write_text("1 1:2")
        other = Counting()
        changed = replace(settings, seed=1) if difference == "settings" else settings
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
        (Counting, "content", KeyboardInterrupt),
        (results.os, "fsync", OSError(errno.ENOSPC, "No space left on device")),
    ],
)
def test_an_end_while_results_are_written_leaves_what_was_there(
    quick, tmp_path, monkeypatch, owner, name, error
):
    """Ctrl-C and a full disk: older results stay whole, and all records are kept."""
    older = run(Counting(), QUICK, tmp_path)
    with monkeypatch.context() as patch:

        def ends(*arguments):
            patch.setattr(owner, name, Mock(side_effect=error))
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


def test_a_number_that_is_none_is_not_recorded(quick, tmp_path):
    """JSON has no NaN, and a page should not show one."""
    study = Counting()
    cells = study.cells(QUICK)
    study.cells = lambda _: [Cell("a", lambda _: {"value": float("nan")}), *cells[1:]]
    with pytest.raises(ValueError, match="not JSON compliant"):
        run(study, QUICK, tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Measures counting 5 s; about 1 min of one processor."),
        (["--full"], "Measures counting.\n"),
    ],
)
def test_a_run_says_first_how_long_it_takes_and_then_a_line_a_study(
    quick, tmp_path, capsys, options, words
):
    """The estimate is for the sizes of a short run alone, and the line is the finding."""
    assert main(["counting", "--out", str(tmp_path), *options]) == 0
    out = capsys.readouterr().out
    assert out.startswith(words)
    assert re.search(r"^counting \(\d+ s\): All ran\.$", out, re.MULTILINE)
    assert out.endswith(f"{tmp_path / 'README.md'}\n")


def test_pages_are_written_again_from_the_numbers(quick, tmp_path):
    """With --pages nothing is measured."""
    assert main(["counting", "--out", str(tmp_path)]) == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("counting.md", "counting.svg", "README.md"):
        (tmp_path / name).write_text("")
    assert main(["--pages", "--out", str(tmp_path)]) == 0
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("on_corpus", "given", "words"),
    [(False, "data", "makes its own rows"), (True, "test", "tests on no file")],
)
def test_a_study_names_the_file_that_it_does_not_use(
    quick, tmp_path, monkeypatch, capsys, on_corpus, given, words
):
    """The study does not record a file that it has not read."""
    monkeypatch.setattr(Counting, "on_corpus", on_corpus)
    files = {name: svmlight_rows(tmp_path / f"{name}.svm") for name in ("data", "test")}
    assert main(["counting", "--out", str(tmp_path), "--data", *files.values()]) == 0
    told = f"counting: {words} and does not use {files[given]}\n"
    assert told in capsys.readouterr().out
    assert load("counting", tmp_path)["settings"][given] is None


def test_the_papers_table_is_measured_first_and_shown_whole():
    """Its page begins with a finding; the terminal shows the ratios beside the printed ones."""
    first = next(iter(STUDIES.values()))
    assert first.name == "table"
    document = load("table")
    assert first.on_terminal(document) == headline(document)
    for study in STUDIES.values():
        if study is not first:
            assert re.fullmatch(r"\w[^\n*]+\.", study.on_terminal(load(study.name)))


# --- journals --------------------------------------------------------------------------------


@pytest.fixture
def journal(quick, tmp_path):
    """The journal of a run that was interrupted twice, and what the run should find."""
    out = tmp_path / "out"
    for key in "ce":
        with pytest.raises(Stopped):
            run(Counting(failing=key), QUICK, out)
    (path,) = out.glob("*.jsonl")
    expected = run(Counting(), QUICK, tmp_path / "undisturbed")["records"]
    return path, expected


def test_a_journal_may_end_anywhere(journal):
    """A run that is killed while it writes loses no more, also if the next one is interrupted."""
    path, expected = journal
    whole = path.read_bytes()
    first, *ends = accumulate(map(len, whole.splitlines(keepends=True)))
    for end, more in product([first, *ends], (-1, 0, 20)):
        path.write_bytes(whole[: max(first, end + more)])
        with pytest.raises(Stopped):
            run(Counting(failing="e"), QUICK, path.parent)
        document = run(Counting(), QUICK, path.parent)
        assert document["records"] == expected


@pytest.mark.parametrize(
    ("number", "line", "words"),
    [
        (2, "{", "is not JSON"),
        (1, '{"key": "x", "record": {}}', "line 1 is not what stands there in a journal of this"),
        (3, '{"key": 1, "record": {}}', "line 3 is not what stands there"),
    ],
)
def test_a_damaged_journal_is_refused(journal, capsys, number, line, words):
    """Nothing is changed, and --fresh gets the run done."""
    path, expected = journal
    lines = path.read_text().splitlines()
    lines[number - 1] = line
    path.write_text("\n".join([*lines, ""]))
    data = path.read_bytes()
    assert main(["counting", "--out", str(path.parent)]) == 1
    message = one_line_about(capsys.readouterr().err, path)
    assert words in message
    assert "give --fresh" in message
    assert path.read_bytes() == data
    assert main(["counting", "--out", str(path.parent), "--fresh"]) == 0
    assert load("counting", path.parent)["records"] == expected


# --- results ---------------------------------------------------------------------------------


def test_the_readme_is_not_made_from_damaged_results(tmp_path, monkeypatch, capsys):
    """The README stays as it is, and the command says which file is damaged."""
    shutil.copy(readme.README, tmp_path / "README.md")
    for name in readme.FOLDERS:
        shutil.copy(readme.FOLDERS[name] / f"{name}.json", tmp_path)
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    monkeypatch.setattr(readme, "FOLDERS", dict.fromkeys(readme.FOLDERS, tmp_path))
    before = readme.README.read_bytes()
    path = tmp_path / "throughput.json"
    path.write_bytes(path.read_bytes()[:-100])
    assert benchmarks_main(["readme"]) == 1
    one_line_about(capsys.readouterr().err, path, "benchmarks")
    assert readme.README.read_bytes() == before


def test_damaged_results_of_studies(quick, tmp_path, capsys):
    """Of another study: told before the hours of a run; of this study: replaced."""
    other, counting = tmp_path / "table.json", tmp_path / "counting.json"
    other.write_bytes((RESULTS / "table.json").read_bytes()[:-100])
    assert main(["counting", "--out", str(tmp_path)]) == 1
    assert "is not JSON" in one_line_about(capsys.readouterr().err, other)
    assert not counting.exists()
    # A whole file can be the wrong one.
    shutil.copy(RESULTS / "corpus.json", other)
    with pytest.raises(DamagedFile, match="is no result of the study 'table'"):
        load("table", tmp_path)
    other.unlink()
    counting.write_bytes(b"\x00")
    assert main(["counting", "--out", str(tmp_path)]) == 0
    assert list(load("counting", tmp_path)["records"]) == KEYS
