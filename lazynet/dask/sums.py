"""The mean loss of rows in blocks: sums over blocks, computed by tasks on the workers of the rows.

A task is a function of its blocks, the weights and the intercept.  It returns the sums over *spans*
of a few neighbouring blocks, which are added in a tree.  The spans and the tree depend on the
number of blocks alone, so that no bit depends on the workers.
"""

from __future__ import annotations

import copy
import math
from collections import namedtuple
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
from lazynet.data.chunks import Chunk, joined, reordered
from lazynet.kernels import sums
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.slopes import derivatives
from lazynet.losses import Loss
from lazynet.minimum.gram import hessian
from lazynet.minimum.objective import MeanLoss

Vector = NDArray[np.float64]
Features = NDArray[np.int64]
#: The answer of a span: a few numbers, and an array of sums.
Answer = tuple[Any, Any]
NOTHING = np.zeros(0)
#: The numbers of ``SpanLoss.evaluate``: the loss, its rounding, its curvature in b, and the sums of
#: positive and of negative duals; then (1/n) sum s_i l*(-f a_i) at f = 1, minus its first
#: derivative in f, and its second.
Evaluated = namedtuple(
    "Evaluated", "loss rounding curvature positive negative conjugate first second"
)

# The number of tasks whose answers one task adds: a power of 2, so that it adds a subtree.
_FAN_IN = 8


@dataclass(frozen=True)
class OutputLoss:
    """The loss of one output; ``total`` is the sum of the importances of all rows."""

    output: int
    loss: Loss
    fit_intercept: bool
    total: float


class SpanLoss(MeanLoss):
    """The mean loss of the rows of a span at given weights, divided by the n of all rows."""

    def __init__(self, output: OutputLoss, rows: Chunk, weights: Vector, b: float) -> None:
        (self.X, y, counts), examples = rows, as_examples(*rows)
        self.weights, self.b, options = weights, b, {"fit_intercept": output.fit_intercept}
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

    def evaluate(self) -> Answer:
        """The numbers of ``Evaluated``; the array is u."""
        a, moves, h = self.derivatives
        bends = np.divide(moves**2, h, out=np.zeros(len(h)), where=h > 0.0)
        conjugates = self.conjugate(a)[0], (moves * (self.at + self.b)).sum(), bends.sum()
        numbers = Evaluated(*self.value(self.at, self.b), h.sum(), *self._sides(a), *conjugates)
        return np.array(numbers), self.correlations(a)

    def gram(self, features: Features, n_heads: int) -> Answer:
        """The Hessian of the intercept and ``features``, the first of which are heads.

        The array is its lower triangle, row by row.
        """
        n = len(features)
        rows, places = CompactRows(self.n_rows, n, self.n_values), np.full(self.n_columns, -1)
        places[features] = np.arange(n)
        places, counts = places.astype(np.int32), np.zeros(n)
        self.over_rows(lambda _: rows.copy(self.examples, places, counts))
        H = hessian(self, rows, np.arange(n, dtype=np.int32), n_heads, self.derivatives[2])
        return NOTHING, H[np.tri(n + 1, dtype=bool)]

    def sizes(self) -> Answer:
        """The number of nonzeros of every feature, and then the sums of their squares."""
        X = self.X
        values = X.data != 0.0, X.data**2
        counts = [np.bincount(X.indices, each, self.n_columns) for each in values]
        return NOTHING, np.concatenate(counts)

    def proof(self, sides: tuple[float, float]) -> Answer:
        """The loss, its rounding, and compensated sums of balanced duals, for the certificate.

        Then the sum of their conjugates, as ``conjugate_of`` returns it for the factor 1.
        """
        duals = self._balanced(sides)
        loss = self.value(self.margins(self.weights, compensated=True), self.b)
        numbers = np.array([*loss, *self._sides(duals), *self.conjugate(duals)])
        return numbers, self.compensated_sums(duals)

    def conjugate_of(self, sides: tuple[float, float], factor: float) -> Answer:
        """(1/n) sum s_i l*(-factor a_i) of balanced duals, and its rounding."""
        return np.array(self.conjugate(self._balanced(sides), factor)), NOTHING


def unpacked(triangle: Vector, size: int) -> Vector:
    """The symmetric matrix with this lower triangle.

    >>> unpacked(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    matrix, lower = np.empty((size, size)), np.tri(size, dtype=bool)
    matrix[lower] = matrix.T[lower] = triangle
    return matrix


def _rows_of(output: int, span: Any) -> Chunk:
    """The rows of the blocks of a span, and the targets and importances of an output."""
    return joined([Chunk(aligned(chunk).X, *targets[output]) for chunk, targets in span])


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
    """The sums of a method of ``SpanLoss`` over the blocks of ``spans``."""
    weights = at[0].toarray()[0]

    def answer_of(span: Any) -> Answer:
        rows = SpanLoss(output, _rows_of(output.output, span), weights, at[1])
        return getattr(rows, method)(**options)  # type: ignore[no-any-return]

    return _tree_sum(spans, answer_of)


def _sample(output: int, rows: Features, features: Features, blocks: Any) -> Chunk:
    """Some rows and columns of a block."""
    chunk = reordered(_rows_of(output, blocks), rows)
    return chunk._replace(X=chunk.X[:, features])


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
        self.rows = [[*pair] for pair in zip(chunks, targets, strict=True)]
        length = max(1, math.isqrt(len(self.rows)) // 2)
        spans = [self.rows[k : k + length] for k in range(0, len(self.rows), length)]
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

    def sample(self, rows: Features, features: Features) -> Chunk:
        """Some rows and columns, by their numbers in order, on the client."""
        ends = np.cumsum([tally.n_rows for tally, _ in self.blocks.block_facts()])
        of_blocks = np.split(rows, np.searchsorted(rows, ends[:-1]))
        futures = [
            self.blocks.submitted(
                "lazynet-sample", _sample, self.output.output, numbers - end, features, [block]
            )
            for numbers, end, block in zip(of_blocks, [0, *ends], self.rows, strict=False)
        ]
        return aligned(joined(self.blocks.gathered(futures)))

    def sums(self, method: str, weights: Vector, b: float, **options: Any) -> Answer:
        """The sums of a method of ``SpanLoss`` over all rows, at these weights."""
        submitted, key = self.blocks.submitted, f"lazynet-{method.replace('_', '-')}"
        run = partial(_sums_of_spans, self.output, method, (sparse.csr_matrix(weights), b), options)
        sums = [submitted(key, run, spans, home=home) for spans, home in self.tasks]
        while len(sums) > _FAN_IN:
            groups = [sums[k : k + _FAN_IN] for k in range(0, len(sums), _FAN_IN)]
            sums = [submitted("lazynet-added", _tree_sum, group) for group in groups]
        numbers, total = _tree_sum(self.blocks.gathered(sums))
        # Arrays from a network may not be aligned, but kernels need aligned arrays.
        return plain(numbers, numbers.dtype), plain(total, total.dtype)
