"""The layers of the package: imports go down, without cycles; one thing has one name everywhere."""

import ast
import importlib
import re
from graphlib import TopologicalSorter

import pytest
from support import ROOT

import lazynet
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.kernels.table import RULES

PACKAGE = ROOT / "lazynet"

#: The parts of the package, from the lowest layer up.  Imports go to the same layer or down.
LAYERS = [
    ("reference",),
    ("kernels",),
    ("parameters",),
    ("losses", "penalties", "schedules", "averages"),
    ("rules",),
    ("data",),
    ("engines",),
    ("persistence", "minimum", "training"),
    ("verify",),
    ("estimators",),
    ("dask", "torch", "cli", "plots"),
    ("__main__",),
]
WORDS = {"parameters", "losses", "penalties", "schedules", "averages", "rules"}
KERNEL_SOURCES = sorted(
    path for kind in ("pyx", "pxd", "h", "c", "inc") for path in PACKAGE.rglob(f"*.{kind}")
)


def module_name(path):
    """The dotted name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
COMPILED = {module_name(path) for path in PACKAGE.rglob("*.pyx")}


def imports_of(tree):
    """The modules of lazynet that a syntax tree imports anywhere, in functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [
                name if name in SOURCES or name in COMPILED else node.module for name in inside
            ]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] == "lazynet")


IMPORTS = {
    name: sorted(set(imports_of(ast.parse(path.read_text(encoding="utf-8")))))
    for name, path in SOURCES.items()
}


def part_of(module):
    """The first part of a module's name below lazynet; empty for lazynet itself."""
    return module.removeprefix("lazynet").removeprefix(".").partition(".")[0]


def test_imports_have_no_circle():
    """Whichever module is imported first, everything that it needs can be imported before it."""
    assert len(IMPORTS) >= 60
    assert sum(map(len, IMPORTS.values())) >= 200
    TopologicalSorter(IMPORTS).prepare()  # raises an error that names a circle


def test_declarations_of_kernels_have_no_circle():
    """What one .pxd takes from another makes no circle."""
    graph = {
        path.stem: re.findall(r"^from \.(\w+) cimport", path.read_text(), re.MULTILINE)
        for path in PACKAGE.rglob("*.pxd")
    }
    assert any(graph.values())
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("path", KERNEL_SOURCES, ids=lambda path: path.name)
def test_cython_sees_each_file_that_a_kernel_needs(path):
    """Cython looks for no file in ``from .rules cimport groups``: a change of it builds nothing.

    The form ``from .rules.groups cimport Cell`` makes the file a dependency.
    """
    text = path.read_text(encoding="utf-8")
    for package, names in re.findall(r"^from \.(\w*) cimport ([\w, ]+)$", text, re.M):
        for name in names.split(", "):
            if (PACKAGE / "kernels" / package / f"{name}.pxd").exists():
                module = ".".join(filter(None, [package, name]))
                assert re.search(rf"^from \.{module} cimport ", text, re.M), (
                    f"cimport a name from .{module}"
                )


def test_every_module_is_in_a_layer():
    """Each file belongs to one of the parts above, and each part has a file."""
    found = {part_of(name) for name in SOURCES} - {"", "_version"}
    assert found == {part for parts in LAYERS for part in parts}


@pytest.mark.parametrize("module", sorted(SOURCES))
def test_imports_go_down(module):
    """No module imports a module of a layer above its own."""
    if part_of(module) in ("", "_version"):
        return  # the package itself imports a module when one of its names is asked for
    layer = {part: level for level, parts in enumerate(LAYERS) for part in parts}
    layer["_version"] = 0
    for other in IMPORTS[module]:
        assert layer[part_of(other)] <= layer[part_of(module)], f"{module} imports {other}"


@pytest.mark.parametrize("module", [name for name in SOURCES if part_of(name) in WORDS])
def test_words_import_nothing_but_each_other(module):
    """Parameters, losses, penalties, schedules, averages and rules know no engine."""
    assert {part_of(other) for other in IMPORTS[module]} <= WORDS


@pytest.mark.parametrize("path", KERNEL_SOURCES, ids=lambda path: path.name)
def test_kernels_import_nothing_of_the_reference(path):
    """A kernel takes from kernels alone."""
    text = path.read_text(encoding="utf-8")
    taken = re.findall(r"^\s*(?:from|import|cimport)\s+(\.*[\w.]+)", text, re.MULTILINE)
    for name in taken:
        assert "lazynet" not in name or name.startswith("lazynet.kernels"), f"{path.name}: {name}"
        above = "." * (3 if path.parent.name == "rules" else 2)
        assert not name.startswith(above), f"{path.name}: {name}"
    for included in re.findall(r'#include "([^"]+)"', text):
        assert "reference" not in included


# --- the names that lazynet exports -----------------------------------------------------------


def typed_imports():
    """The imports that type checkers see in lazynet/__init__.py, a module for each name."""
    tree = ast.parse(SOURCES["lazynet"].read_text(encoding="utf-8"))
    (block,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    ]  # fmt: skip
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_the_exported_names_agree():
    """The table of public names and the imports for type checkers list the same names."""
    assert typed_imports() == lazynet._MODULE_OF
    assert set(lazynet.__all__) == {*lazynet._MODULE_OF, "__version__"}


@pytest.mark.parametrize("name", sorted(lazynet._MODULE_OF))
def test_an_exported_name_is_made_where_the_table_says(name):
    """The module in the table defines the name, and does not merely import it."""
    value = getattr(lazynet, name)
    assert value is getattr(importlib.import_module(lazynet._MODULE_OF[name]), name)
    assert value.__module__ == lazynet._MODULE_OF[name]
    assert name in dir(lazynet)


# --- one name for one thing -------------------------------------------------------------------


@pytest.mark.parametrize("row", ALGORITHMS.values(), ids=ALGORITHMS)
def test_a_rule_has_one_name_everywhere(row):
    """The files of a rule with cells of its own have the same name, and so has its kind of cell."""
    if row.engine is None:
        return
    name = row.rule.__module__.rpartition(".")[2]
    assert row.reference.__module__ == f"lazynet.reference.{name}"
    assert row.engine.kind == name
    assert row.engine.name == row.rule.name
    assert (PACKAGE / "kernels" / "rules" / f"{name}.pxd").is_file()


def test_every_cell_belongs_to_a_rule():
    """No file is left of a rule that is gone."""
    files = {path.stem for path in (PACKAGE / "kernels" / "rules").glob("*.pxd")}
    shared = {"__init__", "defects", "groups", "motion"}
    assert files == shared | {row.file for row in RULES.values()}
    rules = {row.engine.kind for row in ALGORITHMS.values() if row.engine}
    assert rules < RULES.keys()


def test_tests_that_sources_name_are_there():
    """A kernel says which test holds it equal to its reference; the file exists."""
    paths = [*SOURCES.values(), *KERNEL_SOURCES]
    named = {
        (path, name)
        for path in paths
        for name in re.findall(r"tests/[\w/]+\.py", path.read_text(encoding="utf-8"))
    }
    assert len(named) >= 15
    assert [f"{path.name}: {name}" for path, name in named if not (ROOT / name).is_file()] == []
