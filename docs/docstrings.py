"""Docstrings as Sphinx reads them: what is plain text in ours must not turn into markup."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sphinx.application import Sphinx

LITERAL = re.compile(r"(``.*?``)")
UNDERLINE = re.compile(r"-{3,}$")
#: scikit-learn's docstrings refer to pages of scikit-learn.
REFERENCE = re.compile(r":ref:`([^<`]+?)\s*(?:<[^`]*>)?`")


def as_markup(
    app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]
) -> None:
    """Rewrite the lines of a docstring in place."""
    lines[:] = rewritten(lines)


def rewritten(lines: list[str]) -> Iterator[str]:
    """Bars are escaped, indented formulas become literal blocks, examples stay as they are.

    >>> print(*rewritten(["The size |w| is", "", "    |w| + 1", "", ">>> 1 | 2", "3"]), sep="|")
    The size \\|w\\| is||::||    |w| + 1||>>> 1 | 2|3
    """
    in_sections, in_list = False, False
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        block = list(group)
        in_sections |= len(block) > 1 and bool(UNDERLINE.match(block[1]))
        in_list = not blank and (block[0].startswith("- ") or (in_list and block[0][0] == " "))
        if blank or block[0].lstrip().startswith(">>>"):
            yield from block
        elif not in_sections and not in_list and all(line.startswith("    ") for line in block):
            yield from ["::", "", *block]
        else:
            text = REFERENCE.sub(r"\1", "\n".join(block))
            parts = LITERAL.split(text)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            yield from "".join(parts).split("\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Rewrite docstrings before numpydoc reads them."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", as_markup, priority=1)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
