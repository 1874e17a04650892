"""Docstrings as Sphinx reads them: what is plain text in ours must not turn into markup."""

import inspect
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from lazynet.estimators.linear import LinearModel

LITERAL = re.compile(r"(``.*?``)")
UNDERLINE = re.compile(r"-{3,}$")
#: scikit-learn's docstrings refer to pages of scikit-learn.
REFERENCE = re.compile(r":ref:`([^<`]+?)\s*(?:<[^`]*>)?`")
EXAMPLES = Path(__file__).parent / "examples"


def as_markup(
    app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]
) -> None:
    """Rewrite the lines of a docstring in place."""
    ours = str(getattr(found, "__module__", "lazynet")).startswith("lazynet")
    lines[:] = rewritten(lines if ours else lines[:1])


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
        if blank or block[0].lstrip().startswith((">>>", ".. math::")):
            yield from block
        elif not in_sections and not in_list and all(line.startswith("    ") for line in block):
            yield from ["::", "", *block]
        else:
            text = REFERENCE.sub(r"\1", "\n".join(block))
            parts = LITERAL.split(text)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            yield from "".join(parts).split("\n")


def with_examples(
    app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]
) -> None:
    """Append the examples of the gallery that use a class."""
    used = re.compile(rf"\b{name.rpartition('.')[2]}\b")
    paths = [path for path in sorted(EXAMPLES.glob("plot_*.py")) if used.search(path.read_text())]
    if what == "class" and paths:
        lines += ["", f".. rubric:: Examples using {name.rpartition('.')[2]}", ""]
        lines += [f"- :ref:`sphx_glr_examples_{path.name}`" for path in paths]


def parameters_of_class(
    app: Sphinx, what: str, name: str, found: Any, options: Any, signature: Any, returns: Any
) -> tuple[str, None] | None:
    """The parameters of ``__init__`` of an estimator, whose ``__new__`` takes any name."""
    if what != "class" or not issubclass(found, LinearModel):
        return None
    _, *parameters = inspect.signature(found.__init__).parameters.values()
    plain = [each.replace(annotation=each.empty) for each in parameters]
    return str(inspect.Signature(plain)), None


def setup(app: Sphinx) -> dict[str, Any]:
    """Rewrite docstrings before numpydoc reads them."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", as_markup, priority=1)
    app.connect("autodoc-process-docstring", with_examples, priority=900)
    app.connect("autodoc-process-signature", parameters_of_class)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
