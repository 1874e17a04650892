"""The two curves that describe a corpus: how often words occur, and how many a document has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from paper_repro.documents import word_probabilities
from paper_repro.render import Curves

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


def panels(record: Mapping[str, Any], mean: float) -> list[Curves]:
    """Both curves; the mean of the second one is where the vertical line stands."""
    ranks, shares = record["ranks"], record["shares"]
    seen = [(rank, share) for rank, share in zip(ranks, shares, strict=True) if share > 0]
    edges = np.array(record["length_edges"])
    return [
        Curves(
            "How often a word occurs",
            "rank of the word",
            "share of all words",
            {
                "found": ([rank for rank, _ in seen], [share for _, share in seen]),
                "the law of Zipf and Mandelbrot": (ranks, record["law"]),
            },
        ),
        Curves(
            f"Different words in a row, and their mean, {mean:.1f}",
            "nonzeros",
            "how many rows",
            {"found": (((edges[1:] + edges[:-1]) / 2).tolist(), record["lengths"])},
            log="",
            upright=mean,
        ),
    ]
