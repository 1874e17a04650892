"""Dual ascent on blocks of the rows: one after the other, or in rounds on all of them at once.

A round takes the steps of every block from the same z, and adds the moves of all blocks
(``AscentInBlocks.at_once``).  What it finds depends on the number of blocks, and not on the number
of threads that work on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.engines.blocks import AscentInBlocks, Block, Here, MeanOverBlocks, cuts
from lazynet.engines.dual import Standing
from lazynet.engines.mean import MeanLoss
from lazynet.kernels.examples import Examples
from lazynet.penalties import ElasticNet
from lazynet.searches import Ascent, Place

Vector = NDArray[np.float64]
#: Calls a task with each of some numbers, one after the other or on several threads.
Run = Callable[[Sequence[int], Callable[[int], None]], None]

# Factors of kappa after a round in which the objective has risen, and after any other.
_RISEN, _FALLEN = 2.0, 0.85


def in_blocks(
    X: sparse.csr_matrix, mean: MeanLoss, penalty: ElasticNet, n_blocks: int, run: Run | None = None
) -> MeanOverBlocks:
    """The rows of ``mean``, which are those of X, in blocks; no row is copied."""
    borders = cuts(mean.n_rows, n_blocks)
    blocks = []
    for number in range(n_blocks):
        rows = slice(borders[number], borders[number + 1])
        y, s = mean.y[rows], None if mean.importances is None else mean.importances[rows]
        starts = X.indptr[rows.start : rows.stop + 1]
        part = MeanLoss(
            Examples(X.data, X.indices, starts, X.shape[1], y, s),
            y,
            s,
            mean.loss,
            fit_intercept=mean.fit_intercept,
            total=1.0 / mean.share,
        )
        part.squared_norms = mean.squared_norms[rows]
        blocks.append(Block(number, part, penalty))
    return MeanOverBlocks(
        Here(blocks, run),
        loss=mean.loss,
        fit_intercept=mean.fit_intercept,
        share=mean.share,
        n_rows=np.diff(borders).tolist(),
        n_columns=mean.n_columns,
    )


class InTurn(Ascent):
    """Dual ascent on rows in blocks, wherever they are, one block after the other."""

    def __init__(
        self,
        mean: MeanLoss,
        blocks: MeanOverBlocks,
        penalty: ElasticNet,
        generator: np.random.RandomState,
    ) -> None:
        super().__init__(mean, penalty, generator)
        kappas = self.ascent.kappa, self.ascent.kappa_intercept
        self.borders = np.cumsum(blocks.lengths)[:-1]
        self.rounds = self.ascent = AscentInBlocks(blocks, penalty, *kappas)

    def _start_from(self, last: Place) -> None:
        self.rounds.seed = int(self.generator.randint(2**31))
        duals = [part.copy() for part in np.split(last.duals, self.borders)]
        self.rounds.start_from(last.weights, last.intercept, duals)  # type: ignore[arg-type]

    def _pass(self) -> Vector:
        self._visit()
        self.rounds.duals = self.rounds.mean.calls.gathered(self.rounds.duals)
        return np.concatenate(self.rounds.duals)

    def _visit(self) -> None:
        """Visit all rows once."""
        self.rounds.in_turn()


class AtOnce(InTurn):
    """A search whose epochs are rounds on all blocks at once, with a centre and a kappa that adapt.

    With a smooth loss the centre moves after every round: kappa doubles where the objective has
    risen, and else falls a little.
    """

    name = "blocks"

    def _visit(self) -> None:
        self.rounds.at_once()

    def _wanted(self, now: Standing) -> float | None:
        if not self.smooth:
            return super()._wanted(now)
        risen, self.last = now.objective > self.last, now.objective
        return _RISEN if risen else _FALLEN


class Rounds(AtOnce):
    """Rounds on blocks of the rows of a matrix in this process."""

    def __init__(
        self,
        X: sparse.csr_matrix,
        mean: MeanLoss,
        penalty: ElasticNet,
        generator: np.random.RandomState,
        n_blocks: int,
        run: Run | None = None,
    ) -> None:
        super().__init__(mean, in_blocks(X, mean, penalty, n_blocks, run), penalty, generator)
