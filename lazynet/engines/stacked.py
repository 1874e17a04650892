"""The weights of several engines as one matrix, with a row for every output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import read_only
from lazynet.data.statistics import Units
from lazynet.engines.base import Engine
from lazynet.engines.threads import Workers


def outputs_of(engines: Sequence[Engine]) -> int:
    return sum(engine.n_outputs for engine in engines)


def stacked_coefficients(
    engines: Sequence[Engine], units: Units | None, last: bool = False
) -> NDArray[np.float64]:
    """The weights that predict, or the last weights: a row for every output, read-only.

    They are the weights of features as passed; the engines have learned in ``units``.
    """
    coefficients = np.empty((outputs_of(engines), engines[0].n_features))
    first = 0
    for engine in engines:
        rows = coefficients[first : first + engine.n_outputs]
        engine.coefficients(out=rows, last=last)
        first += engine.n_outputs
    if units is not None:
        coefficients = units.weights(coefficients)
    return read_only(coefficients)


def stacked_sparse_coefficients(
    engines: Sequence[Engine], units: Units | None, workers: Workers | None = None
) -> sparse.csr_matrix:
    """The stacked coefficients as a read-only CSR matrix; ``workers`` share the engines."""
    workers = Workers(1) if workers is None else workers
    parts = workers.map(lambda engine: engine.sparse_coefficients(), engines)
    rows = sparse.vstack(parts, format="csr")
    if units is not None:
        rows.data /= units.sizes[rows.indices]
        if units.targets is not None:
            rows.data *= np.repeat(units.targets, np.diff(rows.indptr))
    return read_only(rows)


def intercepts_of(
    engines: Sequence[Engine], units: Units | None, last: bool = False
) -> NDArray[np.float64]:
    """The intercepts that belong to ``stacked_coefficients``."""
    intercepts = np.concatenate([engine.intercepts(last=last) for engine in engines])
    if units is None:
        return intercepts
    rows = np.vstack([engine.coefficients(units.moved, last=last) for engine in engines])
    result = units.intercept(units.weights(rows, units.moved), intercepts)
    return np.asarray(result, dtype=np.float64)


def load_all(
    engines: Sequence[Engine],
    rows: NDArray[np.float64],
    offsets: NDArray[np.float64],
    units: Units | None,
) -> None:
    """Let the engines, which learn in ``units``, start from a model of rows as passed."""
    rows, offsets = (rows, offsets) if units is None else units.within(rows, offsets)
    first = 0
    for engine in engines:
        part = slice(first, first + engine.n_outputs)
        engine.load(rows[part], offsets[part])
        first += engine.n_outputs
