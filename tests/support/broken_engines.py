"""Engines that are broken on purpose, for every rule of the catalogue: comparisons must notice."""

import copy

import numpy as np

from lazynet.engines.catalogue import ALGORITHMS
from lazynet.engines.clock import ClockEngine
from lazynet.engines.rules import (
    AdaGradEngine,
    CarpenterEngine,
    FTRLEngine,
    RDAEngine,
    SAGAEngine,
    TruncatedGradientEngine,
)
from lazynet.kernels import cells as cells_kernel


class ForgetsToSweep(ClockEngine):
    """Resets the clock without bringing the weights current."""

    def _sweep(self):
        self._set_clock()


class NoThreshold(TruncatedGradientEngine):
    """Shrinks large weights too when weights are read."""

    def _read(self, cells, out):
        cells_kernel.read(self.kind, cells, self.fields, np.array([np.inf]), out)


class CountsOneExampleTooMany(FTRLEngine):
    """Reads weights as if the penalty counted on one example more."""

    def _read(self, cells, out):
        engine = copy.deepcopy(self)
        engine.set_field("steps", self.field("steps") + 1.0)
        FTRLEngine._read(engine, cells, out)


class KeepsTheFirstScale(RDAEngine):
    """Takes the size of the first row that it sees for the mean size of all rows."""

    def _run(self, examples, steps, task, first):
        known = self.field("mean")
        result = super()._run(examples, steps, task, first)
        if known:
            self.set_field("mean", known)
        return result


class ForgetsWhen(AdaGradEngine):
    """Applies every shrink since the beginning, whichever of them a weight has had."""

    def _read(self, cells, out):
        cells = cells.copy()
        cells[:, 3] = 0.0
        super()._read(cells, out)


class MissesOneStep(SAGAEngine):
    """Reads weights one step behind."""

    def _read(self, cells, out):
        cells = cells.copy()
        cells[:, 2] = np.minimum(cells[:, 2] + 1.0, self.field("steps"))
        super()._read(cells, out)


class NeverSweeps(CarpenterEngine):
    """Ignores the period."""

    def _sweep(self):
        pass


def reads_halves(engine):
    """An engine of the same kind that reads half of every weight."""

    def _read(self, cells, out):
        engine._read(self, cells, out)
        out /= 2.0

    return type(f"ReadsHalves{engine.__name__}", (engine,), {"_read": _read})


#: The broken engine of every rule of the catalogue; of some rules, an engine with a finer fault.
BROKEN_ENGINES = {
    name: ForgetsToSweep if row.engine is None else reads_halves(row.engine)
    for name, row in ALGORITHMS.items()
} | {
    "truncated_gradient": NoThreshold,
    "rda": KeepsTheFirstScale,
    "ftrl": CountsOneExampleTooMany,
    "adagrad": ForgetsWhen,
    "saga": MissesOneStep,
    "carpenter_inexact": NeverSweeps,
}
