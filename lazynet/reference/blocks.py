"""Dual ascent on rows that lie in blocks: block by block, or all blocks at once.

With K blocks at once, a block works on its own rows from the common z = u + kappa c, as if each of
its rows counted K times: q and every move are K times as long on its own copy

    z_k = z + K (1/n) sum_{i in block k} s_i (alpha_i - alpha_i of the start) x_i,

and so for the intercept.  Afterwards every alpha_i is what its block has made of it.  The dual
objective of the centred problem never falls (Ma et al., Adding vs. Averaging in Distributed
Primal-Dual Optimization, 2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynet.reference.dual import DenseDualAscent, _soft, best_dual


class DenseBlocks(DenseDualAscent):
    """``DenseDualAscent`` whose rows lie in blocks of the lengths ``lengths``, one after the other.

    >>> twin = DenseBlocks([[2.0], [2.0]], [3.0, 3.0], lengths=[1, 1], loss="squared_error", l2=1.0)
    >>> twin.at_once([[0], [0]])  # q = 4: alpha = 3 / (1 + 4), as if the row stood twice
    >>> twin.duals, twin.weights
    ([0.6, 0.6], [1.2])
    >>> twin.visit(0, [0])  # both are at the maximum, and stay there
    >>> twin.in_turn([[0], [0]])
    >>> [round(number, 9) for number in twin.duals]
    [0.6, 0.6]
    """

    def __init__(self, *data: Any, lengths: Sequence[int], **options: Any) -> None:
        super().__init__(*data, **options)
        self.firsts = [sum(lengths[:k]) for k in range(len(lengths))]

    def visit(self, block: int, order: Sequence[int]) -> None:
        """A step on rows of a block, numbered from its own first row."""
        for row in order:
            self.step(self.firsts[block] + row)

    def in_turn(self, orders: Sequence[Sequence[int]]) -> None:
        """An epoch: the orders of the blocks, one after the other."""
        for block, order in enumerate(orders):
            self.visit(block, order)

    def at_once(self, orders: Sequence[Sequence[int]]) -> None:
        """A round: every block takes its own steps from the same z."""
        found = [self._worked(block, order) for block, order in enumerate(orders)]
        for own in found:
            for i, alpha in own.items():
                self.duals[i] = alpha

    def _worked(self, block: int, order: Sequence[int]) -> dict[int, Any]:
        """The dual variables of the block's rows after its steps."""
        times = len(self.firsts)
        z = list(self.z)
        intercept = self.intercept
        own: dict[int, Any] = {}
        for row in order:
            i = self.firsts[block] + row
            old = own.get(i, self.duals[i])
            weights = [_soft(v, self.l1) / (self.l2 + self.kappa) for v in z]
            p = self.prediction(i, weights, intercept)
            q = times * self.curvature(i)
            own[i] = best_dual(self.loss, old, p, self.targets[i], q, self.epsilon)
            move = times * self.importances[i] * (own[i] - old) / self.total
            z = [v + move * x for v, x in zip(z, self.rows[i], strict=True)]
            if self.fit_intercept:
                intercept += move / self.kappa_intercept
        return own
