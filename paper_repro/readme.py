"""The README's tables, made from the committed results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paper_repro.damaged import DamagedFile, told_of
from paper_repro.machine import describe_machine
from paper_repro.results import RESULTS, load
from paper_repro.studies import bench_page, table_page
from paper_repro.studies.bench import EpochTimes
from paper_repro.studies.table import TierTimes
from paper_repro.whole import write_whole

README = Path(__file__).parent.parent / "README.md"
_REMEDY = "restore the file"


def speedups(document: Any) -> str:
    """The block on lazy against dense updates."""
    return table_page.in_short(TierTimes(document))


def epochs(document: Any) -> str:
    """The block on the clock against scikit-learn and the other engines."""
    return bench_page.in_short(EpochTimes(document))


#: study -> the function that makes its block in the README
BLOCKS: dict[str, Callable[[Any], str]] = {"table": speedups, "bench": epochs}


def main() -> int:
    """Rewrite the blocks between the marks."""
    with told_of(README, _REMEDY):
        text = README.read_text(encoding="utf-8")
    write_whole(README, renewed(text))
    print(f"{README.name}: {', '.join(BLOCKS)} written")
    return 0


def renewed(text: str) -> str:
    """The README's text with every block made anew from the committed results."""
    for name, show in BLOCKS.items():
        document = load(name, RESULTS)
        if document is None:
            raise ValueError(f"there is no {RESULTS / name}.json to make the README's table from")
        measured_on = f"Measured on {describe_machine(document)}."
        text = with_block(text, name, f"{show(document)}\n\n{measured_on}")
    return text


def with_block(text: str, name: str, new: str) -> str:
    """The text with a new block between the marks of a study."""
    begin, end = marks(name)
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise DamagedFile(README, f"it must hold the marks {begin!r} and {end!r}", _REMEDY)
    return f"{before}{begin}\n\n{new}\n\n{end}{after}"


def marks(name: str) -> tuple[str, str]:
    return (
        f"<!-- {name}: from paper_repro/results/{name}.json by python -m paper_repro readme -->",
        f"<!-- end of {name} -->",
    )
