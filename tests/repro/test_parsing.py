"""The script that measures the parser, on files of a few rows."""

import pytest

pytest.importorskip("paper_repro", reason="only in a checkout")
from paper_repro import parsing


def test_the_script_prints_a_line_for_each_kind_of_values(capsys):
    """And whether the bound holds, which says nothing about so few rows."""
    code = parsing.main(["--rows", "5", "--times", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(parsing.VALUES)
    assert lines[-1] == f"at least 3 times scikit-learn: {'no' if code else 'yes'}"


def test_files_of_your_own(tmp_path, capsys):
    """The names of the files come in place of the generated ones."""
    path = tmp_path / "own.svm"
    parsing.written(path, "counts", 9)
    parsing.main(["--times", "1", str(path)])
    assert "own.svm" in capsys.readouterr().out


def test_files_that_are_missing():
    """The error names the file."""
    with pytest.raises(FileNotFoundError, match="missing"):
        parsing.main(["missing.svm"])
