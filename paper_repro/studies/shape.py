"""Study ``corpus``: whether the corpus has the shape that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paper_repro.corpus import from_settings
from paper_repro.curves import curves, draw
from paper_repro.score import significant
from paper_repro.study import Cell, Record, Settings, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Shape(Study):
    """Features, nonzeros and frequencies, as asked and as found."""

    name = "corpus"
    title = "The corpus: its shape as asked and as found"

    def cells(self, settings: Settings) -> Sequence[Cell]:
        def shape(_: Any) -> Record:
            corpus = from_settings(settings)
            return {"statistics": corpus.statistics(), "curves": curves(corpus.X)}

        return [Cell("shape", shape)]

    def page(self, document: Mapping[str, Any]) -> str:
        record, settings = document["records"]["shape"], document["settings"]
        generated = settings["data"] is None
        return "\n\n".join(
            [
                _statistics(record["statistics"], settings, generated),
                _frequencies(record["curves"], generated),
                _origin(record["statistics"], generated),
            ]
        )

    def draw(self, document: Mapping[str, Any]) -> Figure:
        record, settings = document["records"]["shape"], document["settings"]
        mean = record["statistics"]["nonzeros_per_example"]
        asked = f" (asked: {settings['nonzeros']:g})" if settings["data"] is None else ""
        return draw(record["curves"], mean, f"mean {mean:.2f}{asked}", "an example")


def _statistics(found: Mapping[str, Any], settings: Mapping[str, Any], generated: bool) -> str:
    asked = (
        {
            "examples": f"{settings['examples']:,}",
            "features": f"{settings['features']:,}",
            "nonzeros per example": f"{settings['nonzeros']:g}",
        }
        if generated
        else {}
    )
    low, high = found["nonzeros_range"]
    rows = {
        "examples": f"{found['examples']:,}",
        "features": f"{found['features']:,}",
        "nonzeros per example": f"{found['nonzeros_per_example']:.3f}",
        "their standard deviation and range": f"{found['nonzeros_deviation']:.1f}, {low} to {high}",
        "features by nonzeros": f"{found['features_per_nonzero']:,.0f}",
        "features that occur": f"{found['features_seen']:,}",
        "nonzeros in the most frequent 1 % of features": f"{found['share_of_top_percent']:.1%}",
        "largest count": f"{found['largest_value']:g}",
        "examples of label +1": f"{found['positive_share']:.1%}",
        "matrix": f"{found['bytes'] / 1e9:.3g} GB",
    }
    lines = ["| | asked | found |", "|---|---|---|"]
    lines += [f"| {label} | {asked.get(label, '')} | {value} |" for label, value in rows.items()]
    return "\n".join(lines)


def _frequencies(record: Mapping[str, Any], generated: bool) -> str:
    """Asked and found shares near the powers of ten."""
    ranks = np.array(record["ranks"])
    picked = {int(np.abs(ranks - 10**k).argmin()) for k in range(int(np.log10(ranks[-1])) + 1)}
    law = "asked" if generated else "by Zipf and Mandelbrot's law"
    lines = [f"| rank of a word | its share of all words: {law} | found |", "|---|---|---|"]
    for i in sorted(picked):
        asked, share = significant(record["law"][i]), significant(record["shares"][i])
        lines.append(f"| {ranks[i]:,} | {asked} | {share} |")
    return "\n".join(lines)


def _origin(found: Mapping[str, Any], generated: bool) -> str:
    if not generated:
        return f"Read from {found['origin']}."
    return (
        "Words follow the law of Zipf and Mandelbrot, lengths of documents are log-normal, values "
        "are counts, labels come from a planted sparse model with noise. At the ranks where a word "
        "is expected only a few times, those come first that happen to occur more often, and those "
        "that do not occur are missing from the curve."
    )
