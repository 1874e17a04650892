"""The commands of the page on the command line print what is shown."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import ROOT, numbers_in, without_numbers

import lazynet
from lazynet.cli import main

PAGE = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(py|sh)\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, which is the current one, for shells in which ``lazynet`` is a command."""
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    program = programs / "lazynet"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lazynet "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(lazynet.__file__).parent.parent))
    monkeypatch.chdir(work)


def printed_by(lines):
    """What a block of commands prints, without the lines about passes.

    A command of lazynet runs in this process, a line with a pipe or of other programs in a shell.
    """
    out = ""
    for line in lines.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["lazynet"] and "|" not in words:
            here = io.StringIO()
            with contextlib.redirect_stdout(here), contextlib.redirect_stderr(here):
                code, printed_text = main(words[1:]), here.getvalue()
        else:
            done = subprocess.run(
                ["sh", "-e", "-c", line], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            code, printed_text = done.returncode, done.stdout
        assert code == 0, printed_text
        out += printed_text
    return [line for line in out.splitlines() if not line.startswith("pass ")]


@pytest.mark.slow
def test_the_page_prints_what_is_shown(folder, capsys):
    """Every block in the order of the page; numbers may differ a little between machines."""
    compared, names = 0, {}
    for language, code, shown in BLOCK.findall(PAGE):
        if language == "py":
            exec(code, names)
            printed = capsys.readouterr().out.splitlines()
        else:
            printed = printed_by(code)
        expected = shown.splitlines()
        assert [*map(without_numbers, printed)] == [*map(without_numbers, expected)], code
        for line, other in zip(printed, expected, strict=True):
            if not line.startswith("seconds"):
                np.testing.assert_allclose(
                    numbers_in(line), numbers_in(other), rtol=1e-3, atol=1e-9
                )
                compared += 1
    assert compared >= 30
