"""Pages: the words are in a Markdown file next to the module; numbers are inserted by name.

``studies/NAME_page.md`` holds the words of ``studies/NAME_page.py`` as named parts.  A line
``<!-- PART -->`` begins a part.  ``{name}`` stands for a text or a number, ``{name:,.1f}`` for a
number in a format of Python, ``{name:2 digits}`` for a number to two significant digits,
``{name:duration}`` for seconds in a unit that can be read.  Lines of a paragraph are joined.

>>> page = Template("<!-- speed -->\\n{who} does {rate:,}\\nsteps in {seconds:duration}.", "x.md")
>>> page("speed", who="The clock", rate=4000, seconds=0.0012)
'The clock does 4,000 steps in 1.20 ms.'
>>> page("speed", who="The clock", rate=4000)
Traceback (most recent call last):
ValueError: x.md, part 'speed': not given: 'seconds'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

from paper_repro.score import duration, significant

_MARK = re.compile(r"^<!-- (.+) -->\n", re.MULTILINE)
#: A line break within a paragraph: the next line begins no list item, table, heading or code.
_WRAPPED = re.compile(r"(?<=\S)\n(?=[^\s\-|#`])")
_DIGITS = re.compile(r"(\d+) digits")


class Template:
    """The named parts of a Markdown file; call it with a part's name for the part's text.

    Each name in a part must be given a value, and each value must have a name in the part.
    """

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        before, *marked = _MARK.split(text)
        if before.strip() or not marked:
            raise ValueError(f"{where}: the first line must be a mark such as <!-- page -->")
        names, texts = marked[::2], marked[1::2]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"{where}: parts that stand there twice: {_listed(twice)}")
        self.parts = {
            name: _WRAPPED.sub(" ", text.strip()) for name, text in zip(names, texts, strict=True)
        }

    @classmethod
    def beside(cls, module: str) -> Template:
        """The Markdown file of the same name in the folder of a module, given its ``__file__``."""
        path = Path(module).with_suffix(".md")
        return cls(path.read_text(encoding="utf-8"), path.name)

    def __call__(self, part: str, /, **values: Any) -> str:
        """The part's text with these values in it; an empty value leaves no empty paragraph."""
        return re.sub(r"\n{3,}", "\n\n", self._filled(part, self._text(part), values)).strip()

    def table(self, part: str, rows: Iterable[Mapping[str, Any]]) -> str:
        """The table of a part of two lines: its header, and a row into which values are put.

        >>> page = Template("<!-- speeds -->\\n| | steps |\\n| {who} | {steps:,} |", "x.md")
        >>> print(page.table("speeds", [{"who": "clock", "steps": 4000}]))
        | | steps |
        |---|---|
        | clock | 4,000 |
        """
        header, row = self._text(part).splitlines()
        columns = len(header.strip("|").split("|"))
        lines = (self._filled(part, row, values) for values in rows)
        return "\n".join([header, "|---" * columns + "|", *lines]).replace("|  |", "| |")

    def _text(self, part: str) -> str:
        if part not in self.parts:
            raise ValueError(f"{self.where}: there is no part {part!r}")
        return self.parts[part]

    def _filled(self, part: str, text: str, values: Mapping[str, Any]) -> str:
        named = {field for _, field, _, _ in Formatter().parse(text) if field is not None}
        for problem, names in (
            ("not given", named - values.keys()),
            ("given but not named there", values.keys() - named),
        ):
            if names:
                raise ValueError(f"{self.where}, part {part!r}: {problem}: {_listed(names)}")
        return _InWords().vformat(text, (), values)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names))


class _InWords(Formatter):
    """The formats of Python, and ``N digits`` and ``duration``."""

    def format_field(self, value: Any, spec: str) -> str:
        if spec == "duration":
            return duration(value)
        if digits := _DIGITS.fullmatch(spec):
            return significant(value, int(digits[1]))
        return str(super().format_field(value, spec))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; every row has a cell for each column.

    >>> print(table(["", "steps"], [["clock", 10], ["tables", "|w| > 1"]]))
    | | steps |
    |---|---|
    | clock | 10 |
    | tables | \\|w\\| > 1 |
    """
    lines = [_row(header), "|---" * len(header) + "|"]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a row of {len(header)} cells is needed, got {list(row)}")
        lines.append(_row(row))
    return "\n".join(lines)


def _row(cells: Iterable[object]) -> str:
    escaped = (str(cell).replace("|", r"\|") for cell in cells)
    return "|" + "|".join(f" {cell} " if cell else " " for cell in escaped) + "|"


def paragraphs(parts: Iterable[str]) -> str:
    """Parts that are not empty, a blank line between each two."""
    return "\n\n".join(part for part in parts if part)
