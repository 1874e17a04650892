"""Several estimators that learn from the same blocks at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from distributed import Client

from lazynet.dask.blocks import as_blocks


def fit_all(
    estimators: Sequence[Any],
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    client: Client | None = None,
    **options: Any,
) -> list[Any]:
    """Fit every estimator; they follow each other through the blocks, which are made once.

    With as many estimators as workers every worker is busy.  Each has the bits of a fit of its own.
    ``options`` are handed to every ``fit``.  A fit that fails leaves its estimator as it was; the
    others end, and then its error is raised.
    """
    blocks = as_blocks(X, y, sample_weight, client)
    blocks.known()
    estimators = list(estimators)
    if not estimators:
        return []
    with ThreadPoolExecutor(len(estimators), "lazynet fit") as pool:
        fits = [pool.submit(each.fit, blocks, **options) for each in estimators]
        try:
            found = [each.exception() for each in fits]
        except BaseException:
            # Ctrl-C: the fits end at once, and leave their estimators as they were.
            blocks.ring.interrupted.set()
            wait(fits)
            blocks.ring.interrupted.clear()
            raise
    for number, error in enumerate(found):
        if error is not None:
            error.add_note(f"estimator {number} of {len(found)}: {estimators[number]!r}")
            raise error
    return estimators
