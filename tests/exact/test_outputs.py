"""Outputs that learn in one pass over X: each has the weights that it has alone.

The reference of every output is the plain twin of its rule; with the softmax it is
lazynet.reference.outputs.DenseSoftmax.
"""

import dataclasses
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import examples_of, plan
from support.algorithms import penalty_of
from support.caught import caught
from support.engines import apart
from support.matrices import corpus
from support.outputs import (
    OverOutputs,
    assert_matches_twins,
    assert_softmax_matches,
    plan_of,
    seeded_problem,
    targets_of,
)

from lazynet import FTRL, RDA, SGD, AdaGrad, FoBoS, FromData, FromStep
from lazynet.data.targets import Classes, Columns, Labels, checked_indicator
from lazynet.engines.catalogue import ALGORITHMS, new_outputs
from lazynet.engines.outputs import OutputsOnClock
from lazynet.engines.outputs_cells import AdaGradOutputs
from lazynet.engines.wear import Wear
from lazynet.kernels import cells
from lazynet.kernels.outputs import Targets
from lazynet.penalties import ElasticNet
from lazynet.reference.outputs import DenseSoftmax
from lazynet.training.learners import OutputsLearner, run_pass
from lazynet.verify.strategies import problems

#: Every rule whose outputs learn in one pass, with rates that are given and rates of the rows.
RULES = {
    "fobos": FoBoS(),
    "sgd": SGD(),
    "shrink_first": SGD(step_order="shrink_first"),
    "rda": RDA(gamma=2.0),
    "rda follows": RDA(),
    "ftrl": FTRL(alpha=0.3),
    "ftrl once": FTRL(alpha=0.3, penalty="once"),
    "ftrl follows": FTRL(),
    "adagrad": AdaGrad(alpha=0.3, delta=0.1),
    "adagrad follows": AdaGrad(),
}
STRENGTHS = st.sampled_from([0.0, 1e-8, 1e-3, 0.1, 1.0, 10.0])
EVERY_RULE = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
#: Options of ``problems`` whose predictions are far beyond the range of exp.
LARGE = dict(scale=30.0, rate=1.0)


def test_every_rule_of_the_catalogue_that_joins_outputs_is_tested():
    """The rules above are those whose row names an engine of outputs."""
    joining = {name for name, row in ALGORITHMS.items() if row.outputs is not None}
    assert {rule.name for rule in RULES.values()} == joining


def penalty_for(problem, rule, l1, l2):
    """The penalty as far as the rule takes it, with the rates of the problem."""
    penalty = penalty_of(rule, l1, l2)
    try:
        plan_of(problem, rule, penalty).steps(problem.order, 0)
    except ValueError:
        return ElasticNet(l1, 0.0)  # SGD refuses a rate above 1 / l2
    return penalty


def drawn_outputs(data, rule):
    """A run of an engine with any loss, penalty, importances, rows and number of outputs."""
    problem = data.draw(problems(intercepts=[False, True], max_steps=25))
    penalty = penalty_for(problem, rule, data.draw(STRENGTHS), data.draw(STRENGTHS))
    n_outputs = data.draw(st.sampled_from([1, 2, 3, 8, 9]))
    return outputs_of(problem, rule, penalty, n_outputs, data.draw(st.integers(0, 9)))


def outputs_of(problem, rule, penalty, n_outputs, seed):
    """A run whose outputs have the targets of the problem, and others from the seed."""
    numbers = targets_of(problem, n_outputs, seed)
    return OverOutputs(problem, plan_of(problem, rule, penalty), n_outputs, numbers=numbers)


def drawn_softmax(data, rule, **options):
    """A run of an engine whose classes share the softmax; ``options`` are those of ``problems``."""
    given = dict(intercepts=[False, True], max_steps=20) | options
    problem = data.draw(problems(["log_loss"], **given))
    penalty = penalty_for(problem, rule, data.draw(STRENGTHS), data.draw(STRENGTHS))
    n_classes = data.draw(st.sampled_from([2, 3, 9]))
    one = st.integers(0, n_classes - 1)
    n_rows = len(problem.y)
    codes = np.array(data.draw(st.lists(one, min_size=n_rows, max_size=n_rows)), dtype=np.int64)
    return softmax_of(problem, rule, penalty, n_classes, codes)


def softmax_of(problem, rule, penalty, n_classes, codes):
    """A run in which row i has the class ``codes[i]``."""
    chosen = plan_of(problem, rule, penalty, softmax=True)
    return OverOutputs(problem, chosen, n_classes, codes=codes)


def seeded_outputs(seed, rule):
    problem = seeded_problem(seed)
    penalty = penalty_for(problem, rule, problem.l1, problem.l2)
    return outputs_of(problem, rule, penalty, 3, seed)


def seeded_softmax(seed, rule):
    problem = seeded_problem(seed, ["log_loss"])
    penalty = penalty_for(problem, rule, problem.l1, problem.l2)
    codes = np.random.default_rng(seed).integers(0, 3, len(problem.y))
    return softmax_of(problem, rule, penalty, 3, codes)


@EVERY_RULE
@given(data=st.data())
def test_every_output_equals_its_twin_after_every_step(rule, data):
    """Any loss, penalty, importances, rows and number of outputs."""
    assert_matches_twins(drawn_outputs(data, rule))


@EVERY_RULE
@given(data=st.data())
def test_the_softmax_equals_its_twin_after_every_step(rule, data):
    """The classes are coupled; after every step each has the weights of the dense classes."""
    assert_softmax_matches(drawn_softmax(data, rule))


@EVERY_RULE
@given(data=st.data())
def test_the_softmax_of_large_predictions_equals_its_twin(rule, data):
    """exp of the predictions themselves would overflow."""
    assert_softmax_matches(drawn_softmax(data, rule, **LARGE))


@EVERY_RULE
@pytest.mark.parametrize(
    ("seeded", "check"),
    [(seeded_outputs, assert_matches_twins), (seeded_softmax, assert_softmax_matches)],
    ids=["outputs", "softmax"],
)
def test_most_steps_are_compared(seeded, check, rule):
    """The conditions that end a comparison are no loophole."""
    runs = [seeded(seed, rule) for seed in range(40)]
    compared = sum(check(run) for run in runs)
    taken = sum(len(run.problem.order) for run in runs)
    assert compared > 0.9 * taken, (compared, taken)


# --- the same bits ------------------------------------------------------------------------------

MANY = {
    **{name: dict(rule=rule) for name, rule in RULES.items()},
    "from data": dict(rule="fobos", schedule=FromData()),
    "average": dict(rule="fobos", average=FromStep(1)),
}
EVERY_MODEL = pytest.mark.parametrize("options", MANY.values(), ids=list(MANY))


def learned(options, n_outputs=11, dtype="float64", wear=None, outputs=slice(None)):
    """An engine after 200 steps on rows of very different lengths."""
    X, _ = corpus(200, 40)
    chosen = dataclasses.replace(plan(l1=1e-3, l2=1e-3, **options), dtype=dtype)
    numbers = np.where(np.random.default_rng(1).random((200, 11)) < 0.3, 1.0, -1.0)
    engine = new_outputs(
        chosen.rule, chosen.penalty, 40, n_outputs, loss=chosen.loss, dtype=dtype, wear=wear,
        average=chosen.average is not None, own_clocks=chosen.adaptive,
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
        np.testing.assert_array_equal(alone.rows()[0], together.rows()[k])
        assert alone.intercepts[0] == together.intercepts[k]


@EVERY_MODEL
def test_loaded_weights_are_read_back(options):
    """Weights, intercepts, and the weights of some features."""
    engine = learned(options)
    rng = np.random.default_rng(3)
    weights, offsets = rng.standard_normal((11, 40)), rng.standard_normal(11)
    weights[:, ::3] = 0.0
    engine.load_rows(weights, offsets)
    np.testing.assert_allclose(engine.rows(), weights, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(engine.intercepts, offsets, rtol=1e-12)
    np.testing.assert_array_equal(engine.rows_at(np.array([5, 2])), engine.rows()[:, [5, 2]])


@EVERY_MODEL
def test_weights_in_float32_are_close(options):
    """The error is that of float32, some roundings of the largest weight."""
    if "average" in options:
        pytest.skip("averages are kept in float64")
    narrow, wide = learned(options, dtype="float32"), learned(options)
    assert narrow.cells.dtype == np.float32
    for found, expected in zip(narrow.rows(), wide.rows(), strict=True):
        assert apart(found, expected) <= 2000 * np.finfo(np.float32).eps


@pytest.mark.parametrize("options", [dict(rule="fobos"), dict(rule=SGD(step_order="shrink_first")),
                                     MANY["from data"], MANY["average"]], ids=str)  # fmt: skip
def test_clocks_that_wear_out_often_change_little(options):
    """Sweeps after every few steps give the weights of a run without a sweep."""
    often = Wear(cushion=1e-3, largest_cushion=2e-3, nonzeros_per_weight=0.0, reach=2.0,
                 largest_reach=4.0)  # fmt: skip
    swept, plain = learned(options, wear=often), learned(options)
    for found, expected in zip(swept.rows(), plain.rows(), strict=True):
        assert apart(found, expected) <= 1e-12
    assert apart(swept.intercepts, plain.intercepts) <= 1e-12


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
            OutputsLearner(
                chosen.new_outputs(40, n), examples_of(chosen, X, None), chosen, X, given_, first
            )
            for first, n in ((0, 5), (5, 6))
        ]
        run_pass(learners, None, 0)
        found.append(np.vstack([each.engine.rows() for each in learners]))
        for k in (0, 10):
            np.testing.assert_array_equal(given_[k][0], numbers[:, k])
        for some in (np.array([3, 0]), np.arange(0)):
            np.testing.assert_array_equal(given_.only(some)[4][0], numbers[some, 4])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


# --- the tests are tested -----------------------------------------------------------------------


def without_stamps(engine):
    """AdaGrad forgets that rows have missed steps."""
    engine.stamps[:] = engine.fields[0, cells.fields("adagrad").index("steps")]


def with_one_clock_for_two_rates(engine):
    """The last output takes the number of the first."""
    engine.cells[:, engine.n_outputs - 1] = engine.cells[:, 0]


BROKEN = [
    (RULES["adagrad"], without_stamps),
    (RULES["adagrad follows"], without_stamps),
    *((RULES[name], with_one_clock_for_two_rates) for name in ("fobos", "rda", "ftrl", "adagrad")),
]


@pytest.mark.parametrize(("rule", "spoil"), BROKEN, ids=lambda each: getattr(each, "__name__", ""))
def test_broken_engines_are_caught(rule, spoil):
    """The property of equal steps finds every engine that is spoiled after its steps."""

    @caught(300)
    @given(data=st.data())
    def equal(data):
        problem = data.draw(problems(["squared_error"], intercepts=[True], min_steps=8))
        chosen = plan_of(problem, rule, ElasticNet(l1=0.1))
        run = OverOutputs(problem, chosen, 3, numbers=targets_of(problem, 3, 0))
        assert_matches_twins(run, spoil=spoil)


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


def assert_caught(draw, check, **options):
    """The property ``check``, run on what ``draw`` draws, fails as an assertion."""

    @caught(300)
    @given(data=st.data())
    def equal(data):
        check(draw(data), **options)


def test_a_softmax_that_leaves_out_its_class_is_caught():
    """A twin that leaves out a part of the formula is far from the kernel."""
    draw = partial(drawn_softmax, rule=FoBoS())
    assert_caught(draw, assert_softmax_matches, kind=OfTheLosersAlone)


def test_a_softmax_that_overflows_is_caught(monkeypatch):
    """The maximum that is not subtracted shows where predictions are large."""
    monkeypatch.setattr("lazynet.reference.outputs.softmax_slopes", nothing_subtracted)
    assert_caught(partial(drawn_softmax, rule=FoBoS(), **LARGE), assert_softmax_matches)


def test_the_engines_above_are_of_several_outputs():
    """Otherwise the tests would compare an engine of one output with itself."""
    assert isinstance(learned(MANY["fobos"]), OutputsOnClock)
    assert isinstance(learned(MANY["adagrad"]), AdaGradOutputs)
