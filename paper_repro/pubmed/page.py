"""The report on real abstracts: what was read, and what was learned from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper_repro.curves import draw
from paper_repro.study import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class MedlinePage(Report):
    """Counts, models and curves of a bag of words from PubMed."""

    name = "medline"
    title = "Real abstracts: PubMed's XML, counted and learned from"

    def page(self, document: Mapping[str, Any]) -> str:
        # Learning needs more than reading a finished report does.
        from paper_repro.pubmed.study import learned, summary, table

        figures = document["records"]["medline"]
        return "\n\n".join(
            [
                f"From {', '.join(document['settings']['files'])}:",
                f"```\n{summary(figures)}\n```",
                learned(figures),
                table(figures),
                f"Lazy and dense, on the same rows:\n\n```\n{figures['verified']['report']}\n```"
                if "verified" in figures
                else "",
                "In the figure the second curve is the law by which the generated corpus is made.",
            ]
        )

    def draw(self, document: Mapping[str, Any]) -> Figure:
        figures = document["records"]["medline"]
        mean = figures["corpus"]["nonzeros_per_citation"]
        return draw(figures["curves"], mean, f"mean {mean:.1f}", "a citation")
