"""The mean loss of rows in blocks: sums over blocks, which tasks make where the rows are.

A task is a function of its blocks, the weights and the intercept.  It answers with sums over
*spans*, a few blocks that follow each other, and adds those of spans that are neighbours in a tree.
The tree and the spans depend on the number of blocks alone, so that no bit depends on the workers.
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

from lazynet.dask.blocks import Blocks
from lazynet.dask.chains import Rows
from lazynet.data.arrays import as_examples, plain
from lazynet.kernels import gram, sums
from lazynet.losses import Loss
from lazynet.minimum.mean_loss import MeanLoss

Vector = NDArray[np.float64]
#: The places and values of the weights that are not 0.
Few = tuple[NDArray[np.int64], Vector]
#: What a block says: a few numbers, and an array of sums, which those of other blocks are added to.
Answer = tuple[Any, Any]
Into = Vector | None
#: Answers of spans by (height, number) in the tree that adds them.
Parts = dict[tuple[int, int], Answer]
NOTHING = np.zeros(0)

# The slopes at this distance from a prediction tell the curvature between them.
_AWAY = 1e-4
# The number of tasks whose answers one task adds.
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
    """The mean loss of the rows of a block at some weights, with the 1/n of all rows."""

    def __init__(self, facing: Facing, rows: Rows, weights: Vector, b: float) -> None:
        y, counts = rows.problems[facing.problem]
        examples, options = as_examples(rows.X, y, counts), {"fit_intercept": facing.fit_intercept}
        super().__init__(examples, y, counts, facing.loss, total=facing.total, **options)
        self.X, self.weights, self.b = rows.X, weights, b

    @cached_property
    def at(self) -> Vector:
        """x_i.w of every row."""
        return self.margins(self.weights)

    @cached_property
    def slopes(self) -> Vector:
        """a_i = -l'(p_i)."""
        return self.negative_slopes(self.at, self.b)

    @cached_property
    def curvatures(self) -> Vector:
        """s_i l''(p_i) / n."""
        before, after = (self.negative_slopes(self.at, self.b + s) for s in (-_AWAY, _AWAY))
        counts = 1.0 if self.importances is None else self.importances
        return np.maximum(before - after, 0.0) * counts * (0.5 * self.share / _AWAY)

    def _sides(self, duals: Vector) -> tuple[float, float]:
        """The sum of s_i a_i over positive a_i, and over negative ones."""
        moves = duals if self.importances is None else duals * self.importances
        return math.fsum(moves[moves > 0.0]), -math.fsum(moves[moves < 0.0])

    def _balanced(self, sides: tuple[float, float]) -> Vector:
        return np.where(self.slopes > 0.0, *sides) * self.slopes

    def look(self, into: Into) -> Answer:
        """The loss and its rounding, its curvature in b, the sides of the duals; and n u.

        And (1/n) sum s_i l*(-f a_i) at f = 1, with minus its first derivative in f and its second.
        """
        a, h = self.slopes, self.curvatures
        counts = self.share if self.importances is None else self.importances * self.share
        bends = np.divide((counts * a) ** 2, h, out=np.zeros(len(h)), where=h > 0.0)
        conjugates = self.conjugate(a)[0], (counts * a * (self.at + self.b)).sum(), bends.sum()
        numbers = *self.value(self.at, self.b), h.sum(), *self._sides(a), *conjugates
        return np.array(numbers), self._over(sums.add_rows, a, _room(into, self.n_columns))

    def along(self, into: Into, few: Few, db: float, steps: Sequence[float]) -> Answer:
        """The loss after every one of some steps in a direction."""
        d = self.margins(dense(few, self.n_columns))
        losses = [self.value(self.at + t * d, self.b + t * db)[0] for t in steps]
        return np.array(losses), NOTHING

    def gram(self, into: Into, features: NDArray[np.int64], every: int) -> Answer:
        """The Hessian on the intercept and some features: its upper triangle row by row.

        One row of ``every`` rows stands for all of them.
        """
        curvatures = np.zeros(self.n_rows)
        curvatures[::every] = every * self.curvatures[::every]
        size = len(features) + 1
        places = np.zeros(self.n_columns, np.int32)
        places[features] = np.arange(1, size)
        found = _room(into, size * (size + 1) // 2)
        given = self.examples, curvatures, places, found, size
        self._over_rows(lambda first: gram.add_gram(*given, first))
        return NOTHING, found

    def product(self, into: Into, few: Few, vb: float) -> Answer:
        """The Hessian of the intercept and all features times a vector."""
        r = self.curvatures * (self.margins(dense(few, self.n_columns)) + vb)
        return np.array([r.sum()]), _sum_of(into, self.X.T @ r)

    def diagonal(self, into: Into) -> Answer:
        """The diagonal of the Hessian of the intercept and all features."""
        squares = self.X.copy()
        squares.data = squares.data**2
        return np.array([self.curvatures.sum()]), _sum_of(into, squares.T @ self.curvatures)

    def proof(self, into: Into, sides: tuple[float, float]) -> Answer:
        """The loss, its rounding, and sums of balanced duals: right to the last digit.

        And the sum of their conjugates, as ``conjugate_of`` has it at the factor 1.
        """
        duals, cells = self._balanced(sides), _room(into, self.n_columns, 2)
        loss = self.value(self.margins(self.weights, compensated=True), self.b)
        numbers = np.array([*loss, *self._sides(duals), *self.conjugate(duals)])
        return numbers, self._over(sums.compensated_add_rows, duals, cells)

    def conjugate_of(self, into: Into, sides: tuple[float, float], factor: float) -> Answer:
        """(1/n) sum s_i l*(-factor a_i) of balanced duals, and its rounding."""
        return np.array(self.conjugate(self._balanced(sides), factor)), NOTHING

    def _over(self, kernel: Any, factors: Vector, found: Vector) -> Vector:
        self._over_rows(lambda first: kernel(self.examples, factors, found, first))
        return found


def _room(into: Into, *shape: int) -> Vector:
    return np.zeros(shape) if into is None else into


def dense(few: Few, n: int) -> Vector:
    """All n weights."""
    found = np.zeros(n)
    found[few[0]] = few[1]
    return found


def few_of(weights: Vector) -> Few:
    """The weights that are not 0."""
    places = np.flatnonzero(weights)
    return places, weights[places]


def hessian_of(packed: Vector, room: Vector) -> Vector:
    """The symmetric matrix whose upper triangle lies in ``packed`` row by row; in ``room``."""
    n, first, tile = math.isqrt(2 * len(packed)), 0, 64
    found = room[: n * n].reshape(n, n)
    for row in range(n):
        found[row, row:] = packed[first : first + n - row]
        first += n - row
    for top in range(0, n, tile):
        rows = slice(top, top + tile)
        corner = np.triu(found[rows, rows])
        found[rows, rows] = corner + np.triu(corner, 1).T
        for left in range(top + tile, n, tile):
            found[left : left + tile, rows] = found[rows, left : left + tile].T
    return found


def _sum_of(one: Any, other: Any, *, in_place: bool = False) -> Any:
    """The sum of two arrays, of numbers or of {high, low} per feature."""
    if one is None:
        return other
    found = one if in_place else one.copy()
    if found.ndim == 1:
        found += other
    else:
        sums.add_compensated(found, other)
    return found


def _added(parts: Parts, n_spans: int, spare: list[Vector] | None = None) -> Parts:
    """The same sums, after neighbours in the tree have been added; the last one may have none.

    With a list of ``spare`` arrays the first of two is changed, and the other joins the list.
    """
    parts, height, n = dict(parts), 0, n_spans
    while n > 1:
        for number in [k for h, k in parts if h == height and k % 2 == 0]:
            left, right = (height, number), (height, number + 1)
            if number + 1 == n:
                parts[height + 1, number // 2] = parts.pop(left)
            elif right in parts:
                one, other = parts.pop(left), parts.pop(right)
                both = _sum_of(one[1], other[1], in_place=spare is not None)
                parts[height + 1, number // 2] = one[0] + other[0], both
                if spare is not None:
                    spare.append(other[1])
        height, n = height + 1, (n + 1) // 2
    return parts


def _joined(some: Sequence[Parts], n_spans: int) -> Parts:
    return _added({place: part for parts in some for place, part in parts.items()}, n_spans)


def _answers(
    facing: Facing, ask: str, at: tuple[Few, float], given: dict[str, Any], spans: Any, n: int
) -> Parts:
    """The sums of what a method of ``BlockLoss`` says of the blocks of some of n spans."""
    weights, found, spare = dense(at[0], facing.n_features), Parts(), list[Vector]()
    for number, blocks in spans:
        into, numbers = spare.pop() if spare else None, 0.0
        if into is not None:
            into.fill(0)
        for chunk, prepared in blocks:
            block = BlockLoss(facing, Rows(chunk, prepared, facing.n_features), weights, at[1])
            more, into = getattr(block, ask)(into, **given)
            numbers = numbers + more
        found = _added({**found, (0, number): (numbers, into)}, n, spare)
    return found


class MeanOverBlocks:
    """The mean loss of all rows of blocks: a problem that answers with sums over its rows."""

    def __init__(self, blocks: Blocks, prepared: Sequence[Future], facing: Facing) -> None:
        self.blocks, self.facing, facts = blocks, facing, blocks.facts()
        self.share, self.fit_intercept = 1.0 / facing.total, facing.fit_intercept
        self.n_rows, self.n_columns = facts.n_rows, facts.n_features
        # A step asks all workers, however few the values are: no problem counts as small.
        self.n_values = np.inf
        n = max(1, math.isqrt(len(blocks)) // 2)
        rows = [[*each] for each in zip(blocks.futures, prepared, strict=True)]
        spans = [(k // n, rows[k : k + n]) for k in range(0, len(rows), n)]
        self.n_spans = len(spans)
        self.tasks = [
            (spans[some.start // n : -(-some.stop // n)], home) for some, home in blocks.groups(n)
        ]

    def sums(self, ask: str, weights: Vector, b: float, **given: Any) -> Answer:
        """The sums over all rows of what a method of ``BlockLoss`` says at these weights."""
        n, submitted = self.n_spans, self.blocks.submitted
        run = partial(_answers, self.facing, ask, (few_of(weights), b), given, n=n)
        key = f"lazynet-{ask.replace('_', '-')}"
        found = [submitted(key, run, home, spans) for spans, home in self.tasks]
        while len(found) > _FAN_IN:
            some = [found[k : k + _FAN_IN] for k in range(0, len(found), _FAN_IN)]
            found = [submitted("lazynet-added", _joined, None, each, n) for each in some]
        ((numbers, total),) = _joined(self.blocks.gathered(found), n).values()
        # Arrays from a wire may not be aligned, as kernels need them.
        return plain(numbers, numbers.dtype), plain(total, total.dtype)
