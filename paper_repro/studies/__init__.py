"""The studies.  A new one is its modules, the Markdown file of its page, and an entry here."""

from __future__ import annotations

from paper_repro.render import drawn, rendered
from paper_repro.studies import (
    accuracy,
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

#: In the order in which they run.
STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            name="corpus",
            title="The corpus: its shape as asked and as found",
            cells=corpus.cells,
            **rendered(corpus.content),
        ),
        Study(
            name="table",
            title="Lazy against dense updates: the papers' tables, rerun",
            cells=table.cells,
            page=table_page.page,
            draw=drawn(table_page.panels, width=10.0),
            finding=table_page.finding,
        ),
        Study(
            name="crossover",
            title="At what density dense updates catch up",
            cells=crossover.cells,
            **rendered(crossover.content),
            on_corpus=False,
        ),
        Study(
            name="scaling",
            title="What a step costs: features, nonzeros, steps",
            cells=scaling.cells,
            **rendered(scaling.content),
            on_corpus=False,
        ),
        Study(
            name="accuracy",
            title="How exact: long runs against extended precision",
            cells=accuracy.cells,
            **rendered(accuracy.content),
            on_corpus=False,
        ),
        Study(
            name="averaging",
            title="Averages of the iterates: what they are worth and what they cost",
            cells=averaging.cells,
            **rendered(averaging.content),
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
