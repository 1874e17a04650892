"""The README's figure and what stands below it, made from the committed results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import seconds
from benchmarks.index import RESULTS
from lazynet.plots import as_svg, styled
from paper_repro.damaged import DamagedFile, told_of
from paper_repro.results import load
from paper_repro.whole import write_whole

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
FIGURE = ROOT / "docs" / "seconds.svg"
#: The block of the README lies between these marks.
BEGIN = "<!-- seconds: from the results of the benchmarks by python -m benchmarks readme -->"
END = "<!-- end of seconds -->"
_REMEDY = "restore the file"


def main() -> int:
    """Draw the figure, and rewrite the block between the marks."""
    with told_of(README, _REMEDY):
        text = README.read_text(encoding="utf-8")
    documents = loaded()
    written = with_block(text, seconds.caption(documents))
    write_whole(FIGURE, figure(documents))
    write_whole(README, written)
    print(f"{README.name} and {FIGURE.name} written")
    return 0


def loaded() -> dict[str, Any]:
    """The results that the figure is made from, by study."""
    documents = {name: load(name, RESULTS) for name in seconds.STUDIES}
    for name, document in documents.items():
        if document is None:
            raise ValueError(f"the README's figure needs {RESULTS / name}.json")
    return documents


def figure(documents: dict[str, Any]) -> str:
    """The figure as SVG."""
    with styled():
        return as_svg(seconds.draw(documents))


def with_block(text: str, new: str) -> str:
    """The text with a new block between the marks."""
    before, found, rest = text.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not (found and closed):
        raise DamagedFile(README, f"it must hold the marks {BEGIN!r} and {END!r}", _REMEDY)
    return f"{before}{BEGIN}\n\n{new}\n\n{END}{after}"
