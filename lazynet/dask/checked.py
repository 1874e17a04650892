"""The checked rows of a block and their problems, for estimators that learn one target or class."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.blocks import Blocks
from lazynet.dask.held import Prepare
from lazynet.estimators.from_sources import balanced_for
from lazynet.importances import Balanced, check_any_counts, check_sample_weight, importances
from lazynet.problems import Problems
from lazynet.streams.chunks import Chunk


def checked_rows(
    probe: Any, class_weight: Any, classes: NDArray[Any] | None, chunk: Chunk
) -> tuple[sparse.csr_matrix, Problems]:
    """The checked rows of a chunk and their problems."""
    if classes is None:
        X, y = probe._check_training(chunk.X, chunk.y, reset=False)
        weights = check_sample_weight(chunk.weight, X, some_rows=True)
        return X, probe._problems(X, y, weights)
    X, y, _ = probe._check_training(chunk.X, chunk.y, classes, reset=False)
    weights = importances(class_weight, classes, X, y, chunk.weight, some_rows=True)
    return X, probe._problems(X, (y, classes), weights)


def checks_of(
    serial: type[Any], p: SimpleNamespace, classes: NDArray[Any] | None, blocks: Blocks
) -> Prepare:
    """``checked_rows`` as workers are sent it: with a serial estimator that has no model."""
    probe = serial()
    probe.n_features_in_ = blocks.n_features
    return partial(checked_rows, probe, getattr(p, "class_weight", None), classes)


def check_one_target(blocks: Blocks) -> None:
    """Refuse blocks without a row that counts, and rows of several labels."""
    facts = blocks.facts()
    if not facts.n_rows:
        raise ValueError("X must have at least one row, and the blocks have none")
    if facts.n_labels is not None:
        raise ValueError(
            "y must have one class or one number for every row, and the rows have several "
            "labels: LazyNetClassifier learns all labels in one pass"
        )
    if not any(each.counts for each in blocks.known()):
        check_any_counts(np.zeros(1))


def classes_in(p: SimpleNamespace, blocks: Blocks) -> NDArray[Any]:
    """The classes of the rows; weights that balance them are settled."""
    classes = blocks.facts().classes
    if classes is None or len(classes) < 2:
        found = "numbers" if classes is None else f"the class {classes}"
        raise ValueError(f"y must have at least two classes, and the blocks have {found}")
    weights = getattr(p, "class_weight", None)
    if isinstance(weights, Balanced) and weights.class_counts is None:
        p.class_weight = balanced_for(blocks)
    return np.array(classes)
