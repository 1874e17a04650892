"""The changes and commands of CONTRIBUTING work as written, in a copy of the repository."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support import ROOT

import lazynet

built_in_place = pytest.mark.skipif(
    Path(lazynet.__file__).parent != ROOT / "lazynet",
    reason="the package is installed elsewhere: nothing compiled to copy",
)
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def section(title):
    """The text under a heading."""
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)
    return found


def changes(text):
    """(file, old, new) of every hunk of every diff, in order."""
    for diff in re.findall(r"```diff\n(.*?)```", text, re.DOTALL):
        head, _, body = diff.partition("\n")
        for hunk in body.split("\n@@\n"):
            lines = hunk.rstrip("\n").split("\n")
            old = [line[1:] for line in lines if not line.startswith("+")]
            new = [line[1:] for line in lines if not line.startswith("-")]
            yield head.removeprefix("--- "), "\n".join(old), "\n".join(new)


def commands(text):
    """The lines of every block of commands."""
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        yield from block.strip().split("\n")


@pytest.fixture
def copy(tmp_path):
    """The repository as it is, with what has been compiled for the lowest vector level."""
    for name in ("lazynet", "tests", "paper_repro", "benchmarks", "build/release"):
        if (ROOT / name).exists():
            ignored = shutil.ignore_patterns("results", "__pycache__", "*_v[34]*")
            shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make_changes(copy, text):
    found = list(changes(text))
    assert found
    for name, old, new in found:
        path = copy / name
        before = path.read_text(encoding="utf-8")
        assert before.count(old) == 1, f"{name} does not have, once:\n{old}"
        path.write_text(before.replace(old, new), encoding="utf-8")


def run_commands(copy, text):
    found = list(commands(text))
    assert found
    # Slow code, built in little time, and few examples: what is tested is that the commands work.
    fast = {"LAZYNET_OPTIMISE": "0", "LAZYNET_LEVELS": "1", "HYPOTHESIS_PROFILE": "few"}
    for command in found:
        program, *arguments = command.split()
        assert program == "python"
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": str(copy)} | fast,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


def copy_files_of_ftrl(copy):
    """The four files of FTRL once more, under the name of the exercise."""
    files = sorted((copy / "lazynet").rglob("ftrl.*"))
    assert len(files) == 4
    for path in files:
        text = path.read_text(encoding="utf-8")
        twin = re.sub("FTRL|Ftrl", "Twin", text.replace("ftrl", "twin"))
        path.with_stem("twin").write_text(twin, encoding="utf-8")


COMPILED = "Add a loss", "Add an algorithm"


def test_the_changes_of_all_sections_fit(copy):
    """The changes fit the files, also one after the other; slow tests compile them.

    A rule with cells is four files, of which FTRL has no other, and two rows.
    """
    copy_files_of_ftrl(copy)
    assert len(list(changes(section("Add an algorithm")))) == 2
    for title in ("Add a rule", "Add a schedule", *COMPILED):
        make_changes(copy, section(title))


@pytest.mark.slow
@built_in_place
@pytest.mark.parametrize("title", ["Add a rule", "Add a schedule"])
def test_what_a_section_adds_can_be_added_as_it_is_written(copy, title):
    """The changes are made, and the commands of the section pass."""
    make_changes(copy, section(title))
    run_commands(copy, section(title))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("Cython") is None, reason="could not import 'Cython'")
def test_what_is_compiled_can_be_added_as_it_is_written(copy):
    """The changes of both sections are compiled at once, and the commands of both pass.

    The twin of FTRL equals its reference, with one output and with several.
    """
    copy_files_of_ftrl(copy)
    for title in COMPILED:
        make_changes(copy, section(title))
    for title in COMPILED:
        run_commands(copy, section(title))


@pytest.mark.slow
@built_in_place
def test_a_wrong_rule_is_caught(copy):
    """The commands of the section fail if the formula of the rule has a slip."""
    right = section("Add a rule")
    text = right.replace(
        "half = eta * l2 / 2\n+    return Shrink", "half = eta * l2\n+    return Shrink"
    )
    assert text != right
    make_changes(copy, text)
    with pytest.raises(AssertionError, match="failed"):
        run_commands(copy, text)


def test_files_that_are_named_are_there():
    """Every path in backquotes exists, except paths with NAME, which are yet to be written."""
    for name in re.findall(r"`((?:lazynet|tests|paper_repro|benchmarks|notebooks)/[\w./]*)`", TEXT):
        assert "NAME" in name or (ROOT / name).exists(), name


@pytest.mark.parametrize("package", ["minimum", "kernels"])
def test_the_row_of_a_package_names_every_file(package):
    """The table of packages describes each file; a .pxd with a .pyx of its name needs no words."""
    (row,) = re.findall(rf"^\| `lazynet/{package}/` \| (.*) \|$", TEXT, re.MULTILINE)
    folder = ROOT / "lazynet" / package
    files = {path.name for kind in ("py", "pyx", "pxd", "h") for path in folder.glob(f"*.{kind}")}
    declared = {f"{Path(name).stem}.pxd" for name in files if name.endswith(".pyx")}
    named = set(re.findall(r"`([\w]+\.\w+)`", row))
    assert named == files - declared - {"__init__.py"}
