"""What can be said of the site without Sphinx: nothing is left out, and every link leads on."""

import importlib.util
import re

import pytest
from support import ROOT

import lazynet

DOCS = ROOT / "docs"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def module(name):
    """A module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """The folder from which Sphinx makes the site."""
    folder = tmp_path_factory.mktemp("site")
    module("stage").Site(folder).fill()
    return folder


def entries(text):
    """What the tables of contents of a page name."""
    for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.strip() and not line.startswith(":"):
                yield re.sub(r".*<(.*)>", r"\1", line).strip()


def test_every_page_is_in_a_table_of_contents(staged):
    """Whoever reads on from the first page comes to every page but those that show sources."""
    reached, waiting = set(), ["index"]
    while waiting:
        name = waiting.pop()
        if name in reached or name == "examples/index":  # which the gallery makes
            continue
        if "*" in name:
            waiting += [str(path.relative_to(staged).with_suffix("")) for path in staged.glob(name)]
            continue
        reached.add(name)
        path = staged / f"{name}.md"
        if path.exists():
            waiting += entries(path.read_text(encoding="utf-8"))
        else:
            assert (staged / f"{name}.ipynb").exists(), name
    pages = {
        str(path.relative_to(staged).with_suffix(""))
        for path in staged.rglob("*")
        if path.suffix in (".md", ".ipynb") and path.relative_to(staged).parts[0] != "sources"
    }
    assert len(pages) > 30
    assert pages - reached == set()


def test_links_of_the_site_lead_somewhere(staged):
    """Links are written anew for the site, and every one of them leads to a file there."""
    count = 0
    for path in staged.rglob("*.md"):
        if path.relative_to(staged).parts[0] == "sources" and path.stem.count("."):
            continue  # the text of a source
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)[)#]", text):
            count += 1
            made_later = target in ("index.md", "../index.md")
            assert made_later or (path.parent / target).exists(), f"{path}: {target}"
    assert count > 150


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
