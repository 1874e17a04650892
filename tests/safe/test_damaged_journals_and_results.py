"""A damaged journal or result is read back as written, or refused in one line."""

import shutil

import pytest
from support import one_line_about

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.results", reason="only in a checkout")
from support.studies import KEYS, Counting

from benchmarks import readme
from benchmarks.__main__ import main as benchmarks_main
from paper_repro import results
from paper_repro.__main__ import main
from paper_repro.damaged import DamagedFile
from paper_repro.results import RESULTS, Stopped, load, run
from paper_repro.studies import STUDIES
from paper_repro.study import QUICK


@pytest.fixture
def quick(monkeypatch):
    """Studies without figures, on a machine that is looked at once."""
    known = results.provenance()
    monkeypatch.setattr(results, "provenance", lambda: known)
    monkeypatch.setattr(results, "drawing", lambda *_: "<svg/>")
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setitem(STUDIES, "counting", Counting())


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
    """A run that is killed while it writes loses no more than what it was writing."""
    path, expected = journal
    whole, lines = path.read_bytes(), path.read_text().splitlines(keepends=True)
    for length in range(len(lines[0]), len(whole), 11):
        path.write_bytes(whole[:length])
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
    told = one_line_about(capsys.readouterr().err, path)
    assert words in told
    assert "give --fresh" in told
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


def test_a_damaged_readme_is_told(tmp_path, monkeypatch, capsys):
    """A README that is not UTF-8, lacks its marks, or is a folder is refused in one line."""
    path = tmp_path / "README.md"
    monkeypatch.setattr(readme, "README", path)
    for content in (b"", b"\xff", b"without marks", None):
        if content is None:
            path.unlink()
            path.mkdir()
        else:
            path.write_bytes(content)
        assert benchmarks_main(["readme"]) == 1
        one_line_about(capsys.readouterr().err, path, "benchmarks")


def test_damaged_results_of_studies(quick, tmp_path, capsys):
    """Of another study: told before the hours of a run; of this study: replaced."""
    other, own = tmp_path / "table.json", tmp_path / "counting.json"
    other.write_bytes((RESULTS / "table.json").read_bytes()[:-100])
    assert main(["counting", "--out", str(tmp_path)]) == 1
    assert "is not JSON" in one_line_about(capsys.readouterr().err, other)
    assert not own.exists()
    # A whole file can be the wrong one.
    shutil.copy(RESULTS / "corpus.json", other)
    with pytest.raises(DamagedFile, match="is no result of the study 'table'"):
        load("table", tmp_path)
    other.unlink()
    own.write_bytes(b"\x00")
    assert main(["counting", "--out", str(tmp_path)]) == 0
    assert list(load("counting", tmp_path)["records"]) == KEYS
