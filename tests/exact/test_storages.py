"""Storages on long rows and in long calls, without sweeps, and weights that stay at 0 or above.

Engines that never sweep give the dense weights or an error, never wrong weights or NaN.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import plan, rows
from support.algorithms import AFFINE_RULES, BOTH_ORDERS, RULES_WITH_CELLS, default_of, penalty_of
from support.matrices import make_data
from support.parameters import in_rule, rule_with
from support.runs import runs
from support.twins import Run, assert_matches_references

from lazynet import FoBoS, FromArray, LazyNetClassifier, Stepper
from lazynet.data.arrays import as_examples
from lazynet.engines.base import SweepLimits
from lazynet.engines.cells import zeros_on_cache_lines
from lazynet.engines.clock import ClockEngine, DenseEngine
from lazynet.reference.affine import MAPS
from lazynet.rules.storage import STORAGES
from lazynet.verify.strategies import Problem, problems

# Limits that every shrinking step exceeds.
SWEEPS_AT_ONCE = SweepLimits(smallest_scale=0.9999, cushion=0.0, largest_cushion=0.0)


@given(data=st.data())
def test_the_dense_loops_give_the_same_bits_without_vector_units(data):
    """One weight at a time or several: only the time differs."""
    found = []
    run, predictions = data.draw(runs("dense")), data.draw(st.booleans())
    for vectorised in (False, True):
        run.engine = DenseEngine(run.problem.n_features, predictions, vectorised=vectorised)
        run.take(0, len(run.problem.order))
        found.append(run.last())
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("l1", "limits"),
    [(0.0, SWEEPS_AT_ONCE), (1e-3, SWEEPS_AT_ONCE), (1e-3, SweepLimits())],
    ids=["sweeps without l1", "sweeps", "seldom"],
)
@pytest.mark.parametrize("rule", [
    *(FoBoS(step_order=order, storage=storage) for order in BOTH_ORDERS for storage in STORAGES),
    *map(default_of, RULES_WITH_CELLS),
], ids=str)  # fmt: skip
def test_long_rows_take_the_vector_path(rule, l1, limits):
    """Rows of every length, from one to several blocks; sweeps may interrupt every step."""
    generator, n = np.random.default_rng(0), 20
    shown = generator.random((n, 140)).argsort(axis=1) <= 7 * np.arange(n)[:, None]
    X = sparse.csr_matrix(shown * generator.standard_normal((n, 140)))
    y = generator.choice([-1.0, 1.0], n)
    l2 = penalty_of(rule, l1, 1e-2).l2
    problem = Problem(
        X, y, np.ones(n), np.arange(n), np.full(n, 0.1), l1=l1, l2=l2, fit_intercept=True
    )
    assert assert_matches_references(Run(problem, rule, limits=limits)) == n


@pytest.mark.parametrize("l1", [1.0, 1e4, 1e12, 1e17])
@pytest.mark.parametrize("engine", STORAGES)
def test_a_step_with_an_overwhelming_pull_keeps_its_digits(engine, l1):
    """Shrink first: the move is stored after the pull, beside a shift that may be huge."""
    rule = FoBoS("constant", eta0=1.0, step_order="shrink_first", storage=engine)
    stepper = Stepper(1, loss="squared_error", l1=l1, rule=rule)
    stepper.step([0], [0.3], target=1.0)
    assert abs(stepper.weight(0) - 0.3) <= 2.0**-53 * 6 * min(l1, 1024.0)


def test_a_long_call_pauses_and_goes_on():
    """More numbers than one call touches: the kernel returns in between, the run is the same."""
    X = sparse.csr_matrix(np.ones((2, 1_500_000), dtype=np.float32))
    chosen = plan(l1=1e-3)
    weights = []
    for parts in ([[0, 1] * 3], [[0], [1], [0], [1], [0], [1]]):
        built, t = ClockEngine(X.shape[1]), 0
        for part in parts:
            order = np.array(part, dtype=np.int64)
            built.take(as_examples(X, np.ones(2)), chosen.steps(order, t), chosen.task(built))
            t += len(part)
        weights.append(built.weights())
    np.testing.assert_array_equal(*weights)


def test_rebases_are_few_where_the_penalty_is_light():
    """The clock sweeps once per cushion / (l1 eta) steps at most, and not before work pays."""
    engine, sweeps = ClockEngine(100), []
    engine.before_sweep = lambda: sweeps.append(1)
    engine.limits = SweepLimits(nonzeros_per_weight=0.0)
    X = sparse.random(1000, 100, density=0.05, format="csr", random_state=1)
    X.sort_indices()
    chosen = plan(l1=0.1, schedule=FromArray(np.full(1000, 0.1)))
    engine.take(as_examples(X, np.ones(1000)), chosen.steps(rows(1000), 0), chosen.task(engine))
    # The cushion grows by 0.01 a step and is bounded by 1: every 100 steps or so.
    assert 9 <= len(sweeps) <= 10


# --- where the scale leaves the range of doubles --------------------------------------------------

#: no limit of the scale, of the cushion, or of the reach of an average
NEVER = SweepLimits(
    smallest_scale=0.0, cushion=np.inf, largest_cushion=np.inf, nonzeros_per_weight=np.inf,
    reach=np.inf, largest_reach=np.inf,
)  # fmt: skip
KINDS = [dict(storage="clock"), dict(storage="tables"), dict(storage="clock", average=True)]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)

# eta l2 of a step: every step multiplies weights by 1 / (1 + eta l2) or by 1 - eta l2.
DECAYS = {"fobos": [0.0, 0.5, 1e3, 1e18, 1e50], "sgd": [0.0, 0.5, 0.999, 1.0 - 1e-12]}


@each_kind
@pytest.mark.parametrize("rule", AFFINE_RULES)
@given(data=st.data())
def test_weights_are_the_dense_ones_or_refused(kind, rule, data):
    """The scale leaves the range of doubles within the run, or nearly does.

    With the default limits sweeps come before it does, and nothing is refused.
    """
    limits = data.draw(st.sampled_from([NEVER, SweepLimits()]))
    rate = data.draw(st.sampled_from([1e-3, 0.1, 0.5]))
    l2 = data.draw(st.sampled_from(DECAYS[rule])) / rate
    problem = data.draw(problems(
        rules=[rule], step_orders=BOTH_ORDERS, intercepts=(False, True), min_steps=20,
        max_steps=60, rate=rate, l2=l2,
    ))  # fmt: skip
    lazy = problem.stepper(limits=limits, rule=rule_with(problem.rule, **kind))
    twin = problem.reference()
    for step in range(len(problem.order)):
        example = problem.example(step)
        twin.step(*example)
        if not twin.comparable:
            return
        before = lazy.weights
        try:
            lazy.step(*example)
        except FloatingPointError:
            # Refused with good reason: the scale has decayed by hundreds of binary digits, or the
            # sum of the pulls over the scale is as large.  The refused step is undone.
            assert limits is NEVER
            keep, _ = MAPS[rule](rate, 0.0, l2)
            assert (step + 1) * math.log2(keep) < -800
            np.testing.assert_array_equal(lazy.weights, before)
            return
        assert twin.distance(lazy.weights, lazy.intercept) <= twin.bound


@each_kind
@pytest.mark.parametrize("step_order", BOTH_ORDERS)
@pytest.mark.every_case
def test_a_shift_that_overflows_is_refused(kind, step_order):
    """b / scale = 2^60 / 2^-970: the scale alone is still a normal double."""
    options = dict(loss="squared_error", l1=2.0**160, l2=2.0**97 - 1.0)
    options |= dict(rule=FoBoS("constant", eta0=1.0, step_order=step_order))
    lazy = Stepper(2, **in_rule(limits=NEVER, **kind, **options))
    dense = Stepper(2, **in_rule(storage="dense", **options))
    for stepper in (lazy, dense):
        stepper.engine.set_coefficients(np.ones((1, 2)), np.zeros(1))

    def step_until_refused():
        for _ in range(10):
            dense.step([], [], 1.0)
            lazy.step([], [], 1.0)
            np.testing.assert_array_equal(lazy.weights, dense.weights)

    with pytest.raises(FloatingPointError, match="left the range of doubles at step"):
        step_until_refused()
    assert 97 * (lazy.t + 1) < 1022


# --- weights that stay at 0 or above ------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(storage="tables"), r"positive=True excludes storage=Tables\(\)"),
        (dict(storage="dense"), r"positive=True excludes storage=Dense\(\)"),
        (dict(average=True), "positive=True excludes average=.*: write average=False"),
        (dict(positive="yes"), "positive of FoBoS must be"),
    ],
)
@pytest.mark.every_case
def test_what_cannot_keep_the_sign_is_refused(options, message):
    """By estimators and the Stepper alike, before anything is trained."""
    X, y = make_data(n=20, d=5)
    options = {"positive": True} | options
    model = LazyNetClassifier(**in_rule(**options))
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises((ValueError, TypeError), match=message):
        Stepper(5, **in_rule(**options))


def test_negative_weights_are_no_start():
    """Given, assigned, or of a model that has learned them."""
    X, y = make_data(n=40, d=10)
    model = LazyNetClassifier(rule=FoBoS(positive=True, eta0=0.1), max_iter=5, tol=None)
    negative = -np.ones((1, 10))
    with pytest.raises(ValueError, match=r"coef_init must not hold a negative weight .* got -1"):
        model.fit(X, y, coef_init=negative)
    model.fit(X, y, coef_init=-negative)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="coef_ must not hold a negative weight"):
        model.coef_ = negative
    np.testing.assert_array_equal(model.coef_, before)
    free = LazyNetClassifier(rule=FoBoS(eta0=0.1), max_iter=5, tol=None).fit(X, y)
    assert free.coef_.min() < 0.0
    for call in ("partial_fit", "fit"):
        free.set_params(rule__positive=True, warm_start=True)
        with pytest.raises(ValueError, match="must not hold a negative weight"):
            getattr(free, call)(X, y)
    free.coef_ = np.abs(free.set_params(rule__positive=False).coef_)
    free.set_params(rule__positive=True).partial_fit(X, y)
    assert free.coef_.min() >= 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_of_cells_start_at_a_cache_line(dtype):
    for n in range(1, 40):
        array = zeros_on_cache_lines(n, 3, dtype)
        assert array.shape == (n, 3)
        assert not array.any()
        assert array.ctypes.data % 64 == 0
