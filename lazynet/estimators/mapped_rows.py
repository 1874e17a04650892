"""Fits that visit the rows in orders of their own learn from a source by mapping it into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.memory_mapped import mapped
from lazynet.data.source import ROWS, Chunks, Source
from lazynet.training.held_out import copied_rows
from lazynet.training.stream_rows import check_alone

Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def in_memory(X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """X, y and the weights that were passed, or those of a source, mapped into memory."""
    if not isinstance(X, Source):
        yield X, y, sample_weight
        return
    check_alone(y, sample_weight)
    if X.n_labels is not None:
        raise ValueError(
            "y must have one class or one number for every row, and the rows of the source have "
            "several labels: LazyNetClassifier learns all labels in one pass"
        )
    with mapped(X) as rows:
        yield rows.X, rows.y, rows.weight


def takes_sources(learn: Method) -> Method:
    """Let a method that trains with ``X, y, sample_weight, ...`` take a source as X."""

    @wraps(learn)
    def call(self: Any, X: Any, y: Any, sample_weight: Any, *more: Any) -> Any:
        if not isinstance(X, Source):
            return learn(self, X, y, sample_weight, *more)
        self.__dict__["_rows_are_mapped"] = True
        try:
            with in_memory(X, y, sample_weight) as given:
                return learn(self, *given, *more)
        finally:
            del self.__dict__["_rows_are_mapped"]

    return call  # type: ignore[return-value]


def rows_of(
    X: sparse.csr_matrix, rows: NDArray[np.int64], *, mapped: bool
) -> AbstractContextManager[sparse.csr_matrix]:
    """Some rows of X as a matrix of their own: a copy in memory, or in temporary files.

    >>> with rows_of(sparse.csr_matrix([[1.0], [2.0], [3.0]]), np.array([2, 0]), mapped=True) as X:
    ...     X.toarray().tolist()
    [[3.0], [1.0]]
    """
    return _on_disk(X, rows) if mapped else nullcontext(X[rows])


@contextmanager
def _on_disk(X: sparse.csr_matrix, rows: NDArray[np.int64]) -> Iterator[sparse.csr_matrix]:
    def chunks() -> Iterator[tuple[sparse.csr_matrix, NDArray[np.float64]]]:
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            yield copied_rows(X, some), np.zeros(len(some))

    with mapped(Chunks(chunks)) as result:
        yield result.X
