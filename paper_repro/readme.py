"""The README's speedup table, made from the committed results."""

from __future__ import annotations

from pathlib import Path

from paper_repro.machine import describe_machine
from paper_repro.results import RESULTS, load, write_whole
from paper_repro.studies.table import Measured, equality_sentence, setting_sentence, summary

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- from paper_repro/results/table.json by: python -m paper_repro readme -->"
END = "<!-- end -->"


def main() -> int:
    """Rewrite what stands between the two marks."""
    write_whole(README, with_table(README.read_text(encoding="utf-8"), table()))
    print(f"{README.name}: table written")
    return 0


def table() -> str:
    """The table, what it was measured on, and the proof beside it."""
    document = load("table", RESULTS)
    if document is None:
        raise ValueError(f"there is no {RESULTS / 'table.json'}: run make repro FULL=1 first")
    measured = Measured(document)
    return "\n\n".join(
        [
            setting_sentence(measured),
            summary(measured),
            f"{equality_sentence(measured)} Measured on {describe_machine(document)}.",
        ]
    )


def with_table(text: str, new: str) -> str:
    """The text with what stands between the marks replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the README must hold the marks {BEGIN!r} and {END!r}")
    return f"{before}{begin}\n{new}\n{end}{after}"
