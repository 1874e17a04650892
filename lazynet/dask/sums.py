"""The mean loss of rows in blocks: sums over blocks, computed by tasks on the workers of the rows.

A task is a function of its blocks, the weights and the intercept.  It returns the sums over *spans*
of a few neighbouring blocks, which are added in a tree.  The spans and the tree depend on the
number of blocks alone, so that no bit depends on the workers.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.blocks import VALUES_OF_A_TASK, Blocks, aligned
from lazynet.data.arrays import as_examples, plain
from lazynet.data.chunks import Chunk
from lazynet.data.targets import Targets
from lazynet.kernels import sums
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.slopes import derivatives
from lazynet.losses import Loss
from lazynet.minimum.gram import hessian
from lazynet.minimum.objective import MeanLoss

Vector = NDArray[np.float64]
#: The answer of a block: a few numbers, and an array of sums, to which other blocks add theirs.
Answer = tuple[Any, Any]
Into = Vector | None
NOTHING = np.zeros(0)

# The number of tasks whose answers one task adds: a power of 2, so that it adds a subtree.
_FAN_IN = 8


@dataclass(frozen=True)
class OutputLoss:
    """The loss of one output; ``total`` is the sum of the importances of all rows."""

    output: int
    loss: Loss
    fit_intercept: bool
    total: float


class BlockLoss(MeanLoss):
    """The mean loss of the rows of a block at given weights, divided by the n of all rows."""

    def __init__(
        self, output: OutputLoss, chunk: Chunk, targets: Targets, weights: Vector, b: float
    ) -> None:
        y, counts = targets[output.output]
        self.X, self.weights, self.b = aligned(chunk).X, weights, b
        examples, options = as_examples(self.X, y, counts), {"fit_intercept": output.fit_intercept}
        super().__init__(examples, y, counts, output.loss, total=output.total, **options)

    @cached_property
    def at(self) -> Vector:
        """x_i.w of every row."""
        return self.margins(self.weights)

    @cached_property
    def derivatives(self) -> Vector:
        """Of every row a_i = -l'(p_i), s_i a_i / n and s_i l''(p_i) / n."""
        out = np.empty((3, self.n_rows))
        loss = self.loss.code, self.loss.epsilon
        derivatives(self.examples, self.at, self.b, *loss, self.share, *out)
        return out

    def _sides(self, duals: Vector) -> tuple[float, float]:
        """The sum of s_i a_i over positive a_i, and over negative ones."""
        moves = duals if self.importances is None else duals * self.importances
        return math.fsum(moves[moves > 0.0]), -math.fsum(moves[moves < 0.0])

    def _balanced(self, sides: tuple[float, float]) -> Vector:
        duals = self.derivatives[0]
        return np.where(duals > 0.0, *sides) * duals

    def evaluate(self, into: Into) -> Answer:
        """The loss, its rounding, its curvature in b, and the sums of positive and negative duals.

        Then (1/n) sum s_i l*(-f a_i) at f = 1, minus its first derivative in f, and its second.
        The array is n u.
        """
        a, moves, h = self.derivatives
        bends = np.divide(moves**2, h, out=np.zeros(len(h)), where=h > 0.0)
        conjugates = self.conjugate(a)[0], (moves * (self.at + self.b)).sum(), bends.sum()
        numbers = *self.value(self.at, self.b), h.sum(), *self._sides(a), *conjugates
        cells = _room(into, self.n_columns)
        self.add_rows(a, cells[:, None])
        return np.array(numbers), cells

    def along(self, into: Into, v: Any, db: float, steps: Sequence[float]) -> Answer:
        """The loss after each step along v, a row of a sparse matrix."""
        d = self.margins(v.toarray()[0])
        losses = [self.value(self.at + t * d, self.b + t * db)[0] for t in steps]
        return np.array(losses), NOTHING

    def gram(self, into: Into, features: NDArray[np.int64], n_heads: int, stride: int) -> Answer:
        """The Hessian of the intercept and ``features``, the first of which are heads.

        It uses one row of ``stride`` rows, with ``stride`` times its weight.
        """
        curvatures, n = np.zeros(self.n_rows), len(features)
        curvatures[::stride] = stride * self.derivatives[2][::stride]
        places, rows = (
            np.full(self.n_columns, -1, np.int32),
            CompactRows(self.n_rows, n, self.n_values),
        )
        places[features] = np.arange(n)
        self.over_rows(lambda _: rows.copy(self.examples, places, np.zeros(n)))
        H = _room(into, (n + 1) ** 2)
        H += hessian(self, rows, np.arange(n), n_heads, curvatures).ravel()
        return NOTHING, H

    def product(self, into: Into, v: Any, vb: float) -> Answer:
        """The Hessian of the intercept and all features times vb and v, a row as in ``along``."""
        r = self.derivatives[2] * (self.margins(v.toarray()[0]) + vb)
        cells = _room(into, self.n_columns)
        cells += self.X.T @ r
        return np.array([r.sum()]), cells

    def diagonal(self, into: Into) -> Answer:
        """The diagonal of the Hessian of the intercept and all features."""
        cells = _room(into, self.n_columns)
        cells += self.X.power(2).T @ self.derivatives[2]
        return np.array([self.derivatives[2].sum()]), cells

    def sizes(self, into: Into) -> Answer:
        """The number of nonzeros of every feature, and then the sums of their squares."""
        cells, X = _room(into, 2 * self.n_columns), self.X
        for part, values in zip(np.split(cells, 2), (X.data != 0.0, X.data**2), strict=True):
            part += np.bincount(X.indices, values, self.n_columns)
        return NOTHING, cells

    def proof(self, into: Into, sides: tuple[float, float]) -> Answer:
        """The loss, its rounding, and compensated sums of balanced duals, for the certificate.

        Then the sum of their conjugates, as ``conjugate_of`` returns it for the factor 1.
        """
        duals, cells = self._balanced(sides), _room(into, self.n_columns, 2)
        loss = self.value(self.margins(self.weights, compensated=True), self.b)
        numbers = np.array([*loss, *self._sides(duals), *self.conjugate(duals)])
        return numbers, self.add_rows(duals, cells)

    def conjugate_of(self, into: Into, sides: tuple[float, float], factor: float) -> Answer:
        """(1/n) sum s_i l*(-factor a_i) of balanced duals, and its rounding."""
        return np.array(self.conjugate(self._balanced(sides), factor)), NOTHING


def _room(into: Into, *shape: int) -> Vector:
    return np.zeros(shape) if into is None else into


def _plus(left: Answer, right: Answer) -> Answer:
    """The sum of two answers, whose arrays are of numbers or of {high, low} per feature."""
    (numbers, array), (added, more) = left, right
    if array.ndim == 1:
        return numbers + added, array + more
    total = array.copy()
    sums.add_compensated(total, more)
    return numbers + added, total


def _tree_sum(
    parts: Sequence[Any], answer_of: Callable[[Any], Answer] = lambda part: part
) -> Answer:
    """The sum of the answers of all parts: neighbours are added first, then neighbouring pairs.

    >>> _tree_sum([(2, np.ones(1)), (3, np.ones(1))])
    (5, array([2.]))
    """
    if len(parts) == 1:
        return answer_of(parts[0])
    middle = 1 << (len(parts) - 1).bit_length() - 1
    return _plus(_tree_sum(parts[:middle], answer_of), _tree_sum(parts[middle:], answer_of))


def _sums_of_spans(
    output: OutputLoss, method: str, at: tuple[Any, float], options: dict[str, Any], spans: Any
) -> Answer:
    """The sums of a method of ``BlockLoss`` over the blocks of ``spans``."""
    weights = at[0].toarray()[0]

    def answer_of(span: Any) -> Answer:
        into, numbers = None, 0.0
        for chunk, targets in span:
            block = BlockLoss(output, chunk, targets, weights, at[1])
            more, into = getattr(block, method)(into, **options)
            numbers = numbers + more
        return numbers, into

    return _tree_sum(spans, answer_of)


class MeanOverBlocks:
    """The mean loss of all rows of blocks, from sums that tasks compute.

    ``chunks`` and ``targets`` have the rows and the targets of every block.
    """

    def __init__(
        self,
        blocks: Blocks,
        chunks: Sequence[Future],
        targets: Sequence[Future],
        output: OutputLoss,
    ) -> None:
        self.blocks, facts = blocks, blocks.facts()
        self._set_output(output)
        self.n_rows, self.n_columns = facts.n_rows, facts.n_features
        # Each step asks all workers, so a problem over blocks never counts as small.
        self.n_values = np.inf
        rows = [[*pair] for pair in zip(chunks, targets, strict=True)]
        length = max(1, math.isqrt(len(rows)) // 2)
        spans = [rows[k : k + length] for k in range(0, len(rows), length)]
        # A task has a whole subtree of the tree of sums: about one task for each thread of the
        # workers, and more if a task would read too many values.
        n_values = length * max(tally.n_values for tally, _ in blocks.block_facts())
        n_threads = sum(blocks.client.nthreads().values())
        n = min(len(spans) // max(1, n_threads), VALUES_OF_A_TASK // max(1, n_values))
        n = 1 << max(0, n.bit_length() - 1)
        workers = blocks.client.who_has(chunks)
        #: the spans of each task, and a worker that has the first of them
        self.tasks = [
            (spans[k : k + n], next(iter(workers.get(spans[k][0][0].key) or ()), None))
            for k in range(0, len(spans), n)
        ]

    def _set_output(self, output: OutputLoss) -> None:
        self.output, self.loss = output, output.loss
        self.share, self.fit_intercept = 1.0 / output.total, output.fit_intercept

    def of(self, output: OutputLoss) -> MeanOverBlocks:
        """The mean loss of another output of the same rows."""
        other = copy.copy(self)
        other._set_output(output)
        return other

    @cached_property
    def sizes(self) -> Vector:
        """The number of nonzeros of every feature, and the sum of their squares."""
        return self.sums("sizes", np.zeros(self.n_columns), 0.0)[1].reshape(2, -1)

    def sums(self, method: str, weights: Vector, b: float, **options: Any) -> Answer:
        """The sums of a method of ``BlockLoss`` over all rows, at these weights."""
        submitted, key = self.blocks.submitted, f"lazynet-{method.replace('_', '-')}"
        run = partial(_sums_of_spans, self.output, method, (sparse.csr_matrix(weights), b), options)
        sums = [submitted(key, run, spans, home=home) for spans, home in self.tasks]
        while len(sums) > _FAN_IN:
            groups = [sums[k : k + _FAN_IN] for k in range(0, len(sums), _FAN_IN)]
            sums = [submitted("lazynet-added", _tree_sum, group) for group in groups]
        numbers, total = _tree_sum(self.blocks.gathered(sums))
        # Arrays from a network may not be aligned, but kernels need aligned arrays.
        return plain(numbers, numbers.dtype), plain(total, total.dtype)
