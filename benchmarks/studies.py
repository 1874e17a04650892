"""The benchmarks.  A new one is a module with ``cells`` and ``content``, and a line here."""

from __future__ import annotations

from benchmarks import bench, defaults, fits, optimum, throughput, tuned
from paper_repro.render import rendered
from paper_repro.study import Study

#: In the order in which they run.
STUDIES: dict[str, Study] = {
    name: Study(
        name=name,
        title=title,
        cells=module.cells,
        takes_folder=module in (defaults, optimum, tuned),
        on_corpus=module in (bench, fits, throughput),
        **rendered(module.content, headline=True),
    )
    for name, module, title in (
        ("bench", bench, "Time of an epoch: storages of the weights, scikit-learn"),
        ("fits", fits, "Time of a whole fit, and of many labels"),
        ("optimum", optimum, "Time to the minimum, compared with other programs"),
        ("defaults", defaults, "Test loss and time with default settings, and other programs"),
        ("throughput", throughput, "Seconds per example, compared with other programs"),
        ("tuned", tuned, "Test loss after equal tuning, compared with other programs"),
    )
}
