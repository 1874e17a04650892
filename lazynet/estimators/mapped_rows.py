"""Fits that visit the rows in orders of their own learn from a source by mapping it into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from lazynet.data.memory_mapped import mapped
from lazynet.data.source import Source
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
        with in_memory(X, y, sample_weight) as rows:
            return learn(self, *rows, *more)

    return call  # type: ignore[return-value]
