"""``python -m benchmarks large [ROWS]``: fits of one large problem, and their peak memory.

By default 847,000 rows with 359,000 features, 99.9 % of the values zero, in 32-bit floats.  Every
fit runs in a process of its own, which shares the rows; its peak memory has the rows in it.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.programs.cage import caged
from lazynet import DualNetClassifier, LazyNetClassifier
from paper_repro.score import significant
from paper_repro.study import Record

ROWS, FEATURES = 847_000, 359_000
#: Features are FEATURES u^SKEW with u uniform: some are in every row, most in few.  Of DRAWS
#: features of a row about 359 differ.
SKEW, DRAWS = 3, 366
#: The share of the features with a planted weight, and the rows that are generated at once.
PLANTED, CHUNK = 0.01, 5_000
#: The most seconds of a fit.
PATIENCE = 1e5

FITS: dict[str, Callable[[], Any]] = {
    "an epoch online": partial(LazyNetClassifier, max_iter=1, tol=None, random_state=0),
    "LazyNetClassifier()": partial(LazyNetClassifier, random_state=0),
    "DualNetClassifier(tol=1e-3)": partial(DualNetClassifier, tol=1e-3, random_state=0),
}


def main(arguments: Sequence[str]) -> int:
    """Generate the rows, and fit in a process after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks large", description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=ROWS)
    began = time.perf_counter()
    X, y = generated(parser.parse_args(arguments).rows)
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e9
    print(
        f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} nonzeros "
        f"({1.0 - X.nnz / np.prod(X.shape, dtype=float):.2%} zeros), {size:.2f} GB, "
        f"made in {time.perf_counter() - began:.0f} s\n"
        f"{'':28} {'wall':>9} {'processor':>9} {'peak':>8}  result",
        flush=True,
    )
    for name, make in FITS.items():
        record = caged(partial(measured, make, X, y), PATIENCE, 10**11)
        print(f"{name:28} {record.get('told') or record['why']}", flush=True)
    return 0


def generated(rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows of about unit length with skewed features, and labels from a planted model.

    >>> X, y = generated(50)
    >>> X.shape, X.dtype, X.has_canonical_format, np.unique(y)
    ((50, 359000), dtype('float32'), True, array([-1.,  1.]))
    """
    generator = np.random.default_rng(seed)
    order = generator.permutation(FEATURES).astype(np.int32)
    planted = np.where(generator.random(FEATURES) < PLANTED, generator.normal(size=FEATURES), 0)
    columns, values = np.empty(rows * DRAWS, np.int32), np.empty(rows * DRAWS, np.float32)
    starts, y = np.zeros(rows + 1, np.int64), np.empty(rows)
    for first in range(0, rows, CHUNK):
        n = min(CHUNK, rows - first)
        # Sums of exponential gaps are sorted uniform numbers: equal features follow each other.
        sums = np.cumsum(generator.standard_exponential((n, DRAWS + 1), np.float32), axis=1)
        ranks = FEATURES * (sums[:, :-1] / sums[:, -1:]).astype(np.float64) ** SKEW
        found = np.minimum(ranks, FEATURES - 1).astype(np.int32)
        new = np.diff(found, axis=1, prepend=-1) > 0
        ends = np.cumsum(np.r_[0, new.sum(axis=1)])
        sizes = (generator.random(ends[-1], np.float32) + np.float32(0.5)) / np.float32(DRAWS**0.5)
        chunk = sparse.csr_matrix((sizes, order[found[new]], ends), shape=(n, FEATURES))
        chunk.sort_indices()
        starts[first : first + n + 1] = starts[first] + ends
        made = slice(starts[first], starts[first + n])
        columns[made], values[made] = chunk.indices, chunk.data
        noise = 0.1 * generator.normal(size=n)
        y[first : first + n] = np.where(chunk @ planted + noise > 0, 1.0, -1.0)
    # In place: the end that was reserved is cut off without a copy.
    columns.resize(starts[-1], refcheck=False)
    values.resize(starts[-1], refcheck=False)
    X = sparse.csr_matrix((values, columns, starts), shape=(rows, FEATURES))
    X.has_canonical_format = True
    return X, y


def measured(make: Callable[[], Any], X: Any, y: Any) -> Record:
    """Seconds on the wall and of the processor, the peak memory, and the result of a fit."""
    began, used = time.perf_counter(), time.process_time()
    model = make().fit(X, y)
    seconds = time.perf_counter() - began, time.process_time() - used
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9
    wall, processor = (f"{significant(each)} s" for each in seconds)
    told = f"{np.count_nonzero(model.coef_):,} weights, {int(np.max(model.n_iter_))} epochs"
    if hasattr(model, "duality_gap_"):
        told += f", gap {float(np.max(model.duality_gap_)):.1e}"
    return {"told": f"{wall:>9} {processor:>9} {peak:>5.2f} GB  {told}"}
