"""Engines that are broken on purpose, for every rule of the catalogue: comparisons must notice."""

import copy

import numpy as np

from lazynet.engines.base import ALL
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


class ForgetsToSweep(ClockEngine):
    """Resets the clock without bringing the weights current."""

    def _sweep(self):
        self._set_clock()


class NoThreshold(TruncatedGradientEngine):
    """Shrinks large weights too when weights are read."""

    def coefficients(self, which=ALL, out=None, *, last=False):
        other = copy.deepcopy(self)
        other.constants[:] = np.inf
        return TruncatedGradientEngine.coefficients(other, which, out)


class CountsOneExampleTooMany(FTRLEngine):
    """Reads weights as if the penalty counted on one example more."""

    def coefficients(self, which=ALL, out=None, *, last=False):
        other = copy.deepcopy(self)
        other.set_field("steps", self.field("steps") + 1.0)
        return FTRLEngine.coefficients(other, which, out)


class KeepsTheFirstScale(RDAEngine):
    """Takes the size of the first row that it sees for the mean size of all rows."""

    def take(self, examples, steps, task, t=0):
        known = self.field("mean")
        super().take(examples, steps, task, t)
        if known:
            self.set_field("mean", known)


class ForgetsWhen(AdaGradEngine):
    """Applies every shrink since the beginning, whichever of them a weight has had."""

    def coefficients(self, which=ALL, out=None, *, last=False):
        other = copy.deepcopy(self)
        other.cells[:, 3] = 0.0
        return AdaGradEngine.coefficients(other, which, out)


class MissesOneStep(SAGAEngine):
    """Reads weights one step behind."""

    def coefficients(self, which=ALL, out=None, *, last=False):
        other = copy.deepcopy(self)
        other.cells[:, 2] = np.minimum(self.cells[:, 2] + 1.0, self.field("steps"))
        return SAGAEngine.coefficients(other, which, out)


class NeverSweeps(CarpenterEngine):
    """Ignores the period."""

    def _sweep(self):
        pass


def reads_halves(engine):
    """An engine of the same kind that reads half of every weight."""

    def coefficients(self, which=ALL, out=None, *, last=False):
        return engine.coefficients(self, which, out) / 2.0

    return type(f"ReadsHalves{engine.__name__}", (engine,), {"coefficients": coefficients})


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
