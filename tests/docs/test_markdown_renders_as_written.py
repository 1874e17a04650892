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

ITEM = re.compile(r" {0,3}([-+*]|\d{1,9}[.)])[ \t]+\S")
HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
QUOTE = re.compile(r" {0,3}>")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*$")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
COMMENT = re.compile(r"<!--.*?-->")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
BAR = re.compile(r"(?<!\\)\|")
BETWEEN_BARS = re.compile(r"\s*:?-+:?\s*")


def slips(text):
    """The lines that Markdown renders as something that their author cannot have meant.

    >>> slips("Let a = 1 / (1\\n+ b) be small.")
    ['line 2: text becomes a list: + b) be small.']
    """
    found, blocks = [], []
    fence = ""
    block = []  # numbered lines without a blank one between them
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        opener = FENCE.match(line)
        if fence:
            if opener and opener[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if opener and not (block and formulas(block)[1]):
            fence = opener[1]
        line = "" if fence else COMMENT.sub("", line)
        if line.strip():
            block.append((number, line))
        elif block:
            blocks.append(block)
            block = []
    if fence:
        found.append("a fence of code is never closed")
    marker = None  # of the item that is open
    for block in blocks:
        if not block[0][1].startswith("  "):
            marker = None
        marker = judge(block, marker, found)
    return found


def judge(block, marker, found):
    """Judge lines between which none is blank; returns the marker of the item that is open."""
    first_number, first = block[0]
    if first.startswith("    ") and "$" in first and not marker:
        found.append(f"line {first_number}: a formula becomes code: {first.strip()}")
    if first.lstrip().startswith("|"):
        found += slips_of_table(block)
        return None
    above = ""  # the line before, where it is text
    for position, (number, line) in enumerate(block):
        formula = formulas(block[:position])[1]
        item = ITEM.match(line)
        becomes = None
        begins = item and not above and item[1] not in ("+", "*")
        if item and not formula and (begins or follows(item[1], marker)):
            marker = item[1]
        elif item and opens(item[1], marker):
            becomes = "a list"
        elif HEADING.match(line) and (formula or above):
            becomes = "a heading"
        elif QUOTE.match(line) and (formula or (above and not QUOTE.match(above))):
            becomes = "a quote"
        elif UNDERLINE.match(line) and (formula or above):
            becomes = "the underline of a heading"
        elif line.lstrip().startswith("|") and position and rule_of_table(block, position + 1):
            becomes = "a table"
        if becomes:
            what = "a formula" if formula else "text"
            found.append(f"line {number}: {what} becomes {becomes}: {line}")
        above = "" if HEADING.match(line) else line
    closed, still_open = formulas(block)
    if still_open:
        found.append(f"line {first_number}: a formula is never closed: {still_open}")
    for formula in closed:
        if not formula.strip("$ \n"):
            found.append(f"line {first_number}: a formula is empty: {first}")
        elif not formula.startswith("$$") and re.search(r"^\$\s|\s\$$", formula):
            found.append(f"line {first_number}: a formula has blanks at its dollars: {formula}")
    return marker


def formulas(lines):
    """The closed formulas of these lines, with their dollars, and the formula left open."""
    rest = CODE_SPAN.sub("", "\n".join(line for _, line in lines)).replace(r"\$", "")
    closed = []
    while (begin := rest.find("$")) >= 0:
        dollars = "$$" if rest.startswith("$$", begin) else "$"
        end = rest.find(dollars, begin + len(dollars))
        if end < 0:
            return closed, rest[begin:]
        closed.append(rest[begin : end + len(dollars)])
        rest = rest[end + len(dollars) :]
    return closed, ""


def follows(marker, previous):
    """Whether an item with this marker is meant to continue a list."""
    if previous and marker[:-1] and previous[:-1]:
        return marker[-1] == previous[-1] and int(marker[:-1]) == int(previous[:-1]) + 1
    return marker == previous == "-"


def opens(marker, previous):
    """Whether a line with this marker ends a paragraph: a number must be 1, or follow a number."""
    return not marker[:-1] or int(marker[:-1]) == 1 or bool(previous and previous[:-1])


def slips_of_table(lines):
    """Complaints about rows with more or fewer cells than the first row of the table."""
    if not rule_of_table(lines, 1):
        yield f"line {lines[0][0]}: a row of bars is no table without a rule below it"
    width = len(cells_of(lines[0][1]))
    for number, line in lines:
        if not line.lstrip().startswith("|"):
            yield f"line {number}: text becomes a row of a table: {line}"
        elif len(cells_of(line)) != width:
            yield f"line {number}: {len(cells_of(line))} cells where the table has {width}: {line}"


def rule_of_table(lines, position):
    """Whether this line parts the head of a table from its rows."""
    return position < len(lines) and all(
        BETWEEN_BARS.fullmatch(cell) for cell in cells_of(lines[position][1])
    )


def cells_of(row):
    """The cells of a row; bars in code and in formulas part cells too, unless they are escaped."""
    return BAR.split(row.strip().removeprefix("|").removesuffix("|"))


BROKEN = {
    "a sum": ("with $a = 1 / (1\n+ b)$, and check", "a formula becomes a list"),
    "a sum in display": ("$$ a\n   + b $$", "a formula becomes a list"),
    "a difference": ("the rate less the shift\n- that is", "text becomes a list"),
    "a product": ("a\n* b", "text becomes a list"),
    "a sum in an item": ("- the sum of a\n+ b", "text becomes a list"),
    "a sum at the beginning": ("+ b", "text becomes a list"),
    "a number": ("as in 2017\n1. It", "text becomes a list"),
    "a number in a list": ("1. first, in\n3. of them", "text becomes a list"),
    "a number sign": ("feature\n# 3", "text becomes a heading"),
    "a relation": ("$a\n> b$", "a formula becomes a quote"),
    "an equation": ("$$ a\n=\nb $$", "a formula becomes the underline of a heading"),
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
