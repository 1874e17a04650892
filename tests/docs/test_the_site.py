"""The pages of the API and of the course leave nothing out; Sphinx itself refuses broken links."""

import re

import pytest
from support import ROOT

import lazynet

DOCS = ROOT / "docs"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_every_public_name_has_a_page():
    """All classes and functions that lazynet exports are in the reference of the API, once."""
    names = re.findall(r"^   ~lazynet\.(\w+)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(names) == sorted(set(lazynet.__all__) - {"__version__"})


def test_every_module_of_the_reference_has_a_page():
    """The plain-Python algorithms are all in the reference of the API."""
    text = (DOCS / "api.md").read_text("utf-8")
    modules = {path.stem for path in (ROOT / "lazynet" / "reference").glob("*.py")} - {"__init__"}
    assert modules == set(re.findall(r"^   lazynet\.reference\.(\w+)$", text, re.MULTILINE))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_course_has_the_notebook(path):
    """The page of the course names every notebook, which holds its outputs: test_notebooks.py."""
    assert f"(../notebooks/{path.name})" in (DOCS / "notebooks.md").read_text("utf-8")
