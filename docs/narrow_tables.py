"""Cells of tables name their columns, so that a narrow page can show each row as a block."""

import html
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def visit_entry(translator: Any, node: nodes.entry) -> None:
    """Write the start of a cell; a cell below a title has the title as ``data-column``."""
    HTML5Translator.visit_entry(translator, node)
    row = node.parent
    heads = list(row.parent.parent.findall(nodes.thead))
    if heads and not isinstance(row.parent, nodes.thead):
        title = heads[0][-1][row.index(node)].astext()
        tag = f'<td data-column="{html.escape(title)}"'
        translator.body[-1] = translator.body[-1].replace("<td", tag, 1)


def depart_entry(translator: Any, node: nodes.entry) -> None:
    """Write the end of a cell."""
    HTML5Translator.depart_entry(translator, node)


def setup(app: Sphinx) -> dict[str, Any]:
    """Replace the writer of cells."""
    app.add_node(nodes.entry, override=True, html=(visit_entry, depart_entry))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
