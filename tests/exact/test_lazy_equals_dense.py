"""Every engine gives the weights of its dense reference after every step, whatever the chunks.

Any rule, storage, number of outputs, average, penalty and schedule: ``KINDS`` of support/runs.py.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.algorithms import GIVEN, RULES_WITH_CELLS
from support.caught import caught
from support.runs import KINDS, PARAMETERS, overshoots, runs, seeded_run
from support.twins import REGIMES, SoftmaxTwins, Twins, assert_matches_references

from lazynet.engines.base import ALL
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.engines.cells import (
    AdaGradEngine,
    CarpenterEngine,
    FTRLEngine,
    RDAEngine,
    SAGAEngine,
    TruncatedGradientEngine,
)
from lazynet.engines.clock import AveragedClockEngine, ClockEngine
from lazynet.engines.outputs import AveragedOutputs, GroupedOutputs, OutputsOnClock
from lazynet.kernels import cells as cells_kernel
from lazynet.kernels import steps as steps_kernel
from lazynet.losses import LOSSES
from lazynet.reference import DenseFromData
from lazynet.rules.base import OF_TRAINING

CASES = [
    (name, loss)
    for name, kind in KINDS.items()
    for loss in (["softmax"] if kind.softmax else LOSSES)
]


def test_every_rule_is_tested():
    """Rules with cells of their own have values of all their parameters; so have joined outputs."""
    assert set(PARAMETERS) == set(RULES_WITH_CELLS)
    assert set(GIVEN) == set(ALGORITHMS)
    for name in RULES_WITH_CELLS:
        kind = ALGORITHMS[name].rule
        assert set(PARAMETERS[name]) == set(kind().get_params()) - OF_TRAINING
        assert type(GIVEN[name]) is kind
        differing = {key for key, value in vars(GIVEN[name]).items() if value != vars(kind())[key]}
        assert differing == set(PARAMETERS[name])
        assert not GIVEN[name].is_affine
    joining = {name for name, row in ALGORITHMS.items() if row.outputs is not None}
    joined = [each for each in KINDS.values() if None not in each.outputs]
    assert {rule.name for each in joined for rule in each.rules} == joining


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "loss"), CASES)
@given(data=st.data())
def test_every_step_equals_the_dense_reference(name, loss, data):
    """Weights, intercept, average and losses of every output; no weight below 0 if positive."""
    run = data.draw(runs(name, [loss]))
    n_steps = len(run.problem.order)
    cuts = data.draw(st.just(range(n_steps)) | st.sets(st.integers(1, n_steps), max_size=6))
    assert_matches_references(run, ends=sorted({0, *cuts, n_steps}))
    assert name != "positive" or run.last()[:, :-1].min() >= 0.0


#: Engines that never sweep.
NO_SWEEP = {"dense", "dense average", "saga"}
NO_SWEEP |= {name for name in KINDS if name.endswith(("rda", "ftrl"))}


@pytest.mark.every_case
@pytest.mark.parametrize("name", KINDS)
def test_most_steps_are_compared_and_reach_every_regime(name):
    """The conditions that end a comparison are no loophole, and runs meet each regime."""
    found = [seeded_run(name, seed) for seed in range(25)]
    taken = sum(len(run.problem.order) for run in found)
    # Every step, or chunks of seven.
    ends = [None, range(0, 41, 7)]
    compared = sum(assert_matches_references(run, ends=ends[k % 2]) for k, run in enumerate(found))
    # With gamma = 0.05, also from the middle of a run on, most steps of RDA are too long.  Rounding
    # decides where a weight is at the threshold of a truncated gradient.
    least = {"rda": 0.8, "ent": 0.75}.get(name[-3:], 0.9)
    assert compared >= least * taken, (compared, taken)
    for regime in REGIMES:
        met = sum(run.met[regime] > 0 for run in found)
        never = regime == "a sweep within a chunk" and name in NO_SWEEP
        assert met == 0 if never else met >= 3, (regime, met)


@pytest.mark.parametrize("name", ["clock", "groups", "groups, softmax"])
@given(data=st.data())
def test_every_step_that_does_not_overshoot_is_compared(name, data):
    """The derived bound stays below a millionth of the weights: it is not an empty promise."""
    run = data.draw(runs(name, [name for name, loss in LOSSES.items() if loss.curvature]))
    compared = assert_matches_references(run)
    assert overshoots(run) or compared == len(run.problem.order)


# --- the tests are tested -----------------------------------------------------------------------


class ForgetsToSweep(ClockEngine):
    """Resets the clock without bringing the weights current."""

    def _sweep(self):
        self._set_clock()


class SweepsTheClocksAlone(OutputsOnClock):
    """Sets the clocks to their start and leaves the weights as they were stored."""

    def _sweep(self):
        self._set_clocks()


class GroupsForgetToSweep(GroupedOutputs):
    """Sets the clock to its start and leaves the rows as they are."""

    def _sweep(self):
        self._set_clocks()


class IgnoresTheDead(AveragedClockEngine):
    """Sums a vanished weight as if its curve went on below zero."""

    def _sums(self, which):
        n = int(self.totals[steps_kernel.COUNTED_FIELD])
        z, before = self.cells[which].T
        return z * self.past[1, n] - np.sign(z) * self.past[2, n] - before


class DropsTheSign(AveragedClockEngine):
    """Reads sums as if there were no shift."""

    def _sums(self, which):
        n = int(self.totals[steps_kernel.COUNTED_FIELD])
        return super()._sums(which) + np.sign(self.cells[which, 0]) * self.past[2, n]


class FoldsTheFirstForAll(AveragedOutputs):
    """Gives every output the sum of the first output in a sweep."""

    def _sweep(self):
        super()._sweep()
        first = self.cells[:, self.width]
        self.cells[:, self.width : self.width + self.n_outputs] = first[:, None]


class NoThreshold(TruncatedGradientEngine):
    """Shrinks large weights too when weights are read."""

    def coefficients(self, which=ALL, *, last=False):
        other = copy.deepcopy(self)
        other.constants[:] = np.inf
        return TruncatedGradientEngine.coefficients(other, which)


class CountsOneExampleTooMany(FTRLEngine):
    """Reads weights as if the penalty counted on one example more."""

    def coefficients(self, which=ALL, *, last=False):
        other = copy.deepcopy(self)
        other.set_field("steps", self.field("steps") + 1.0)
        return FTRLEngine.coefficients(other, which)


class KeepsTheWeights(FTRLEngine):
    """Lets every new scale of the rates leave all weights what they are, learned or loaded."""

    def take(self, examples, steps, task, t=0):
        self.set_field("loaded", -1.0)
        super().take(examples, steps, task, t)


class KeepsTheFirstScale(RDAEngine):
    """Takes the size of the first row that it sees for the mean size of all rows."""

    def take(self, examples, steps, task, t=0):
        mean = self.field("mean")
        super().take(examples, steps, task, t)
        if mean:
            self.set_field("mean", mean)


class ForgetsWhen(AdaGradEngine):
    """Applies every shrink since the beginning, whichever of them a weight has had."""

    def coefficients(self, which=ALL, *, last=False):
        other = copy.deepcopy(self)
        other.cells[:, 3] = 0.0
        return AdaGradEngine.coefficients(other, which)


class WithoutRescale(AdaGradEngine):
    """Computes alpha anew and leaves the weights what they are."""

    def _sweep(self):
        before = self.weights()
        super()._sweep()
        self.cells[:, 0] = before


class LeavesVanishedWeights(AdaGradEngine):
    """Leaves the cells of weights that are zero now as they were before other rates."""

    def _sweep(self):
        before = self.cells.copy()
        super()._sweep()
        vanished = self.cells[:, 0] == 0.0
        self.cells[vanished] = before[vanished]


class MissesOneStep(SAGAEngine):
    """Reads weights one step behind."""

    def coefficients(self, which=ALL, *, last=False):
        other = copy.deepcopy(self)
        other.cells[:, 2] = np.minimum(self.cells[:, 2] + 1.0, self.field("steps"))
        return SAGAEngine.coefficients(other, which)


class NeverSweeps(CarpenterEngine):
    """Ignores the period."""

    def _sweep(self):
        pass


class NoRescaling(DenseFromData):
    """Refreshes m and leaves the weights."""

    def _measure(self, size):
        weights = self.weights
        super()._measure(size)
        self.weights = weights


class NeverLooks(DenseFromData):
    """Never lowers a rate."""

    def _look(self):
        pass


def reads_halves(name):
    """The engine of a rule that reads half of every weight."""
    engine = ALGORITHMS[name].engine

    def coefficients(self, which=ALL, *, last=False):
        return engine.coefficients(self, which) / 2.0

    return type("ReadsHalves", (engine,), {"coefficients": coefficients})


def of_class(kind):
    """The engine of a run is of this class."""

    def fault(run):
        run.engine.__class__ = kind

    fault.__name__ = kind.__name__
    return fault


def after_every_chunk(spoil):
    """What the engine of a run holds is changed."""

    def fault(run):
        run.spoil = spoil

    fault.__name__ = spoil.__name__
    return fault


def of_the_reference(kind):
    """The reference is of this class, and the other one that shows what rounding does."""

    def fault(run):
        twins = Twins(run)
        for twin in twins.each:
            twin.dense.__class__ = twin.nearby.__class__ = kind
        return twins

    fault.__name__ = kind.__name__
    return fault


def begins_at_nothing(run):
    """The sums of squared gradients of AdaGrad begin at 0."""
    run.engine.constants[cells_kernel.constants("adagrad").index("initial")] = 0.0


def without_stamps(engine):
    """AdaGrad forgets that rows have missed steps."""
    engine.stamps[:] = engine.fields[0, cells_kernel.fields("adagrad").index("steps")]


def with_the_numbers_of_the_first(engine):
    """The last output takes the numbers of the first."""
    engine.cells[:, engine.n_outputs - 1] = engine.cells[:, 0]


def of_the_last_plan(run):
    """The engine goes on with its first constants when they change."""
    run.engine.set_constants = lambda constants: None


def with_the_rates_of_the_first(engine):
    """The last output goes by the rates of the first output."""
    engine.rates[-1] = engine.rates[0]


def may_be_negative(run):
    """The reference does not clip."""
    penalty = replace(run.plan.penalty, positive=False)
    return Twins(run, replace(run.plan, penalty=penalty))


def of_the_losers_alone(run):
    """The softmax leaves the class of the row as it is."""
    found = SoftmaxTwins(run)
    for each in (*found.twin.references, *found.nudged.references):
        each.slope = lambda prediction, slope, epsilon: max(slope, 0.0)
    return found


def nothing_subtracted(run):
    """The slopes with exp of the predictions themselves, as a kernel in C would compute them."""

    def slopes(predictions, label):
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = np.exp(np.array(predictions))
            found = sizes / sizes.sum()
        found[label] -= 1.0
        return found.tolist()

    found = SoftmaxTwins(run)
    found.twin.slopes = found.nudged.slopes = slopes
    return found


OF_RULES = {
    "truncated_gradient": [of_class(NoThreshold)],
    "rda": [of_class(KeepsTheFirstScale)],
    "ftrl": [of_class(CountsOneExampleTooMany), of_class(KeepsTheWeights)],
    "adagrad": [
        of_class(ForgetsWhen),
        of_class(WithoutRescale),
        begins_at_nothing,
        of_class(LeavesVanishedWeights),
    ],
    "saga": [of_class(MissesOneStep)],
    "carpenter_inexact": [of_class(NeverSweeps)],
}
#: Kinds of runs, and what is broken in each.
BROKEN = [
    ("clock", of_class(ForgetsToSweep)),
    ("positive", may_be_negative),
    ("average", of_class(IgnoresTheDead)),
    ("average", of_class(DropsTheSign)),
    ("from data", of_the_reference(NoRescaling)),
    ("from data", of_the_reference(NeverLooks)),
    *((name, fault) for name in RULES_WITH_CELLS
      for fault in OF_RULES.get(name) or [of_class(reads_halves(name))]),
    *((f"outputs, {name}", after_every_chunk(with_the_numbers_of_the_first))
      for name in ("clock", "rda", "ftrl", "adagrad")),
    *((f"outputs, {name}", of_the_last_plan) for name in ("rda", "ftrl", "adagrad")),
    ("outputs, clock", of_class(SweepsTheClocksAlone)),
    ("outputs, adagrad", after_every_chunk(without_stamps)),
    ("outputs, from data", after_every_chunk(with_the_rates_of_the_first)),
    ("outputs, average", of_class(FoldsTheFirstForAll)),
    ("softmax, average", of_class(FoldsTheFirstForAll)),
    ("softmax, clock", of_the_losers_alone),
    ("softmax, clock", nothing_subtracted),
    ("groups", of_class(GroupsForgetToSweep)),
]  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "fault"), BROKEN)
def test_what_is_broken_is_caught(name, fault):
    """The property finds every engine and every reference that is broken on purpose."""

    @caught(1000)
    @given(data=st.data())
    def equal(data):
        run = data.draw(runs(name))
        assert_matches_references(run, fault(run))
