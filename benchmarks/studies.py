"""The benchmarks.  A new one is a module with ``cells`` and ``content``, and a line here."""

from __future__ import annotations

from pathlib import Path

from benchmarks import bench, defaults, embeddings, long_tail, optimum, throughput
from paper_repro.index import documents_below, documents_in, index_of
from paper_repro.results import write_whole
from paper_repro.study import Study

RESULTS = Path(__file__).parent / "results"

#: In the order in which they run.
STUDIES: dict[str, Study] = {
    name: Study(
        name=name,
        title=title,
        cells=module.cells,
        content=module.content,
        takes_folder=module in (defaults, optimum),
        on_corpus=module in (bench, throughput),
        only_when_named=module in (embeddings, long_tail),  # they need PyTorch
        on_index=True,
    )
    for name, module, title in (
        ("bench", bench, "Time of an epoch: rules, and storages of the weights"),
        ("optimum", optimum, "Time to the minimum, compared with other programs"),
        ("defaults", defaults, "Test loss and time with default settings, and other programs"),
        ("throughput", throughput, "Seconds per example, compared with other programs"),
        ("embeddings", embeddings, "Time of a step with a penalty of embeddings in PyTorch"),
        ("long_tail", long_tail, "Test loss with a penalty of embeddings, on long-tailed ids"),
    )
}


def write_index(out: Path) -> str:
    """Write README.md of the results in ``out``; returns the text to print."""
    text = index_of(STUDIES, documents_in(out, STUDIES), documents_below(out, STUDIES))
    write_whole(out / "README.md", text)
    return f"{text}\nAll of it, with figures and raw numbers: {out}"
