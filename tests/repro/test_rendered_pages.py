"""A page has no number that does not follow from the results, and a name for every number."""

import ast
import re

import pytest
from support import ROOT

from paper_repro.pages import Template

RENDERED = [
    path
    for folder in ("paper_repro/studies", "benchmarks")
    for path in sorted((ROOT / folder).glob("*.py"))
    if "def content(" in path.read_text(encoding="utf-8")
]
#: Formulas, and names of which a digit is a part.
ALLOWED = re.compile(
    r"sqrt\(t \+ 1\)|1 / \(l2 \(?t( \+ 2\))?\)?|\(1 \+ max \|truth\|\)|1 - R2|Eq\. \d+|Theorem 1"
    r"|version 3"
)
NUMBER = re.compile(r"(?<![\w.])\d")


def words_of(path):
    """The texts in the functions that make a page; docstrings and keys of records are left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.returns is not None:
            made = ast.unparse(function.returns)
            if re.search(r"Content|Table|Dots|Curves|Iterator\[str|^str$|tuple\[str", made):
                yield from _texts(function)


def _texts(function):
    left_out = {id(function.body[0].value)} if ast.get_docstring(function) is not None else set()
    for node in ast.walk(function):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            left_out |= {id(each) for each in ast.walk(node.format_spec)}
        if isinstance(node, ast.Subscript):
            left_out |= {id(each) for each in ast.walk(node.slice)}
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in left_out
        ):
            yield node.value


@pytest.mark.parametrize("path", RENDERED, ids=lambda path: path.stem)
def test_every_number_of_a_page_has_a_name(path):
    """A number in the words would not follow from the results."""
    for text in words_of(path):
        assert not NUMBER.search(ALLOWED.sub("", text)), text


def test_numbers_in_words_are_seen(tmp_path):
    (tmp_path / "x.py").write_text("def content(d) -> Content:\n    return f'a {d:.3f} of 12 %'\n")
    assert any(NUMBER.search(text) for text in words_of(tmp_path / "x.py"))


# --- pages with templates --------------------------------------------------------------------

REPRO = ROOT / "paper_repro"
NO_TEMPLATES = {*REPRO.glob("results/**/*.md"), REPRO / "published.md"}
TEMPLATES = sorted(set(REPRO.glob("**/*.md")) - NO_TEMPLATES)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_part_is_asked_for_by_the_module_beside_it(path):
    """A part that no code names would be a text that no page shows."""
    module = path.with_suffix(".py").read_text(encoding="utf-8")
    for part in Template(path.read_text(encoding="utf-8"), path.name).parts:
        assert f'"{part}"' in module, part


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"steps": 1}, "x.md, part 'one': not given: 'rate'"),
        ({"steps": 1, "rate": 2, "l1": 3}, "x.md, part 'one': given but not named there: 'l1'"),
    ],
)
def test_names_that_are_missing_or_left_over_are_refused(values, complaint):
    page = Template("<!-- one -->\n{steps} {rate:.1f}\n", "x.md")
    with pytest.raises(ValueError, match=re.escape(complaint)):
        page("one", **values)
