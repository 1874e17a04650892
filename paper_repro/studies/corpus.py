"""Study ``corpus``: does the corpus have the shape that was asked for?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paper_repro.curves import curves, draw_curves
from paper_repro.documents import from_settings
from paper_repro.pages import Template, table
from paper_repro.published import IDEAL
from paper_repro.score import significant
from paper_repro.study import Cell, Measured, Record, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = Template.beside(__file__)


def cells(settings: Settings) -> Sequence[Cell]:
    """One cell: features, nonzeros and frequencies."""

    def shape(_: Any) -> Record:
        corpus = from_settings(settings)
        return {"statistics": corpus.statistics(), "curves": curves(corpus.X)}

    return [Cell("shape", shape)]


class Shape(Measured):
    """The corpus in numbers; ``generated`` says whether anything was asked of it."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.generated = self.settings["data"] is None
        self.found = self.records["shape"]["statistics"]
        self.curves = self.records["shape"]["curves"]


# --- the page --------------------------------------------------------------------------------


def page(document: Mapping[str, Any]) -> str:
    shape = Shape(document)
    return PAGE(
        "page",
        finding=PAGE(
            "finding",
            features=shape.found["features"],
            nonzeros=shape.found["nonzeros_per_example"],
            ratio=shape.found["features_per_nonzero"],
            printed=IDEAL,
        ),
        statistics=statistics(shape),
        frequencies=frequencies(shape),
        origin=PAGE("generated") if shape.generated else PAGE("read", file=shape.found["origin"]),
    )


def statistics(shape: Shape) -> str:
    """Every number of the shape beside what was asked."""
    found, settings = shape.found, shape.settings
    asked = {
        "examples": f"{settings['examples']:,}",
        "features": f"{settings['features']:,}",
        "nonzeros per example": f"{settings['nonzeros']:g}",
    }
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
    return table(
        ["", "asked", "found"],
        [
            [label, asked.get(label, "") if shape.generated else "", value]
            for label, value in rows.items()
        ],
    )


def frequencies(shape: Shape) -> str:
    """Asked and found shares near the powers of ten."""
    ranks = np.array(shape.curves["ranks"])
    picked = {int(np.abs(ranks - 10**k).argmin()) for k in range(int(np.log10(ranks[-1])) + 1)}
    law = "asked" if shape.generated else "by Zipf and Mandelbrot's law"
    return table(
        ["rank of a word", f"its share of all words: {law}", "found"],
        [
            [
                f"{ranks[i]:,}",
                significant(shape.curves["law"][i]),
                significant(shape.curves["shares"][i]),
            ]
            for i in sorted(picked)
        ],
    )


def draw(document: Mapping[str, Any]) -> Figure:
    """The curves of ``paper_repro.curves``."""
    shape = Shape(document)
    mean = shape.found["nonzeros_per_example"]
    asked = f" (asked: {shape.settings['nonzeros']:g})" if shape.generated else ""
    return draw_curves(shape.curves, mean, f"mean {mean:.2f}{asked}", "an example")
