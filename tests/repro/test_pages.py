"""Every number on a page has a name in the page's template, and every name has a number."""

import re

import pytest
from support import ROOT

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from paper_repro.pages import Template

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


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("words\n<!-- one -->\nmore", "the first line must be a mark"),
        ("words", "the first line must be a mark"),
        ("<!-- one -->\na\n<!-- one -->\nb", "stand there twice: 'one'"),
    ],
)
def test_templates_without_clear_parts_are_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        Template(text, "x.md")


def test_lines_of_a_paragraph_are_joined_and_nothing_else():
    text = (
        "<!-- one -->\n## A heading\n\na line\nand another\n\n- an item\n  goes on\n- {x}\n\n{y}\n"
    )
    found = Template(text, "x.md")("one", x="| a |\n| b |", y="")
    assert found == "## A heading\n\na line and another\n\n- an item\n  goes on\n- | a |\n| b |"
