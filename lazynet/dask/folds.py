"""Cross-validation over blocks: a fold is a choice of rows of every block, and no row is copied."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, Future
from numpy.typing import NDArray
from sklearn.base import clone

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.held import BlockFacts, Prepare, facts_of
from lazynet.dask.many import fit_each
from lazynet.dask.ring import Ring
from lazynet.dask.visits import Block
from lazynet.params import check_integer
from lazynet.streams.chunks import Chunk, taken
from lazynet.validation import copied_rows, decisions_of, summed_losses


def rows_of_fold(
    n_rows: int, first: int, number: int, n_folds: int, held_out: bool
) -> NDArray[np.int64]:
    """The rows of a block that a fold holds out, or learns from; its first row is number ``first``.

    >>> rows_of_fold(5, 2, 0, 3, True)
    array([1, 4])
    """
    out = np.arange(first, first + n_rows) % n_folds == number
    return np.flatnonzero(out == held_out)


def chosen_in(
    chunk: Chunk, first: int, number: int, n_folds: int, held_out: bool
) -> NDArray[np.int64]:
    """``rows_of_fold`` on the worker that has the block."""
    return rows_of_fold(chunk.X.shape[0], first, number, n_folds, held_out)


def facts_of_some(chunk: Chunk, rows: NDArray[np.int64]) -> BlockFacts:
    """The facts of some rows of a block."""
    return facts_of(taken(chunk, rows))


class FoldBlocks(Blocks):
    """The rows of blocks that a fold learns from, or holds out.

    Fold k of K holds out the rows whose numbers, counted over all blocks, leave the remainder k
    when they are divided by K.
    """

    def __init__(self, whole: Blocks, number: int, n_folds: int, *, held_out: bool) -> None:
        self.whole, self.client = whole, whole.client
        known, ring = whole.known(), whole.ring
        starts = np.cumsum([0, *(each.tally.n_rows for each in known)]).tolist()
        key = f"lazynet-fold-{uuid.uuid4().hex}"
        chosen = [
            self.client.submit(
                chosen_in, future, start, number, n_folds, held_out,
                key=f"{key}-{k}", pure=False,
            )
            for k, (future, start) in enumerate(zip(ring.futures, starts, strict=False))
        ]  # fmt: skip
        found = ring.gathered(
            self.client.map(facts_of_some, ring.futures, chosen, key=f"{key}-facts", pure=False)
        )
        # A block without rows is no place to visit.
        self._full = [k for k, each in enumerate(found) if each.tally.n_rows]
        self.ring = Ring(
            self.client,
            [ring.names[k] for k in self._full],
            [ring.futures[k] for k in self._full],
        )
        self._chosen = [chosen[k] for k in self._full]
        self._known = [found[k] for k in self._full]

    def known(self) -> list[BlockFacts]:
        return self._known or []

    def _find_features(self) -> int:
        return self.whole.n_features

    def _find_labels(self) -> int | None:
        return self.whole.n_labels

    def prepared(self, prepare: Prepare) -> list[Future]:
        found = self.whole.prepared(prepare)
        return [found[k] for k in self._full]

    def chosen(self) -> list[list[Future]]:
        return [self._chosen]


@dataclass(frozen=True)
class CrossValidation:
    """What ``cross_validate`` has found."""

    #: the mean loss on the rows that were held out: a row per estimator, a column per fold
    losses: NDArray[np.float64]
    #: the estimator with the least mean, by number, fitted to all rows
    best_index: int
    best: Any

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean over the folds of every estimator."""
        return np.asarray(self.losses.mean(axis=1))


def cross_validate(
    estimators: Sequence[Any],
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    n_folds: int = 5,
    client: Client | None = None,
) -> CrossValidation:
    """Judge every estimator by rows that it has not learned from, and fit the best to all rows.

    Every estimator learns once for every fold, without the rows that the fold holds out; all of
    these models follow each other through the blocks.  Row number i, counted over all blocks, is
    held out by fold i modulo ``n_folds``.
    """
    n_folds = check_integer("n_folds", n_folds, 2)
    blocks = as_blocks(X, y, sample_weight, client)
    estimators = list(estimators)
    folds = [
        [FoldBlocks(blocks, k, n_folds, held_out=out) for out in (False, True)]
        for k in range(n_folds)
    ]
    models = [clone(each) for each in estimators for _ in folds]
    fit_each(models, [train for train, _ in folds] * len(estimators), {})
    losses = [
        _judged(model, test)
        for model, (_, test) in zip(models, folds * len(estimators), strict=True)
    ]
    table = np.reshape(blocks.ring.gathered(losses), (len(estimators), n_folds))
    best = int(table.mean(axis=1).argmin())
    return CrossValidation(table, best, estimators[best].fit(blocks))


def _judged(model: Any, test: FoldBlocks) -> Future:
    """The mean loss of a model on the rows of a fold that are held out."""
    client, sent = test.client, test.ring.given(model.to_local())
    prepare = model._lean(model._settle(), getattr(model, "classes_", None))
    held = zip(test.ring.futures, test.prepared(prepare), *test.chosen(), strict=True)
    key = f"lazynet-judge-{uuid.uuid4().hex}"
    sums = [
        client.submit(_losses_on, list(each), sent, key=f"{key}-{k}", pure=False)
        for k, each in enumerate(held)
    ]
    return client.submit(_mean, sums, sum(test.lengths), key=f"lazynet-mean-{uuid.uuid4().hex}")


def _losses_on(held: Sequence[Any], model: Any) -> float:
    block = Block(*held)
    rows, problems = copied_rows(block.rows(), block.order), block.problems().only(block.order)
    plan = model._settle().plan
    softmax = plan.softmax and len(problems) > 1
    return sum(
        summed_losses(decisions, first, problems, plan.loss, softmax)
        for first, decisions in decisions_of(rows, model._engines)
    )


def _mean(sums: Sequence[float], n_rows: int) -> float:
    return sum(sums) / n_rows
