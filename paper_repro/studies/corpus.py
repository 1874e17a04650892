"""Study ``corpus``: does the corpus have the shape that was asked for?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paper_repro.curves import curves, panels
from paper_repro.documents import from_settings
from paper_repro.pages import Template
from paper_repro.published import IDEAL
from paper_repro.render import Content, Table
from paper_repro.score import in_bytes, significant
from paper_repro.study import Cell, Measured, Record, Settings

PAGE = Template.beside(__file__)
#: The share of the features whose nonzeros are counted: the most frequent ones.
TOP = 0.01
#: What the page says of the statistics as they are recorded.
OF_THE_FINDING = ("features", "nonzeros_per_example", "features_per_nonzero")
OF_THE_SHAPE = (*OF_THE_FINDING, "examples", "nonzeros_deviation", "features_seen",
                "share_of_top_percent", "largest_value", "positive_share")  # fmt: skip


def cells(settings: Settings) -> Sequence[Cell]:
    """One cell: features, nonzeros and frequencies."""

    def shape(_: Any) -> Record:
        corpus = from_settings(settings)
        return {"statistics": corpus.statistics(), "curves": curves(corpus.X)}

    return [Cell("shape", shape)]


def content(document: Mapping[str, Any]) -> Content:
    measured = Measured(document)
    generated = measured.settings["data"] is None
    found, lines = (measured.records["shape"][name] for name in ("statistics", "curves"))
    asked = {
        f"asked_{name}": f"{measured.settings[name]:{form}}" if generated else ""
        for name, form in (("examples", ","), ("features", ","), ("nonzeros", "g"))
    }
    low, high = found["nonzeros_range"]
    own = {name: found[name] for name in OF_THE_SHAPE}
    shape = PAGE(
        "shape", **asked, **own, low=low, high=high, top=TOP, size=in_bytes(found["bytes"])
    )
    ranks = np.array(lines["ranks"])
    picked = sorted({int(np.abs(ranks - 10**k).argmin()) for k in range(len(str(ranks[-1])))})
    return Content(
        PAGE("finding", **{name: found[name] for name in OF_THE_FINDING}, ideal=IDEAL),
        [
            shape.replace("|  |", "| |"),
            Table(
                ["rank of a word", "its share by Zipf and Mandelbrot's law", "found"],
                [
                    [f"{ranks[k]:,}", *(significant(lines[of][k]) for of in ("law", "shares"))]
                    for k in picked
                ],
            ),
            PAGE("generated") if generated else PAGE("read", origin=found["origin"]),
        ],
        panels(lines, found["nonzeros_per_example"]),
    )
