"""Outputs that learn in one pass over X: each has the weights that it has alone.

The reference of every output is the plain twin of its rule; with the softmax it is
lazynet.reference.outputs.DenseSoftmax.
"""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from support import examples_of, plan
from support.algorithms import penalty_of
from support.engines import apart, near_a_kink
from support.matrices import corpus

from lazynet import FTRL, RDA, SGD, AdaGrad, FoBoS, FromArray, FromData, FromStep
from lazynet.catalogue import ALGORITHMS, new_outputs, new_reference
from lazynet.checks.tolerance import NearbyRun
from lazynet.engines import outputs as engines
from lazynet.engines.outputs import AdaGradOutputs, OutputsOnClock
from lazynet.engines.wear import Wear
from lazynet.kernels.outputs import Targets
from lazynet.losses import LOSSES, get_loss
from lazynet.penalties import ElasticNet
from lazynet.problems import Classes, Columns, Labels, checked_indicator
from lazynet.reference.outputs import DenseSoftmax, softmax_loss
from lazynet.testing import problems
from lazynet.training import OutputsLearner, new_learners, run_pass

#: Every rule whose outputs learn in one pass, with rates that are given and rates of the rows.
RULES = {
    "fobos": FoBoS(), "sgd": SGD(), "shrink_first": SGD("shrink_first"), "rda": RDA(gamma=2.0),
    "rda follows": RDA(), "ftrl": FTRL(alpha=0.3), "ftrl once": FTRL(alpha=0.3, penalty="once"),
    "ftrl follows": FTRL(), "adagrad": AdaGrad(alpha=0.3, delta=0.1), "adagrad follows": AdaGrad(),
}  # fmt: skip
STRENGTHS = st.sampled_from([0.0, 1e-8, 1e-3, 0.1, 1.0, 10.0])
EVERY_RULE = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))


def test_every_rule_of_the_catalogue_that_joins_outputs_is_tested():
    """The rules above are those whose row names an engine of outputs."""
    joining = {name for name, row in ALGORITHMS.items() if row.outputs is not None}
    assert {rule.name for rule in RULES.values()} == joining


def plan_of(problem, rule, penalty, softmax=False):
    chosen = plan(
        loss="log_loss" if softmax else problem.loss, l1=penalty.l1, l2=penalty.l2, rule=rule,
        fit_intercept=problem.fit_intercept, schedule=FromArray(problem.rates),
    )  # fmt: skip
    return dataclasses.replace(chosen, softmax=softmax)


def twins_of(problem, chosen, n_outputs):
    return [
        new_reference(
            chosen.rule, problem.n_features, loss=chosen.loss, penalty=chosen.penalty,
            schedule=problem.rate, fit_intercept=chosen.fit_intercept,
        )
        for _ in range(n_outputs)
    ]  # fmt: skip


def targets_of(problem, n_outputs, seed):
    """A column of targets for each output; the first is the problem's own."""
    rng = np.random.default_rng(seed)
    columns = [problem.y]
    for _ in range(n_outputs - 1):
        if get_loss(problem.loss).margin:
            columns.append(rng.choice([-1.0, 1.0], len(problem.y)))
        else:
            columns.append(problem.y * rng.uniform(-2.0, 2.0))
    return np.column_stack(columns)


def one_step(engine, chosen, examples, targets, order, t, softmax=False):
    losses = np.zeros(targets.n_outputs)
    steps = chosen.steps(order[t : t + 1], t)
    engine.learn(examples, targets, steps, chosen.task(engine), t, losses, softmax)
    return losses


def assert_matches_twins(problem, rule, penalty, n_outputs, seed, spoil=lambda engine: None):
    """Every output against its twin after every step, until rounding may decide, or it diverges."""
    chosen = plan_of(problem, rule, penalty)
    engine = chosen.new_outputs(problem.n_features, n_outputs)
    numbers = targets_of(problem, n_outputs, seed)
    targets = Targets(0, n_outputs, numbers=numbers)
    examples = examples_of(chosen, problem.X, None, problem.importances)
    twins, others = (twins_of(problem, chosen, n_outputs) for _ in range(2))
    nearby = [NearbyRun(other) for other in others]
    for step, row in enumerate(problem.order):
        indices, values, _, importance = problem.example(step)
        for k in range(n_outputs):
            example = indices, values, numbers[row, k], importance
            prediction = twins[k].step(*example)
            far = nearby[k].amplifies(*example, twins[k].weights)
            doubtful = near_a_kink(problem, prediction, example[2])
            if far or doubtful or not abs(prediction) < 1e6:
                return
        one_step(engine, chosen, examples, targets, problem.order, step)
        spoil(engine)
        rows, offsets = engine.rows(last=True), engine.intercepts
        for k, twin in enumerate(twins):
            assert apart(rows[k], twin.weights) <= 1e-10
            assert abs(offsets[k] - twin.intercept) <= 1e-10 * (1.0 + abs(twin.intercept))


@EVERY_RULE
@given(data=st.data())
def test_every_output_equals_its_twin_after_every_step(rule, data):
    """Any loss, penalty, importances, rows and number of outputs."""
    problem = data.draw(problems(intercepts=[False, True], max_steps=25))
    penalty = penalty_of(rule, data.draw(STRENGTHS), data.draw(STRENGTHS))
    try:
        plan_of(problem, rule, penalty).steps(problem.order, 0)
    except ValueError:
        penalty = ElasticNet(penalty.l1, 0.0)  # SGD refuses a rate above 1 / l2
    n_outputs = data.draw(st.sampled_from([1, 2, 3, 8, 9]))
    assert_matches_twins(problem, rule, penalty, n_outputs, data.draw(st.integers(0, 9)))


@EVERY_RULE
@given(data=st.data())
def test_the_softmax_equals_its_twin_after_every_step(rule, data):
    """The classes are coupled; after every step each has the weights of the dense classes."""
    problem = data.draw(problems(["log_loss"], intercepts=[False, True], max_steps=20))
    penalty = penalty_of(rule, data.draw(STRENGTHS), 0.0)
    n_classes = data.draw(st.sampled_from([2, 3, 9]))
    chosen = plan_of(problem, rule, penalty, softmax=True)
    engine = chosen.new_outputs(problem.n_features, n_classes)
    codes = np.random.default_rng(data.draw(st.integers(0, 9))).integers(
        0, n_classes, len(problem.y)
    )
    targets = Targets(0, n_classes, labels=codes)
    examples = examples_of(chosen, problem.X, None, problem.importances)
    twin = DenseSoftmax(twins_of(problem, chosen, n_classes))
    nudged = DenseSoftmax(twins_of(problem, chosen, n_classes))
    for step, row in enumerate(problem.order):
        indices, values, _, importance = problem.example(step)
        predictions = twin.step(indices, values, int(codes[row]), importance)
        nudged.step(indices, [x * (1 + 2.0**-36) for x in values], int(codes[row]), importance)
        far = max(map(apart, map(np.array, nudged.weights), twin.weights))
        if far > 1000 * 2.0**-36 or not max(map(abs, predictions)) < 1e6:
            return
        losses = one_step(engine, chosen, examples, targets, problem.order, step, softmax=True)
        assert losses.sum() == pytest.approx(
            importance * softmax_loss(predictions, int(codes[row])), rel=1e-9, abs=1e-9
        )
        for found, expected in zip(engine.rows(last=True), twin.weights, strict=True):
            assert apart(found, expected) <= 1e-10
        assert apart(engine.intercepts, twin.intercepts) <= 1e-10


# --- the same bits ------------------------------------------------------------------------------

MANY = {
    **{name: dict(rule=rule) for name, rule in RULES.items()},
    "from data": dict(rule="fobos", schedule=FromData()),
    "average": dict(rule="fobos", average=FromStep(1)),
}
EVERY_MODEL = pytest.mark.parametrize("options", MANY.values(), ids=list(MANY))


def learned(options, n_outputs=11, cuts=(), dtype="float64", level=None, wear=None, loss="log_loss",
            outputs=slice(None)):  # fmt: skip
    """An engine after 200 steps on rows of very different lengths, in chunks between ``cuts``."""
    X, _ = corpus(200, 40)
    chosen = dataclasses.replace(plan(l1=1e-3, l2=1e-3, loss=loss, **options), dtype=dtype)
    numbers = np.where(np.random.default_rng(1).random((200, 11)) < 0.3, 1.0, -1.0)
    engine = new_outputs(
        chosen.rule, chosen.penalty, 40, n_outputs, loss=chosen.loss, dtype=dtype, wear=wear,
        average=chosen.average is not None, own_clocks=chosen.adaptive,
    )  # fmt: skip
    examples = examples_of(chosen, X, None)
    targets = Targets(0, n_outputs, numbers=np.ascontiguousarray(numbers[:, outputs]))
    if level is not None:
        block = engine._block
        engine._block = lambda: lowered(block(), level)
    losses, order = np.zeros(n_outputs), np.arange(200)
    for start, stop in itertools.pairwise([0, *sorted(cuts), 200]):
        steps = chosen.steps(order[start:stop], start)
        engine.learn(examples, targets, steps, chosen.task(engine), start, losses)
    if level is not None:
        del engine._block
    return engine, losses


def lowered(block, level):
    block.at_level(level)
    return block


def same(left, right):
    np.testing.assert_array_equal(left[0].rows(), right[0].rows())
    np.testing.assert_array_equal(left[0].intercepts, right[0].intercepts)


@EVERY_MODEL
@given(cuts=st.sets(st.integers(1, 199), max_size=5))
def test_any_chunks_give_the_same_bits(options, cuts):
    """And the same losses, up to the rounding of their sums."""
    whole, cut = learned(options), learned(options, cuts=cuts)
    same(whole, cut)
    np.testing.assert_allclose(cut[1], whole[1], rtol=1e-13)


@EVERY_MODEL
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_vector_level_gives_the_same_bits(options, dtype):
    """The machine's best loops and the generic ones."""
    if "average" in options and dtype == "float32":
        pytest.skip("averages are kept in float64")
    best = learned(options, dtype=dtype)
    for level in range(4):
        same(best, learned(options, dtype=dtype, level=level))


@EVERY_MODEL
def test_an_output_has_the_same_bits_in_any_company(options):
    """Alone, or among ten others."""
    together = learned(options)[0]
    for k in (0, 7, 8, 10):
        alone = learned(options, n_outputs=1, outputs=slice(k, k + 1))[0]
        np.testing.assert_array_equal(alone.rows()[0], together.rows()[k])
        assert alone.intercepts[0] == together.intercepts[k]


@EVERY_MODEL
def test_copies_learn_on_alike(options):
    """An engine that is pickled in the middle learns on like the original."""
    X, _ = corpus(100, 40)
    chosen = plan(l1=1e-3, l2=1e-3, **options)
    engine = learned(options)[0]
    copied = pickle.loads(pickle.dumps(engine))
    examples, targets = examples_of(chosen, X, None), Targets(0, 11, numbers=np.ones((100, 11)))
    for each in (engine, copied):
        steps = chosen.steps(np.arange(100), 200)
        each.learn(examples, targets, steps, chosen.task(each), 200, np.zeros(11))
    same((engine,), (copied,))


@EVERY_MODEL
def test_loaded_weights_are_read_back(options):
    """Weights, intercepts, and the weights of some features."""
    engine = learned(options)[0]
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
    narrow, wide = learned(options, dtype="float32")[0], learned(options)[0]
    assert narrow.cells.dtype == np.float32
    for found, expected in zip(narrow.rows(), wide.rows(), strict=True):
        assert apart(found, expected) <= 2000 * np.finfo(np.float32).eps


@pytest.mark.parametrize("options", [dict(rule="fobos"), dict(rule=SGD("shrink_first")),
                                     MANY["from data"], MANY["average"]], ids=str)  # fmt: skip
def test_clocks_that_wear_out_often_change_little(options):
    """Sweeps after every few steps give the weights of a run without a sweep."""
    often = Wear(cushion=1e-3, largest_cushion=2e-3, nonzeros_per_weight=0.0, reach=2.0,
                 largest_reach=4.0)  # fmt: skip
    swept, plain = learned(options, wear=often)[0], learned(options)[0]
    for found, expected in zip(swept.rows(), plain.rows(), strict=True):
        assert apart(found, expected) <= 1e-12
    assert apart(swept.intercepts, plain.intercepts) <= 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_is_that_of_one_output(loss):
    """The losses before the updates, and the weights."""
    X, _ = corpus(200, 40)
    chosen = plan(l1=1e-3, loss=loss, eta0=0.01, fit_intercept=True)
    numbers = np.where(np.random.default_rng(1).random((200, 11)) < 0.3, 1.0, -1.0)
    order, sums = np.arange(200), []
    for engines_ in ([chosen.new_outputs(40, 11)], [chosen.new_engine(40) for _ in range(11)]):
        learners = new_learners(engines_, X, Columns(numbers, None), chosen, None)
        losses = np.zeros(len(learners))
        run_pass(learners, order, 0, losses=losses)
        rows = np.vstack([each.engine.rows() for each in learners])
        sums.append((losses.sum(), rows))
    assert sums[0][0] == pytest.approx(sums[1][0], rel=1e-12)
    np.testing.assert_allclose(sums[0][1], sums[1][1], rtol=1e-11, atol=1e-13)


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
    engine.stamps[:] = engine.fields[0, engines.cells_kernel.fields("adagrad").index("steps")]


def without_low_digits_or_shift(engine):
    """The clock loses a share of its shift."""
    engine.clocks[2] *= 1.0 - 2.0**-20


def with_one_clock_for_two_rates(engine):
    """The last output takes the number of the first."""
    engine.cells[:, engine.n_outputs - 1] = engine.cells[:, 0]


BROKEN = [
    (RULES["adagrad"], without_stamps),
    (RULES["adagrad follows"], without_stamps),
    (RULES["fobos"], without_low_digits_or_shift),
    (RULES["shrink_first"], without_low_digits_or_shift),
    *((RULES[name], with_one_clock_for_two_rates) for name in ("fobos", "rda", "ftrl", "adagrad")),
]


@pytest.mark.parametrize(("rule", "spoil"), BROKEN, ids=lambda each: getattr(each, "__name__", ""))
def test_broken_engines_are_caught(rule, spoil):
    """The property of equal steps finds every engine that is spoiled after its steps."""

    @settings(
        max_examples=300, phases=[Phase.generate], database=None, derandomize=True, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(data=st.data())
    def equal(data):
        problem = data.draw(problems(["squared_error"], intercepts=[True], min_steps=8))
        assert_matches_twins(problem, rule, ElasticNet(l1=0.1), 3, 0, spoil)

    with pytest.raises(AssertionError):
        equal()


def test_the_engines_above_are_of_several_outputs():
    """Otherwise the tests would compare an engine of one output with itself."""
    assert isinstance(learned(MANY["fobos"])[0], OutputsOnClock)
    assert isinstance(learned(MANY["adagrad"])[0], AdaGradOutputs)
