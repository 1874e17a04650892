"""Without kernels the reference works, with Python alone; all else says what is missing."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lazynet
import lazynet.reference

PACKAGE = Path(lazynet.reference.__file__).parent.parent
MODULES = sorted(path.stem for path in (PACKAGE / "reference").glob("*.py"))

# Run by an interpreter that ignores the environment (-I) and has no site-packages (-S).
IMPORT_AND_TRY = """
import doctest, importlib, importlib.util, json, sys
folder, *names = sys.argv[1:]
sys.path.insert(0, folder)
packages = filter(importlib.util.find_spec, ("numpy", "scipy", "sklearn"))
found = {"packages": list(packages)}
for name in names:
    for seen in [seen for seen in sys.modules if seen.split(".")[0] == "lazynet"]:
        del sys.modules[seen]
    failed, attempted = doctest.testmod(importlib.import_module(name))
    ours = [seen for seen in sys.modules if seen.split(".")[0] == "lazynet"]
    found[name] = {"modules": ours, "failed": failed, "attempted": attempted}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of the package as it is before anything is compiled."""
    root = tmp_path_factory.mktemp("sources")
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__")
    shutil.copytree(PACKAGE, root / "lazynet", ignore=compiled)
    return root


def run(code, *arguments, options=()):
    """The finished process of a new interpreter that has run the code."""
    command = [sys.executable, *options, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_copy_has_nothing_compiled(sources):
    """The engines cannot be imported from the copy, whatever is installed; modules are found."""
    assert {"affine", "storage", "rda", "stabilised", "losses"} < set(MODULES)
    assert not [path for path in sources.rglob("*") if path.suffix in {".so", ".pyd", ".c"}]


def test_every_module_works_in_a_tree_that_was_never_built(sources):
    """Each module can be imported first, has true examples, and brings no other part of lazynet.

    The interpreter has no packages; otherwise this would prove nothing.
    """
    names = [f"lazynet.reference.{name}".removesuffix(".__init__") for name in MODULES]
    done = run(IMPORT_AND_TRY, sources, *names, options=["-I", "-S"])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("packages") == []
    for name, about in found.items():
        assert about["failed"] == 0, done.stdout
        assert about["attempted"] > 0, name
        outside = {seen for seen in about["modules"] if not seen.startswith("lazynet.reference")}
        assert outside <= {"lazynet", "lazynet._version"}, name


def test_every_import_is_of_the_standard_library_or_of_the_reference():
    """Imports within functions are judged too."""
    sources = [(PACKAGE / "reference" / f"{module}.py").read_text("utf-8") for module in MODULES]
    tree, names = ast.parse("\n".join(sources)), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.append(node.module)
    for name in names:
        standard = name.split(".")[0] in sys.stdlib_module_names
        assert standard or name.startswith("lazynet.reference."), name


@pytest.mark.parametrize(
    "kind", ["DenseStabilised gravity loss", "DenseFTRL penalty loss", "PlainClock rule step_order"]
)
def test_an_unknown_name_is_refused(kind):
    """The error lists the names that the parameter takes."""
    kind, *names = kind.split()
    for name in names:
        with pytest.raises(ValueError, match=rf"^{name} must be one of \['.*'\], got 'some'"):
            getattr(lazynet.reference, kind)(1, **{name: "some"})


# --- everything else -----------------------------------------------------------------------------

# The kernels are hidden from an interpreter that otherwise finds what this one finds.
HIDE_THE_KERNELS = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("lazynet.kernels."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def without_kernels(code):
    """What the code prints to stdout and to stderr where the kernels are missing."""
    path = lazynet.__path__[0].removesuffix("lazynet")
    done = run(f"{HIDE_THE_KERNELS}sys.path.insert(0, {path!r})\n{code}")
    return done.stdout, done.stderr


def test_the_error_says_what_is_missing_and_what_works():
    """The error names the missing module, how to get it, and what runs without kernels.

    Rules, schedules and losses are objects of plain Python.
    """
    out, error = without_kernels(
        "import lazynet\n"
        "print(lazynet.Power(0.5)(15), lazynet.RDA(gamma=5), lazynet.Huber())\n"
        "from lazynet import LazyNetClassifier"
    )
    assert out == "0.25 RDA(gamma=5) Huber()\n"
    last = error.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: lazynet.LazyNetClassifier needs the compiled")
    assert "lazynet.kernels." in last
    assert "lazynet.reference, every algorithm in plain Python" in last


def test_other_missing_packages_keep_their_own_error():
    """Without NumPy the message is about NumPy."""
    code = "import sys; sys.modules['numpy'] = None\nimport lazynet\nlazynet.Power"
    assert "needs the compiled" not in run(code).stderr
    assert "numpy" in run(code).stderr
