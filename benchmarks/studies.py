"""The benchmarks.  A new one is a module with ``cells`` and ``content``, and a line here."""

from __future__ import annotations

from benchmarks import bench, defaults, optimum, throughput
from paper_repro.render import rendered
from paper_repro.study import Study

#: In the order in which they run.
STUDIES: dict[str, Study] = {
    name: Study(
        name=name,
        title=title,
        cells=module.cells,
        takes_folder=module in (defaults, optimum),
        on_corpus=module in (bench, throughput),
        **rendered(module.content, headline=True),
    )
    for name, module, title in (
        ("bench", bench, "Time of an epoch: rules, and storages of the weights"),
        ("optimum", optimum, "Time to the minimum, compared with other programs"),
        ("defaults", defaults, "Test loss and time with default settings, and other programs"),
        ("throughput", throughput, "Seconds per example, compared with other programs"),
    )
}
