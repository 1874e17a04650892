"""Every affine engine has the dense twin's weights after every step, whatever the chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import ELASTIC_STORAGES, plan, rows
from support.algorithms import AFFINE_RULES, BOTH_ORDERS, storage_of
from support.engines import run_in_chunks
from support.parameters import in_rule, rule_with
from support.wears import wears

from lazynet import FoBoS, FromArray, Stepper
from lazynet.data.arrays import as_examples
from lazynet.engines.clock import ClockEngine
from lazynet.engines.dense import DenseEngine
from lazynet.engines.tables import TablesEngine
from lazynet.engines.wear import Wear
from lazynet.losses import LOSSES, get_loss
from lazynet.verify.strategies import assert_matches_twin, problems
from lazynet.verify.twin import BoundedTwin

BUDGETS = st.integers(1, 40)
BOTH = (False, True)
# Limits that every shrinking step exceeds.
SWEEPS_AT_ONCE = Wear(
    smallest_scale=0.9999, cushion=0.0, largest_cushion=0.0, nonzeros_per_weight=0.0
)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("step_order", BOTH_ORDERS)
@pytest.mark.parametrize("rule", AFFINE_RULES)
@pytest.mark.parametrize("engine", ELASTIC_STORAGES)
@given(data=st.data())
def test_every_step_equals_the_dense_twin(engine, rule, step_order, loss, data):
    """The first promise, over the whole table, with any rebases and any budget."""
    problem = data.draw(problems([loss], [rule], [step_order], BOTH))
    wear = data.draw(wears())
    form = storage_of(engine, data.draw(BUDGETS), data.draw(st.booleans()))
    stepper = problem.stepper(rule=rule_with(problem.rule, storage=form), wear=wear)
    assert_matches_twin(stepper, problem, twin=problem.twin(wear.largest_cushion))


@given(problem=problems(step_orders=BOTH_ORDERS, intercepts=BOTH))
def test_most_steps_are_compared(problem):
    """The derived bound stays below a millionth of the weights: it is not an empty promise."""
    compared = assert_matches_twin(problem.stepper(), problem)
    curvature = get_loss(problem.loss).curvature
    if curvature and np.all(
        problem.rates * problem.importances.max() * curvature
        * (np.asarray(problem.X.multiply(problem.X).sum(axis=1)).max() + 1) <= 1
    ):  # fmt: skip
        assert compared == len(problem.order)


@given(data=st.data())
def test_the_dense_loops_give_the_same_bits_without_vector_units(data):
    """One weight at a time or several: only the time differs."""
    problem = data.draw(problems(step_orders=BOTH_ORDERS, intercepts=BOTH))
    predictions = data.draw(st.booleans())
    scalar, vectorised = (
        run_in_chunks(
            problem, DenseEngine(problem.n_features, predictions, vectorised=vectorised), []
        )
        for vectorised in (False, True)
    )
    np.testing.assert_array_equal(scalar.weights(), vectorised.weights())
    assert scalar.intercept == vectorised.intercept


@pytest.mark.parametrize("wear", [Wear(), SWEEPS_AT_ONCE], ids=["seldom", "sweeps"])
@pytest.mark.parametrize("step_order", BOTH_ORDERS)
@pytest.mark.parametrize("l1", [0.0, 1e-3])
@pytest.mark.parametrize("engine", [*ELASTIC_STORAGES, "rescaled"])
def test_long_rows_take_the_vector_path(engine, l1, step_order, wear):
    """Rows longer than any vector and block, with a tail; sweeps may interrupt every step."""
    if engine == "rescaled" and l1:
        pytest.skip("the rescaled engine knows no l1")
    generator = np.random.default_rng(0)
    X = sparse.random(40, 400, density=0.3, format="csr", random_state=0)
    X.sort_indices()
    y = np.where(generator.random(40) < 0.5, -1.0, 1.0)
    options = dict(
        schedule=lambda t: 0.1, loss="log_loss", rule=FoBoS(step_order=step_order), l1=l1, l2=1e-2,
        fit_intercept=True,
    )  # fmt: skip
    lazy = Stepper(
        400, **in_rule(storage=engine, **options, **({} if engine == "tables" else {"wear": wear}))
    )
    twin = BoundedTwin(400, **options)
    for row in range(40):
        lazy.step_row(X, row, y[row])
        span = slice(X.indptr[row], X.indptr[row + 1])
        twin.step(X.indices[span], X.data[span], y[row])
        assert twin.comparable
        assert twin.distance(lazy.weights, lazy.intercept) <= twin.bound


def test_the_tables_begin_again_before_they_overflow():
    """eta = 1 and l2 = 0.5 make B infinite at step 1023 of the paper's tables."""
    engine = TablesEngine(1, budget=10_000)
    engine.load(np.array([1.0]), 0.0)
    chosen = plan(rule="sgd", l1=1e-9, l2=0.5, eta0=1.0)
    nothing = as_examples(sparse.csr_matrix((1, 1)), np.ones(1))
    for step in range(1200):
        engine.take(nothing, chosen.steps(rows(1), step), chosen.task(engine))
        assert np.isfinite(engine.entries[: 2 * (engine.now + 1)]).all()
        # 2^-k - 2e-9 (1 - 2^-k), until it is clipped.
        rest = 0.5 ** (step + 1)
        truth = max(rest - 2e-9 * (1 - rest), 0.0)
        assert engine.weights()[0] == pytest.approx(truth, rel=1e-6, abs=1e-24)


def test_a_step_with_an_overwhelming_pull_keeps_its_digits():
    """Shrink first: the move is stored after the pull, beside a shift that may be huge."""
    for engine in ELASTIC_STORAGES:
        for l1 in (1.0, 1e4, 1e12, 1e17):
            stepper = Stepper(
                1,
                loss="squared_error",
                l1=l1,
                rule=FoBoS(
                    step_order="shrink_first", schedule="constant", eta0=1.0, storage=engine
                ),
            )
            stepper.step([0], [0.3], target=1.0)
            assert abs(stepper.weight(0) - 0.3) <= 2.0**-53 * 6 * min(l1, 1024.0)


def test_a_long_call_pauses_and_goes_on():
    """More numbers than one call touches: the kernel returns in between, the run is the same."""
    X = sparse.csr_matrix(np.ones((2, 3_000_000), dtype=np.float32))
    chosen = plan(l1=1e-3)
    weights = []
    for chunks in ([[0, 1] * 3], [[0], [1], [0], [1], [0], [1]]):
        built, t = ClockEngine(X.shape[1]), 0
        for chunk in chunks:
            order = np.array(chunk, dtype=np.int64)
            built.take(as_examples(X, np.ones(2)), chosen.steps(order, t), chosen.task(built))
            t += len(chunk)
        weights.append(built.weights())
    np.testing.assert_array_equal(*weights)


def test_rebases_are_few_where_the_penalty_is_light():
    """The clock sweeps once per cushion / (l1 eta) steps at most, and not before work pays."""
    sweeps = 0

    class Counting(ClockEngine):
        def _sweep(self):
            nonlocal sweeps
            sweeps += 1
            super()._sweep()

    engine = Counting(100, Wear(nonzeros_per_weight=0.0))
    X = sparse.random(1000, 100, density=0.05, format="csr", random_state=1)
    X.sort_indices()
    chosen = plan(l1=0.1, schedule=FromArray(np.full(1000, 0.1)))
    examples = as_examples(X, np.ones(1000))
    engine.take(examples, chosen.steps(np.arange(1000), 0), chosen.task(engine))
    # The cushion grows by 0.01 a step and is bounded by 1: every 100 steps or so.
    assert 9 <= sweeps <= 10
