"""The two curves that describe a corpus: how often words occur, and how many a document has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from paper_repro import figures
from paper_repro.documents import word_probabilities

_POINTS = 60
_BINS = 50


def curves(X: sparse.csr_matrix) -> dict[str, list[float]]:
    """The share of each rank in all words, the law of Zipf and Mandelbrot, and nonzeros per row."""
    features = X.shape[1]
    words = np.bincount(X.indices, weights=X.data, minlength=features)
    shares = np.sort(words)[::-1] / words.sum()
    ranks = np.unique(np.geomspace(1, features, _POINTS).astype(int))
    lengths, edges = np.histogram(np.diff(X.indptr), bins=_BINS)
    return {
        "ranks": ranks.tolist(),
        "shares": shares[ranks - 1].tolist(),
        "law": word_probabilities(features)[ranks - 1].tolist(),
        "lengths": lengths.tolist(),
        "length_edges": edges.tolist(),
    }


def draw_curves(record: Mapping[str, Any], mean: float, mean_label: str, unit: str) -> Any:
    """Both curves side by side."""
    figure, (left, right) = figures.new(columns=2, height=3.1)
    ranks, shares = np.array(record["ranks"]), np.array(record["shares"])
    seen = shares > 0
    look = figures.LOOKS["clock"]
    left.loglog(ranks, record["law"], color="0.3", linewidth=1.0, zorder=0)
    left.loglog(ranks[seen], shares[seen], color=look["color"], marker="o", ms=3, linestyle="")
    third = len(ranks) // 3
    left.annotate(
        "the law of Zipf and Mandelbrot",
        (ranks[third], record["law"][third]),
        xytext=(10, 14),
        textcoords="offset points",
        color="0.3",
    )
    left.annotate(
        "found",
        (ranks[third], shares[third]),
        xytext=(-8, -14),
        textcoords="offset points",
        ha="right",
        color=look["color"],
    )
    left.set_title("How often a word occurs")
    left.set_xlabel("rank of the word")
    left.set_ylabel("share of all words")
    right.stairs(record["lengths"], record["length_edges"], fill=True, color="0.75")
    right.axvline(mean, color="black", linewidth=1.0)
    tallest = max(record["lengths"])
    right.set_ylim(0, 1.15 * tallest)
    right.annotate(f" {mean_label}", (mean, 1.09 * tallest), va="center")
    right.set_title(f"Different words in {unit}")
    right.set_xlabel("nonzeros")
    right.set_ylabel("how many")
    return figure
