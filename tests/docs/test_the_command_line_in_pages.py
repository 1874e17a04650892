"""The commands of the README and of the page on the command line print what is shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import ROOT, numbers_in, without_numbers

import lazynet

PAGE = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(py|sh)\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")


@pytest.fixture
def shell(tmp_path):
    """Runs lines of a shell in an empty folder, where ``lazynet`` is a command."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "lazynet"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lazynet "$@"\n')
    program.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(lazynet.__file__).parent.parent),
    }

    def run(lines):
        done = subprocess.run(
            ["sh", "-e", "-c", lines], cwd=work, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return [line for line in done.stdout.splitlines() if not line.startswith("pass ")]

    run.folder = work
    return run


def test_the_page_prints_what_is_shown(shell, monkeypatch, capsys):
    """Every block in the order of the page; numbers may differ a little between machines."""
    monkeypatch.chdir(shell.folder)
    compared, names = 0, {}
    for language, code, shown in BLOCK.findall(PAGE):
        if language == "py":
            exec(code, names)
            printed = capsys.readouterr().out.splitlines()
        else:
            printed = shell(code)
        expected = shown.splitlines()
        assert [*map(without_numbers, printed)] == [*map(without_numbers, expected)], code
        for line, other in zip(printed, expected, strict=True):
            if not line.startswith("seconds"):
                np.testing.assert_allclose(
                    numbers_in(line), numbers_in(other), rtol=1e-3, atol=1e-9
                )
                compared += 1
    assert compared >= 30


def test_the_commands_of_the_readme_run(shell, monkeypatch):
    """On the rows of the page."""
    monkeypatch.chdir(shell.folder)
    (code,) = re.findall(r"```sh\n([^`]*lazynet train[^`]*)```", README)
    exec(BLOCK.findall(PAGE)[0][1], {})
    told = "\n".join(shell(code))
    assert "progressive" in told
    assert "accuracy" in told
