"""Engines that are broken on purpose, for every rule of the catalogue: comparisons must notice."""

import copy

import numpy as np

from lazynet.engines.adagrad import AdaGradEngine
from lazynet.engines.carpenter import CarpenterEngine
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.engines.clock import ClockEngine
from lazynet.engines.ftrl import FTRLEngine
from lazynet.engines.rda import RDAEngine
from lazynet.engines.saga import SAGAEngine
from lazynet.engines.truncated_gradient import TruncatedGradientEngine
from lazynet.kernels import cells as cells_kernel
from lazynet.kernels import clock as clock_kernel


class ForgetsToSweep(ClockEngine):
    """Resets the clock without bringing the weights current."""

    def _sweep(self):
        clock_kernel.start(self.fields)


class SweepsOnlyLiveWeights(ClockEngine):
    """Leaves the stored value of a weight that is zero by now."""

    def _sweep(self):
        current = self.weights()
        self.stored = np.where(current != 0, current, self.stored)
        clock_kernel.start(self.fields)


class ReadsWithoutTheShift(ClockEngine):
    """The classic L2 rescaling, used with an l1 penalty."""

    def weights(self, out=None):
        return self.stored * self.fields[0]


class ForgetsTheStamp(TruncatedGradientEngine):
    """Applies to every weight all of gravity since the beginning."""

    def _read(self, cells, out):
        cells = cells.copy()
        cells[:, 1] = 0.0
        super()._read(cells, out)


class NoThreshold(TruncatedGradientEngine):
    """Shrinks large weights too when weights are read."""

    def _read(self, cells, out):
        cells_kernel.read(self.kind, cells, self.fields, np.array([np.inf]), out)


class ForgetsTheFadingPenalty(RDAEngine):
    """Takes rho for 0 when weights are read."""

    def _read(self, cells, out):
        settings = self.settings.copy()
        settings[3] = 0.0
        cells_kernel.read(self.kind, cells, self.fields, settings, out)


class CountsOneGradientTooMany(RDAEngine):
    """Reads weights as if one gradient more had been seen."""

    def _read(self, cells, out):
        engine = copy.deepcopy(self)
        engine.set_field("seen", self.field("seen") + 1.0)
        RDAEngine._read(engine, cells, out)


class PenalisesTheIntercept(FTRLEngine):
    """Applies l1 and l2 to the intercept."""

    @property
    def intercept(self):
        current = np.empty(1)
        cell = np.array([[self.field("intercept_z"), self.field("intercept_s")]])
        self._read(cell, current)
        return float(current[0])


class CountsThePenaltyOnce(FTRLEngine):
    """Reads weights with the penalty of a single example."""

    def _read(self, cells, out):
        engine = copy.deepcopy(self)
        engine.set_field("steps", 1.0)
        FTRLEngine._read(engine, cells, out)


class CountsOneExampleTooMany(FTRLEngine):
    """Reads weights as if the penalty counted on one example more."""

    def _read(self, cells, out):
        engine = copy.deepcopy(self)
        engine.set_field("steps", self.field("steps") + 1.0)
        FTRLEngine._read(engine, cells, out)


class ForgetsTheScale(FTRLEngine):
    """Reads weights at alpha and beta in units of the data as if the units were 1."""

    def _read(self, cells, out):
        engine = copy.deepcopy(self)
        engine.set_field("mean", 0.0)
        FTRLEngine._read(engine, cells, out)


class KeepsTheFirstScale(RDAEngine):
    """Takes the size of the first row that it sees for the mean size of all rows."""

    def _run(self, examples, steps, task, first):
        known = self.field("mean")
        result = super()._run(examples, steps, task, first)
        if known:
            self.set_field("mean", known)
        return result


class UsesTheSquares(FTRLEngine):
    """Takes the sum of squares for its root when weights are read."""

    def _read(self, cells, out):
        cells = cells.copy()
        cells[:, 1] **= 2
        super()._read(cells, out)


class NeverCatchesUp(AdaGradEngine):
    """Reads weights as of when they were touched last."""

    def _read(self, cells, out):
        out[:] = cells[:, 0]


class ForgetsWhen(AdaGradEngine):
    """Applies every shrink since the beginning, whichever of them a weight has had."""

    def _read(self, cells, out):
        cells = cells.copy()
        cells[:, 3] = 0.0
        super()._read(cells, out)


class ForgetsTheMean(SAGAEngine):
    """Shrinks the weights that no row touches, and does not move them along their means."""

    def _read(self, cells, out):
        cells = cells.copy()
        cells[:, 1] = 0.0
        super()._read(cells, out)


class MissesOneStep(SAGAEngine):
    """Reads weights one step behind."""

    def _read(self, cells, out):
        cells = cells.copy()
        cells[:, 2] = np.minimum(cells[:, 2] + 1.0, self.field("steps"))
        super()._read(cells, out)


class StopsAtZero(SAGAEngine):
    """Keeps a weight at zero that its mean carries to the other side."""

    def _read(self, cells, out):
        super()._read(cells, out)
        out[out * cells[:, 0] < 0.0] = 0.0


class ForgetsTheSlopes(SAGAEngine):
    """Takes every visit to a row for the first."""

    def take(self, examples, steps, task, t=0):
        self.slopes[:] = 0.0
        super().take(examples, steps, task, t)


class CatchesUpAtOnce(CarpenterEngine):
    """Counts the steps that a weight has missed as one step, however many there were."""

    def _read(self, cells, out):
        cells = cells.copy()
        behind = self.field("steps") - cells[:, 1] > 0
        cells[:, 1] = self.field("steps") - behind
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


_OF_THE_CLOCK = [ForgetsToSweep, SweepsOnlyLiveWeights, ReadsWithoutTheShift]

#: The broken engines of every rule of the catalogue; of some rules, engines with a finer fault.
BROKEN_ENGINES = {
    name: _OF_THE_CLOCK if row.engine is None else [reads_halves(row.engine)]
    for name, row in ALGORITHMS.items()
} | {
    "truncated_gradient": [ForgetsTheStamp, NoThreshold],
    "rda": [ForgetsTheFadingPenalty, CountsOneGradientTooMany, KeepsTheFirstScale],
    "ftrl": [
        PenalisesTheIntercept,
        UsesTheSquares,
        CountsThePenaltyOnce,
        CountsOneExampleTooMany,
        ForgetsTheScale,
    ],
    "adagrad": [NeverCatchesUp, ForgetsWhen],
    "saga": [ForgetsTheMean, MissesOneStep, StopsAtZero, ForgetsTheSlopes],
    "carpenter_inexact": [CatchesUpAtOnce, NeverSweeps],
}

#: The engines whose fault concerns rates that follow the data, or a penalty that counts per
#: example, which rules have by default.
BROKEN_WITH_DEFAULTS = [
    KeepsTheFirstScale,
    CountsThePenaltyOnce,
    CountsOneExampleTooMany,
    ForgetsTheScale,
]

#: BROKEN_ENGINES as pairs of a rule's name and an engine, for rules with a state of their own.
BROKEN_WITH_STATE = [
    (name, engine)
    for name, engines in BROKEN_ENGINES.items()
    if engines is not _OF_THE_CLOCK
    for engine in engines
]
