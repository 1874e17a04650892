"""Where nothing is compiled, the reference works and everything else says what is missing."""

import subprocess
import sys

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


def run(code, *options):
    """The finished process of a new interpreter that has run the code."""
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def without_kernels(code):
    """What the code prints to stdout and to stderr where the kernels are missing."""
    path = lazynet.__path__[0].removesuffix("lazynet")
    done = run(f"{HIDE_THE_KERNELS}sys.path.insert(0, {path!r})\n{code}")
    return done.stdout, done.stderr


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
