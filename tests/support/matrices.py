"""Sparse matrices with targets, made from a seed."""

import numpy as np
from scipy import sparse

from lazynet.data import Chunks
from lazynet.data.arrays import as_examples
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.examples import STATUS_BAD_ROW


def corpus(n_rows=400, d=700, density=0.3, seed=0):
    """Rows longer than every vector, block and chunk of the kernels, and some short ones."""
    generator = np.random.default_rng(seed)
    long = sparse.random(n_rows // 2, d, density=density, random_state=seed)
    short = sparse.random(n_rows // 2, d, density=0.01, random_state=seed + 1)
    X = sparse.vstack([long, short]).tocsr()[generator.permutation(n_rows)]
    X.sort_indices()
    return X, np.where(generator.random(n_rows) < 0.5, -1.0, 1.0)


def make_data(n=60, d=25, n_classes=2, seed=0, density=0.3):
    """Sparse rows, and classes or numbers that depend on them."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density=density, format="csr", random_state=seed)
    X.data = rng.standard_normal(len(X.data))
    scores = X @ rng.standard_normal((d, max(n_classes - 1, 1))) + 0.1
    if n_classes == 0:
        return X, scores.ravel()
    return X, np.column_stack([np.zeros(n), scores]).argmax(axis=1)


def noisy_data(n_classes=2, n=90):
    """Sparse rows with noisy targets."""
    X, y = make_data(n=n, d=20, n_classes=n_classes)
    generator = np.random.default_rng(1)
    if n_classes == 0:
        return X, y + generator.normal(0, 1, n)
    return X, np.where(generator.random(n) < 0.2, generator.integers(0, n_classes, n), y)


def categories(n=1000, columns=6, values=100, seed=0):
    """Rows with one of many categories in every column, which tell a little about the class."""
    rng = np.random.default_rng(seed)
    chosen = rng.zipf(1.3, (n, columns)) % values + values * np.arange(columns)
    starts = np.arange(0, chosen.size + 1, columns)
    X = sparse.csr_matrix(
        (np.ones(chosen.size), chosen.ravel(), starts), shape=(n, columns * values)
    )
    margins = 0.5 * X @ rng.standard_normal(columns * values)
    return X, (rng.random(n) < 1 / (1 + np.exp(-margins))).astype(int)


def noisy_documents(n=200, d=2_000, seed=0):
    """Rows that are no table, and labels that nothing tells."""
    random = np.random.RandomState(seed)
    X = sparse.random(n, d, density=0.02, format="csr", random_state=seed)
    return X, random.randint(0, 2, n)


def reversed_rows(X):
    """A copy of the matrix with the columns of every row from the last to the first."""
    return with_rows_arranged(X, lambda length: np.arange(length)[::-1])


def shuffled_rows(X, seed=0):
    """A copy of the matrix with the columns of every row in a random order."""
    return with_rows_arranged(X, np.random.default_rng(seed).permutation)


def with_rows_arranged(X, arrangement):
    """A copy of the matrix; ``arrangement(n)`` says where each of the n entries of a row is from.

    The flags by which SciPy remembers that columns are in order are set anew.
    """
    other = X.copy()
    for start, stop in zip(X.indptr, X.indptr[1:], strict=False):
        places = start + arrangement(stop - start)
        other.indices[start:stop], other.data[start:stop] = X.indices[places], X.data[places]
    other.has_sorted_indices = other.has_canonical_format = False
    return other


def rows_without_ties(seed, n=40, d=25, density=0.25, informative=5):
    """Values without ties, so that rounding decides nothing; some zeros are stored."""
    generator = np.random.default_rng(seed)
    dense = np.where(generator.random((n, d)) < density, generator.standard_normal((n, d)), 0.0)
    dense[:, -2:] = 0.0  # features that never occur
    y = np.where(dense[:, :informative].sum(axis=1) + 0.1 > 0, 1.0, -1.0)
    X = sparse.csr_matrix(dense)
    X.data[generator.random(X.nnz) < 0.1] = 0.0
    return X, y


def rows_of_signs(seed, n=60, d=30):
    """Values and targets -1 and 1, which make many weights equal, each rounded in its own way."""
    generator = np.random.default_rng(seed)
    X = sparse.random(n, d, density=0.2, format="csr", random_state=seed)
    X.data = generator.choice([-1.0, 1.0], len(X.data))
    return X, generator.choice([-1.0, 1.0], n)


def compact_rows(X, places=None, *, in_place=False):
    """The rows as the solver keeps them; column j has the number ``places[j]``, or leaves."""
    examples, (n, d) = as_examples(X), X.shape
    places = np.arange(d, dtype=np.int32) if places is None else places
    kept, done = int(places.max(initial=-1)) + 1, 0
    rows = CompactRows(n, kept, X.nnz, examples if in_place else None)
    while done < n:
        status, done = rows.copy(examples, places, np.zeros(kept))
        assert status != STATUS_BAD_ROW
    return rows


def source_of(X, y, weights=None, rows=50):
    """The rows in chunks of ``rows`` rows."""

    def chunks():
        for start in range(0, X.shape[0], rows):
            chunk = slice(start, start + rows)
            part = X[chunk], y[chunk]
            yield part if weights is None else (*part, weights[chunk])

    return Chunks(chunks)
