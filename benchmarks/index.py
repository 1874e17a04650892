"""README.md of the benchmarks' results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.studies import STUDIES
from paper_repro import index
from paper_repro.results import write_whole

RESULTS = Path(__file__).parent / "results"


def write_index(out: Path) -> str:
    """Write README.md in ``out``; returns the text to print."""
    text = index.index_of(
        STUDIES, index.documents_in(out, STUDIES), index.documents_below(out, STUDIES)
    )
    write_whole(out / "README.md", text)
    return f"{text}\nAll of it, with figures and raw numbers: {out}"
