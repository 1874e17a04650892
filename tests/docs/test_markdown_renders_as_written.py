"""No text or formula of a page turns into a list, a heading or a quote in Markdown.

The rules are those of CommonMark, as far as they can be told line by line.  They hold inside a
formula as well: not every program that shows these pages takes formulas out before it looks for
lists.
"""

import json
import re

import pytest
from support import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "paper_repro" / "results").glob("**/*.md")),
    *sorted((ROOT / "benchmarks" / "results").glob("**/*.md")),
]

FENCED = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1\s*$|<!--.*?-->", re.DOTALL | re.MULTILINE)
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
FORMULA = re.compile(r"\$\$.*?\$\$|(?<!\$)\$(?!\$).*?\$", re.DOTALL)
ITEM = re.compile(r" {0,3}([-+*]|\d{1,9}[.)])[ \t]+\S")
#: What a line becomes that begins so, where it goes on with the text of the line before.
BECOMES = {
    "a list": re.compile(r" {0,3}([-+*]|1[.)])[ \t]+\S"),
    "a heading": re.compile(r" {0,3}#{1,6}(?:\s|$)"),
    "a quote": re.compile(r" {0,3}>"),
    "the underline of a heading": re.compile(r" {0,3}(?:=+|-+)\s*$"),
    "a table": re.compile(r" *\|"),
}
BAR = re.compile(r"(?<!\\)\|")


def slips(text):
    """What Markdown renders as something that the author of a text cannot have meant.

    >>> slips("Let a = 1 / (1\\n+ b) be small.")
    ['text becomes a list: + b) be small.']
    """
    text = FENCED.sub("", text)
    found = (
        ["a fence of code is never closed"] if re.search(r"^ {0,3}(```|~~~)", text, re.M) else []
    )
    for block in re.split(r"\n[ \t]*\n", text):
        lines = [line for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        if lines[0].lstrip().startswith("|"):
            found += slips_of_table(lines)
            continue
        plain = CODE_SPAN.sub("", block).replace(r"\$", "")
        for formula in FORMULA.findall(plain):
            if re.search(r"^\$\s\S|[^$\s]\s\$$", formula) and not formula.startswith("$$"):
                found.append(f"a formula has blanks at its dollars: {formula}")
        if "$" in FORMULA.sub("", plain):
            found.append(f"a formula is never closed: {block}")
        if lines[0].startswith("    ") and "$" in lines[0] and "`" not in lines[0]:
            found.append(f"a formula becomes code: {lines[0]}")
        found += [f"text becomes {what}: {line}" for what, line in becoming(lines)]
    return found


def becoming(lines):
    """The lines of a paragraph or of a list that begin something else."""
    item = ITEM.match(lines[0])
    if item and item[1] in "+*":
        yield "a list", lines[0]
    if lines[0].lstrip().startswith(">") or (lines[0].startswith("  ") and not item):
        return
    above = "" if BECOMES["a heading"].match(lines[0]) else lines[0]
    for line in lines[1:]:
        goes_on = item and ITEM.match(line) and ITEM.match(line)[1] not in "+*"
        for what, begins in BECOMES.items():
            if above and begins.match(line) and not (goes_on and what == "a list"):
                yield what, line
        above = "" if BECOMES["a heading"].match(line) else line


def slips_of_table(lines):
    """Complaints about rows with more or fewer cells than the first row of the table."""
    rows = [BAR.split(line.strip().removeprefix("|").removesuffix("|")) for line in lines]
    if len(rows) < 2 or not all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in rows[1]):
        yield f"a row of bars is no table without a rule below it: {lines[0]}"
    for line, cells in zip(lines, rows, strict=True):
        if not line.lstrip().startswith("|"):
            yield f"text becomes a row of a table: {line}"
        elif len(cells) != len(rows[0]):
            yield f"{len(cells)} cells where the table has {len(rows[0])}: {line}"


BROKEN = {
    "a sum": ("with $a = 1 / (1\n+ b)$, and check", "becomes a list"),
    "a sum in display": ("$$ a\n   + b $$", "becomes a list"),
    "a difference": ("the rate less the shift\n- that is", "text becomes a list"),
    "a product": ("a\n* b", "text becomes a list"),
    "a sum in an item": ("- the sum of a\n+ b", "text becomes a list"),
    "a sum at the beginning": ("+ b", "text becomes a list"),
    "a number": ("as in 2017\n1. It", "text becomes a list"),
    "a number sign": ("feature\n# 3", "text becomes a heading"),
    "a relation": ("$a\n> b$", "becomes a quote"),
    "an equation": ("$$ a\n=\nb $$", "becomes the underline"),
    "indented": ("a:\n\n    $$ b $$", "a formula becomes code"),
    "one dollar": ("it costs $3 or more", "never closed"),
    "half a display": ("$$ a + b $", "a formula is never closed"),
    "a display in two": ("$$ a\n\nb $$", "never closed"),
    "dollars apart": ("of $ a $ and", "blanks at its dollars"),
    "a bar in a cell": ("| a | b |\n|---|---|\n| $|w|$ | 2 |", "4 cells where the table has 2"),
    "a cell too few": ("| a | b |\n|---|---|\n| 1 |", "1 cells where the table has 2"),
    "no rule": ("| a | b |\n| 1 | 2 |", "no table without a rule"),
    "a table in a paragraph": ("so:\n| a | b |\n|---|---|\n| 1 | 2 |", "text becomes a table"),
    "text below a table": ("| a |\n|---|\n| 1 |\nand so on", "text becomes a row"),
    "an open fence": ("```python\na = 1", "never closed"),
}
SOUND = {
    "lists": "- one,\n  and more\n- two\n\n1. one\n2. two\n\n   more of two\n3. three",
    "a list in an item": "1. one\n\n       code\n\n2. two",
    "signs within lines": "a + b - c * d > e = f # 3",
    "signs that open nothing": "$$ a\n   -b\n   =c $$\n\n-1 and\n+2 and\n*3* and\n5. Five and\n#6",
    "in code": "```sh\n# a\n+ b\n$ c | d\n\n    e\n```\nand `$HOME | + $`, then ``a ` $ b``",
    "formulas": "$a$, $\\$3$, \\$4 and\n$b\nc$.\n\n$$\na\n$$",
    "headings and quotes": "# One\ntext\n\n## Two\n\n> three\n> four",
    "a table": "| | b |\n|---|--:|\n| `a \\| c` | |",
    "comments": "a\n\n<!-- begin -->\n\n| a |\n|---|\n\n<!-- end -->",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(name):
    """Each slip gets its own complaint and no other."""
    text, complaint = BROKEN[name]
    found = slips(text)
    assert found
    assert all(complaint in slip for slip in found), found


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_is_let_be(name):
    """Signs within a line, in code, and where they open nothing get no complaint."""
    assert slips(SOUND[name]) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages(path):
    """No committed page has a slip."""
    assert slips(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks(path):
    """No cell of text in a notebook has a slip."""
    document = json.loads(path.read_text(encoding="utf-8"))
    found = {
        number: slips("".join(cell["source"]))
        for number, cell in enumerate(document["cells"])
        if cell["cell_type"] == "markdown"
    }
    assert any("$" in "".join(cell["source"]) for cell in document["cells"])
    assert {number: lines for number, lines in found.items() if lines} == {}
