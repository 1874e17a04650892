"""Every engine gives the weights of its dense reference after every step, whatever the chunks.

Any rule, storage, number of outputs, average, penalty and schedule: ``KINDS`` of support/runs.py.
"""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.algorithms import GIVEN, RULES_WITH_CELLS
from support.caught import caught
from support.runs import KINDS, PARAMETERS, overshoots, runs, seeded_run
from support.twins import REGIMES, SoftmaxTwins, Twins, assert_matches_references

from lazynet.engines.adagrad import AdaGradEngine
from lazynet.engines.base import Engine
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.engines.cells import GradientSums
from lazynet.engines.clock import AveragedClockEngine
from lazynet.engines.ftrl import FTRLEngine
from lazynet.engines.outputs import AveragedOutputs
from lazynet.kernels import steps as steps_kernel
from lazynet.kernels.table import RULES
from lazynet.losses import LOSSES
from lazynet.reference import DenseFromData
from lazynet.rules.base import OF_TRAINING

#: Losses of margins or of numbers, whose slope jumps or not: rates from the data tell these apart.
ALIKE = defaultdict(list)
for loss in LOSSES.values():
    of = "margins" if loss.margin else "numbers"
    ALIKE[of if loss.curvature else f"{of}, jumps"].append(loss.name)
CASES = [
    (name, losses)
    for name, kind in KINDS.items()
    for losses in (["softmax"] if kind.softmax else ALIKE)
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
@pytest.mark.parametrize(("name", "losses"), CASES)
@given(data=st.data())
def test_every_step_equals_the_dense_reference(name, losses, data):
    """Weights, intercept, average and losses of every output; no weight below 0 if positive."""
    run = data.draw(runs(name, ALIKE.get(losses)))
    n_steps = len(run.problem.order)
    cuts = data.draw(st.just(range(n_steps)) | st.sets(st.integers(1, n_steps), max_size=6))
    assert_matches_references(run, ends=sorted({0, *cuts, n_steps}))
    assert name != "positive" or run.last()[:, :-1].min() >= 0.0


#: Engines that never sweep.
NO_SWEEP = {"dense", "dense average", "saga"}
SUMS = {name for name, row in ALGORITHMS.items() if issubclass(row.engine or Engine, GradientSums)}
NO_SWEEP |= {name for name in KINDS if name.split(", ")[-1] in SUMS}


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


def forgets_to_sweep(run):
    """The clocks start again, and the weights are not brought current."""
    engine = run.engine
    engine._sweep = engine._set_clocks if run.n_outputs else engine._set_clock


class IgnoresTheDead(AveragedClockEngine):
    """Sums a vanished weight as if its curve went on below zero."""

    def _sums(self, which):
        n = int(self.totals[steps_kernel.COUNTED_FIELD])
        z, before = self.cells[which].T
        return z * self.past[1, n] - np.sign(z) * self.past[2, n] - before


class FoldsTheFirstForAll(AveragedOutputs):
    """Gives every output the sum of the first output in a sweep."""

    def _sweep(self):
        super()._sweep()
        first = self.cells[:, self.width]
        self.cells[:, self.width : self.width + self.n_outputs] = first[:, None]


class KeepsTheWeights(FTRLEngine):
    """Lets every new scale of the rates leave all weights what they are, learned or loaded."""

    def take(self, examples, steps, task, t=0):
        self.set_field("loaded", -1.0)
        super().take(examples, steps, task, t)


class LeavesVanishedWeights(AdaGradEngine):
    """Leaves the cells of weights that are zero now as they were before other rates."""

    def _sweep(self):
        before = self.cells.copy()
        super()._sweep()
        vanished = self.cells[:, 0] == 0.0
        self.cells[vanished] = before[vanished]


class NeverLooks(DenseFromData):
    """Never lowers a rate."""

    def _look(self):
        pass


def of_class(kind):
    """The engine of a run is of this class."""

    def fault(run):
        run.engine.__class__ = kind

    return fault


def never_looks(run):
    """The reference never lowers a rate, nor does the other one that shows what rounding does."""
    twins = Twins(run)
    for twin in twins.each:
        twin.dense.__class__ = twin.nearby.__class__ = NeverLooks
    return twins


def without_stamps(run):
    """AdaGrad forgets after every chunk that rows have missed steps."""

    def spoil(engine):
        engine.stamps[:] = engine.fields[0, RULES["adagrad"].fields.index("steps")]

    run.spoil = spoil


def of_the_last_plan(run):
    """The engine goes on with its first constants when they change."""
    run.engine.set_constants = lambda constants: None


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


#: Kinds of runs, and what is broken in each: faults that short or random runs would miss.
BROKEN = {
    "no sweep": ("clock", forgets_to_sweep),
    "the dead": ("average", of_class(IgnoresTheDead)),
    "no look": ("from data", never_looks),
    "kept weights": ("ftrl", of_class(KeepsTheWeights)),
    "vanished weights": ("adagrad", of_class(LeavesVanishedWeights)),
    "first constants": ("outputs, adagrad", of_the_last_plan),
    "no stamps": ("outputs, adagrad", without_stamps),
    "first sum": ("outputs, average", of_class(FoldsTheFirstForAll)),
    "exp": ("softmax, clock", nothing_subtracted),
    "no sweep of groups": ("groups", forgets_to_sweep),
}


@pytest.mark.parametrize(("name", "fault"), BROKEN.values(), ids=list(BROKEN))
def test_what_is_broken_is_caught(name, fault):
    """The property finds every engine and every reference that is broken on purpose."""

    @caught(1000)
    @given(data=st.data())
    def equal(data):
        run = data.draw(runs(name))
        assert_matches_references(run, fault(run))
