"""A damaged journal or result is read back as written, or refused in one line."""

import shutil
from dataclasses import replace

import pytest
from support import one_line_about
from support.damage import damages

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


def test_a_damaged_journal_is_refused_or_does_no_harm(journal, capsys):
    """No damage makes another number come out, and --fresh always gets the run done."""
    path, expected = journal
    out, whole, refused = path.parent, path.read_bytes(), 0
    for data in damages(whole, 250):
        path.write_bytes(data)
        code = main(["counting", "--out", str(out)])
        if code:
            refused += 1
            assert code == 1
            assert "give --fresh" in one_line_about(capsys.readouterr().err, path)
            assert path.read_bytes() == data
            assert main(["counting", "--out", str(out), "--fresh"]) == 0
        assert load("counting", out)["records"] == expected
        assert not path.exists()
        (out / "counting.json").unlink()
    assert refused > 150


def test_the_line_that_was_changed_is_named(journal, capsys):
    """The error names the changed line, so that one can look at it; and a file that is a folder."""
    path, _ = journal
    lines = path.read_text().splitlines(keepends=True)
    for number in (3, 5):
        other = [*lines]
        other[number - 1] = other[number - 1].replace('"count": 9', '"count": 8')
        path.write_text("".join(other))
        with pytest.raises(DamagedFile, match=f"^{path}: line {number} does not fit its digest"):
            run(Counting(), QUICK, path.parent)
    path.unlink()
    path.mkdir()
    assert main(["counting", "--out", str(path.parent)]) == 1
    assert "Is a directory" in one_line_about(capsys.readouterr().err, path)


def test_a_journal_may_end_anywhere(journal):
    """A run that is killed while it writes loses no more than what it was writing."""
    path, expected = journal
    whole, lines = path.read_bytes(), path.read_text().splitlines(keepends=True)
    for length in range(len(lines[0]), len(whole), 11):
        path.write_bytes(whole[:length])
        document = run(Counting(), QUICK, path.parent)
        assert document["records"] == expected


ENTRIES = [
    {"key": "x", "record": {}}, {"header": {}}, {"header": []}, {"key": 1, "record": {}},
    {"key": "a"}, {"resumed": "1"}, {},
]  # fmt: skip


def test_a_line_that_belongs_elsewhere_is_refused(journal):
    """A line in the wrong place is refused even with the right digest, and so is another run's."""
    path, _ = journal
    words = "line 1 is not what stands there in a journal of this"
    for entry in ENTRIES:
        path.write_text(results.SealedLines().line(entry))
        with pytest.raises(DamagedFile, match=words):
            run(Counting(), QUICK, path.parent)
    with pytest.raises(Stopped):
        run(Counting(failing="c"), replace(QUICK, seed=1), path.parent)
    [other] = set(path.parent.glob("*.jsonl")) - {path}
    other.replace(path)
    with pytest.raises(DamagedFile, match=words):
        run(Counting(), QUICK, path.parent)


# --- results ---------------------------------------------------------------------------------


def test_the_readme_is_not_made_from_damaged_results(tmp_path, monkeypatch, capsys):
    """The README stays as it is, and the command says which file is damaged."""
    shutil.copy(readme.README, tmp_path / "README.md")
    for name in readme.FOLDERS:
        shutil.copy(readme.FOLDERS[name] / f"{name}.json", tmp_path)
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    monkeypatch.setattr(readme, "FIGURE", tmp_path / "seconds.svg")
    monkeypatch.setattr(readme, "FOLDERS", dict.fromkeys(readme.FOLDERS, tmp_path))
    before = readme.README.read_bytes()
    path = tmp_path / "throughput.json"
    whole = path.read_bytes()
    for data in damages(whole, 60):
        path.write_bytes(data)
        if benchmarks_main(["readme"]):
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
    other.write_bytes((RESULTS / "table.json").read_bytes().replace(b"1", b"2", 1))
    assert main(["counting", "--out", str(tmp_path)]) == 1
    assert "does not fit its digest" in one_line_about(capsys.readouterr().err, other)
    assert not own.exists()
    # A whole file can be the wrong one.
    shutil.copy(RESULTS / "corpus.json", other)
    with pytest.raises(DamagedFile, match="is of the study 'corpus'"):
        load("table", tmp_path)
    other.unlink()
    own.write_bytes(b"\x00")
    assert main(["counting", "--out", str(tmp_path)]) == 0
    assert list(load("counting", tmp_path)["records"]) == KEYS
