"""The benchmarks.  A new one is a module and an entry here."""

from __future__ import annotations

from benchmarks import (
    bench,
    bench_figure,
    bench_page,
    machines,
    peers,
    peers_figure,
    peers_page,
    untouched,
    untouched_figure,
    untouched_page,
)
from paper_repro.study import Study

#: In the order in which they run.
STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            name="bench",
            title="What an epoch costs: the clock, scikit-learn, the other engines",
            cells=bench.cells,
            page=bench_page.page,
            draw=bench_figure.draw,
            takes_folder=True,
        ),
        Study(
            name="untouched",
            title="With nothing set: how good a model is, and how long it takes",
            cells=untouched.cells,
            page=untouched_page.page,
            draw=untouched_figure.draw,
            finding=untouched_page.finding,
            takes_test=True,
            takes_folder=True,
        ),
        Study(
            name="peers",
            title="Beside other programs: exact weights, speed, scale, and test loss",
            cells=peers.cells,
            page=peers_page.page,
            draw=peers_figure.draw,
            finding=peers_page.finding,
            takes_folder=True,
        ),
        Study(
            name="machines",
            title="More than one machine: rows stay on workers, models travel",
            cells=machines.cells,
            page=machines.page,
            draw=machines.draw,
            finding=machines.finding,
            on_corpus=False,
        ),
    )
}
