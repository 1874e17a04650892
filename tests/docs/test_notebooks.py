"""Notebooks are small, executed, free of errors and made for exercising; some run in a browser.

Those that run in a browser import nothing that a browser lacks; downloaded ones run alone.  That
their cells give the stored outputs on their pages is checked by ``docs/check_course.py``, in
``make docs``.
"""

import ast
import json
import math
import re
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
FOLDER = ROOT / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 500_000


def cells(path, kind):
    document = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in document["cells"] if cell["cell_type"] == kind]


def text(cell):
    return "".join(cell["source"])


def blanks(path):
    """The cells of the exercises: those in which a reader fills in a blank."""
    blank = re.compile(r"^\w+(?:, \w+)* = \.\.\.", re.MULTILINE)
    return [cell for cell in cells(path, "code") if blank.search(text(cell))]


def test_they_are_numbered():
    """The notebooks are numbered from 0 on, and no number is missing."""
    assert [int(path.name[:2]) for path in PATHS] == list(range(len(PATHS)))
    assert PATHS


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
class TestEach:
    def test_is_small_and_says_nothing_of_the_machine_it_ran_on(self, path):
        assert path.stat().st_size < LARGEST
        assert not re.search(r"/(home|root|tmp|Users|work)/", path.read_text(encoding="utf-8"))

    def test_was_executed_from_a_clean_kernel(self, path):
        """Every cell was run in turn, has its output, raised no error and warned of nothing."""
        code = cells(path, "code")
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
        outputs = [output for cell in code for output in cell["outputs"]]
        kinds = {output["output_type"] for output in outputs}
        assert kinds <= {"stream", "display_data", "execute_result"}
        assert {output.get("name", "stdout") for output in outputs} <= {"stdout"}

    def test_shows_figures_that_need_no_kernel(self, path):
        """Figures are SVG or PNG with a description; no output needs a widget."""
        drawn = [
            output["data"]
            for cell in cells(path, "code")
            for output in cell["outputs"]
            if "data" in output and set(output["data"]) != {"text/plain"}
        ]
        assert drawn
        for data in drawn:
            assert set(data) in ({"image/svg+xml", "text/plain"}, {"image/png", "text/plain"})

    def test_says_how_long_it_takes_and_what_a_reader_can_do_after_it(self, path):
        """The first cell has the computed time, the aim, and the notebook that comes before."""
        begin = text(cells(path, "markdown")[0])
        stated = re.search(
            r"^\*Time: about (\d+) minutes .* (\d+) exercises\.\*$", begin, re.MULTILINE
        )
        assert stated, "write *Time: .* and let notebooks/run.py --write compute the line"
        assert int(stated[2]) == len(blanks(path))
        assert "After this notebook you can" in begin

    def test_a_question_stands_before_each_slider_and_three_settings_in_its_place(self, path):
        """A reader predicts before sliding; a page without widgets shows three figures."""
        document = json.loads(path.read_text(encoding="utf-8"))["cells"]
        asked = False
        for cell in document:
            if cell["cell_type"] == "markdown":
                asked = "**Predict, then slide.**" in text(cell)
            elif re.search(r"\b(style|drawing)\.explore\(", text(cell)):
                assert asked, text(cell)
                shown = [o["data"]["image/svg+xml"] for o in cell["outputs"] if "data" in o]
                [svg] = map("".join, shown)
                assert svg.count("<svg") == 1 + 3
                asked = False

    def test_exercises_have_blanks_that_are_checked_and_no_answer_yet(self, path):
        """A cell with a blank calls ``check``, which finds no answer in it."""
        assert len(blanks(path)) >= 3
        for cell in blanks(path):
            printed = "".join("".join(output["text"]) for output in cell["outputs"])
            assert "\ncheck(" in text(cell)
            assert printed.splitlines()[-1].startswith("No answer yet")

    def test_has_a_title_exercises_with_folded_solutions_and_links_that_lead_somewhere(self, path):
        markdown = [text(cell) for cell in cells(path, "markdown")]
        assert markdown[0].startswith(f"# {int(path.name[:2])}. ")
        whole = "\n".join(markdown)
        assert whole.count("<details>") == whole.count("</details>") >= 3
        for target in re.findall(r"\]\((?!http)([^)#\s]+)\)", whole):
            assert (FOLDER / target).exists(), target


# --- in a browser -----------------------------------------------------------------------------


def imported(source):
    """The packages that a program imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]


def code_of(name):
    """The cells of a notebook, as programs."""
    return [text(cell) for cell in cells(FOLDER / f"{name}.ipynb", "code")]


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
