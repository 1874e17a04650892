"""The script that trains a large file, on a small one."""

import sys

import pytest

from lazynet.streams import VWFile

pytest.importorskip("paper_repro", reason="only in a checkout")
from benchmarks import from_file

pytestmark = pytest.mark.skipif(not hasattr(from_file.os, "wait4"), reason="counts by wait4")


def test_it_prints_what_each_program_took(tmp_path, capsys):
    """Two lines for each program and each kind of steps, and a judgement of each bound."""
    few = ["--times", "1", "--more", "1"]
    code = from_file.main(["--megabytes", "1", "--folder", str(tmp_path), *few])
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("lazynet, ") for line in lines) == 2 * len(from_file.STEPS)
    assert "less than 1 GB of memory: yes" in lines
    assert code == any(line.endswith(": no") for line in lines)
    assert not list(tmp_path.iterdir())


def test_ratios_are_judged_run_by_run():
    """The median of the ratios decides; a ratio of the clock does not."""
    ours = [from_file.Ran(9.0, busy, 0) for busy in (1.0, 2.0, 1.0)]
    vw = [from_file.Ran(9.0, busy, 0) for busy in (3.0, 2.0, 9.0)]
    taken = {name: {from_file.FROM_TEXT: runs, from_file.LATER: runs}
             for name, runs in (("lazynet", ours), ("vw", vw))}  # fmt: skip
    (first, later), missed = from_file.ratios(taken, bounded=True)
    assert "3.00 (1.00-9.00) times" in first
    assert first.endswith("at least 2: yes")
    assert later.endswith("at least 8: no")
    assert missed
    assert not from_file.ratios(taken, bounded=False)[1]


def test_the_file_is_as_it_says(tmp_path):
    """The number of rows is told; labels and columns vary; a file is made again from its seed."""
    rows = from_file.written(tmp_path / "a.vw", 1e5)
    found = VWFile(tmp_path / "a.vw").facts()
    assert found.n_rows == rows
    assert found.classes == (-1.0, 1.0)
    from_file.written(tmp_path / "b.vw", 1e5)
    assert (tmp_path / "a.vw").read_bytes() == (tmp_path / "b.vw").read_bytes()


@pytest.mark.parametrize("option", ["--folder", "--file"])
def test_what_is_not_there_is_named(option, tmp_path, capsys):
    """Before a file is generated."""
    with pytest.raises(SystemExit):
        from_file.main([option, str(tmp_path / "none")])
    assert f"{option} must be a" in capsys.readouterr().err


def test_a_program_that_fails_ends_the_script():
    """With what it printed."""
    with pytest.raises(SystemExit, match="no such thing"):
        from_file.ran([sys.executable, "-c", "raise SystemExit('no such thing')"], None)
