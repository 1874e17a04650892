"""Formulas as MathML, which browsers show by themselves: the pages load no script for them.

The font of the formulas comes with the package ziamath, and the site serves it.
"""

import html
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from docutils import nodes
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert
from sphinx.application import Sphinx

#: A bar that is not stretched gets the spaces of a relation, which the bars of |w| must not have.
BAR = re.compile(r'<mo stretchy="false">(&#x0007C;|&#x02223;|\|)</mo>')


def mathml(latex: str, display: str) -> str:
    """The formula as MathML.

    >>> mathml("|w|", "inline").count('lspace="0" rspace="0"')
    2
    """
    found = convert(latex, display=display).replace("<mi>&#x02032;</mi>", "<mo>&#x02032;</mo>")
    return BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', found)


def inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def display(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on separate lines; it scrolls if the page is narrower."""
    latex = node.astext()
    formula = mathml(latex, "block")
    translator.body.append(f'<div class="formula" title="{html.escape(latex)}">{formula}</div>\n')
    raise nodes.SkipNode


def store_font(app: Sphinx, failure: Exception | None) -> None:
    """Copy the font into the folder of the style sheet that names it."""
    static = Path(app.outdir, "_static")
    if failure is None and static.is_dir():
        font = TTFont(str(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"))
        font.flavor = "woff"
        font.save(static / "STIXTwoMath-Regular.woff")


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx of the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.config.html_math_renderer = "mathml"
    app.connect("build-finished", store_font)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
