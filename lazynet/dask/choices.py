"""The rows of blocks on workers as a choice of a penalty by folds asks of them.

A fold is a choice of rows of every block.  No row is copied to be learned from: its visits pass
over the rows that are held out.  To judge a point of a path, a worker copies the rows that the fold
holds out of a block, and the client is told a sum for every block.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from distributed import Future
from numpy.typing import NDArray
from scipy import sparse

from lazynet.choice import Fold, folds_of
from lazynet.dask.blocks import Blocks
from lazynet.dask.checked import check_rows_for_folds
from lazynet.dask.folds import chosen_in, rows_of_fold
from lazynet.dask.held import Prepare, Prepared
from lazynet.dask.minima import (
    MinimiserOnBlocks,
    RowNumbers,
    RowsOnWorkers,
    goes_at_once,
    numbers_of,
    readable,
    rows_on_workers,
)
from lazynet.dask.ring import Ring
from lazynet.dask.visits import Block
from lazynet.dask.waits import Check
from lazynet.estimators.chosen_rows import Make, score_of, summed_loss
from lazynet.losses import Loss
from lazynet.minimise import Minimum
from lazynet.problems import Classes
from lazynet.streams.chunks import Chunk
from lazynet.validation import copied_rows

Vector = NDArray[np.float64]


class NumbersToChoose(RowNumbers):
    """What the client knows of the rows of a block, for a choice among folds."""

    def __init__(self, chunk: Chunk, prepared: Prepared) -> None:
        known = numbers_of(chunk, prepared)
        super().__init__(known.problems, known.squared_norms)
        #: the number of stored values of every row, and the weights that were given
        self.n_values = np.diff(chunk.X.indptr)
        self.weights = chunk.weight

    def only(self, rows: NDArray[np.int64]) -> RowNumbers:
        """The numbers of some of the rows."""
        return RowNumbers(self.problems.only(rows), self.squared_norms[rows])


def judged_by(
    held: Sequence[Any], model: tuple[sparse.csr_matrix, float], number: int, loss: Loss, told: bool
) -> tuple[float, Vector | None]:
    """The summed loss of a model on chosen rows of a block; and its decisions, if ``told``."""
    block, (weights, intercept) = Block(*held), model
    rows = copied_rows(block.rows(), block.order)
    decisions = rows @ readable(weights.toarray()[0]) + intercept
    y, importances = block.problems().only(block.order)[number]
    return summed_loss(loss, decisions, y, importances), decisions if told else None


class BlocksToChoose:
    """``lazynet.estimators.chosen_rows.RowsToChoose`` that lie in blocks on workers."""

    def __init__(
        self, blocks: Blocks, prepare: Prepare, p: SimpleNamespace, classes: NDArray[Any] | None
    ) -> None:
        self.blocks, self.p, self.classes = blocks, p, classes
        self.rows = rows_on_workers(blocks, prepare, classes, NumbersToChoose)
        self.numbers = cast(list[NumbersToChoose], self.rows.numbers)
        #: the number of the first row of every block, and of all rows
        self.starts = np.cumsum([0, *self.rows.lengths]).tolist()
        self.n_problems = self.rows.n_problems
        self.n_models = self.n_problems * p.cv * len(p.grids)
        self._sides: dict[int, _Sides] = {}
        self._lock = threading.Lock()

    @property
    def are_weighted(self) -> bool:
        return any(each.weights is not None for each in self.numbers)

    @property
    def y(self) -> NDArray[Any]:
        """The label or the target of every row."""
        if self.classes is None:
            return self.rows.targets_of(0)
        codes = [cast(Classes, each.problems).codes for each in self.numbers]
        return np.asarray(self.classes[np.concatenate(codes)])

    def folds(self, groups: Any) -> list[Fold]:
        n_rows, n_folds = self.starts[-1], self.p.cv
        check_rows_for_folds(n_folds, n_rows)
        splits = [
            tuple(rows_of_fold(n_rows, 0, k, n_folds, held_out) for held_out in (False, True))
            for k in range(n_folds)
        ]
        # All problems have the same importances.
        problems = [(self.rows.targets_of(0), self.rows.importances)]
        return folds_of(splits, self.y, groups, problems, self.classes)

    def told(self, folds: Sequence[Fold]) -> dict[str, Any]:
        return {"the blocks": [each.told for each in self.blocks.known()]}

    def minimiser(self, number: int, seed: int, check: Check) -> MinimiserOnBlocks:
        return self.minimiser_of(self.rows, number, seed, self.n_problems, check)

    def minimiser_of(
        self, rows: RowsOnWorkers, number: int, seed: int, n_models: int, check: Check
    ) -> MinimiserOnBlocks:
        """What finds minima of a problem over these rows, beside ``n_models`` in all."""
        return MinimiserOnBlocks(
            rows,
            number,
            self.p.loss,
            self.p.fit_intercept,
            np.random.RandomState(seed),
            at_once=goes_at_once(len(rows.held), n_models),
            check=check,
        )

    @contextmanager
    def fold(self, fold: Fold, check: Check) -> Iterator[_FoldOnBlocks]:
        number = int(fold.test[0])
        with self._lock:
            if number not in self._sides:
                self._sides[number] = _Sides(self, number)
        yield _FoldOnBlocks(self, fold, self._sides[number], check)

    def weights_to_judge(self, scored: bool) -> Vector | None:
        if not scored:
            return self.rows.importances
        if not self.are_weighted:
            return None
        pairs = zip(self.numbers, self.rows.lengths, strict=True)
        return np.concatenate(
            [np.ones(n) if each.weights is None else each.weights for each, n in pairs]
        )


class _Sides:
    """The rows of every block that a fold learns from, and those that it holds out."""

    def __init__(self, whole: BlocksToChoose, number: int) -> None:
        self.whole, self.number = whole, number
        rows, ring = whole.rows, whole.rows.ring
        kept, held_out = (self._chosen(out) for out in (False, True))
        numbers = [whole.numbers[k].only(chosen) for k, chosen in kept.items()]
        n_values = sum(int(whole.numbers[k].n_values[chosen].sum()) for k, chosen in kept.items())
        # A block without rows is no place to visit.
        if len(kept) < len(rows.held):
            interrupted = ring.interrupted
            ring = Ring(ring.client, [ring.names[k] for k in kept], [ring.futures[k] for k in kept])
            ring.interrupted = interrupted
        held = self._held([*kept], held_out=False)
        self.train = RowsOnWorkers(ring, held, numbers, rows.n_columns, n_values)
        self.test = self._held([*held_out], held_out=True)

    def _chosen(self, held_out: bool) -> dict[int, NDArray[np.int64]]:
        """The rows of a side by the number of their block, where there are any."""
        whole, found = self.whole, {}
        for k, (first, stop) in enumerate(zip(whole.starts, whole.starts[1:], strict=False)):
            rows = rows_of_fold(stop - first, first, self.number, whole.p.cv, held_out)
            if len(rows):
                found[k] = rows
        return found

    def _held(self, blocks: Sequence[int], *, held_out: bool) -> list[list[Future]]:
        """What a visit finds at these blocks."""
        whole, key = self.whole, f"lazynet-fold-{uuid.uuid4().hex}"
        return [
            [
                *whole.rows.held[k],
                whole.rows.ring.client.submit(
                    chosen_in, whole.rows.held[k][0], whole.starts[k], self.number, whole.p.cv,
                    held_out, key=f"{key}-{k}", pure=False,
                ),
            ]
            for k in blocks
        ]  # fmt: skip


class _FoldOnBlocks:
    """``lazynet.estimators.chosen_rows.FoldToWalk`` of rows in blocks."""

    def __init__(self, rows: BlocksToChoose, fold: Fold, sides: _Sides, check: Check) -> None:
        self.rows, self.fold, self.sides, self.check = rows, fold, sides, check
        weights = rows.rows.importances
        self.total = float(len(fold.test) if weights is None else weights[fold.test].sum())

    def minimiser(self, number: int, seed: int) -> MinimiserOnBlocks:
        rows = self.rows
        return rows.minimiser_of(self.sides.train, number, seed, rows.n_models, self.check)

    def judged(self, number: int, minimum: Minimum) -> _Judged:
        ring, p = self.rows.rows.ring, self.rows.p
        model = ring.given((sparse.csr_matrix(minimum.coef), minimum.intercept))
        key = f"lazynet-judge-{uuid.uuid4().hex}"
        return _Judged(
            [
                ring.client.submit(
                    judged_by, held, model, number, p.loss, p.scoring is not None,
                    key=f"{key}-{k}", pure=False,
                )
                for k, held in enumerate(self.sides.test)
            ]
        )  # fmt: skip

    def losses(self, judged: Sequence[_Judged]) -> list[float]:
        found = []
        for each in judged:
            sums, decisions = zip(
                *self.rows.rows.ring.gathered(each.waiting, self.check), strict=True
            )
            each.waiting = []
            each.decisions = [part for part in decisions if part is not None]
            found.append(sum(sums) / self.total)
        return found

    def score(self, judged: Sequence[_Judged], make: Make) -> float:
        # Scorers ask a model for its predictions alone: a model whose features are the decisions,
        # each with a weight of 1, has the same ones, and the rows stay where they are.
        decisions = np.column_stack([np.concatenate(each.decisions) for each in judged])
        model = make(np.eye(len(judged)), np.zeros(len(judged)))
        rows, test = self.rows, self.fold.test
        weights = rows.weights_to_judge(True)
        given = None if weights is None else weights[test]
        return score_of(rows.p.scoring, model, decisions, rows.y[test], given)


class _Judged:
    """What the blocks say of the rows that are held out, and then the decisions on them."""

    def __init__(self, waiting: list[Future]) -> None:
        self.waiting = waiting
        #: those of every block, if there is a scorer
        self.decisions: list[Vector] = []
