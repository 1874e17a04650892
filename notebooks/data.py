"""The generated data that several notebooks share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["planted_rows", "two_touches"]


def two_touches(
    asked: Mapping[int, float] | None = None, *, steps: int = 200, eta: float = 0.1
) -> Iterator[tuple[list[int], list[float], float]]:
    """Examples for a weight between touches: indices, values and target of each step.

    Feature 0 occurs at the steps of ``asked`` (if not given, 0 and 120), whose examples ask weight
    0 to be the number given (0.8); feature 1 occurs in all other examples.

    >>> [indices for indices, _, _ in two_touches({1: 0.5}, steps=3)]
    [[1], [0], [1]]
    """
    asked = {0: 0.8, 120: 0.8} if asked is None else asked
    # With eta x^2 = 1 a step of the squared error goes all the way to what is asked for.
    x = eta**-0.5
    for t in range(steps):
        yield ([0], [x], asked[t] * x) if t in asked else ([1], [1.0], 0.8)


def planted_rows(rows: int, *, features: int = 1_000, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Rows of zeros and ones, labels -1 and +1, and the two kinds of features that decide them.

    A row has 20 ones on average, and features are as unequally frequent as words.  Ten common
    features decide the label, and ten rare ones that weigh three times as much; the others are
    noise.  A part of the labels is wrong, because noise is added to the score.

    >>> X, y, common, rare = planted_rows(100)
    >>> X.shape, len(common), len(rare)
    ((100, 1000), 10, 10)
    """
    # Not at the top: a browser has neither, and needs the function above alone.
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(seed)
    share = np.minimum(0.2, 4 / np.arange(1, features + 1) ** 0.9)
    share *= 20 / share.sum()
    X = sparse.csr_matrix((rng.random((rows, features)) < share) * 1.0)
    common = rng.choice(40, 10, replace=False)
    rare = rng.choice(np.flatnonzero((share > 0.008) & (share < 0.02)), 10, replace=False)
    truth = np.zeros(features)
    truth[common] = rng.choice([-1.0, 1.0], 10)
    truth[rare] = 3 * rng.choice([-1.0, 1.0], 10)
    score = X @ truth + 0.5 * rng.standard_normal(rows)
    return X, np.where(score > np.median(score), 1.0, -1.0), common, rare
