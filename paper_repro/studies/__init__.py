"""The studies.  A new one is its modules, the Markdown file of its page, and an entry here."""

from __future__ import annotations

from typing import Any

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


def _study(name: str, module: Any, title: str, page: Any = None, **more: Any) -> Study:
    """The study of a module; ``page`` is the module of its content if that is another one."""
    content = (page or module).content
    return Study(name=name, title=title, cells=module.cells, content=content, **more)


#: In the order in which they run: the papers' table first.
STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        _study(
            "table",
            table,
            "Lazy against dense updates: the papers' tables, rerun",
            table_page,
            on_index=True,
            shown=table_page.headline,
        ),
        _study("corpus", corpus, "The corpus: its shape as asked and as found"),
        _study("crossover", crossover, "At what density dense updates catch up", on_corpus=False),
        _study("scaling", scaling, "What a step costs: features, nonzeros, steps", on_corpus=False),
        _study(
            "accuracy",
            accuracy,
            "How exact: long runs against extended precision",
            accuracy_page,
            on_corpus=False,
        ),
        _study(
            "averaging",
            averaging,
            "Averages of the iterates: what they are worth and what they cost",
        ),
        _study(
            "stability",
            stability,
            "Sparse and stable: which features are chosen, and whether they are chosen again",
            stability_page,
            takes_test=True,
        ),
        _study("claims", claims, "What the papers claim beside their tables", on_corpus=False),
        _study(
            "released",
            released,
            "Stabilised truncated SGD as its authors released it: the same figures",
            only_when_named=True,
            takes_test=True,
        ),
    )
}
