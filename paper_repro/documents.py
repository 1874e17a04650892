"""Documents to measure on: generated ones of Medline's shape, or those of an svmlight file.

Lipton & Elkan measured on 1,000,000 Medline abstracts with 260,941 features and 88.54 nonzeros
per example on average.  Three properties decide the speed of a sparse learner: the number of
features, the number of nonzeros of an example, and how often a feature comes back, which decides
what stays in cache.  The generator reproduces the three: words follow the law of Zipf and
Mandelbrot, lengths are log-normal, labels come from a planted sparse model.  The generator fills
the matrix in place, block by block, so that it needs little more memory than the matrix.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import ndtri
from sklearn.datasets import load_svmlight_file

from lazynet.data.files import texts_of
from paper_repro.damaged import DamagedFile, told_of
from paper_repro.machine import memory_shortage
from paper_repro.published import FEATURES, NONZEROS
from paper_repro.study import Settings

# Mandelbrot's f(r) ~ (r + OFFSET)^-EXPONENT with the values usually quoted for English, the
# exponent rounded to 1 + 1/16: its powers are square roots of square roots.  Every machine computes
# square roots to the same bit, so that the same seed gives the same corpus on every machine.
ZIPF_EXPONENT = 1.0625
ZIPF_OFFSET = 2.7
# Spread of the logarithm of a document's length.
LENGTH_SIGMA = 0.45
# The planted model: this share of the vocabulary carries a weight, but not the most frequent
# words, which every document has; labels are flipped with this probability.
PLANTED_SHARE = 0.1
STOP_WORDS = 0.001
LABEL_NOISE = 0.05
FEWEST_NONZEROS = 3
_ROWS_PER_BLOCK = 2_000
# Arrays of doubles as long as the features that a study needs at least.
_VECTORS = 4
_REMEDY = (
    "give a whole text file with lines like '1 3:0.5 17:2', packed if its name ends in .gz or .bz2"
)


@dataclass(frozen=True)
class Corpus:
    """Counts in CSR form, labels of -1 and +1, and the origin of the rows."""

    X: sparse.csr_matrix
    y: NDArray[np.float64]
    origin: str
    #: the label of a file that became +1; all other labels became -1
    label: str | None = None

    def statistics(self) -> dict[str, Any]:
        """The shape in numbers, as JSON can hold them."""
        rows, columns = self.X.shape
        per_row = np.diff(self.X.indptr)
        documents = np.sort(np.bincount(self.X.indices, minlength=columns))[::-1]
        return {
            "origin": self.origin,
            "examples": rows,
            "features": columns,
            "nonzeros": int(self.X.nnz),
            "nonzeros_per_example": self.X.nnz / rows,
            "nonzeros_deviation": float(per_row.std()),
            "nonzeros_range": [int(per_row.min()), int(per_row.max())],
            "features_per_nonzero": columns * rows / self.X.nnz,
            "features_seen": int(np.count_nonzero(documents)),
            "share_of_top_percent": float(documents[: max(1, columns // 100)].sum() / self.X.nnz),
            "largest_value": float(self.X.data.max()),
            "positive_share": float((self.y > 0).mean()),
            "bytes": self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes,
        }


def word_probabilities(n_features: int) -> NDArray[np.float64]:
    """Zipf-Mandelbrot probabilities by rank, most frequent first."""
    shifted = np.arange(1, n_features + 1) + ZIPF_OFFSET
    sixteenth_root = np.sqrt(np.sqrt(np.sqrt(np.sqrt(shifted))))
    weights = 1.0 / (shifted * sixteenth_root)
    # Summed one by one: the order of np.sum differs between machines.
    return weights / np.cumsum(weights)[-1]


def expected_distinct(probabilities: NDArray[np.float64], n_tokens: float) -> float:
    """How many different words a document of ``n_tokens`` words has on average."""
    return float(-np.expm1(n_tokens * np.log1p(-probabilities)).sum())


def tokens_for(probabilities: NDArray[np.float64], nonzeros: float) -> float:
    """The median document length at which the corpus has ``nonzeros`` distinct words a row."""
    # With fewer nonzeros, documents of one word or more would have too many words on average.
    if not FEWEST_NONZEROS <= nonzeros < len(probabilities) / 2:
        raise ValueError(
            f"nonzeros must lie between {FEWEST_NONZEROS} and half of the {len(probabilities)} "
            f"features, got {nonzeros}"
        )
    # The mean over the log-normal lengths by Gauss-Hermite quadrature.
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    factors, shares = np.exp(LENGTH_SIGMA * nodes), weights / weights.sum()

    def mean_distinct(median: float) -> float:
        return float(
            sum(
                share * expected_distinct(probabilities, median * factor)
                for share, factor in zip(shares, factors, strict=True)
            )
        )

    high = 4.0
    while mean_distinct(high) < nonzeros:
        high *= 2
    median = brentq(lambda length: mean_distinct(length) - nonzeros, 0.5, high, xtol=1e-12)
    # Rounded, so that the last bits of exp and log, which differ between machines, do not count.
    return round(median, 6)


def medline(
    n_examples: int,
    n_features: int = FEATURES,
    nonzeros: float = NONZEROS,
    *,
    seed: int = 0,
) -> Corpus:
    """Generate ``n_examples`` documents; the same seed gives the same corpus on any machine.

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
    planted[feature_of_rank[: int(np.ceil(STOP_WORDS * n_features))]] = False
    weights[planted] = generator.standard_normal(int(planted.sum()))
    # What an average document has: about half of the labels are +1.
    mean_tokens = median_tokens * np.exp(LENGTH_SIGMA**2 / 2)
    threshold = mean_tokens * float(probabilities @ weights[feature_of_rank])

    filling = _Filling(n_examples, int(n_examples * nonzeros))
    labels = np.empty(n_examples)
    for start in range(0, n_examples, _ROWS_PER_BLOCK):
        rows = min(_ROWS_PER_BLOCK, n_examples - start)
        lengths = _lengths(generator, rows, median_tokens)
        ranks = np.searchsorted(cumulative, generator.random(int(lengths.sum())), side="right")
        row_of_token = np.repeat(np.arange(rows, dtype=np.int64), lengths)
        keys, counts = np.unique(
            row_of_token * n_features + feature_of_rank[ranks], return_counts=True
        )
        block_rows, columns = np.divmod(keys, n_features)
        filling.add(counts, columns, np.bincount(block_rows, minlength=rows))
        margins = np.bincount(block_rows, weights[columns] * counts, minlength=rows)
        flips = generator.random(rows) < LABEL_NOISE
        labels[start : start + rows] = np.where((margins > threshold) ^ flips, 1.0, -1.0)
    return Corpus(filling.matrix(n_features), labels, f"generated from seed {seed}")


@lru_cache(maxsize=1)
def from_settings(settings: Settings) -> Corpus:
    """The rows of a study: the file in the settings, or the generated corpus."""
    if settings.data is not None:
        return from_svmlight(settings.data, settings.label)
    return medline(settings.examples, settings.features, settings.nonzeros, seed=settings.seed)


def from_svmlight(path: str | Path, label: str | None = None) -> Corpus:
    """The rows of a file in svmlight form; rows with ``label`` get +1, all others -1.

    By default ``label`` is the greater one of two labels, and of more labels the one whose share is
    nearest to half of the rows.  The lines may begin with several labels, separated by commas.
    """
    X, targets = read_svmlight(Path(path))
    names = sorted({name for row in targets for name in row})
    if problem := _unfit(X, names):
        raise DamagedFile(path, problem, _REMEDY)
    if label is None:
        counts = {name: sum(name in row for row in targets) for name in names}
        chosen = (
            names[-1]
            if len(names) == 2
            else min(names, key=lambda name: (abs(counts[name] - len(targets) / 2), -counts[name]))
        )
    else:
        try:
            chosen = float(label)
        except ValueError:
            raise ValueError(f"label must be a number, got {label!r}") from None
    if chosen not in names:
        raise ValueError(
            f"label must be one of the {len(names)} in {Path(path).name} "
            f"({', '.join(f'{name:g}' for name in names[:10])}, ...), got {label}"
        )
    y = np.array([1.0 if chosen in row else -1.0 for row in targets])
    return Corpus(X, y, f"{Path(path).name}, label {chosen:g} against the rest", f"{chosen!r}")


def read_svmlight(path: Path) -> tuple[sparse.csr_matrix, list[tuple[float, ...]]]:
    """The rows of a file, and the labels or the number at the beginning of every line."""
    with told_of(path, _REMEDY):
        # Python's bz2 ignores what is damaged behind a whole stream.
        with open(path, "rb") as file:
            try:
                deque(texts_of(file, str(path)), 0)
            except ValueError as error:
                raise DamagedFile(
                    path, f"cannot be unpacked: {error.__cause__}", _REMEDY
                ) from error
        try:
            X, y = load_svmlight_file(str(path))
        except (ValueError, OverflowError) as error:
            try:
                X, several = load_svmlight_file(str(path), multilabel=True)
            except (ValueError, OverflowError):
                # The error may quote a whole line, and in a binary file lines are long.
                problem = f"is not an svmlight file: {str(error)[:100]}"
                raise DamagedFile(path, problem, _REMEDY) from error
            return X, [tuple(row) for row in several]
    return X, [(float(value),) for value in y]


def _unfit(X: sparse.csr_matrix, labels: list[float]) -> str | None:
    """What is wrong with these rows, or None."""
    if not X.shape[0]:
        return "there is no row in it"
    if not X.count_nonzero():
        return "there must be features that are not zero"
    if not np.isfinite(X.data).all():
        return "features must be finite, found NaN or infinity"
    if not np.isfinite(labels).all():
        return "labels must be finite, found NaN or infinity"
    if len(labels) < 2:
        return f"there must be two labels or more, found {labels}"
    if shortage := memory_shortage(_VECTORS * 8 * X.shape[1]):
        return f"its features have numbers up to {X.shape[1]:,}: {shortage}"
    return None


def _lengths(generator: np.random.Generator, rows: int, median: float) -> NDArray[np.int64]:
    """Log-normal lengths, one from each of ``rows`` equally likely intervals, in random order.

    Independent draws would let the average of a small corpus wander by percents.
    """
    uniform = (generator.permutation(rows) + generator.random(rows)) / rows
    lengths = np.rint(median * np.exp(LENGTH_SIGMA * ndtri(uniform)))
    return np.maximum(1, lengths).astype(np.int64)


class _Filling:
    """The three arrays of a CSR matrix while they grow, with room reserved ahead."""

    def __init__(self, n_rows: int, expected: int) -> None:
        # Memory that is reserved but not written costs nothing where the system pages.
        room = expected + expected // 50 + 1000
        self.values = np.empty(room)
        self.columns = np.empty(room, dtype=np.int32)
        self.starts = np.zeros(n_rows + 1, dtype=np.int64)
        self.used = 0
        self.rows = 0

    def add(self, values: NDArray[Any], columns: NDArray[Any], per_row: NDArray[Any]) -> None:
        stop = self.used + len(values)
        if stop > len(self.values):
            self._resize(stop + stop // 10)
        self.values[self.used : stop] = values
        self.columns[self.used : stop] = columns
        rows = self.rows + len(per_row)
        self.starts[self.rows + 1 : rows + 1] = self.used + np.cumsum(per_row)
        self.used, self.rows = stop, rows

    def matrix(self, n_features: int) -> sparse.csr_matrix:
        self._resize(self.used)
        index_type = np.int32 if self.used <= np.iinfo(np.int32).max else np.int64
        X = sparse.csr_matrix((self.rows, n_features), dtype=self.values.dtype)
        X.data = self.values
        X.indices = self.columns.astype(index_type, copy=False)
        X.indptr = self.starts.astype(index_type)
        X.has_canonical_format = True
        return X

    def _resize(self, size: int) -> None:
        # In place: the system moves pages, or cuts the end off, without a second copy.
        self.values.resize(size, refcheck=False)
        self.columns.resize(size, refcheck=False)
