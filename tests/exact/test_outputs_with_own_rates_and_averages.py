"""Outputs with rates from the data, each on a clock of its own, and outputs with averages.

After every step each output has the weights, the intercept and the average of its dense twin.
"""

import dataclasses
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.algorithms import BOTH_ORDERS
from support.caught import caught
from support.outputs import (
    OverOutputs,
    assert_matches_twins,
    assert_softmax_matches,
    plan_of,
    seeded_problem,
    targets_of,
)
from support.wears import wears

from lazynet import SGD, FoBoS, FromData, FromStep, PolynomialDecay
from lazynet.averages import check_average, known_average
from lazynet.engines.clock import AveragedClockEngine
from lazynet.engines.outputs import AveragedOutputs, OutputsOnClock
from lazynet.engines.wear import Wear
from lazynet.penalties import ElasticNet
from lazynet.reference.averages import DenseAverage
from lazynet.verify.strategies import problems

RULES = {
    f"{kind.__name__} {order}": kind(step_order=order)
    for kind in (FoBoS, SGD)
    for order in BOTH_ORDERS
}
EVERY_RULE = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
BOTH = [False, True]
NUMBERS_OF_OUTPUTS = st.sampled_from([1, 2, 3, 8, 9])
STRENGTHS = st.sampled_from([1e-3, 0.0, 1e-8, 0.1, 1.0])
#: Limits so small that a short run has many sweeps.
RESTLESS = Wear(
    cushion=0.01, largest_cushion=0.01, nonzeros_per_weight=0.0, reach=2.0, largest_reach=4.0
)


@st.composite
def restless_wears(draw):
    """Every wear, and reaches so short that clocks are set anew again and again."""
    return dataclasses.replace(
        draw(wears()),
        reach=draw(st.sampled_from([2.0**6, 2.0, 0.0])),
        largest_reach=draw(st.sampled_from([2.0**10, 4.0, 0.0])),
    )


# --- rates from the data: a clock for each output ----------------------------------------------


def with_own_clocks(data, rule, kind=OutputsOnClock, wear=None, **options):
    """A run with rates from the data; ``options`` are those of ``problems``."""
    given = dict(intercepts=BOTH) | options
    problem = data.draw(problems(**given))
    penalty = ElasticNet(data.draw(STRENGTHS), data.draw(STRENGTHS))
    n_outputs = data.draw(NUMBERS_OF_OUTPUTS)
    wear = data.draw(restless_wears()) if wear is None else wear
    seed = data.draw(st.integers(0, 9))
    return own_clocks_of(problem, rule, penalty, n_outputs, wear, seed, kind)


def own_clocks_of(problem, rule, penalty, n_outputs, wear, seed, kind=OutputsOnClock):
    """A run with a clock for each output."""
    engine = kind(problem.n_features, n_outputs, wear=wear, own_clocks=True)
    return OverOutputs(
        problem, plan_of(problem, rule, penalty, schedule=FromData()), n_outputs,
        numbers=targets_of(problem, n_outputs, seed), engine=engine,
    )  # fmt: skip


@EVERY_RULE
@given(data=st.data())
def test_every_output_on_its_own_clock_equals_its_twin(rule, data):
    """Any loss, penalty, importances, number of outputs and wear."""
    assert_matches_twins(with_own_clocks(data, rule))


@EVERY_RULE
@given(data=st.data())
def test_outputs_whose_rates_are_lowered_equal_their_twins(rule, data):
    """After 32 steps losses of numbers look at their slopes, each output at its own."""
    losses = ["squared_error", "huber", "absolute_error", "epsilon_insensitive"]
    assert_matches_twins(with_own_clocks(data, rule, losses=losses, min_steps=60, max_steps=80))


# --- averages ----------------------------------------------------------------------------------


def omegas(average, n_steps):
    """omega_i of the iterates i = 1, 2, ... of an average, by its definition."""
    if average == "suffix":
        return lambda i: float(i > n_steps // 2)
    if average == "polynomial":
        return lambda i: float(i * (i + 1) * (i + 2))
    if isinstance(average, PolynomialDecay):
        return lambda i: float(math.prod(range(i, i + average.degree)))
    first = average.first if isinstance(average, FromStep) else 1
    return lambda i: float(i >= first)


AVERAGES = st.one_of(
    st.sampled_from([True, "suffix", "polynomial"]),
    st.builds(FromStep, st.integers(1, 12)),
    st.builds(PolynomialDecay, st.integers(0, 3)),
)


def averaging(data, rule, kind=AveragedOutputs, wear=None, softmax=False, average=None, **options):
    """A run with averages, and the maker of its twins."""
    given = dict(rules=[rule], intercepts=BOTH) | options
    problem = data.draw(problems(["log_loss"], **given) if softmax else problems(**given))
    average = data.draw(AVERAGES) if average is None else average
    n_outputs = data.draw(NUMBERS_OF_OUTPUTS)
    wear = data.draw(restless_wears()) if wear is None else wear
    room, seed = data.draw(st.sampled_from([100, 7, 3, 2, 1])), data.draw(st.integers(0, 9))
    return averages_of(problem, rule, average, n_outputs, wear, room, seed, kind, softmax)


def averages_of(problem, rule, average, n_outputs, wear, room, seed, kind, softmax):
    """A run whose averages fold their past every ``room`` steps, and the maker of its twins."""
    n_steps = len(problem.order)
    known = known_average(check_average("average", average), n_steps)
    penalty = ElasticNet(problem.l1, problem.l2)
    chosen = plan_of(problem, rule, penalty, average=known, softmax=softmax)
    engine = kind(problem.n_features, n_outputs, wear=wear)
    with_room_for(engine, room)
    if softmax:
        codes = np.random.default_rng(seed).integers(0, n_outputs, len(problem.y))
        run = OverOutputs(problem, chosen, n_outputs, codes=codes, engine=engine)
    else:
        numbers = targets_of(problem, n_outputs, seed)
        run = OverOutputs(problem, chosen, n_outputs, numbers=numbers, engine=engine)
    options = dict(omega=omegas(average, n_steps), schedule=problem.rate)
    return run, partial(run.new_twin, DenseAverage, **options)


def with_room_for(engine, n_steps):
    """Let the past of an engine be full after ``n_steps`` steps, and be folded."""
    single = AveragedClockEngine(engine.n_features, engine.wear, steps_per_block=n_steps)
    engine.shifts, engine.scales, engine.pulls = single.shifts, single.scales, single.pulls
    engine.totals = single.totals


@EVERY_RULE
@given(data=st.data())
def test_averages_of_every_output_are_plain_means(rule, data):
    """All iterates, the last half, those from step k on, or weighed by a polynomial."""
    assert_matches_twins(*averaging(data, rule))


@EVERY_RULE
@given(data=st.data())
def test_averages_of_the_softmax_are_plain_means(rule, data):
    """The classes are coupled by their last weights."""
    assert_softmax_matches(*averaging(data, rule, softmax=True))


# --- the tests are tested ----------------------------------------------------------------------


def seeded_own_clocks(seed, rule):
    problem = seeded_problem(seed)
    penalty = ElasticNet(problem.l1, problem.l2)
    return (own_clocks_of(problem, rule, penalty, 3, RESTLESS, seed),)


def seeded_averages(seed, rule, softmax=False):
    problem = seeded_problem(seed, ["log_loss"] if softmax else None)
    average = [True, "suffix", "polynomial", FromStep(5)][seed % 4]
    return averages_of(problem, rule, average, 3, RESTLESS, 7, seed, AveragedOutputs, softmax)


@pytest.mark.parametrize(
    ("seeded", "check"),
    [
        (seeded_own_clocks, assert_matches_twins),
        (seeded_averages, assert_matches_twins),
        (partial(seeded_averages, softmax=True), assert_softmax_matches),
    ],
    ids=["own clocks", "averages", "averages of the softmax"],
)
@EVERY_RULE
def test_most_steps_are_compared(rule, seeded, check):
    """The conditions that end a comparison are no loophole."""
    runs = [seeded(seed, rule) for seed in range(40)]
    compared = sum(check(*run) for run in runs)
    taken = sum(len(run[0].problem.order) for run in runs)
    assert compared > 0.9 * taken, (compared, taken)


def assert_caught(check):
    """The property ``check`` of drawn data fails as an assertion."""

    @caught(300)
    @given(data=st.data())
    def equal(data):
        check(data)


def with_the_rates_of_the_first(engine):
    """The last output goes by the rates of the first output."""
    engine.rates[-1] = engine.rates[0]


def test_rates_of_another_output_are_caught():
    """The property finds an engine that is spoiled after its steps."""

    def check(data):
        run = with_own_clocks(data, FoBoS())
        assert_matches_twins(run, spoil=with_the_rates_of_the_first)

    assert_caught(check)


class SweepsTheClocksAlone(OutputsOnClock):
    """Sets the clocks to their start and leaves the weights as they were stored."""

    def _sweep(self):
        self._start_clocks()


def test_clocks_that_are_swept_alone_are_caught():
    """The wear of the property asks for sweeps."""
    assert_caught(
        lambda data: assert_matches_twins(
            with_own_clocks(data, FoBoS(), SweepsTheClocksAlone, RESTLESS)
        )
    )


class FoldsTheFirstForAll(AveragedOutputs):
    """Gives every output the sum of the first output in a sweep."""

    def _sweep(self):
        super()._sweep()
        first = self.cells[:, self.width]
        self.cells[:, self.width : self.width + self.n_outputs] = first[:, None]


@pytest.mark.parametrize("softmax", BOTH, ids=["outputs", "softmax"])
def test_broken_averages_are_caught(softmax):
    """The property finds an engine whose averages are wrong."""
    check, kind = assert_softmax_matches if softmax else assert_matches_twins, FoldsTheFirstForAll
    assert_caught(lambda data: check(*averaging(data, FoBoS(), kind, softmax=softmax)))
