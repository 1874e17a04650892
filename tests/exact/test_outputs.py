"""Outputs that learn in one pass over X: each has the weights that it has alone.

The reference of every output is the plain twin of its rule; with the softmax it is
lazynet.reference.outputs.DenseSoftmax.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import examples_of, plan
from support.algorithms import BOTH_ORDERS
from support.caught import caught
from support.engines import apart
from support.matrices import corpus
from support.twins import (
    STRENGTHS,
    Run,
    SoftmaxTwins,
    assert_matches_twins,
    chunks,
    disordered_problems,
    plan_of,
    seeded_problem,
)
from support.wears import RESTLESS, restless_wears

from lazynet import FTRL, RDA, SGD, AdaGrad, FoBoS, FromData, FromStep, PolynomialDecay
from lazynet.data.targets import Classes, Columns, Labels, checked_indicator
from lazynet.engines.catalogue import ALGORITHMS, new_engine
from lazynet.engines.clock import AveragedClockEngine
from lazynet.engines.outputs_of_rules import AdaGradOutputs
from lazynet.engines.outputs_on_clock import AveragedOutputs, OutputsOnClock
from lazynet.kernels import cells
from lazynet.kernels.steps import Targets
from lazynet.losses import LOSSES
from lazynet.reference.outputs import DenseSoftmax
from lazynet.training.passes import Learner, run_pass

AVERAGES = st.one_of(
    st.builds(FromStep, st.integers(1, 12)), st.builds(PolynomialDecay, st.integers(0, 3))
)
EACH_ORDER = {f"{kind.__name__} {order}": kind(step_order=order)
              for kind in (FoBoS, SGD) for order in BOTH_ORDERS}  # fmt: skip
#: Every rule whose outputs learn in one pass, with rates that are given and rates of the rows; the
#: clock also with a clock for each output, and with averages.
RULES = {
    **{name: (rule, {}) for name, rule in EACH_ORDER.items()},
    **{f"{name} from data": (rule, dict(schedule=FromData())) for name, rule in EACH_ORDER.items()},
    **{f"average of {name}": (rule, dict(average=FromStep())) for name, rule in EACH_ORDER.items()},
    "rda": (RDA(gamma=2.0), {}),
    "rda follows": (RDA(), {}),
    "ftrl": (FTRL(alpha=0.3), {}),
    "ftrl once": (FTRL(alpha=0.3, penalty="once"), {}),
    "ftrl follows": (FTRL(), {}),
    "adagrad": (AdaGrad(alpha=0.3, delta=0.1), {}),
    "adagrad follows": (AdaGrad(), {}),
}
#: Predictions far beyond the range of exp.
LARGE = dict(scale=30.0, rate=1.0)
#: Rates are lowered after 32 steps, where losses of numbers look at their slopes.
LOWERED = dict(
    losses=["squared_error", "huber", "absolute_error", "epsilon_insensitive"],
    min_steps=60, max_steps=80,
)  # fmt: skip


def test_every_rule_of_the_catalogue_that_joins_outputs_is_tested():
    """The rules above are those whose row names an engine of outputs."""
    joining = {name for name, row in ALGORITHMS.items() if row.outputs is not None}
    assert {rule.name for rule, _ in RULES.values()} == joining


def run_of(problem, name, n_outputs, wear, *, softmax=False, average=None, room=100, seed=0,
           kind=None, **strengths):  # fmt: skip
    """A run of a rule; averages fold their past every ``room`` steps."""
    rule, of_plan = RULES[name]
    if average is not None and "average" in of_plan:
        of_plan = of_plan | dict(average=average)
    chosen = plan_of(problem, rule.settled(), softmax=softmax, **of_plan, **strengths)
    run = Run(problem, chosen, n_outputs, wear=wear, seed=seed)
    if kind is not None:
        options = dict(own_clocks=True) if chosen.rates_from_data else {}
        run.engine = kind(problem.n_features, n_outputs, wear=wear, **options)
    if chosen.average is not None:
        single = AveragedClockEngine(problem.n_features, wear, steps_per_block=room)
        for part in ("past", "totals"):
            setattr(run.engine, part, getattr(single, part))
    return run


@st.composite
def runs(draw, name, softmax=False, kind=None, wear=None, **options):
    """A run with any loss, penalty, importances, rows, wear and number of outputs."""
    options = dict(losses=["log_loss"] if softmax else list(LOSSES), max_steps=25) | options
    return run_of(
        draw(disordered_problems(**options)),
        name,
        draw(st.sampled_from([2, 3, 9] if softmax else [1, 2, 3, 8, 9])),
        draw(restless_wears()) if wear is None else wear,
        softmax=softmax,
        average=draw(AVERAGES),
        room=draw(st.sampled_from([100, 7, 3, 2, 1])),
        seed=draw(st.integers(0, 9)),
        kind=kind,
        l1=draw(STRENGTHS),
        l2=draw(STRENGTHS),
    )


#: What is coupled by the softmax has no rates from the data, which are those of one loss.
COUPLED = [name for name in RULES if "from data" not in name]
KINDS = [
    *(pytest.param(name, {}, id=name) for name in RULES),
    *(pytest.param(name, dict(softmax=True), id=f"softmax, {name}") for name in COUPLED),
    *(pytest.param(name, dict(softmax=True, **LARGE), id=f"large, {name}") for name in COUPLED),
]


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "options"), KINDS)
@given(data=st.data())
def test_every_output_equals_its_twin_after_every_step(name, options, data):
    """Alone, or coupled by the softmax, whose exp of large predictions would overflow."""
    run = data.draw(runs(name, **options))
    assert_matches_twins(run, ends=data.draw(chunks(len(run.problem.order))))


@pytest.mark.parametrize("name", [name for name in RULES if "from data" in name])
@given(data=st.data())
def test_outputs_whose_rates_are_lowered_equal_their_twins(name, data):
    """Each output looks at its own slopes."""
    assert_matches_twins(data.draw(runs(name, **LOWERED)))


@pytest.mark.parametrize(
    ("name", "softmax"), [*((name, False) for name in RULES), *((name, True) for name in COUPLED)]
)
def test_most_steps_are_compared(name, softmax):
    """The conditions that end a comparison are no loophole."""
    averages = [FromStep(1), PolynomialDecay(3), FromStep(13), FromStep(5)]
    compared = taken = 0
    for seed in range(40):
        problem = seeded_problem(seed, ["log_loss"] if softmax else LOSSES)
        options = dict(softmax=softmax, average=averages[seed % 4], room=7, seed=seed)
        compared += assert_matches_twins(run_of(problem, name, 3, RESTLESS, **options))
        taken += len(problem.order)
    assert compared >= 0.9 * taken, (compared, taken)


# --- the tests are tested -----------------------------------------------------------------------


def without_stamps(engine):
    """AdaGrad forgets that rows have missed steps."""
    engine.stamps[:] = engine.fields[0, cells.fields("adagrad").index("steps")]


def with_the_numbers_of_the_first(engine):
    """The last output takes the numbers of the first."""
    engine.cells[:, engine.n_outputs - 1] = engine.cells[:, 0]


def with_the_rates_of_the_first(engine):
    """The last output goes by the rates of the first output."""
    engine.rates[-1] = engine.rates[0]


class SweepsTheClocksAlone(OutputsOnClock):
    """Sets the clocks to their start and leaves the weights as they were stored."""

    def _sweep(self):
        self._set_clocks()


class FoldsTheFirstForAll(AveragedOutputs):
    """Gives every output the sum of the first output in a sweep."""

    def _sweep(self):
        super()._sweep()
        first = self.cells[:, self.width]
        self.cells[:, self.width : self.width + self.n_outputs] = first[:, None]


class OfTheLosersAlone(DenseSoftmax):
    """Leaves the class of the row as it is."""

    def __init__(self, twins):
        super().__init__(twins)
        for twin in self.twins:
            twin.slope = lambda prediction, slope, epsilon: max(slope, 0.0)


def nothing_subtracted(predictions, label):
    """The slopes with exp of the predictions themselves, as a kernel in C would compute them."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.exp(np.array(predictions))
        slopes = sizes / sizes.sum()
    slopes[label] -= 1.0
    return slopes.tolist()


PLAIN = "FoBoS gradient_first"
OWN, AVERAGED = f"{PLAIN} from data", f"average of {PLAIN}"
BROKEN = {
    "stamps": ("adagrad", {}, without_stamps, None),
    "stamps of rates that follow": ("adagrad follows", {}, without_stamps, None),
    **{f"numbers of {name}": (name, {}, with_the_numbers_of_the_first, None)
       for name in (PLAIN, "rda", "ftrl", "adagrad")},
    "rates": (OWN, {}, with_the_rates_of_the_first, None),
    "sweeps": (OWN, dict(kind=SweepsTheClocksAlone, wear=RESTLESS), None, None),
    "folds": (AVERAGED, dict(kind=FoldsTheFirstForAll), None, None),
    "folds of the softmax": (AVERAGED, dict(kind=FoldsTheFirstForAll, softmax=True), None, None),
    "the class of the row": (PLAIN, dict(softmax=True), None, OfTheLosersAlone),
}  # fmt: skip


def assert_caught(name, options, spoil=None, kind=None):
    """The property fails as an assertion on a run that is spoiled, or beside a broken twin."""

    @caught(500)
    @given(data=st.data())
    def equal(data):
        run = data.draw(runs(name, **options))
        assert_matches_twins(run, None if kind is None else SoftmaxTwins(run, kind), spoil=spoil)


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_engines_are_caught(fault):
    """The property finds engines that are spoiled or broken, and a twin without a part."""
    assert_caught(*BROKEN[fault])


def test_a_softmax_that_overflows_is_caught(monkeypatch):
    """The maximum that is not subtracted shows where predictions are large."""
    monkeypatch.setattr("lazynet.reference.outputs.softmax_slopes", nothing_subtracted)
    assert_caught(PLAIN, dict(softmax=True, **LARGE))


# --- the same bits ------------------------------------------------------------------------------

MANY = {name: dict(rule=rule, **of_plan) for name, (rule, of_plan) in RULES.items()}
EVERY_MODEL = pytest.mark.parametrize("options", MANY.values(), ids=list(MANY))


def learned(options, n_outputs=11, dtype="float64", wear=None, outputs=slice(None)):
    """An engine after 200 steps on rows of very different lengths."""
    X, _ = corpus(200, 40)
    chosen = dataclasses.replace(plan(l1=1e-3, l2=1e-3, **options), dtype=dtype)
    numbers = np.where(np.random.default_rng(1).random((200, 11)) < 0.3, 1.0, -1.0)
    engine = new_engine(
        chosen.rule, chosen.penalty, 40, n_outputs, loss=chosen.loss, dtype=dtype, wear=wear,
        average=chosen.average is not None, own_clocks=chosen.rates_from_data,
    )  # fmt: skip
    examples = examples_of(chosen, X, None)
    targets = Targets(0, n_outputs, numbers=np.ascontiguousarray(numbers[:, outputs]))
    steps = chosen.steps(np.arange(200), 0)
    engine.learn(examples, targets, steps, chosen.task(engine), 0, np.zeros(n_outputs))
    return engine


@EVERY_MODEL
def test_an_output_has_the_same_bits_in_any_company(options):
    """Alone, or among ten others."""
    together = learned(options)
    for k in (0, 7, 8, 10):
        alone = learned(options, n_outputs=1, outputs=slice(k, k + 1))
        np.testing.assert_array_equal(alone.coefficients()[0], together.coefficients()[k])
        assert alone.intercepts()[0] == together.intercepts()[k]


@EVERY_MODEL
def test_loaded_weights_are_read_back(options):
    """Weights, intercepts, and the weights of some features."""
    engine = learned(options)
    rng = np.random.default_rng(3)
    weights, offsets = rng.standard_normal((11, 40)), rng.standard_normal(11)
    weights[:, ::3] = 0.0
    engine.load(weights, offsets)
    np.testing.assert_allclose(engine.coefficients(), weights, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(engine.intercepts(), offsets, rtol=1e-12)
    np.testing.assert_array_equal(
        engine.coefficients(np.array([5, 2])), engine.coefficients()[:, [5, 2]]
    )


@pytest.mark.parametrize("options", [one for one in MANY.values() if "average" not in one], ids=str)
def test_weights_in_float32_are_close(options):
    """The error is that of float32, some roundings of the largest weight."""
    narrow, wide = learned(options, dtype="float32"), learned(options)
    assert narrow.cells.dtype == np.float32
    for found, expected in zip(narrow.coefficients(), wide.coefficients(), strict=True):
        assert apart(found, expected) <= 2000 * np.finfo(np.float32).eps


# --- targets ------------------------------------------------------------------------------------


def test_all_forms_of_targets_say_the_same():
    """Classes, labels in CSR form and columns of numbers give the same weights."""
    X, _ = corpus(200, 40)
    codes = np.random.default_rng(0).integers(0, 11, 200)
    indicator = sparse.csr_matrix((np.ones(200), codes, np.arange(201)), shape=(200, 11))
    numbers = 2.0 * indicator.toarray() - 1.0
    chosen, found = plan(l1=1e-3), []
    for given_ in (Classes(codes, 11, None), Labels(checked_indicator(indicator), None),
                   Columns(numbers, None)):  # fmt: skip
        assert len(given_) == 11
        learners = [
            Learner(
                chosen.new_engine(40, n), examples_of(chosen, X, None), chosen,
                given_.block(first, n),
            )
            for first, n in ((0, 5), (5, 6))
        ]  # fmt: skip
        run_pass(learners, None, 0)
        found.append(np.vstack([each.engine.coefficients() for each in learners]))
        for k in (0, 10):
            np.testing.assert_array_equal(given_[k][0], numbers[:, k])
        for some in (np.array([3, 0]), np.arange(0)):
            np.testing.assert_array_equal(given_.only(some)[4][0], numbers[some, 4])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_engines_above_are_of_several_outputs():
    """Otherwise the tests would compare an engine of one output with itself."""
    assert isinstance(learned(MANY[PLAIN]), OutputsOnClock)
    assert isinstance(learned(MANY["adagrad"]), AdaGradOutputs)
