"""A corpus of Medline's shape: Zipf-Mandelbrot words, log-normal lengths, a planted sparse model.

Lipton & Elkan measured on 1,000,000 Medline abstracts with 260,941 features and 88.54 nonzeros
per example on average.  What decides the speed of a sparse learner is exactly that shape: how
many features there are, how many of them one example has, and how often the same ones come
back (which decides what stays in cache).  The generator reproduces the three and streams, so
that the corpus needs little more memory than the matrix it fills.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

MEDLINE_FEATURES = 260_941
MEDLINE_NONZEROS = 88.54

# Mandelbrot's f(r) ~ (r + OFFSET)^-EXPONENT; the values are the ones usually quoted for English.
ZIPF_EXPONENT = 1.07
ZIPF_OFFSET = 2.7
# Spread of the logarithm of a document's length.
LENGTH_SIGMA = 0.45
# The planted model: this share of the vocabulary carries a weight, and labels are flipped
# with this probability.
PLANTED_SHARE = 0.01
LABEL_NOISE = 0.05
_ROWS_PER_BLOCK = 10_000


@dataclass(frozen=True)
class Corpus:
    """Counts in CSR form, labels of -1 and +1, and the seed they were made from."""

    X: sparse.csr_matrix
    y: NDArray[np.float64]
    seed: int

    def describe(self) -> str:
        rows, columns = self.X.shape
        return (
            f"{rows:,} examples x {columns:,} features, "
            f"{self.X.nnz / rows:.2f} nonzeros per example, seed {self.seed}"
        )


def word_probabilities(n_features: int) -> NDArray[np.float64]:
    """Zipf-Mandelbrot probabilities by rank, most frequent first."""
    weights = (np.arange(1, n_features + 1) + ZIPF_OFFSET) ** -ZIPF_EXPONENT
    return weights / weights.sum()


def expected_distinct(probabilities: NDArray[np.float64], n_tokens: float) -> float:
    """How many different words a document of ``n_tokens`` words has on average."""
    return float(-np.expm1(n_tokens * np.log1p(-probabilities)).sum())


def tokens_for(probabilities: NDArray[np.float64], nonzeros: float) -> float:
    """The median document length at which the corpus has ``nonzeros`` distinct words a row."""
    if not 0 < nonzeros < len(probabilities) / 2:
        raise ValueError(
            f"nonzeros must lie between 0 and half of the {len(probabilities)} features, "
            f"got {nonzeros}"
        )
    # The mean over log-normal lengths, by quantiles: lengths vary, and distinct words saturate.
    quantiles = np.exp(LENGTH_SIGMA * _normal_quantiles(33))

    def mean_distinct(median: float) -> float:
        return float(np.mean([expected_distinct(probabilities, median * q) for q in quantiles]))

    low, high = 0.5, 4.0
    while mean_distinct(high) < nonzeros:
        low, high = high, high * 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_distinct(middle) < nonzeros else (low, middle)
    return (low + high) / 2


def medline(
    n_examples: int,
    n_features: int = MEDLINE_FEATURES,
    nonzeros: float = MEDLINE_NONZEROS,
    *,
    seed: int = 0,
    dtype: type = np.float64,
) -> Corpus:
    """Generate ``n_examples`` documents; the same seed gives the same corpus.

    >>> corpus = medline(200, n_features=5_000, nonzeros=20, seed=1)
    >>> corpus.X.shape
    (200, 5000)
    """
    generator = np.random.default_rng(seed)
    probabilities = word_probabilities(n_features)
    cumulative = np.cumsum(probabilities)
    cumulative[-1] = 1.0
    median_tokens = tokens_for(probabilities, nonzeros)
    # A vocabulary is in alphabetical order, not in the order of frequency.
    feature_of_rank = generator.permutation(n_features).astype(np.int64)
    weights = np.zeros(n_features)
    planted = generator.random(n_features) < PLANTED_SHARE
    weights[planted] = generator.standard_normal(int(planted.sum()))

    counts, indices, row_lengths, labels = [], [], [], []
    for start in range(0, n_examples, _ROWS_PER_BLOCK):
        rows = min(_ROWS_PER_BLOCK, n_examples - start)
        spread = np.exp(LENGTH_SIGMA * generator.standard_normal(rows))
        lengths = np.maximum(1, np.rint(median_tokens * spread)).astype(np.int64)
        ranks = np.searchsorted(cumulative, generator.random(int(lengths.sum())), side="right")
        row_of_token = np.repeat(np.arange(rows, dtype=np.int64), lengths)
        keys, repeats = np.unique(
            row_of_token * n_features + feature_of_rank[ranks], return_counts=True
        )
        block_rows, block_columns = np.divmod(keys, n_features)
        margins = np.bincount(block_rows, weights[block_columns] * repeats, minlength=rows)
        flips = generator.random(rows) < LABEL_NOISE
        labels.append(np.where((margins > 0) ^ flips, 1.0, -1.0))
        counts.append(repeats.astype(dtype))
        indices.append(block_columns.astype(np.int32))
        row_lengths.append(np.bincount(block_rows, minlength=rows))
    pointers = np.concatenate([[0], np.cumsum(np.concatenate(row_lengths))])
    X = sparse.csr_matrix(
        (np.concatenate(counts), np.concatenate(indices), pointers.astype(np.int32)),
        shape=(n_examples, n_features),
    )
    return Corpus(X, np.concatenate(labels), seed)


def _normal_quantiles(n: int) -> NDArray[np.float64]:
    from statistics import NormalDist

    normal = NormalDist()
    return np.array([normal.inv_cdf((i + 0.5) / n) for i in range(n)])
