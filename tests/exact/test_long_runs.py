"""Engines stay near extended precision over long runs.

Eight weights are touched with probabilities 1/2, 1/8, ..., by gradients that do not depend on
the model, so that nothing amplifies or hides the rounding of the shrinks themselves.
"""

from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from support import examples_of, plan
from support.algorithms import AFFINE_RULES, engine_of

from lazynet import FromData, FromStep
from lazynet.data.arrays import as_examples
from lazynet.engines.clock import AveragedClockEngine
from lazynet.kernels.targets import Targets
from lazynet.reference.shrink import MAPS
from lazynet.schedules import Constant, InverseSqrt, InverseTime
from lazynet.verify.tolerance import UNIT_ROUNDOFF

STRENGTHS = (0.0, 1e-12, 1e-8, 1e-4, 1e-2, 1e-1)
SCHEDULES = (Constant(0.1), InverseTime(1.0), InverseSqrt(0.5))
N_WEIGHTS = 8

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than double here"
)


def touches(n_steps, seed=0):
    """One row per step: which weights it touches, and its gradient in each."""
    generator = np.random.default_rng(seed)
    touched = generator.random((n_steps, N_WEIGHTS)) < 2.0 * 4.0 ** -np.arange(1, N_WEIGHTS + 1)
    gradients = np.where(touched, generator.uniform(-1, 1, touched.shape), 0.0)
    return sparse.csr_matrix(gradients)


def extended_precision(X, plans):
    """Every weight at every step in long double, all plans at once; shape (plans, weights)."""
    gradients = X.toarray().astype(np.longdouble)
    weights = np.zeros((len(plans), N_WEIGHTS), dtype=np.longdouble)
    l1, l2 = (
        np.array([getattr(each.penalty, name) for each in plans], dtype=np.longdouble)
        for name in ("l1", "l2")
    )
    block = 2000
    for start in range(0, X.shape[0], block):
        stop = min(start + block, X.shape[0])
        rates = np.array([each.schedule.rates(start, stop) for each in plans], dtype=np.longdouble)
        maps = [
            MAPS[each.rule.name](*strengths)
            for each, *strengths in zip(plans, rates, l1, l2, strict=True)
        ]
        keep, pull = (np.array(part) for part in zip(*maps, strict=True))
        for step in range(stop - start):
            weights -= rates[:, step, None] * gradients[start + step]
            magnitude = keep[:, step, None] * np.abs(weights) - pull[:, step, None]
            weights = np.copysign(np.maximum(magnitude, 0), weights)
    return weights


def plans_over(strengths, schedules):
    return [
        # |p - y| with a target out of reach: the slope is 1 whatever the weights are.
        plan(loss="absolute_error", l1=l1, l2=l2, rule=rule, schedule=schedule)
        for rule, schedule, l1, l2 in product(AFFINE_RULES, schedules, strengths, strengths)
    ]


def run(name, X, chosen):
    engine = engine_of(name, N_WEIGHTS)
    examples = as_examples(X, np.full(X.shape[0], -1e300))
    order = np.arange(X.shape[0])
    for start in range(0, X.shape[0], 2**16):
        part = order[start : start + 2**16]
        engine.take(examples, chosen.steps(part, start), chosen.task(engine))
    return engine.weights()


def worst_errors(n_steps, strengths, schedules):
    """engine -> the greatest error over all plans, by 1 + the largest weight of each."""
    X, plans = touches(n_steps), plans_over(strengths, schedules)
    truth = extended_precision(X, plans)
    largest = np.abs(truth).max(axis=1)
    errors = {}
    for name in ("clock", "tables", "dense"):
        found = np.array([run(name, X, chosen) for chosen in plans])
        assert np.isfinite(found).all()
        errors[name] = np.max(np.abs(found - truth).max(axis=1) / (largest + 1.0))
    return errors


def assert_accurate(errors, n_steps):
    """Independent roundings add up like sqrt(T), systematic ones like T.

    A touch of a lazy weight rounds 4 times a weight and 6 times a cushion of at most 1.  The
    tables subtract numbers of the size of the cushion that the clock allows at most; the dense
    loop rounds its factor the same way at every step.
    """
    assert errors["clock"] <= 10 * UNIT_ROUNDOFF * 4 * np.sqrt(n_steps)
    assert errors["tables"] <= 10 * UNIT_ROUNDOFF * n_steps
    assert errors["dense"] <= 10 * UNIT_ROUNDOFF * n_steps


def test_some_thousand_steps():
    """The corners of the grid, short enough for every run."""
    n_steps = 20_000
    assert_accurate(worst_errors(n_steps, (0.0, 1e-8, 1e-2), SCHEDULES), n_steps)


@pytest.mark.thorough
def test_a_million_steps():
    """The whole grid: 36 penalties, 3 schedules, 2 rules; the clock beats the dense loop."""
    n_steps = 1_000_000
    errors = worst_errors(n_steps, STRENGTHS, SCHEDULES)
    print({name: f"{error:.2g}" for name, error in errors.items()})
    assert_accurate(errors, n_steps)
    assert errors["clock"] < errors["dense"]


# --- millions of steps in which no row touches a weight -------------------------------------------

#: The weights at the start, and the intercept.
START, INTERCEPT = np.arange(1.0, N_WEIGHTS + 1), 0.1
#: Engines on the clock: of one output or of two, with an average or with rates from the data.
CLOCKS = ["clock", "average", "from data", "outputs", "average of outputs", "outputs from data"]


def idle(kind, rule, l1, l2, n_steps):
    """An engine after steps that touch no weight, and its rate.

    The first row has a size and no importance: it sets the scale of rates from the data.
    """
    average = FromStep() if "average" in kind else None
    schedule = FromData() if "data" in kind else Constant(0.1)
    given = dict(l1=l1, l2=l2, rule=rule, schedule=schedule, average=average)
    chosen = plan(**given)
    if "outputs" in kind:
        engine = chosen.new_engine(N_WEIGHTS, 2)
        engine.load_coefficients(np.tile(START, (2, 1)), np.full(2, INTERCEPT))
    else:
        engine = chosen.new_engine(N_WEIGHTS)
        engine.load(START, INTERCEPT)
    if average is not None:
        # One block for all steps: its sums are as long as they can be.
        single = AveragedClockEngine(N_WEIGHTS, steps_per_block=n_steps)
        for name in ("shifts", "scales", "pulls", "totals"):
            setattr(engine, name, getattr(single, name))
    X = sparse.csr_matrix(([1.0], ([0], [0])), shape=(2, N_WEIGHTS))
    targets = None if "outputs" in kind else np.ones(2)
    examples = examples_of(chosen, X, targets, np.zeros(2))
    block = 2**18
    for start in range(0, n_steps, block):
        order = np.ones(block, dtype=np.int64)
        order[0] = min(start, 1)
        steps, task = chosen.steps(order, start), chosen.task(engine)
        if "outputs" in kind:
            numbers = Targets(0, 2, numbers=np.ones((2, 2)))
            engine.learn(examples, numbers, steps, task, start, np.zeros(2))
        else:
            engine.take(examples, steps, task, start)
    return engine, 0.1 if engine.present_rate is None else engine.present_rate


def after_decay(weight, eta, l1, l2, rule, n_steps):
    """An untouched weight after n steps at a constant rate, and its mean, to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        keep, pull = MAPS[rule](Decimal(eta), Decimal(l1), Decimal(l2))
        rho = (keep.ln() * n_steps).exp()
        fixed_point = -pull / (1 - keep)
        start = Decimal(weight) - fixed_point
        mean = start * keep * (1 - rho) / (1 - keep) / n_steps
        return float(start * rho + fixed_point), float(mean + fixed_point)


def assert_true_time(kind, rule, n_steps):
    """A handful of roundings, however many steps: of l1 / l2, of the rate, of the read."""
    # An l1 as large as l2: the low digits of the shift decide on the last digits of the weights.
    strength = 5.0 / n_steps / (100.0 if "data" in kind else 1.0)
    engine, eta = idle(kind, rule, strength, strength, n_steps)
    last, model = engine.coefficients(last=True)[0], engine.coefficients()[0]
    for j, weight in enumerate(START):
        truth, mean = after_decay(weight, eta, strength, strength, rule, n_steps)
        assert abs(last[j] - truth) <= 8 * UNIT_ROUNDOFF * (abs(truth) + 1.0)
        if "average" in kind:
            assert abs(model[j] - mean) <= 16 * UNIT_ROUNDOFF * (abs(mean) + 1.0)
    assert abs(engine.intercepts()[0] - INTERCEPT) <= 4 * UNIT_ROUNDOFF * INTERCEPT


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "rule"),
    # Rates from the data are for FoBoS and SGD.
    [(kind, rule) for kind in CLOCKS for rule in AFFINE_RULES
     if "data" not in kind or rule in ("fobos", "sgd")],
)  # fmt: skip
def test_the_clock_keeps_true_time_over_millions_of_steps(kind, rule):
    """Scalars and sums are exact to a few units in the last place, not to so many per step."""
    assert_true_time(kind, rule, 4 * 2**20 if kind == "clock" else 2**20)


@pytest.mark.thorough
@pytest.mark.parametrize("rule", AFFINE_RULES)
def test_the_clock_keeps_true_time_over_a_billion_steps(rule):
    """The scalars are exact to a few units in the last place after 10^9 steps too."""
    assert_true_time("clock", rule, 954 * 2**20)
