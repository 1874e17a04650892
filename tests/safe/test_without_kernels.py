"""Where nothing is compiled, the reference works and everything else says what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

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
from lazynet.reference import PlainClock
model = PlainClock(2, loss="squared_error", l1=0.1, schedule=lambda t: 0.5)
model.step([0], [1.0], target=1.0)
print(model.weights)
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
    """Its clock needs no kernel."""
    assert without_kernels(TAKES_A_STEP) == ("[0.45, 0.0]\n", "")


@pytest.mark.parametrize("name", ["LazyNetClassifier", "Stepper", "net_path"])
def test_the_error_says_what_is_missing_and_what_works(name):
    """The error names the missing module, how to get it, and what runs without kernels."""
    _, error = without_kernels(f"from lazynet import {name}")
    last = error.strip().splitlines()[-1]
    assert last.startswith(f"ModuleNotFoundError: lazynet.{name} needs the compiled lazynet")
    assert "lazynet.kernels." in last
    assert "lazynet.reference, every algorithm in plain Python" in last


def test_other_missing_packages_keep_their_own_error():
    """Without NumPy the message is about NumPy."""
    code = "import sys; sys.modules['numpy'] = None\nimport lazynet\nlazynet.Power"
    assert "needs the compiled" not in run(code).stderr
    assert "numpy" in run(code).stderr


def test_words_are_there():
    """Rules, schedules and losses are objects of plain Python."""
    code = "import lazynet; print(lazynet.Power(0.5)(15), lazynet.RDA(gamma=5), lazynet.Huber())"
    assert without_kernels(code) == ("0.25 RDA(gamma=5) Huber()\n", "")


def test_the_reference_needs_no_package():
    """The sources and Python are enough: no site packages, and no kernel that was built."""
    path = str(Path(lazynet.__path__[0]).parent)
    code = f"{HIDE_THE_KERNELS}sys.path.insert(0, {path!r})\n"
    assert run(code + TAKES_A_STEP, "-I", "-S").stdout == "[0.45, 0.0]\n"
