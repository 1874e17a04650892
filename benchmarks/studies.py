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
        ("bench", bench, "What an epoch costs: the clock, scikit-learn, the other engines"),
        ("fits", fits, "What a whole fit costs, and many labels at once"),
        ("optimum", optimum, "To the minimum: which program arrives, and how fast"),
        ("defaults", defaults, "With nothing set: how good a model is, and how long it takes"),
        ("throughput", throughput, "Beside other programs: seconds per example"),
        ("tuned", tuned, "Beside other programs: test loss after equal tuning"),
    )
}
