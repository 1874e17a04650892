"""The search for a minimum over blocks on workers: the sums over rows are made where the rows are.

The client has a few numbers for every row (target, importance, squared norm, dual variable) and a
few for every feature; it sends a block z or the weights, and the dual variables of its rows, and
receives moves and sums.  Every task is a function of a block and of what the client has sent: if a
worker is lost, Dask makes its blocks again elsewhere and repeats its tasks, with the same bits.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, cast

import dask
import numpy as np
from distributed import Future
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.blocks import Blocks
from lazynet.dask.held import Prepare, Prepared
from lazynet.dask.ring import Ring
from lazynet.dask.visits import Block as HeldBlock
from lazynet.dask.waits import Check, nobody_ends_it
from lazynet.data import as_examples, plain
from lazynet.engines.blocks import Block, MeanOverBlocks
from lazynet.engines.mean import MeanLoss, importance_of_rows
from lazynet.importances import check_every_class_counts
from lazynet.losses import Loss
from lazynet.minimise import Minimiser
from lazynet.penalties import ElasticNet
from lazynet.problems import Classes, Problems
from lazynet.rounds import AtOnce, InTurn
from lazynet.searches import Ascent
from lazynet.streams.chunks import Chunk

Vector = NDArray[np.float64]

#: More blocks than this to a model, and the model is trained on all of them at once.  At once a
#: model needs more epochs: on few blocks it gains little, and other models may have the workers
#: that it leaves idle.
BLOCKS_OF_A_MODEL = 3


def goes_at_once(n_blocks: int, n_problems: int) -> bool:
    """Whether a model learns from all blocks at once, where nobody has chosen.

    >>> goes_at_once(4, 1), goes_at_once(3, 1), goes_at_once(4, 2)
    (True, False, False)
    """
    return n_blocks > BLOCKS_OF_A_MODEL * n_problems


def chosen_way(n_blocks: int | None, n: int, n_problems: int) -> bool:
    """Whether a model learns from all ``n`` blocks at once, by the parameter ``n_blocks``."""
    if n_blocks not in (None, 1, n):
        raise ValueError(
            f"n_blocks must be None, 1 or the number of blocks of X, {n}, got {n_blocks}"
        )
    if n_blocks is None:
        return goes_at_once(n, n_problems)
    return n > 1 and n_blocks == n


class RowNumbers:
    """What the client knows of the rows of a block: their problems and squared norms."""

    def __init__(self, problems: Problems, squared_norms: Vector) -> None:
        self.problems, self.squared_norms = problems, squared_norms


def numbers_of(chunk: Chunk, prepared: Prepared) -> RowNumbers:
    """What the client is told of the rows of a block."""
    return RowNumbers(HeldBlock(chunk, prepared).problems(), prepared.squared_norms)


@dataclass(frozen=True)
class Facing:
    """A problem as a block sees it."""

    #: the number of the block, and that of the problem
    number: int
    problem: int
    loss: Loss
    fit_intercept: bool
    #: the sum of the importances of all rows
    total: float
    penalty: ElasticNet

    def block(self, held: Sequence[Any]) -> Block:
        """The block of the problem, from what the worker holds of it."""
        whole = HeldBlock(*held)
        X, (y, importances) = whole.rows(), whole.problems()[self.problem]
        norms = readable(whole.prepared.squared_norms)
        options: dict[str, Any] = {"fit_intercept": self.fit_intercept, "total": self.total}
        mean = MeanLoss(as_examples(X, y, importances), y, importances, self.loss, **options)
        mean.squared_norms = norms
        return Block(self.number, mean, self.penalty)


def readable(value: Any) -> Any:
    """The value with arrays that kernels can read; those from a wire may not be aligned."""
    if isinstance(value, np.ndarray):
        return plain(value, value.dtype)
    if isinstance(value, dict):
        return {name: readable(each) for name, each in value.items()}
    return value


def at_block(
    function: Callable[..., Any],
    facing: Facing,
    held: Sequence[Any],
    items: Sequence[Any],
    shared: dict[str, Any],
) -> Any:
    """A function of a block, on the worker that has it."""
    return function(facing.block(held), *map(readable, items), **readable(shared))


class OnWorkers:
    """``lazynet.engines.blocks.Calls`` of functions of blocks, each on the worker that has it.

    ``check`` raises an error where the fit that calls them is to end.
    """

    def __init__(
        self,
        ring: Ring,
        held: Sequence[Sequence[Future]],
        facing: Sequence[Facing],
        check: Check = nobody_ends_it,
    ) -> None:
        self.ring, self.held, self.facing, self.check = ring, held, facing, check

    def _call(
        self, number: int, owner: str, function: Callable[..., Any], items: Any, shared: Any
    ) -> Future:
        name = f"lazynet-{function.__name__.strip('_')}-block{number}-{uuid.uuid4().hex}"
        # The arrays of a model are large for a task, and there is no other way to send them that
        # outlives a worker.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.ring.client.submit(
                at_block, function, self.facing[number], list(self.held[number]), list(items),
                shared, key=name, pure=False, workers=[owner], allow_other_workers=True,
            )  # fmt: skip

    def each(self, function: Callable[..., Any], *lists: Sequence[Any], **shared: Any) -> list[Any]:
        return [
            self._call(k, owner, function, [items[k] for items in lists], shared)
            for k, owner in enumerate(self.ring.owners(self.check))
        ]

    def pairs(
        self, function: Callable[..., Any], *lists: Sequence[Any], **shared: Any
    ) -> tuple[list[Any], list[Any]]:
        first, second = zip(*self.gathered(self.each(function, *lists, **shared)), strict=True)
        return list(first), list(second)

    def in_turn(
        self, function: Callable[..., Any], first: Any, items: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        value, found = first, []
        for k, owner in enumerate(self.ring.owners(self.check)):
            pair = self._call(k, owner, function, [value, items[k]], {})
            value, own = (
                self.ring.client.submit(
                    itemgetter(part), pair, key=f"lazynet-part-{uuid.uuid4().hex}", pure=False
                )
                for part in range(2)
            )
            found.append(own)
        value, *found = self.gathered([value, *found])
        return value, found

    def gathered(self, results: list[Any]) -> list[Any]:
        return self.ring.gathered(results, self.check)


class MeanElsewhere(MeanLoss):
    """The mean loss of rows that are on workers; what X has no part in is computed here."""

    def __init__(
        self,
        blocks: MeanOverBlocks,
        y: Vector,
        importances: Vector | None,
        squared_norms: Vector,
        n_values: int,
    ) -> None:
        no_columns = sparse.csr_matrix((len(y), 0))
        super().__init__(
            as_examples(no_columns, y, importances),
            y,
            importances,
            blocks.loss,
            fit_intercept=blocks.fit_intercept,
        )
        self.blocks, self._n_values = blocks, n_values
        self.squared_norms = squared_norms
        self._borders = np.cumsum(blocks.lengths)[:-1]

    @property
    def n_columns(self) -> int:
        return self.blocks.n_columns

    @property
    def n_values(self) -> int:
        return self._n_values

    def margins(self, weights: Vector, *, compensated: bool = False) -> Vector:
        found = self.blocks.margins(weights, compensated=compensated)
        return np.concatenate(self.blocks.calls.gathered(found))

    def correlations(self, duals: Vector) -> Vector:
        return self.blocks.correlations(np.split(duals, self._borders))

    def compensated_sums(self, duals: Vector) -> Vector:
        return self.blocks.compensated_sums(np.split(duals, self._borders))


class RowsOnWorkers:
    """The rows of blocks on workers, and what the client knows of them."""

    def __init__(
        self,
        ring: Ring,
        held: Sequence[Sequence[Future]],
        numbers: Sequence[RowNumbers],
        n_columns: int,
        n_values: int,
    ) -> None:
        self.ring, self.held, self.numbers = ring, held, numbers
        self.n_columns, self.n_values = n_columns, n_values
        self.lengths = [len(each.squared_norms) for each in numbers]
        self.n_problems = len(numbers[0].problems)
        self.squared_norms = np.concatenate([each.squared_norms for each in numbers])

    @property
    def importances(self) -> Vector | None:
        """The importance of every row; None where all count the same."""
        if all(each.problems.importances is None for each in self.numbers):
            return None
        return np.concatenate([each.problems.weights for each in self.numbers])

    def targets_of(self, problem: int) -> Vector:
        """The targets of all rows in a problem."""
        return np.concatenate([each.problems.targets_of(problem) for each in self.numbers])


def rows_on_workers(
    blocks: Blocks, prepare: Prepare, classes: NDArray[Any] | None
) -> RowsOnWorkers:
    """The rows, prepared on their workers, and what the client is told of them.

    Refuses a class of which no row counts.
    """
    held = [[*each] for each in zip(blocks.ring.futures, blocks.prepared(prepare), strict=True)]
    numbers = blocks.ring.gathered(
        [blocks.client.submit(numbers_of, *each, pure=False) for each in held]
    )
    rows = RowsOnWorkers(blocks.ring, held, numbers, blocks.n_features, blocks.facts().n_values)
    if classes is not None:
        codes = np.concatenate([cast(Classes, each.problems).codes for each in rows.numbers])
        check_every_class_counts(classes, classes[codes], rows.importances)
    return rows


class MinimiserOnBlocks(Minimiser):
    """Finds the minimum of one problem over rows on workers, by dual ascent.

    ``at_once``: by rounds on all blocks at once; else the model visits one block after the other.
    ``check`` raises an error where the search is to end.
    """

    def __init__(
        self,
        rows: RowsOnWorkers,
        problem: int,
        loss: Loss,
        fit_intercept: bool,
        generator: np.random.RandomState,
        *,
        at_once: bool,
        check: Check = nobody_ends_it,
    ) -> None:
        self._rows, self._problem, self._at_once, self._check = rows, problem, at_once, check
        self._loss, self._fits_intercept = loss, fit_intercept
        y, importances = rows.targets_of(problem), rows.importances
        self._share = 1.0 / importance_of_rows(y, importances)
        # Sums over rows know no penalty.
        mean = MeanElsewhere(
            self._over_blocks(ElasticNet()), y, importances, rows.squared_norms, rows.n_values
        )
        self._set_out(mean, generator)

    def _over_blocks(self, penalty: ElasticNet) -> MeanOverBlocks:
        rows, total = self._rows, 1.0 / self._share
        given = self._problem, self._loss, self._fits_intercept, total, penalty
        facing = [Facing(number, *given) for number in range(len(rows.held))]
        return MeanOverBlocks(
            OnWorkers(rows.ring, rows.held, facing, self._check),
            loss=self._loss,
            fit_intercept=self._fits_intercept,
            share=self._share,
            n_rows=rows.lengths,
            n_columns=rows.n_columns,
        )

    @property
    def _by_rows(self) -> bool:
        return True

    def _ascent(self, penalty: ElasticNet) -> Ascent:
        search = AtOnce if self._at_once else InTurn
        return search(self.mean, self._over_blocks(penalty), penalty, self.generator)
