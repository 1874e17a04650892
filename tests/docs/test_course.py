"""Notebooks that run in a browser import nothing that a browser lacks; downloaded ones run alone.

That their cells give the stored outputs on their pages is checked by ``docs/check_course.py``, in
``make docs``.
"""

import ast
import json
import math
import subprocess
import sys

import pytest
from support import ROOT

from lazynet import FoBoS, InverseSqrt, InverseTime, Power, Stepper, Tables, plots

sys.path[:0] = FOLDERS = [str(ROOT / "docs"), str(ROOT / "notebooks")]
import course  # noqa: E402

import drawing  # noqa: E402

del sys.path[: len(FOLDERS)]

OURS = {"checks", "data", "drawing", "lazynet", "output", "page", "pictures"}
#: What a module imports if it is there: Jupyter, or the names of Pyodide in a browser.
OPTIONAL = {"IPython", "ipywidgets", "numpy", "page", "pyodide", "scipy"}


def imported(source):
    """The packages that a program imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]


def code_of(name):
    """The cells of a notebook, as programs."""
    document = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", course.NOTEBOOKS)
def test_a_notebook_imports_what_a_browser_has(name):
    """The standard library, our modules, and libraries that the site serves."""
    known = sys.stdlib_module_names | OURS | set(course.LIBRARIES)
    used = {package for cell in code_of(name) for package in imported(cell)}
    assert "lazynet" in used
    assert used <= known


def test_so_do_the_modules():
    """Each pattern finds files, and they import the standard library and one another."""
    for pattern in (*course.MODULES, course.PAGE):
        paths = list(ROOT.glob(pattern))
        assert paths, pattern
        for path in paths:
            used = set(imported(path.read_text("utf-8")))
            assert used <= sys.stdlib_module_names | OURS | OPTIONAL, path


def test_figures_look_like_those_of_the_package():
    """The colours and markers are those of ``lazynet.plots``."""
    grey = {drawing.GREY: "0.35", drawing.PALE: "0.6"}
    assert tuple(grey.get(colour, colour) for colour in drawing.COLOURS) == plots.COLOURS
    assert set(drawing.MARKERS) <= set(plots.MARKERS)


def test_notebook_2_has_the_schedules_of_the_package():
    """The functions that it writes out are the schedules of the same names."""
    [cell] = [cell for cell in code_of("02_closed_forms") if cell.startswith("schedules = {")]
    namespace = {"math": math}
    exec(cell.partition("\n}")[0] + "}", namespace)
    ours = {"power": Power(0.5), "inverse_sqrt": InverseSqrt(0.5), "inverse_time": InverseTime(0.5)}
    for name, schedule in ours.items():
        written = [namespace["schedules"][name](t) for t in range(100)]
        assert written == pytest.approx(schedule.rates(0, 100).tolist())


def test_notebook_3_has_the_sizes_of_the_package():
    """A weight takes 8 bytes in the clock's form and 16 in the tables' form; 2**20 entries."""
    sizes = [Stepper(1_000, rule=FoBoS(storage=name)).engine.cells for name in ("clock", "tables")]
    assert [cells.nbytes for cells in sizes] == [8_000, 16_000]
    assert Tables().budget == 2**20
    [cell] = [cell for cell in code_of("03_the_clock") if "budget = " in cell]
    assert "260_941, 2**20" in cell


@pytest.mark.parametrize("name", course.NOTEBOOKS)
def test_a_downloaded_notebook_runs_alone(name, tmp_path):
    """In an empty folder the first two cells make the modules, lazynet among them, and import."""
    cells = course.alone(ROOT / "notebooks" / f"{name}.ipynb")["cells"]
    first, second = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"][:2]
    program = "\n".join([first, second, "import lazynet; print(lazynet.__file__)"])
    # Without installed packages, except where the notebook needs one.
    no_site = [] if set(imported(second)) & set(course.LIBRARIES) else ["-S"]
    done = subprocess.run(
        [sys.executable, "-E", *no_site, "-c", program],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "modules.zip" in done.stdout
