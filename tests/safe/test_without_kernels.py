"""Where nothing is compiled, the reference works and everything else says what is missing."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import ROOT

import lazynet

# The kernels are hidden from an interpreter that otherwise finds what this one finds.
HIDE_THE_KERNELS = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("lazynet.kernels."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
TAKES_A_STEP = """
from lazynet.reference import Stepper
stepper = Stepper(2, loss="squared_error", l1=0.1, schedule="constant", eta0=0.5)
stepper.step([0], [1.0], target=1.0)
print(stepper.weights)
"""


def run(code, *options):
    """The finished process of a new interpreter that has run the code."""
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def without_kernels(code):
    """What the code prints to stdout and to stderr where the kernels are missing."""
    path = lazynet.__path__[0].removesuffix("lazynet")
    done = run(f"{HIDE_THE_KERNELS}sys.path.insert(0, {path!r})\n{code}")
    return done.stdout, done.stderr


def test_the_reference_takes_steps():
    """Its Stepper needs no kernel."""
    assert without_kernels(TAKES_A_STEP) == ("[0.45, 0.0]\n", "")


@pytest.mark.parametrize("name", ["LazyNetClassifier", "Stepper", "net_path", "catalogue"])
def test_the_error_says_what_is_missing_and_what_works(name):
    """The error names the missing module, how to get it, and what runs without kernels."""
    _, error = without_kernels(f"from lazynet import {name}")
    last = error.strip().splitlines()[-1]
    assert last.startswith(f"ModuleNotFoundError: lazynet.{name} needs the compiled lazynet")
    assert "lazynet.kernels." in last
    assert "lazynet.reference.Stepper" in last


def test_other_missing_packages_keep_their_own_error():
    """Without NumPy the message is about NumPy."""
    code = "import sys; sys.modules['numpy'] = None\nimport lazynet\nlazynet.Power"
    assert "needs the compiled" not in run(code).stderr
    assert "numpy" in run(code).stderr


def test_words_are_there():
    """Rules, schedules and losses are objects of plain Python."""
    code = "import lazynet; print(lazynet.Power(0.5)(15), lazynet.RDA(gamma=5), lazynet.Huber())"
    assert without_kernels(code) == ("0.25 RDA(gamma=5) Huber()\n", "")


@pytest.fixture(scope="module")
def pure(tmp_path_factory):
    """The folder of an unpacked wheel that was built without a compiler."""
    pytest.importorskip("Cython")
    if not (ROOT / "setup.py").exists():
        pytest.skip("needs the sources")
    sources, wheels, folder = (tmp_path_factory.mktemp(name) for name in ("a", "b", "c"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", ".manifest.in"):
        shutil.copy(ROOT / name, sources)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "lazynet", sources / "lazynet", ignore=ignored)
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "bdist_wheel", "--dist-dir", str(wheels)],
        cwd=sources, env={"LAZYNET_PURE": "1", "PATH": ""}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (wheel,) = wheels.iterdir()
    zipfile.ZipFile(wheel).extractall(folder)
    return wheel, folder


def test_a_wheel_without_kernels_is_built_without_a_compiler(pure):
    """It suits any Python 3, and its version cannot be taken for that of a compiled wheel."""
    wheel, folder = pure
    assert wheel.name == f"lazynet_linear-{lazynet.__version__}+pure-py3-none-any.whl"
    suffixes = {path.suffix for path in (folder / "lazynet").rglob("*") if path.is_file()}
    assert suffixes == {".py", ".typed"}


def test_all_of_this_wheel_can_be_imported(pure):
    """Every module of it works without kernels, and the reference without any package."""
    _, folder = pure
    modules = [
        ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        for path in (folder / "lazynet").rglob("*.py")
    ]
    assert {"lazynet.reference.stepper", "lazynet.schedules"} <= set(modules)
    # Without the site (-S), an editable installation of lazynet cannot supply what is missing.
    here = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    packages = str(Path(np.__path__[0]).parent)
    done = run(
        f"{here}sys.path.append({packages!r})\n"
        f"import {', '.join(modules)}; print(lazynet.__path__[0])", "-I", "-S"
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == (str(folder / "lazynet"), "")
    assert run(here + TAKES_A_STEP, "-I", "-S").stdout == "[0.45, 0.0]\n"
    refused = run(f"{here}from lazynet import Stepper", "-I", "-S").stderr
    assert "needs the compiled lazynet" in refused
