"""The studies.  A new one is its modules, the Markdown file of its page, and an entry here."""

from __future__ import annotations

from typing import Any

from paper_repro.render import drawn, rendered
from paper_repro.studies import (
    accuracy,
    accuracy_page,
    averaging,
    claims,
    corpus,
    crossover,
    released,
    scaling,
    stability,
    stability_page,
    table,
    table_page,
)
from paper_repro.study import Study


def _rendered(name: str, module: Any, title: str, page: Any = None, **more: Any) -> Study:
    """A study whose ``content`` is rendered, that of ``page`` where there is a second module."""
    content = (page or module).content
    return Study(name=name, title=title, cells=module.cells, **rendered(content), **more)


#: In the order in which they run: the papers' table first.
STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            name="table",
            title="Lazy against dense updates: the papers' tables, rerun",
            cells=table.cells,
            page=table_page.page,
            draw=drawn(table_page.panels, width=10.0),
            finding=table_page.finding,
            shown=table_page.headline,
        ),
        _rendered("corpus", corpus, "The corpus: its shape as asked and as found"),
        _rendered(
            "crossover", crossover, "At what density dense updates catch up", on_corpus=False
        ),
        _rendered(
            "scaling", scaling, "What a step costs: features, nonzeros, steps", on_corpus=False
        ),
        _rendered(
            "accuracy",
            accuracy,
            "How exact: long runs against extended precision",
            accuracy_page,
            on_corpus=False,
        ),
        _rendered(
            "averaging",
            averaging,
            "Averages of the iterates: what they are worth and what they cost",
        ),
        Study(
            name="stability",
            title="Sparse and stable: which features are chosen, and whether they are chosen again",
            cells=stability.cells,
            page=stability_page.page,
            draw=drawn(stability_page.panels),
            takes_test=True,
        ),
        Study(
            name="claims",
            title="What the papers claim beside their tables",
            cells=claims.cells,
            page=claims.page,
            draw=drawn(claims.panels),
            on_corpus=False,
        ),
        Study(
            name="released",
            title="Stabilised truncated SGD as its authors released it: the same figures",
            cells=released.cells,
            page=released.page,
            draw=drawn(released.panels, legend=False),
            only_when_named=True,
            takes_test=True,
        ),
    )
}
