"""Study ``corpus``: does the corpus have the shape that was asked for?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paper_repro.curves import curves, panels
from paper_repro.documents import from_settings
from paper_repro.published import IDEAL
from paper_repro.render import Content, Table
from paper_repro.score import in_bytes, significant
from paper_repro.study import Cell, Measured, Record, Settings

#: The share of the features whose nonzeros are counted: the most frequent ones.
TOP = 0.01


def cells(settings: Settings) -> Sequence[Cell]:
    """One cell: features, nonzeros and frequencies."""

    def shape(_: Any) -> Record:
        corpus = from_settings(settings)
        return {"statistics": corpus.statistics(), "curves": curves(corpus.X)}

    return [Cell("shape", shape)]


def content(document: Mapping[str, Any]) -> Content:
    measured = Measured(document)
    settings, generated = measured.settings, measured.settings["data"] is None
    found, lines = (measured.records["shape"][name] for name in ("statistics", "curves"))
    low, high = found["nonzeros_range"]
    shape = [
        ["examples", f"{settings['examples']:,}", f"{found['examples']:,}"],
        ["features", f"{settings['features']:,}", f"{found['features']:,}"],
        [
            "nonzeros per example",
            f"{settings['nonzeros']:g}",
            f"{found['nonzeros_per_example']:.3f}",
        ],
        ["their standard deviation", "", f"{found['nonzeros_deviation']:.1f}"],
        ["their range", "", f"{low} to {high}"],
        ["features by nonzeros", "", f"{found['features_per_nonzero']:,.0f}"],
        ["features that occur", "", f"{found['features_seen']:,}"],
        [
            f"nonzeros in the most frequent {TOP:.0%} of features",
            "",
            f"{found['share_of_top_percent']:.1%}",
        ],
        ["largest count", "", f"{found['largest_value']:g}"],
        ["examples of the positive class", "", f"{found['positive_share']:.1%}"],
        ["matrix", "", in_bytes(found["bytes"])],
    ]
    ranks = np.array(lines["ranks"])
    picked = sorted({int(np.abs(ranks - 10**k).argmin()) for k in range(len(str(ranks[-1])))})
    return Content(
        f"The rows that the studies learn from have {found['features']:,} features and "
        f"{found['nonzeros_per_example']:.2f} of them in a row, "
        f"{found['features_per_nonzero']:,.0f} features for each; the abstracts of Lipton & Elkan "
        f"have {IDEAL:,.0f} for each.",
        [
            Table(
                ["", "asked", "found"],
                [[name, asked if generated else "", told] for name, asked, told in shape],
            ),
            Table(
                ["rank of a word", "its share by Zipf and Mandelbrot's law", "found"],
                [
                    [
                        f"{ranks[k]:,}",
                        significant(lines["law"][k]),
                        significant(lines["shares"][k]),
                    ]
                    for k in picked
                ],
            ),
            "Words follow the law of Zipf and Mandelbrot, lengths of documents are log-normal, "
            "values are counts, labels come from a planted sparse model with noise. Words are "
            "ranked by how often they occur. Where a rank is expected only a few times, words that "
            "happen to occur more often come first, and words that do not occur are missing from "
            "the curve."
            if generated
            else f"Read from {found['origin']}.",
        ],
        panels(lines, found["nonzeros_per_example"]),
    )
