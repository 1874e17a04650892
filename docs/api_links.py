"""Names of lazynet that stand in code type lead to their pages in the reference of the API."""

from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

import lazynet


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Make links of ``LazyNetClassifier`` and ``RDA(gamma=5)``, but not on the pages of sources."""
    if app.env.docname.startswith("sources/"):
        return
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().partition("(")[0]
        inside = (nodes.reference, pending_xref, nodes.title)
        if name not in lazynet.__all__ or isinstance(literal.parent, inside):
            continue
        link = pending_xref(
            "",
            literal.deepcopy(),
            refdomain="py",
            reftype="obj",
            reftarget=f"lazynet.{name}",
            refdoc=app.env.docname,
            refwarn=True,
        )
        literal.replace_self(link)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page when it has been read."""
    app.connect("doctree-read", link_names)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
