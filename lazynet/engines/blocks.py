"""Dual ascent on rows that lie in blocks: the model travels, and the rows stay.

A model is z, a few scalars and its position in its random streams: this travels.  The dual variable
of a row stays with the block that holds the row.

In turn: the model visits one block after the other, each block once an epoch.  This is serial dual
ascent, in an order of the rows that goes block by block.

At once: every block takes its steps from the same z, as if its rows counted K times, K the number
of blocks.  With g*(z) = sum_j [|z_j| - l1]+^2 / (2 (l2 + kappa)), which is convex,

    g*(z + sum_k dz_k)  <=  (1/K) sum_k g*(z + K dz_k),

and the right-hand side is what the blocks together have lowered: so the dual objective at the sum
of all moves dz_k never falls, for any partition and any number of passes over each block (the safe
adding of CoCoA+, Ma et al. 2015).  With K = 1 this is serial dual ascent.

Sums over all rows are sums over the blocks (``MeanOverBlocks``), and so the duality gap is that of
all rows for any partition.

Property: equal to lazynet.reference.blocks.DenseBlocks after every visit and every round
(tests/exact/test_blocks_equal_the_reference.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.dual import DualAscent, shuffled
from lazynet.engines.kept import Kept, parts, put, real, whole
from lazynet.engines.mean import MeanLoss
from lazynet.kernels.dual import INTERCEPT_Z_FIELD
from lazynet.losses import Loss
from lazynet.penalties import ElasticNet

Vector = NDArray[np.float64]

#: The part of a model that moves from block to block: named arrays.  ``z``: a number per feature.
#: ``scalars``: z_b, kappa, kappa_b.  ``position``: the seed of the random orders, and the epoch.
Travelling = dict[str, NDArray[Any]]
#: The part of a model that stays with a block: ``duals``, a number per row.
Resident = dict[str, Vector]


def travelling(
    z: Vector, z_intercept: float, kappa: float, kappa_intercept: float, seed: int, epoch: int
) -> Travelling:
    """The part of a model that moves, of its numbers.

    >>> travelling(np.zeros(2), 0.0, 1.0, 0.5, seed=7, epoch=3)["position"]
    array([7, 3])
    """
    return {
        "z": z,
        "scalars": np.array([z_intercept, kappa, kappa_intercept]),
        "position": np.array([seed, epoch], dtype=np.int64),
    }


class Block:
    """Rows that stay where they are; ``mean`` has the 1/n of all rows of the problem.

    >>> from lazynet.kernels.examples import Examples
    >>> from lazynet.losses import get_loss
    >>> rows = Examples(np.array([1.0]), np.zeros(1, np.int32), np.array([0, 1], np.int32), 1,
    ...                 np.array([3.0]))
    >>> mean = MeanLoss(rows, np.array([3.0]), None, get_loss("squared_error"),
    ...                 fit_intercept=False, total=2.0)
    >>> block = Block(0, mean, ElasticNet(l1=0.5))
    >>> model = travelling(np.zeros(1), 0.0, 1.0, 0.0, seed=0, epoch=0)
    >>> model, resident = block.visit(model, {"duals": np.zeros(1)})
    >>> resident["duals"], model["z"]  # the maximum of 3 a - a^2/2 - a^2/4, and half of it
    (array([2.]), array([1.]))
    """

    _Ascent: ClassVar[type[DualAscent]] = DualAscent

    def __init__(self, number: int, mean: MeanLoss, penalty: ElasticNet) -> None:
        self.number, self.mean, self.penalty = number, mean, penalty

    def order(self, position: NDArray[np.int64]) -> NDArray[np.int64]:
        """The order of the rows at a position: from the seed, the epoch and the block alone."""
        seed = np.random.SeedSequence([*position.tolist(), self.number])
        return shuffled(self.mean.n_rows, np.random.RandomState(np.random.MT19937(seed)))

    def visit(self, model: Travelling, resident: Resident) -> tuple[Travelling, Resident]:
        """Take a step on every row of the block, once; the arguments stay as they are."""
        ascent = self._ascent(model, resident)
        ascent.take(self.order(model["position"]))
        scalars = model["scalars"].copy()
        scalars[0] = ascent.fields[INTERCEPT_Z_FIELD]
        return {**model, "z": ascent.z, "scalars": scalars}, {"duals": ascent.duals}

    def move(
        self, model: Travelling, resident: Resident, n_blocks: int, passes: int = 1
    ) -> tuple[Travelling, Resident]:
        """Take steps from z while all other blocks do: returns what to add to z, and the duals.

        The returned arrays ``z`` and ``scalars`` are the moves of z and z_b, to be added in the
        order of the blocks.
        """
        ascent = self._ascent(model, resident)
        before = ascent.fields[INTERCEPT_Z_FIELD]
        seed, epoch = model["position"]
        for again in range(passes):
            order = self.order(np.array([seed, epoch * passes + again]))
            ascent.take(order, float(n_blocks))
        ascent.z -= model["z"]
        ascent.z /= n_blocks
        moved = (ascent.fields[INTERCEPT_Z_FIELD] - before) / n_blocks
        return {"z": ascent.z, "scalars": np.array([moved])}, {"duals": ascent.duals}

    def _ascent(self, model: Travelling, resident: Resident) -> DualAscent:
        z_intercept, kappa, kappa_intercept = model["scalars"].tolist()
        ascent = self._Ascent(self.mean, self.penalty, kappa, kappa_intercept)
        ascent.z, ascent.duals = model["z"].copy(), resident["duals"].copy()
        ascent.fields[INTERCEPT_Z_FIELD] = z_intercept
        return ascent


class Calls(Protocol):
    """How functions of blocks are called: here one after the other, elsewhere side by side."""

    def each(self, function: Callable[..., Any], *lists: Sequence[Any], **shared: Any) -> list[Any]:
        """function(block, item of each list, **shared) of every block, in the order of the blocks.

        What is returned may be a handle of a result that is elsewhere.
        """
        ...

    def pairs(
        self, function: Callable[..., Any], *lists: Sequence[Any], **shared: Any
    ) -> tuple[list[Any], list[Any]]:
        """``each`` of a function that returns a pair: the first results, and the second ones."""
        ...

    def in_turn(
        self, function: Callable[..., Any], first: Any, items: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        """function(block, value, item) of one block after the other, from ``first`` on.

        It returns the value for the next block, and an item; here the last value and all items.
        """
        ...

    def gathered(self, results: list[Any]) -> list[Any]:
        """The results themselves, where ``each`` has returned handles."""
        ...


class Here:
    """Blocks in this process.  ``run`` calls a task with every number below the number of blocks.

    >>> calls = Here(["a", "b"])
    >>> calls.each(lambda block, item, mark: block + item + mark, ["1", "2"], mark="!")
    ['a1!', 'b2!']
    """

    def __init__(
        self,
        blocks: Sequence[Any],
        run: Callable[[Sequence[int], Callable[[int], None]], None] | None = None,
    ) -> None:
        self.blocks, self._run = blocks, run

    def each(self, function: Callable[..., Any], *lists: Sequence[Any], **shared: Any) -> list[Any]:
        found: list[Any] = [None] * len(self.blocks)

        def task(k: int) -> None:
            found[k] = function(self.blocks[k], *(items[k] for items in lists), **shared)

        if self._run is None:
            for k in range(len(found)):
                task(k)
        else:
            self._run(range(len(found)), task)
        return found

    def pairs(
        self, function: Callable[..., Any], *lists: Sequence[Any], **shared: Any
    ) -> tuple[list[Any], list[Any]]:
        first, second = zip(*self.each(function, *lists, **shared), strict=True)
        return list(first), list(second)

    def in_turn(
        self, function: Callable[..., Any], first: Any, items: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        value, found = first, []
        for block, item in zip(self.blocks, items, strict=True):
            value, own = function(block, value, item)
            found.append(own)
        return value, found

    def gathered(self, results: list[Any]) -> list[Any]:
        return results


def _margins(block: Block, *, weights: Vector, compensated: bool) -> Vector:
    return block.mean.margins(weights, compensated=compensated)


def _value(block: Block, margins: Vector, *, intercept: float) -> tuple[float, float]:
    return block.mean.value(margins, intercept)


def _conjugate(block: Block, duals: Vector, *, factor: float) -> tuple[float, float]:
    return block.mean.conjugate(duals, factor)


def _correlations(block: Block, duals: Vector) -> Vector:
    return block.mean.correlations(duals)


def _compensated_sums(block: Block, duals: Vector) -> NDArray[np.float64]:
    return block.mean.compensated_sums(duals)


def _sum_of(block: Block, duals: Vector) -> float:
    return block.mean.sum_of(duals)


def _slope_sums(block: Block, margins: Vector, *, intercept: float) -> tuple[float, float]:
    return block.mean.slope_sums(margins, intercept)


def _negative_slopes(block: Block, margins: Vector, *, intercept: float) -> Vector:
    return block.mean.negative_slopes(margins, intercept)


def _rise_and_fall(block: Block, duals: Vector) -> tuple[float, float]:
    moves = duals if block.mean.importances is None else duals * block.mean.importances
    return float(np.sum(moves[moves > 0.0])), -float(np.sum(moves[moves < 0.0]))


def _scaled(block: Block, duals: Vector, *, upper: float, lower: float) -> Vector:
    return np.where(duals > 0.0, upper, lower) * duals


class MeanOverBlocks:
    """``MeanLoss`` of rows in blocks: what is an array with a number per row there is a list here.

    The list has an item for every block: the array of the block, or a handle of it (``Calls``).
    """

    def __init__(
        self,
        calls: Calls,
        *,
        loss: Loss,
        fit_intercept: bool,
        share: float,
        n_rows: Sequence[int],
        n_columns: int,
    ) -> None:
        self.calls, self.loss, self.fit_intercept = calls, loss, fit_intercept
        #: 1 / n of all rows
        self.share = share
        #: the number of rows of every block
        self.lengths = list(n_rows)
        self.n_rows, self.n_columns = sum(n_rows), n_columns

    @property
    def n_blocks(self) -> int:
        return len(self.lengths)

    def _sums(self, found: list[Any]) -> tuple[float, float]:
        first, second = np.array(self.calls.gathered(found)).T
        return float(np.sum(first)), float(np.sum(second))

    def margins(self, weights: Vector, *, compensated: bool = False) -> list[Any]:
        """x_i.w of every row; ``compensated``: right to the last digit."""
        return self.calls.each(_margins, weights=weights, compensated=compensated)

    def value(self, margins: list[Any], intercept: float) -> tuple[float, float]:
        """The mean loss, and a bound on what rounding loses of it."""
        return self._sums(self.calls.each(_value, margins, intercept=intercept))

    def conjugate(self, duals: list[Any], factor: float = 1.0) -> tuple[float, float]:
        """(1/n) sum s_i l*(-factor a_i), and a bound on what rounding loses of it."""
        return self._sums(self.calls.each(_conjugate, duals, factor=factor))

    def negative_slopes(self, margins: list[Any], intercept: float) -> list[Any]:
        """a_i = -l'(p_i): the dual variables that belong to predictions."""
        return self.calls.each(_negative_slopes, margins, intercept=intercept)

    def correlations(self, duals: list[Any]) -> Vector:
        """u = (1/n) sum s_i a_i x_i, a number per feature."""
        found = np.zeros(self.n_columns)
        for part in self.calls.gathered(self.calls.each(_correlations, duals)):
            found += part
        return found

    def compensated_sums(self, duals: list[Any]) -> NDArray[np.float64]:
        """sum s_i a_i x_i, right to the last digit: {high, low} per feature."""
        found = np.zeros((self.n_columns, 2))
        for part in self.calls.gathered(self.calls.each(_compensated_sums, duals)):
            # Knuth's sum of two numbers, with what rounding loses of it.
            high = found[:, 0] + part[:, 0]
            back = high - found[:, 0]
            lost = (found[:, 0] - (high - back)) + (part[:, 0] - back)
            found[:, 0], found[:, 1] = high, found[:, 1] + part[:, 1] + lost
        return found

    def sum_of(self, duals: list[Any]) -> float:
        """sum s_i a_i, in plain arithmetic."""
        return float(np.sum(self.calls.gathered(self.calls.each(_sum_of, duals))))

    def balance(self, duals: list[Any]) -> float:
        """Scale duals so that sum s_i a_i = 0 if there is an intercept; returns what is left."""
        if not self.fit_intercept:
            return 0.0
        rise, fall = self._sums(self.calls.each(_rise_and_fall, duals))
        upper = fall / rise if rise > fall else 1.0
        lower = rise / fall if fall > rise else 1.0
        duals[:] = self.calls.each(_scaled, duals, upper=upper, lower=lower)
        return self.sum_of(duals)

    def best_intercept(self, margins: list[Any], start: float, reach: float) -> float:
        """An intercept that minimises the mean loss of these margins; 0 where none is fitted.

        Newton's steps, from sums of slopes and curvatures over the blocks, inside a bracket of
        ``reach`` on both sides of 0 that shrinks.
        """
        if not self.fit_intercept:
            return 0.0

        def slope_and_curvature(intercept: float) -> tuple[float, float]:
            return self._sums(self.calls.each(_slope_sums, margins, intercept=intercept))

        low, high, at = -reach, reach, start
        for _ in range(_MOST_STEPS):
            slope, curvature = slope_and_curvature(at)
            if slope == 0.0:
                break
            low, high = (low, at) if slope > 0.0 else (at, high)
            step = slope / curvature if curvature > 0.0 else np.inf
            to = at - step if low < at - step < high else 0.5 * (low + high)
            if abs(to - at) <= _FINE * (1.0 + abs(at)):
                break
            at = to
        return float(at)


# The most steps towards an intercept, and the relative length of the last one.
_MOST_STEPS, _FINE = 100, 1e-15


class AscentInBlocks(DualAscent):
    """``DualAscent`` on rows in blocks; ``duals`` is a list with an item for every block."""

    mean: MeanOverBlocks  # type: ignore[assignment]
    duals: list[Any]  # type: ignore[assignment]

    def __init__(
        self,
        mean: MeanOverBlocks,
        penalty: ElasticNet,
        kappa: float,
        kappa_intercept: float = 0.0,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(mean, penalty, kappa, kappa_intercept)  # type: ignore[arg-type]
        self.duals = [np.zeros(length) for length in mean.lengths]
        self.seed, self.done = seed, 0

    def travelling(self) -> Travelling:
        """What moves from block to block."""
        z_intercept = float(self.fields[INTERCEPT_Z_FIELD])
        return travelling(
            self.z, z_intercept, self.kappa, self.kappa_intercept, self.seed, self.done
        )

    def in_turn(self) -> None:
        """An epoch: visit one block after the other."""
        calls = self.mean.calls
        model, self.duals = calls.in_turn(_visited, self.travelling(), self.duals)
        (model,) = calls.gathered([model])
        self.z[:] = model["z"]
        self.fields[INTERCEPT_Z_FIELD] = model["scalars"][0]
        self.done += 1

    def at_once(self, passes: int = 1) -> None:
        """A round: all blocks take their steps from the same z, and all moves are added."""
        mean = self.mean
        moves, residents = mean.calls.pairs(
            _moved, self.duals, model=self.travelling(), n_blocks=mean.n_blocks, passes=passes
        )
        for move in mean.calls.gathered(moves):
            self.z += move["z"]
            self.fields[INTERCEPT_Z_FIELD] += move["scalars"][0]
        self.duals = residents
        self.done += 1

    def kept(self) -> Kept:
        return super().kept() | {
            "duals": [duals.copy() for duals in self.mean.calls.gathered(self.duals)],
            "seed": self.seed,
            "done": self.done,
        }

    def keep(self, kept: Kept) -> None:
        for name in ("z", "centre", "fields"):
            put(getattr(self, name), name, kept)
        for name in ("kappa", "kappa_intercept", "intercept_centre"):
            setattr(self, name, real(name, kept))
        for k, duals in enumerate(parts("duals", kept, self.mean.n_blocks)):
            put(self.duals[k], "duals", {"duals": duals})
        self.seed, self.done = whole("seed", kept), whole("done", kept)


def _visited(block: Block, model: Travelling, duals: Vector) -> tuple[Travelling, Vector]:
    model, resident = block.visit(model, {"duals": duals})
    return model, resident["duals"]


def _moved(
    block: Block, duals: Vector, *, model: Travelling, n_blocks: int, passes: int
) -> tuple[Travelling, Vector]:
    move, resident = block.move(model, {"duals": duals}, n_blocks, passes)
    return move, resident["duals"]


def cuts(n_rows: int, n_blocks: int) -> list[int]:
    """The first row of every block, and the number of rows: blocks of rows as equal as can be.

    >>> cuts(10, 3)
    [0, 3, 6, 10]
    """
    return [n_rows * k // n_blocks for k in range(n_blocks + 1)]
