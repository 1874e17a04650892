"""Rows without structure: uniformly drawn columns are the worst case for a cache."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy import sparse

from paper_repro.competitors.base import Problem

#: The scale of the first weights: small beside the gradients, and too large for the penalty to
#: bring a weight to 0 within a turn.
WEIGHT_SIZE = 0.01


def uniform_problem(*, rows: int, features: int, nonzeros: float, seed: int) -> Problem:
    """FoBoS on rows without structure; no weight is 0 at the beginning.

    Rows have length 1 on average, so that no density makes the weights diverge.
    """
    generator = np.random.default_rng(seed)
    X = uniform_rows(generator, rows, features, nonzeros)
    y = np.where(generator.random(rows) < 0.5, -1.0, 1.0)
    # A repeated pattern: drawing a hundred million numbers would take longer than measuring.
    pattern = WEIGHT_SIZE * generator.standard_normal(min(features, 2**16))
    return Problem(X, y, "fobos", np.resize(pattern, features))


def uniform_rows(
    generator: np.random.Generator, rows: int, features: int, nonzeros: float
) -> sparse.csr_matrix:
    """Real values in columns drawn uniformly, ``nonzeros`` of them a row on average."""
    ends = np.rint(nonzeros * np.arange(rows + 1)).astype(np.int64)
    columns = np.empty(ends[-1], dtype=np.int32)
    for start, end in pairwise(ends):
        drawn = generator.choice(features, end - start, replace=False, shuffle=False)
        columns[start:end] = np.sort(drawn)
    values = generator.standard_normal(len(columns)) / math.sqrt(nonzeros)
    return sparse.csr_matrix((values, columns, ends), shape=(rows, features))
