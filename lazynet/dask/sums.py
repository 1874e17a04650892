"""The mean loss of rows in blocks: sums over blocks, which tasks make where the rows are.

Where ``MeanLoss`` has an array with a number per row, there is a list of futures here, one for each
block.  Sums are added in a tree that depends on the number of blocks alone, so that the number of
workers changes no bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.blocks import Blocks
from lazynet.dask.chains import Rows
from lazynet.data.arrays import as_examples, plain
from lazynet.losses import Loss
from lazynet.minimum.mean_loss import MeanLoss

Vector = NDArray[np.float64]
#: Weights that are mostly 0: the places and values of the others.
Few = tuple[NDArray[np.int64], Vector]

# The slopes at this distance from a prediction tell the curvature between them.
_AWAY = 1e-4
# Columns of a Hessian that are full: products of sparse columns take longer the fuller they are.
_OFTEN = 256
# Answers that a task adds.
_FAN_IN = 8


@dataclass(frozen=True)
class Facing:
    """A problem as a block sees it; ``total`` is the sum of the importances of all rows."""

    problem: int
    loss: Loss
    fit_intercept: bool
    total: float
    n_features: int


class BlockLoss(MeanLoss):
    """The mean loss of the rows of a block, with the 1/n of all rows; every method is a task."""

    def __init__(self, facing: Facing, rows: Rows) -> None:
        y, counts = rows.problems[facing.problem]
        examples, options = as_examples(rows.X, y, counts), {"fit_intercept": facing.fit_intercept}
        super().__init__(examples, y, counts, facing.loss, total=facing.total, **options)
        self.X = rows.X

    def _dense(self, few: Few) -> Vector:
        found = np.zeros(self.n_columns)
        found[few[0]] = few[1]
        return found

    def margins_of(self, few: Few, compensated: bool = False) -> Vector:
        return self.margins(self._dense(few), compensated=compensated)

    def sides(self, duals: Vector) -> Vector:
        """The sum of s_i a_i over positive a_i, and over negative ones."""
        moves = duals if self.importances is None else duals * self.importances
        return np.array([math.fsum(moves[moves > 0.0]), -math.fsum(moves[moves < 0.0])])

    def scaled(self, duals: Vector, factors: tuple[float, float]) -> Vector:
        return np.where(duals > 0.0, *factors) * duals

    def look(self, margins: Vector, intercept: float) -> tuple[Vector, Vector]:
        """The loss and its rounding, its curvature in b, the sides of the duals; and u."""
        duals = self.negative_slopes(margins, intercept)
        numbers = *self.value(margins, intercept), self._curvatures(margins, intercept).sum()
        return np.array([*numbers, *self.sides(duals)]), self.correlations(duals)

    def conjugates(
        self, margins: Vector, intercept: float, sides: tuple[float, float], factors: list[float]
    ) -> Vector:
        """The sums of conjugates at duals that are balanced by ``sides``, times every factor."""
        duals = self.scaled(self.negative_slopes(margins, intercept), sides)
        return np.array([self.conjugate(duals, factor)[0] for factor in factors])

    def along(self, margins: Vector, intercept: float, few: Few, db: float, steps: Any) -> Vector:
        """The loss after every one of some steps in a direction."""
        d = self.margins_of(few)
        return np.array([self.value(margins + t * d, intercept + t * db)[0] for t in steps])

    def _curvatures(self, margins: Vector, intercept: float) -> Vector:
        before, after = (self.negative_slopes(margins, intercept + s) for s in (-_AWAY, _AWAY))
        counts = 1.0 if self.importances is None else self.importances
        return np.maximum(before - after, 0.0) * counts * (0.5 * self.share / _AWAY)

    def counts(self) -> NDArray[np.int64]:
        """How many values every feature has."""
        return np.bincount(self.X.indices, minlength=self.n_columns)

    def gram(
        self, margins: Vector, first: int, intercept: float, features: Any, every: int
    ) -> tuple[Vector, sparse.csr_matrix]:
        """The Hessian on some features, the frequent ones first, from every so many of all rows.

        The columns of the intercept and of the frequent features as an array; and the other ones.
        """
        rows = np.arange(-first % every, self.n_rows, every)
        roots = np.sqrt(self._curvatures(margins, intercept)[rows] * every)
        picked = self.X[rows][:, features].astype(np.float64)
        picked.data *= np.repeat(roots, np.diff(picked.indptr))
        often = np.column_stack([roots, picked[:, :_OFTEN].toarray()])
        rare = picked[:, _OFTEN:]
        seldom = sparse.csr_matrix(rare.T @ rare)
        seldom.sort_indices()
        return np.vstack([roots @ often, picked.T @ often]), seldom

    def product(self, margins: Vector, intercept: float, few: Few, vb: float) -> Any:
        """The Hessian of all features and the intercept times a vector."""
        r = self._curvatures(margins, intercept) * (self.margins_of(few) + vb)
        return np.array([r.sum()]), self.X.T @ r

    def diagonal(self, margins: Vector, intercept: float) -> Any:
        d, squares = self._curvatures(margins, intercept), self.X.copy()
        squares.data = squares.data**2
        return np.array([d.sum()]), squares.T @ d


def _readable(value: Any) -> Any:
    """The value as an array that kernels can read; those from a wire may not be aligned."""
    return plain(value, value.dtype) if isinstance(value, np.ndarray) else value


def _answer(
    facing: Facing, name: str, shared: dict[str, Any], chunk: Any, prepared: Any, *rows: Any
) -> Any:
    """What a method of ``BlockLoss`` says of a block; ``rows``: arguments of its own."""
    mean = BlockLoss(facing, Rows(chunk, prepared, facing.n_features))
    return getattr(mean, name)(*map(_readable, rows), **shared)


def _added(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], tuple):
        return tuple(_added(each) for each in zip(*parts, strict=True))
    return sum(parts[1:], start=parts[0])


def _added_exactly(parts: Sequence[Any]) -> Any:
    """Sums {high, low} of several blocks (Knuth's sum of two numbers)."""
    total = parts[0].copy()
    for part in parts[1:]:
        high = total[:, 0] + part[:, 0]
        back = high - total[:, 0]
        lost = (total[:, 0] - (high - back)) + (part[:, 0] - back)
        total[:, 0], total[:, 1] = high, total[:, 1] + part[:, 1] + lost
    return total


def hessian_of(columns: Vector, seldom: sparse.csr_matrix) -> Vector:
    """The whole matrix of what ``BlockLoss.gram`` tells; the intercept is its first feature."""
    n, k = columns.shape
    found = np.empty((n, n))
    found[:, :k], found[:k, k:] = columns, columns[k:].T
    found[k:, k:] = seldom.toarray()
    return found


def few_of(weights: Vector) -> Few:
    """The weights that are not 0."""
    places = np.flatnonzero(weights)
    return places, weights[places]


def sides_of(rise: float, fall: float) -> tuple[float, float]:
    """The factors of positive and of negative duals with which their sum is 0."""
    return (min(fall / rise, 1.0), min(rise / fall, 1.0)) if rise and fall else (0.0, 0.0)


class MeanOverBlocks:
    """The mean loss of all rows, as a search and a certificate ask for it."""

    def __init__(self, blocks: Blocks, prepared: Sequence[Future], facing: Facing) -> None:
        self.blocks, self.prepared, self.facing = blocks, prepared, facing
        self.share, self.fit_intercept = 1.0 / facing.total, facing.fit_intercept
        facts = blocks.facts()
        self.n_rows, self.n_columns = facts.n_rows, facts.n_features
        # A step asks all workers, however few the values are: no problem counts as small.
        self.n_values = np.inf
        #: the number of the first row of every block
        self.starts = np.cumsum([0, *(each.tally.n_rows for each in blocks.known())])[:-1].tolist()

    def rows(self, name: str, *rows: Any, **shared: Any) -> list[Future]:
        """The answers of all blocks to a method of ``BlockLoss``; ``rows`` has one for each."""
        # Options of ``map`` itself would be tasks of their own, under a key that is not unique.
        ask, key = partial(_answer, self.facing, name, shared), f"lazynet-{name.replace('_', '-')}"
        given = self.blocks.futures, self.prepared, *rows
        return self.blocks.client.map(ask, *given, key=key, pure=False)  # type: ignore[no-any-return]

    def sums(self, name: str, *rows: Any, **shared: Any) -> Any:
        """The sums of the answers, added eight by eight."""
        found, add = self.rows(name, *rows, **shared), _added
        if name == "compensated_sums":
            add = _added_exactly
        while len(found) > 1:
            some = [found[k : k + _FAN_IN] for k in range(0, len(found), _FAN_IN)]
            # Before another block answers: large answers are not to wait in memory.
            options = {"key": "lazynet-added", "pure": False, "priority": 1}
            found = self.blocks.client.map(add, some, **options)
        (total,) = self.blocks.gathered(found)
        return tuple(map(_readable, total)) if isinstance(total, tuple) else _readable(total)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many values every feature has."""
        found: NDArray[np.int64] = self.sums("counts")
        return found

    # --- what a certificate asks for ---

    def margins(self, weights: Vector, *, compensated: bool = False) -> list[Future]:
        return self.rows("margins_of", few=few_of(weights), compensated=compensated)

    def value(self, margins: list[Future], intercept: float) -> tuple[float, float]:
        loss, lost = self.sums("value", margins, intercept=intercept)
        return float(loss), float(lost)

    def conjugate(self, duals: list[Future], factor: float = 1.0) -> tuple[float, float]:
        found, lost = self.sums("conjugate", duals, factor=factor)
        return float(found), float(lost)

    def compensated_sums(self, duals: list[Future]) -> Vector:
        found: Vector = self.sums("compensated_sums", duals)
        return found

    def balance(self, duals: list[Future]) -> float:
        """Scale duals so that sum s_i a_i = 0 if there is an intercept; returns what is left."""
        if not self.fit_intercept:
            return 0.0
        duals[:] = self.rows("scaled", duals, factors=sides_of(*self.sums("sides", duals)))
        rise, fall = self.sums("sides", duals)
        return float(rise - fall)
