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
from lazynet.engines.dual import DualAscent, shuffled
from lazynet.engines.mean import MeanLoss, importance_of_rows
from lazynet.importances import check_every_class_counts
from lazynet.kernels.dual import INTERCEPT_Z_FIELD
from lazynet.losses import Loss
from lazynet.minimise import Minimiser
from lazynet.penalties import ElasticNet
from lazynet.problems import Classes, Problems
from lazynet.searches import Ascent, Place
from lazynet.streams.chunks import Chunk

Vector = NDArray[np.float64]


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

    def mean(self, held: Sequence[Any]) -> MeanLoss:
        """The mean loss of the rows of the block, from what the worker holds of it."""
        whole = HeldBlock(*held)
        X, (y, importances) = whole.rows(), whole.problems()[self.problem]
        options: dict[str, Any] = {"fit_intercept": self.fit_intercept, "total": self.total}
        mean = MeanLoss(as_examples(X, y, importances), y, importances, self.loss, **options)
        mean.squared_norms = readable(whole.prepared.squared_norms)
        return mean


def readable(value: Any) -> Any:
    """The value with arrays that kernels can read; those from a wire may not be aligned."""
    if isinstance(value, np.ndarray):
        return plain(value, value.dtype)
    if isinstance(value, dict):
        return {name: readable(each) for name, each in value.items()}
    return value


# --- what a block computes, on the worker that has it -------------------------------------------

#: The part of a model that moves from block to block: named arrays.  ``z``: a number per feature.
#: ``scalars``: z_b, kappa, kappa_b, l1, l2.  ``position``: the seed of the random orders, and the
#: epoch.
Travelling = dict[str, NDArray[Any]]


def order_of(number: int, position: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """The order of the rows of a block: from the seed, the epoch and the block alone.

    >>> sorted(order_of(0, np.array([7, 3]), 4).tolist())
    [0, 1, 2, 3]
    """
    seed = np.random.SeedSequence([*position.tolist(), number])
    return shuffled(n_rows, np.random.RandomState(np.random.MT19937(seed)))


def visited(
    mean: MeanLoss, number: int, model: Travelling, duals: Vector
) -> tuple[Travelling, Vector]:
    """Take a step of dual ascent on every row of a block, once; the arguments do not change.

    >>> from lazynet.losses import get_loss
    >>> X, y = sparse.csr_matrix([[1.0]]), np.array([3.0])
    >>> rows = as_examples(X, y)
    >>> mean = MeanLoss(rows, y, None, get_loss("squared_error"), fit_intercept=False, total=2.0)
    >>> model = {
    ...     "z": np.zeros(1),
    ...     "scalars": np.array([0.0, 1.0, 0.0, 0.5, 0.0]),
    ...     "position": np.array([0, 0]),
    ... }
    >>> model, duals = visited(mean, 0, model, np.zeros(1))
    >>> duals, model["z"]  # the maximum of 3 a - a^2/2 - a^2/4, and half of it
    (array([2.]), array([1.]))
    """
    z_intercept, kappa, kappa_intercept, l1, l2 = model["scalars"].tolist()
    ascent = DualAscent(mean, ElasticNet(l1, l2), kappa, kappa_intercept)
    ascent.z, ascent.duals = model["z"].copy(), duals.copy()
    ascent.fields[INTERCEPT_Z_FIELD] = z_intercept
    ascent.take(order_of(number, model["position"], mean.n_rows))
    scalars = model["scalars"].copy()
    scalars[0] = ascent.fields[INTERCEPT_Z_FIELD]
    return {**model, "z": ascent.z, "scalars": scalars}, ascent.duals


def _margins(mean: MeanLoss, _: int, weights: Vector, compensated: bool) -> Vector:
    return mean.margins(weights, compensated=compensated)


def _correlations(mean: MeanLoss, _: int, duals: Vector) -> Vector:
    return mean.correlations(duals)


def _compensated_sums(mean: MeanLoss, _: int, duals: Vector) -> NDArray[np.float64]:
    return mean.compensated_sums(duals)


def at_block(
    function: Callable[..., Any], facing: Facing, held: Sequence[Any], given: Sequence[Any]
) -> Any:
    """A function of the mean loss of a block and its number, on the worker that has the block."""
    return function(facing.mean(held), facing.number, *map(readable, given))


class OnWorkers:
    """Calls of functions of blocks, each on the worker that has the block.

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
        self, number: int, owner: str, function: Callable[..., Any], given: Sequence[Any]
    ) -> Future:
        name = f"lazynet-{function.__name__.strip('_')}-block{number}-{uuid.uuid4().hex}"
        # The arrays of a model are large for a task, and there is no other way to send them that
        # outlives a worker.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.ring.client.submit(
                at_block, function, self.facing[number], list(self.held[number]), list(given),
                key=name, pure=False, workers=[owner], allow_other_workers=True,
            )  # fmt: skip

    def each(self, function: Callable[..., Any], given: Sequence[Sequence[Any]]) -> list[Any]:
        """The results of all blocks, in their order; ``given`` has the arguments for each block."""
        owners = self.ring.owners(self.check)
        return self.gathered(
            [self._call(k, owner, function, given[k]) for k, owner in enumerate(owners)]
        )

    def in_turn(self, model: Travelling, duals: list[Vector]) -> tuple[Travelling, list[Vector]]:
        """Let a model visit one block after the other; the duals stay with their blocks."""
        value: Any = model
        found = []
        for k, owner in enumerate(self.ring.owners(self.check)):
            pair = self._call(k, owner, visited, [value, duals[k]])
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


# --- what the client computes --------------------------------------------------------------------


class MeanElsewhere(MeanLoss):
    """The mean loss of rows that are on workers; what X has no part in is computed here."""

    def __init__(
        self,
        calls: OnWorkers,
        lengths: Sequence[int],
        y: Vector,
        importances: Vector | None,
        squared_norms: Vector,
        shape: tuple[int, int],
        loss: Loss,
        fit_intercept: bool,
    ) -> None:
        no_columns = as_examples(sparse.csr_matrix((len(y), 0)), y, importances)
        super().__init__(no_columns, y, importances, loss, fit_intercept=fit_intercept)
        self.calls, self.squared_norms = calls, squared_norms
        self._n_columns, self._n_values = shape
        self._borders = np.cumsum(lengths)[:-1]

    @property
    def n_columns(self) -> int:
        return self._n_columns

    @property
    def n_values(self) -> int:
        return self._n_values

    def by_blocks(self, numbers: Vector) -> list[Vector]:
        """Numbers of all rows, a part for each block."""
        return np.split(numbers, self._borders)

    def margins(self, weights: Vector, *, compensated: bool = False) -> Vector:
        n_blocks = len(self._borders) + 1
        return np.concatenate(self.calls.each(_margins, [(weights, compensated)] * n_blocks))

    def correlations(self, duals: Vector) -> Vector:
        given = [(part,) for part in self.by_blocks(duals)]
        return sum(self.calls.each(_correlations, given), np.zeros(self.n_columns))

    def compensated_sums(self, duals: Vector) -> NDArray[np.float64]:
        found = np.zeros((self.n_columns, 2))
        given = [(part,) for part in self.by_blocks(duals)]
        for part in self.calls.each(_compensated_sums, given):
            # Knuth's sum of two numbers, with what rounding loses of it.
            high = found[:, 0] + part[:, 0]
            back = high - found[:, 0]
            lost = (found[:, 0] - (high - back)) + (part[:, 0] - back)
            found[:, 0], found[:, 1] = high, found[:, 1] + part[:, 1] + lost
        return found


class AscentOnBlocks(Ascent):
    """Dual ascent on rows in blocks: a model visits one block after the other, an epoch each.

    This is dual ascent in an order of the rows that goes block by block.
    """

    def __init__(
        self, mean: MeanElsewhere, penalty: ElasticNet, generator: np.random.RandomState
    ) -> None:
        super().__init__(mean, penalty, generator)
        self.mean, self.seed, self.done = mean, 0, 0

    def _start_from(self, last: Place) -> None:
        self.seed = int(self.generator.randint(2**31))
        super()._start_from(last)

    def _pass(self) -> Vector:
        ascent, penalty = self.ascent, self.ascent.penalty
        z_intercept = float(ascent.fields[INTERCEPT_Z_FIELD])
        kappas = ascent.kappa, ascent.kappa_intercept
        model = {
            "z": ascent.z,
            "scalars": np.array([z_intercept, *kappas, penalty.l1, penalty.l2]),
            "position": np.array([self.seed, self.done], dtype=np.int64),
        }
        model, duals = self.mean.calls.in_turn(model, self.mean.by_blocks(ascent.duals))
        ascent.z[:], ascent.duals[:] = model["z"], np.concatenate(duals)
        ascent.fields[INTERCEPT_Z_FIELD] = model["scalars"][0]
        self.done += 1
        return ascent.duals.copy()


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

    ``check`` raises an error where the search is to end.
    """

    mean: MeanElsewhere

    def __init__(
        self,
        rows: RowsOnWorkers,
        problem: int,
        loss: Loss,
        fit_intercept: bool,
        generator: np.random.RandomState,
        *,
        check: Check = nobody_ends_it,
    ) -> None:
        y, importances = rows.targets_of(problem), rows.importances
        given = problem, loss, fit_intercept, importance_of_rows(y, importances)
        facing = [Facing(number, *given) for number in range(len(rows.held))]
        mean = MeanElsewhere(
            OnWorkers(rows.ring, rows.held, facing, check),
            rows.lengths,
            y,
            importances,
            rows.squared_norms,
            (rows.n_columns, rows.n_values),
            loss,
            fit_intercept,
        )
        self._set_out(mean, generator)

    @property
    def _by_rows(self) -> bool:
        return True

    def _ascent(self, penalty: ElasticNet) -> Ascent:
        return AscentOnBlocks(self.mean, penalty, self.generator)
